// SPDX-License-Identifier: Apache-2.0
// The nests of a counted loop (counted_loop.h). All of them assign elements to lanes in the same
// way: that of the results of mma.sync.
#include <algorithm>

#include "codegen/targets/cuda/loops/counted_text.h"
#include "codegen/targets/cuda/text/nest_body.h"

namespace graphc::core::cuda::internal {
namespace {

/// Terms whose products are summed in one variable (product_text.h), by the instructions for them.
int steps_of_piece(const CountedProduct& product) { return kPiece / product.terms_of_step; }

class CountedNestText {
 public:
  CountedNestText(const CountedLoop& loop, size_t nest, const NestProgram& program,
                  const std::vector<Parameter>& parameters)
      : loop_(loop),
        index_(nest),
        nest_(loop.nests[nest]),
        program_(program),
        columns_(2 * nest_.tiles_of_warp),
        body_(program, parameters, [](int product, int part) {
          return fmt::format("sums_{}[{}][at_row][at_column]", product, part);
        }) {}

  const std::string& write() {
    text_.line(
        "// A lane has rows group and group + 8 of a tile, and columns 2 in_group and 2 "
        "in_group + 1 of");
    text_.line("// {} unit {}.", nest_.tiles_of_warp, nest_.tiles_of_warp == 1 ? "tile" : "tiles");
    text_.line("const int unit_tile = {};", unit_tile_text(nest_));
    if (nest_.splits() > 1) text_.line("const int split = warp / {};", nest_.warps);
    text_.line("const long long first_column = column_begin + unit_tile * {} + in_group * 2;",
               kUnits);
    if (loop_.row_tiles == 1) {
      text_.line("const int row_tile = 0;");
      write_tile();
    } else {
      write_waits();
      text_.open("for (int row_tile = 0; row_tile < {}; ++row_tile)", loop_.row_tiles);
      write_tile();
      text_.close();
    }
    return text_.text();
  }

 private:
  const CountedProduct& product(size_t p) const {
    return loop_.products[loop_.number_of(index_, p)];
  }
  /// The condition under which a warp finishes the elements of a tile; empty: always.
  std::string finishes() const {
    return nest_.splits() == 1 ? std::string()
                               : fmt::format("split == row_tile % {}", nest_.splits());
  }
  void open_finishing() {
    if (nest_.splits() == 1) return text_.open_block();
    text_.open("if ({})", finishes());
  }

  void write_tile() {
    // What depends on no exchange is loaded before it is waited for.
    const bool ahead = !program_.products.empty() && body_.element_loads() > 0;
    if (ahead) {
      body_.declare_ahead(text_, 2, columns_);
      open_finishing();
      open_elements();
      body_.load_ahead(text_);
      close_elements();
      text_.close();
    }
    if (loop_.row_tiles == 1) write_waits();
    for (size_t p = 0; p < program_.products.size(); ++p) multiply(p);
    if (nest_.splits() > 1 && !program_.products.empty()) hand_over();
    open_finishing();
    for (size_t p = 0; p < program_.products.size() && nest_.splits() > 1; ++p) take_over(p);
    body_.declare_kept(text_, 2, columns_);
    write_body();
    send();
    text_.line("// Stores wait behind what peers wait for.");
    open_elements();
    body_.store_kept(text_);
    close_elements();
    text_.close();
  }

  void write_waits() {
    for (size_t p = 0; p < program_.products.size(); ++p) {
      const CountedProduct& of = product(p);
      const std::string name = of.name();
      // The first step reads what was there before it.
      if (of.next_step) text_.open("if (iteration > 0)");
      text_.line(
          "await_bytes(counter_{} + (unsigned)(iteration % 2) * 8u, (unsigned)({} / 2 % 2), "
          "{}u);",
          name, of.next_step ? "(iteration - 1)" : "iteration", of.bytes_of_use);
      if (of.next_step) text_.close();
    }
  }

