// SPDX-License-Identifier: Apache-2.0
// The nests of a counted loop (counted_loop.h). All of them assign elements to lanes in the same
// way: that of the results of mma.sync.
#include <algorithm>
#include <utility>

#include "codegen/targets/cuda/loops/counted_product.h"
#include "codegen/targets/cuda/loops/counted_text.h"
#include "codegen/targets/cuda/text/nest_body.h"

namespace graphc::core::cuda::internal {
namespace {

class CountedNestText {
 public:
  CountedNestText(const CountedLoop& loop, size_t nest, const NestProgram& program,
                  const std::vector<Parameter>& parameters, const std::string& places)
      : loop_(loop),
        index_(nest),
        nest_(loop.nests[nest]),
        program_(program),
        places_(places),
        rows_(loop.rows_of_lane),
        columns_(2 * nest_.tiles_of_warp),
        body_(program, parameters,
              [](int product, int part) {
                return fmt::format("sums_{}[{}][at_row][at_column]", product, part);
              }),
        products_(loop, nest, program, body_, text_) {
    body_.pair(loop.pairs[nest]);
    for (const HeldLoad& load : loop.held.loads) {
      if (load.nest != nest) continue;
      const std::string name = held_name(loop.held, load);
      load.from < 0 ? body_.hold_load_ahead(load.load, name) : body_.hold_load(load.load, name);
    }
    for (const HeldStore& store : loop.held.stores) {
      if (store.nest == nest) body_.hold_store(store.store, held_name(store), store.in_memory);
    }
    for (const auto& [of, store] : loop.held.unread) {
      if (of == nest) body_.leave_out_of_memory(store);
    }
  }

  /// `postponed` is that of counted_nest_text().
  const std::string& write(std::string& postponed) {
    before_ = std::exchange(postponed, {});
    text_.line("// A lane has {} of a tile, and columns 2 in_group and 2 in_group + 1 of",
               rows_ == 1 ? "row group" : "rows group and group + 8");
    text_.line("// {} unit {}.", nest_.tiles_of_warp, nest_.tiles_of_warp == 1 ? "tile" : "tiles");
    write_lanes();
    if (loop_.row_tiles == 1) {
      text_.line("const int row_tile = 0;");
      write_only_tile();
    } else {
      write_tiles();
    }
    postponed = after_.text();
    return text_.text();
  }

  /// Loads what the first step finds in registers.
  const std::string& write_beginning() {
    text_.line("const long long iteration = 0;");
    text_.lines(places_);
    write_lanes();
    text_.line("const int row_tile = 0;");
    load_held([](const HeldLoad& load) { return load.before_first; });
    return text_.text();
  }

 private:
  void open_row_tiles() {
    text_.open("for (int row_tile = 0; row_tile < {}; ++row_tile)", loop_.row_tiles);
  }

  void open_finishing() {
    if (nest_.splits() == 1) return text_.open_block();
    text_.open("if ({})", products_.finishes());
  }

  void write_lanes() {
    text_.line("const int unit_tile = {};", unit_tile_text(nest_));
    if (nest_.splits() > 1) text_.line("const int split = warp / {};", nest_.warps);
    text_.line("const {0} first_column = ({0})column_begin + unit_tile * {1} + in_group * 2;",
               loop_.index_type, kUnits);
  }

  void write_tiles() {
    if (products_.scatters()) {
      open_row_tiles();
      products_.scatter();
      text_.close();
    }
    write_waits();
    open_row_tiles();
    write_loads();
    products_.gather();
    body_.declare_kept(text_, rows_, columns_);
    open_finishing();
    write_results();
    write_stores();
    text_.close();
    text_.close();
    if (loop_.meets[index_]) text_.line("__syncthreads();");
  }

