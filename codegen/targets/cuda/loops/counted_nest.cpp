// SPDX-License-Identifier: Apache-2.0
// The nests of a counted loop (counted_loop.h). All of them assign elements to lanes in the same
// way: that of the results of mma.sync.
#include <algorithm>
#include <utility>

#include "codegen/targets/cuda/loops/counted_product.h"
#include "codegen/targets/cuda/loops/counted_row_text.h"
#include "codegen/targets/cuda/loops/counted_sends.h"
#include "codegen/targets/cuda/loops/counted_text.h"
#include "codegen/targets/cuda/text/nest_body.h"

namespace graphc::core::cuda::internal {
namespace {

class CountedNestText {
 public:
  CountedNestText(const CountedLoop& loop, size_t nest, const NestProgram& program,
                  const std::vector<Parameter>& parameters, const std::string& places,
                  const std::string& meeting)
      : loop_(loop),
        index_(nest),
        nest_(loop.nests[nest]),
        program_(program),
        places_(places),
        meeting_(meeting),
        rows_(loop.rows_of_lane),
        columns_(2 * nest_.tiles_of_warp),
        body_(program, parameters,
              [](int product, int part) {
                return fmt::format("sums_{}[{}][at_row][at_column]", product, part);
              }),
        reductions_(loop, nest, body_),
        products_(loop, nest, program, body_, text_),
        sends_(loop, nest, body_, text_) {
    body_.pair(loop.pairs[nest]);
    body_.share_rows(loop.loads_without_rows[nest]);
    hold_numbers(body_, loop.rows, nest);
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

  CountedNestParts write(const std::string& postponed, const std::string& numbers) {
    before_ = postponed;
    numbers_ = numbers;
    text_.line("// A lane has {} of a tile, and columns 2 in_group and 2 in_group + 1 of",
               rows_ == 1 ? "row group" : "rows group and group + 8");
    text_.line("// {} unit {}.", nest_.tiles_of_warp, nest_.tiles_of_warp == 1 ? "tile" : "tiles");
    write_lanes();
    if (loop_.through_memory || loop_.row_tiles == 1) {
      text_.line("const int row_tile = {};", row_tile());
      write_only_tile();
    } else {
      write_tiles();
    }
    TextWriter numbers_of_this(1);
    if (reductions_.reduces()) reductions_.take(numbers_of_this, meeting_);
    return {text_.text(), stores_.text(), ahead_.text(), numbers_of_this.text()};
  }

  /// Loads what the first step finds in registers.
  const std::string& write_beginning() {
    write_lanes();
    text_.line("const int row_tile = {};", row_tile());
    load_held([](const HeldLoad& load) { return load.before_first; });
    const TextWriter loads = std::exchange(text_, TextWriter(1));
    text_.line("const long long iteration = 0;");
    text_.lines(needed_lines(places_, loads.text()));
    text_.lines(loads.text());
    return text_.text();
  }

 private:
  void open_row_tiles() {
    text_.open("for (int row_tile = 0; row_tile < {}; ++row_tile)", loop_.row_tiles);
  }

  /// The tile of rows of which a lane has elements.
  std::string_view row_tile() const {
    return loop_.through_memory && nest_.splits() > 1 ? "split" : "0";
  }

  void open_finishing() {
    const std::string when = products_.finishes();
    when.empty() ? text_.open_block() : text_.open("if ({})", when);
  }

  void write_lanes() {
    text_.line("const int unit_tile = {};", unit_tile_text(nest_));
    if (nest_.splits() > 1) text_.line("const int split = {};", split_text(nest_));
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
    // Unless other lanes may have stored it since the block has met.
    const bool is_early = loop_.same_lanes || !loop_.meets_before(index_);
    if (is_early) write_loads();
    text_.lines(numbers_);
    products_.scatter();
    text_.lines(before_);
    multiply(!is_early);
    body_.declare_kept(text_, rows_, columns_);
    open_finishing();
    write_results();
    text_.close();
    if (reductions_.reduces()) reductions_.send(text_);
    // Other lanes may read what goes to memory, or nobody waits for it.
    const bool meets = loop_.meets[index_];
    if (meets && loop_.same_lanes) text_.line("__syncthreads();");
    std::swap(text_, stores_);
    open_finishing();
    write_stores();
    text_.close();
    if (meets && !loop_.same_lanes) text_.line("__syncthreads();");
    std::swap(text_, stores_);
    std::swap(text_, ahead_);
    load_next();
    std::swap(text_, ahead_);
  }

  void multiply(bool loads_behind_meeting) {
    if (!loop_.multiplies_from_memory(index_)) {
      write_waits();
      return products_.gather();
    }
    if (loop_.meets_before(index_)) text_.lines(meeting_);
    if (loads_behind_meeting) write_loads();
    products_.multiply_terms();
    text_.line("__syncthreads();");
  }

  /// Whether it waits for operands, or for numbers of rows.
  bool is_waiting() const { return !program_.products.empty() || !numbers_.empty(); }

  /// Loads what depends on no exchange before it is waited for.
  void write_loads() {
    if (!is_waiting() || body_.element_loads() == 0) return;
    body_.declare_ahead(text_, rows_, columns_);
    open_finishing();
    each_column(
        [&](TextWriter& text, Columns columns) { body_.load_columns_ahead(text, columns); });
    each_access([&](TextWriter& text, Columns columns) { body_.load_ahead(text, columns); });
    text_.close();
  }

  void write_results() {
    products_.take_over();
    if (reductions_.reduces()) reductions_.declare(text_);
    write_body();
    if (reductions_.reduces()) reductions_.give(text_);
    sends_.send();
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
    TextWriter loads(1);
    std::swap(text_, loads);
    load_held([](const HeldLoad& load) { return load.from < 0; });
    std::swap(text_, loads);
    text_.lines(needed_lines(places_, loads.text()));
    text_.lines(loads.text());
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
  /// The same of what has no rows.
  template <typename Write>
  void each_column(const Write& write) {
    for (const Columns columns : {Columns::two, Columns::one}) {
      TextWriter accesses(1);
      write(accesses, columns);
      if (accesses.text().empty()) continue;
      columns == Columns::two ? open_column_pairs() : open_columns();
      text_.lines(accesses.text());
      for (int i = 0; i < 2; ++i) text_.close();
    }
  }
  void open_pairs() {
    text_.line("#pragma unroll");
    text_.open("for (int at_row = 0; at_row < {}; ++at_row)", rows_);
    open_row();
    open_column_pairs();
  }
  void open_column_pairs() {
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
    TextWriter of_row(1), of_element(1);
    body_.write(of_row, Level::once, "row < row_end && first_column < column_end");
    body_.write(of_row, Level::row, "row < row_end");
    body_.keep_zeros_elsewhere();
    body_.write(of_element, Level::element, "there");
    // Terms that are not there are zeros. Rows that are not have numbers that nobody uses, but must
    // read no memory: a row without a stride is that of other lanes.
    const bool reads_memory = !is_waiting() && body_.element_loads() > 0;
    const bool reads_rows = reads_memory || has_word(of_element.text(), "row");
    if (reads_rows || has_word(of_row.text(), "row")) define_row();
    text_.lines(of_row.text());
    if (reductions_.reduces()) reductions_.begin_row(text_);
    text_.line("#pragma unroll");
    text_.open("for (int at_column = 0; at_column < {}; ++at_column)", columns_);
    define_column();
    text_.line("const bool there = {}column < column_end;", reads_rows ? "row < row_end && " : "");
    text_.lines(of_element.text());
    text_.close();
    if (reductions_.reduces()) reductions_.end_row(text_);
    text_.close();
  }

  const CountedLoop& loop_;
  const size_t index_;
  const CountedNest& nest_;
  const NestProgram& program_;
  const std::string& places_;
  const std::string meeting_;  ///< a barrier of blocks, as text
  const int rows_, columns_;   ///< of a lane
  NestBody body_;
  TextWriter text_{1};
  TextWriter stores_{1};  ///< to memory, behind all else, and where warps meet for them
  TextWriter ahead_{1};   ///< loads what the next step finds in registers
  std::string before_;    ///< what the nest before postpones
  std::string numbers_;   ///< sets numbers of rows that the nest reads
  CountedRowText reductions_;
  CountedProductText products_;
  CountedSendText sends_;
};

}  // namespace

CountedNestParts counted_nest_parts(const CountedLoop& loop, size_t nest,
                                    const NestProgram& program,
                                    const std::vector<Parameter>& parameters,
                                    const std::string& places, const std::string& meeting,
                                    const std::string& postponed, const std::string& numbers) {
  return CountedNestText(loop, nest, program, parameters, places, meeting)
      .write(postponed, numbers);
}

std::string counted_nest_beginning(const CountedLoop& loop, size_t nest, const NestProgram& program,
                                   const std::vector<Parameter>& parameters,
                                   const std::string& places) {
  return CountedNestText(loop, nest, program, parameters, places, {}).write_beginning();
}

}  // namespace graphc::core::cuda::internal