  /// The sums of a split's terms, in pieces.
  void multiply(size_t p) {
    const CountedProduct& of = product(p);
    const std::string name = of.name();
    const int parts = program_.products[p].parts;
    const bool pieces = of.steps_of_warp > steps_of_piece(of);
    text_.line("// {} by {}: terms in the order of those who made them.",
               body_.name_of(ParameterKind::left, int(p)),
               body_.name_of(ParameterKind::right, int(p)));
    text_.line("float sums_{}[{}][2][{}] = {{}};", p, parts, columns_);
    text_.open_block();
    if (pieces) text_.line("float piece[{}][2][{}] = {{}};", parts, columns_);
    text_.line("const unsigned operand = operand_{} + (unsigned)(iteration % 2) * {}u;", name,
               4 * of.operand_words);
    const auto steps = [&](int begin, int end) {
      text_.open("for (int at = {}; at < {}; ++at)", begin, end);
      step(p, begin, pieces ? "piece" : fmt::format("sums_{}", p));
      if (pieces) {
        text_.open("if (at % {0} == {0} - 1)", steps_of_piece(of));
        add_piece(p, true);
        text_.close();
      }
      text_.close();
    };
    if (of.in_registers > 0) {
      text_.line("#pragma unroll");
      steps(0, of.in_registers);
    }
    if (of.in_registers < of.steps_of_warp) {
      text_.line("#pragma unroll 4");
      steps(of.in_registers, of.steps_of_warp);
    }
    if (pieces) add_piece(p, false);
    text_.close();
  }

  /// Adds the sums of a piece to the others.
  void add_piece(size_t p, bool again) {
    each_sum(program_.products[p].parts, [&] {
      const std::string_view at = "[at_part][at_row][at_column]";
      text_.line("sums_{0}{1} = sums_{0}{1} + piece{1};", p, at);
      if (again) text_.line("piece{} = 0.0f;", at);
    });
  }

  template <typename Write>
  void each_sum(int parts, const Write& write) {
    const std::pair<const char*, int> axes[] = {
        {"at_part", parts}, {"at_row", 2}, {"at_column", columns_}};
    for (const auto& [name, extent] : axes) {
      text_.line("#pragma unroll");
      text_.open("for (int {0} = 0; {0} < {1}; ++{0})", name, extent);
    }
    write();
    for (int i = 0; i < 3; ++i) text_.close();
  }

  /// The instructions for the terms of a step.
  void step(size_t p, int begin, const std::string& sums) {
    const CountedProduct& of = product(p);
    const Factors factors = of.factors;
    const bool in_registers = begin < of.in_registers;
    text_.line("const int step = {}at;", first_step_text(nest_, of));
    const bool is_partial = of.steps_of_warp * nest_.splits() > of.steps;
    if (is_partial) text_.open("if (step < {})", of.steps);
    text_.line("unsigned left[4];");
    text_.line("load_words(left, operand + (unsigned)((row_tile * {} + step) * 32 + lane) * 16u);",
               of.steps);
    const int words = of.loads_of_step() * 4;
    if (!in_registers) {
      text_.line("unsigned right[{}];", words);
      text_.line("#pragma unroll");
      text_.open("for (int load = 0; load < {}; ++load)", of.loads_of_step());
      text_.line(
          "load_words(&right[load * 4], more_weights_{} + (unsigned)(((warp * {} + at - {}) * "
          "{} + load) * 32 + lane) * 16u);",
          of.name(), of.steps_of_warp - of.in_registers, of.in_registers, of.loads_of_step());
      text_.close();
    }
    const bool split = factors == Factors::split_tf32;
    if (split) split_words("left", "left", "4");
    const std::string right =
        in_registers ? fmt::format("weights_{}[at]", of.name()) : std::string("right");
    const int tiles = nest_.tiles_of_warp;
    text_.line("#pragma unroll");
    text_.open("for (int tile = 0; tile < {}; ++tile)", program_.products[p].parts * tiles);
    if (tiles == 1)
      text_.line("const int at_part = tile, at_column = 0;");
    else
      text_.line("const int at_part = tile / {0}, at_column = tile % {0} * 2;", tiles);
    if (split) {
      text_.line("unsigned pair[2];");
      for (int i = 0; i < 2; ++i) text_.line("pair[{0}] = {1}[tile * 2 + {0}];", i, right);
      split_words("pair", "right", "2");
      instruction(factors, sums, "left_low", "right_high[0]", "right_high[1]");
      instruction(factors, sums, "left_high", "right_low[0]", "right_low[1]");
      instruction(factors, sums, "left_high", "right_high[0]", "right_high[1]");
    } else {
      instruction(factors, sums, "left", right + "[tile * 2]", right + "[tile * 2 + 1]");
    }
    text_.close();
    if (is_partial) text_.close();
  }