  void write_only_tile() {
    write_loads();
    products_.scatter();
    text_.lines(before_);
    write_waits();
    products_.gather();
    body_.declare_kept(text_, rows_, columns_);
    open_finishing();
    write_results();
    text_.close();
    // Other lanes may read what goes to memory, or nobody waits for it.
    const bool meets = loop_.meets[index_];
    if (meets && loop_.same_lanes) text_.line("__syncthreads();");
    if (loop_.postpones[index_]) std::swap(text_, after_);
    open_finishing();
    write_stores();
    text_.close();
    if (meets && !loop_.same_lanes) text_.line("__syncthreads();");
    load_next();
    if (loop_.postpones[index_]) std::swap(text_, after_);
  }

  /// Loads what depends on no exchange before it is waited for.
  void write_loads() {
    if (program_.products.empty() || body_.element_loads() == 0) return;
    body_.declare_ahead(text_, rows_, columns_);
    open_finishing();
    each_access([&](TextWriter& text, Columns columns) { body_.load_ahead(text, columns); });
    text_.close();
  }

  void write_results() {
    products_.take_over();
    write_body();
    send();
  }

  void write_stores() {
    text_.line("// Stores wait behind what peers wait for.");
    each_access([&](TextWriter& text, Columns columns) { body_.store_kept(text, columns); });
  }

  /// Loads what the next step finds in registers.
  void load_next() {
    const auto is_ahead = [&](const HeldLoad& load) {
      return load.nest == index_ && load.from < 0;
    };
    if (std::ranges::none_of(loop_.held.loads, is_ahead)) return;
    text_.line("// What the next step reads and nothing changes before it.");
    text_.open("if (iteration + 1 < steps)");
    text_.line("const long long following = iteration + 1;");
    text_.open_block();
    text_.line("const long long iteration = following;");
    text_.lines(places_);
    load_held([](const HeldLoad& load) { return load.from < 0; });
    text_.close();
    text_.close();
  }

  template <typename Which>
  void load_held(const Which& which) {
    open_finishing();
    each_access([&](TextWriter& text, Columns columns) {
      for (const HeldLoad& load : loop_.held.loads) {
        if (load.nest == index_ && which(load)) body_.load_held(text, load.load, columns);
      }
    });
    text_.close();
  }

  /// A warp without columns must not wait: nothing that it does would let a phase be the next one
  /// only when it has seen it.
  void write_waits() {
    if (program_.products.empty()) return;
    const bool has_idle = nest_.warps * nest_.tiles_of_warp > nest_.unit_tiles;
    if (has_idle) text_.open("if (unit_tile < {})", nest_.unit_tiles);
    for (size_t p = 0; p < program_.products.size(); ++p) {
      const CountedProduct& of = products_.product(p);
      const std::string name = of.name();
      // The first step reads what was there before it.
      if (of.next_step) text_.open("if (iteration > 0)");
      text_.line(
          "await_bytes(counter_{} + (unsigned)(iteration % 2) * 8u, (unsigned)({} / 2 % 2), "
          "{}u);",
          name, of.next_step ? "(iteration - 1)" : "iteration", of.bytes_of_use);
      if (of.next_step) text_.close();
    }
    if (has_idle) text_.close();
  }

  void define_row() {
    text_.line("const {0} row = ({0})row_begin + row_tile * {1} + at_row * 8 + group;",
               loop_.index_type, loop_.tile_rows());
  }
  void open_row() {
    define_row();
    text_.open("if (row < row_end)");
  }
  void open_elements() {
    text_.line("#pragma unroll");
    text_.open("for (int at_row = 0; at_row < {}; ++at_row)", rows_);
    open_row();
    open_columns();
  }
  /// Writes accesses to memory of two columns, then those of one.
  template <typename Write>
  void each_access(const Write& write) {
    for (const Columns columns : {Columns::two, Columns::one}) {
      TextWriter accesses(1);
      write(accesses, columns);
      if (accesses.text().empty()) continue;
      columns == Columns::two ? open_pairs() : open_elements();
      text_.lines(accesses.text());
      close_elements();
    }
  }
  void open_pairs() {
    text_.line("#pragma unroll");
    text_.open("for (int at_row = 0; at_row < {}; ++at_row)", rows_);
    open_row();
    text_.line("#pragma unroll");
    text_.open("for (int at_column = 0; at_column < {}; at_column += 2)", columns_);
    text_.line("const {} column = first_column + at_column / 2 * {};", loop_.index_type, kUnits);
    text_.open("if (column < column_end)");
  }
  void open_columns() {
    text_.line("#pragma unroll");
    text_.open("for (int at_column = 0; at_column < {}; ++at_column)", columns_);
    define_column();
    text_.open("if (column < column_end)");
  }
  void define_column() {
    text_.line("const {} column = first_column + at_column / 2 * {} + at_column % 2;",
               loop_.index_type, kUnits);
  }
  void close_elements() {
    for (int i = 0; i < 4; ++i) text_.close();
  }

  void write_body() {
    text_.line(
        "// Of all elements, whether they are there or not: a branch for each would let a lane");
    text_.line("// compute one after the other.");
    text_.line("#pragma unroll");
    text_.open("for (int at_row = 0; at_row < {}; ++at_row)", rows_);
    define_row();
    const std::string when = "row < row_end && first_column < column_end";
    body_.write(text_, Level::once, when);
    body_.write(text_, Level::row, when);
    text_.line("#pragma unroll");
    text_.open("for (int at_column = 0; at_column < {}; ++at_column)", columns_);
    define_column();
    text_.line("const bool there = row < row_end && column < column_end;");
    body_.keep_zeros_elsewhere();
    body_.write(text_, Level::element, "there");
    text_.close();
    text_.close();
  }

  /// Sends the strips of this nest's stores to all blocks.
  void send() {
    for (const CountedProduct& of : loop_.products) {
      for (const CountedStore& store : of.stores) {
        if (store.store.nest == index_) send(of, store);
      }
    }
  }

  void send(const CountedProduct& of, const CountedStore& store) {
    if (of.scatters) return keep(of, store);
    text_.line("// To all blocks, as the left fragments of product {}: rounded once.", of.name());
    if (of.next_step)
      text_.open("if (iteration + 1 < steps)");
    else
      text_.open_block();
    const std::string_view use = of.next_step ? "(iteration + 1)" : "iteration";
    text_.line("const unsigned counter = counter_{} + (unsigned)({} % 2) * 8u;", of.name(), use);
    text_.line("const unsigned operand = operand_{} + (unsigned)({} % 2) * {}u;", of.name(), use,
               4 * of.operand_words);
    text_.line("#pragma unroll");
    text_.open("for (int tile = 0; tile < {}; ++tile)", nest_.tiles_of_warp);
    const bool has_idle = nest_.warps * nest_.tiles_of_warp > nest_.unit_tiles;
    if (has_idle) text_.open("if (unit_tile + tile < {})", nest_.unit_tiles);
    text_.line("const int strip = rank * {}{} + (unit_tile + tile){};", of.strips_of_block,
               store.first_strip == 0 ? std::string() : fmt::format(" + {}", store.first_strip),
               store.parts == 1 ? std::string() : fmt::format(" * {}", store.parts));
    const bool pairs = of.strips_of_step() == 2 && of.words_of_send(store) == of.left_words();
    for (int part = 0; part < store.parts; part += pairs ? 2 : 1)
      send_strip(of, store, part, pairs);
    if (has_idle) text_.close();
    text_.close();
    text_.close();
  }