  /// The two tf32 whose sum is almost an f32, of each of some words.
  void split_words(std::string_view words, std::string_view side, std::string_view count) {
    text_.line("unsigned {0}_high[{1}], {0}_low[{1}];", side, count);
    text_.line("#pragma unroll");
    text_.open("for (int word = 0; word < {}; ++word)", count);
    text_.line("{}_high[word] = tf32_bits(__uint_as_float({}[word]));", side, words);
    text_.line(
        "{0}_low[word] = tf32_bits(__uint_as_float({1}[word]) - tf32_value({0}_high[word]));", side,
        words);
    text_.close();
  }

  void instruction(Factors factors, const std::string& sums, std::string_view left,
                   std::string_view first, std::string_view second) {
    text_.line("asm volatile(");
    text_.line("    \"mma.sync.aligned.{} \"", mma_form(factors).name);
    text_.line("    \"{{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};\"");
    text_.line("    : \"+f\"({0}[at_part][0][at_column]), \"+f\"({0}[at_part][0][at_column + 1]),",
               sums);
    text_.line("      \"+f\"({0}[at_part][1][at_column]), \"+f\"({0}[at_part][1][at_column + 1])",
               sums);
    text_.line("    : \"r\"({0}[0]), \"r\"({0}[1]), \"r\"({0}[2]), \"r\"({0}[3]),", left);
    text_.line("      \"r\"({}), \"r\"({}));", first, second);
  }

  /// Where the sums of a split for a tile of rows lie until the warp takes them that finishes it.
  /// Two tiles of rows have places of their own: who writes there has met who read there last.
  std::string handed_place(size_t p, std::string_view split) const {
    const CountedProduct& of = product(p);
    const int of_warp = of.words_of_step / 2 * 4;
    return fmt::format(
        "shared[{5} + ((row_tile % 2 * {0} + {1} * {2} + warp % {2}) * {3} + (at_part * 2 + "
        "at_row) * {4} + at_column) * 32 + lane]",
        kCountedWarps, split, nest_.warps, of_warp, columns_, of.sums_at);
  }

  void hand_over() {
    text_.line("// The splits of the terms meet: every warp finishes its tiles of rows.");
    text_.open("if (split != row_tile % {})", nest_.splits());
    for (size_t p = 0; p < program_.products.size(); ++p) {
      each_sum(program_.products[p].parts, [&] {
        text_.line("{} = sums_{}[at_part][at_row][at_column];", handed_place(p, "split"), p);
      });
    }
    text_.close();
    text_.line("__syncthreads();");
  }

  /// Adds the sums of all splits, in their order.
  void take_over(size_t p) {
    each_sum(program_.products[p].parts, [&] {
      text_.line("const float own = sums_{}[at_part][at_row][at_column];", p);
      text_.line("float sum = 0.0f;");
      text_.line("#pragma unroll");
      text_.open("for (int from = 0; from < {}; ++from)", nest_.splits());
      text_.line("sum = sum + (from == split ? own : {});", handed_place(p, "from"));
      text_.close();
      text_.line("sums_{}[at_part][at_row][at_column] = sum;", p);
    });
  }

  void open_elements() {
    text_.line("#pragma unroll");
    text_.open("for (int at_row = 0; at_row < 2; ++at_row)");
    text_.line("const long long row = row_begin + row_tile * {} + at_row * 8 + group;", kTileRows);
    text_.open("if (row < row_end)");
    open_columns();
  }
  void open_columns() {
    text_.line("#pragma unroll");
    text_.open("for (int at_column = 0; at_column < {}; ++at_column)", columns_);
    text_.line("const long long column = first_column + at_column / 2 * {} + at_column % 2;",
               kUnits);
    text_.open("if (column < column_end)");
  }
  void close_elements() {
    for (int i = 0; i < 4; ++i) text_.close();
  }

  void write_body() {
    text_.line("#pragma unroll");
    text_.open("for (int at_row = 0; at_row < 2; ++at_row)");
    text_.line("const long long row = row_begin + row_tile * {} + at_row * 8 + group;", kTileRows);
    text_.open("if (row < row_end)");
    const std::string when = "first_column < column_end";
    body_.write(text_, Level::once, when);
    body_.write(text_, Level::row, when);
    open_columns();
    body_.write(text_, Level::element);
    close_elements();
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
    const bool pairs = of.strips_of_step() == 2 && of.words_of_send(store) == 4;
    for (int part = 0; part < store.parts; part += pairs ? 2 : 1)
      send_strip(of, store, part, pairs);
    if (has_idle) text_.close();
    text_.close();
    text_.close();
  }

  void send_strip(const CountedProduct& of, const CountedStore& store, int part, bool pair) {
    const Factors factors = of.factors;
    const auto value = [&](int at_part, int row, int column) {
      return fmt::format("{}[{}][tile * 2 + {}]", body_.kept_name(store.store.operand, at_part),
                         row, column);
    };
    std::vector<std::string> words;
    for (int strip = 0; strip < (pair ? 2 : 1); ++strip) {
      if (of.strips_of_step() == 2) {
        for (int row = 0; row < 2; ++row)
          words.push_back(fmt::format("{}({}, {})", mma_form(factors).rounded,
                                      value(part + strip, row, 0), value(part + strip, row, 1)));
      } else {
        const std::string_view function = factors == Factors::split_tf32
                                              ? std::string_view("__float_as_uint")
                                              : mma_form(factors).rounded;
        for (int i = 0; i < 4; ++i)
          words.push_back(fmt::format("{}({})", function, value(part, i % 2, i / 2)));
      }
    }
    const std::string strip = part == 0 ? "strip" : fmt::format("(strip + {})", part);
    const std::string place =
        of.strips_of_step() == 1
            ? fmt::format("((row_tile * {} + {}) * 32 + lane) * 16", of.steps, strip)
        : pair ? fmt::format("((row_tile * {} + {} / 2) * 32 + lane) * 16", of.steps, strip)
               : fmt::format(
                     "((row_tile * {0} + {1} / 2) * 32 + lane) * 16 + "
                     "{1} % 2 * 8",
                     of.steps, strip);
    text_.line("send_{}(operand + (unsigned)({}), counter,", words.size(), place);
    for (size_t i = 0; i < words.size(); ++i)
      text_.line("       {}{}", words[i], i + 1 < words.size() ? "," : ");");
  }

  const CountedLoop& loop_;
  const size_t index_;
  const CountedNest& nest_;
  const NestProgram& program_;
  const int columns_;  ///< of a lane
  NestBody body_;
  TextWriter text_{1};
};

}  // namespace

std::string counted_nest_text(const CountedLoop& loop, size_t nest, const NestProgram& program,
                              const std::vector<Parameter>& parameters) {
  return CountedNestText(loop, nest, program, parameters).write();
}

}  // namespace graphc::core::cuda::internal