  /// Keeps the strips of a product that scatters for the block's own instructions.
  void keep(const CountedProduct& of, const CountedStore& store) {
    text_.open_block();
    text_.line("unsigned* own = (unsigned*)&shared[{} + iteration % 2 * {}];", of.operand_at,
               of.operand_words);
    text_.line("#pragma unroll");
    text_.open("for (int tile = 0; tile < {}; ++tile)", nest_.tiles_of_warp);
    text_.open("if (unit_tile + tile < {})", nest_.unit_tiles);
    for (int part = 0; part < store.parts; ++part) {
      text_.open_block();
      text_.line("const int strip = {} + (unit_tile + tile) * {};", store.first_strip + part,
                 store.parts);
      const std::vector<std::string> words = words_of(of, store, part);
      const bool halves = of.strips_of_step() == 2;
      text_.line("const int at = ((row_tile * {} + strip{}) * 32 + lane) * {}{};", of.steps,
                 halves ? " / 2" : "", of.left_words(),
                 halves ? fmt::format(" + strip % 2 * {}", rows_) : std::string());
      for (size_t i = 0; i < words.size(); ++i) text_.line("own[at + {}] = {};", i, words[i]);
      text_.close();
    }
    for (int i = 0; i < 3; ++i) text_.close();
  }

  /// The words that a lane has of a strip.
  std::vector<std::string> words_of(const CountedProduct& of, const CountedStore& store,
                                    int part) const {
    const auto value = [&](int row, int column) {
      return fmt::format("{}[{}][tile * 2 + {}]", body_.kept_name(store.store.operand, part), row,
                         column);
    };
    std::vector<std::string> words;
    const std::string_view rounded = of.factors == Factors::split_tf32
                                         ? std::string_view("__float_as_uint")
                                         : mma_form(of.factors).rounded;
    if (of.strips_of_step() == 2) {
      for (int row = 0; row < rows_; ++row)
        words.push_back(fmt::format("{}({}, {})", rounded, value(row, 0), value(row, 1)));
    } else {
      for (int i = 0; i < of.left_words(); ++i)
        words.push_back(fmt::format("{}({})", rounded, value(i % rows_, i / rows_)));
    }
    return words;
  }

  void send_strip(const CountedProduct& of, const CountedStore& store, int part, bool pair) {
    std::vector<std::string> words = words_of(of, store, part);
    if (pair) {
      for (std::string& word : words_of(of, store, part + 1)) words.push_back(std::move(word));
    }
    const std::string strip = part == 0 ? "strip" : fmt::format("(strip + {})", part);
    const int bytes = of.left_bytes();
    const std::string place =
        of.strips_of_step() == 1
            ? fmt::format("((row_tile * {} + {}) * 32 + lane) * {}", of.steps, strip, bytes)
        : pair ? fmt::format("((row_tile * {} + {} / 2) * 32 + lane) * {}", of.steps, strip, bytes)
               : fmt::format("((row_tile * {0} + {1} / 2) * 32 + lane) * {2} + {1} % 2 * {3}",
                             of.steps, strip, bytes, bytes / 2);
    text_.line("send_{}(operand + (unsigned)({}), counter,", words.size(), place);
    for (size_t i = 0; i < words.size(); ++i)
      text_.line("       {}{}", words[i], i + 1 < words.size() ? "," : ");");
  }

  const CountedLoop& loop_;
  const size_t index_;
  const CountedNest& nest_;
  const NestProgram& program_;
  const std::string& places_;
  const int rows_, columns_;  ///< of a lane
  NestBody body_;
  TextWriter text_{1};
  TextWriter after_{1};  ///< what it postpones
  std::string before_;   ///< what the nest before postpones
  CountedProductText products_;
};

}  // namespace

std::string counted_nest_text(const CountedLoop& loop, size_t nest, const NestProgram& program,
                              const std::vector<Parameter>& parameters, const std::string& places,
                              std::string& postponed) {
  return CountedNestText(loop, nest, program, parameters, places).write(postponed);
}

std::string counted_nest_beginning(const CountedLoop& loop, size_t nest, const NestProgram& program,
                                   const std::vector<Parameter>& parameters,
                                   const std::string& places) {
  return CountedNestText(loop, nest, program, parameters, places).write_beginning();
}

}  // namespace graphc::core::cuda::internal
