// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/pipelined_fragments.h"

namespace graphc::core::cuda::internal {

PipelinedFragments::PipelinedFragments(const NestProgram& program, const PipelineLayout& layout)
    : layout_(layout),
      sums_(layout.sums()),
      form_(mma_form(program.products[0].factors)),
      is_split_(program.products[0].factors == Factors::split_tf32) {}

void PipelinedFragments::declare(TextWriter& text) const {
  for (int side = 0; side < 2; ++side) {
    if (!has_matrices(side)) continue;
    const std::string first = side == 0 ? "warp_row" : "warp_column";
    // Which row of 16 bytes of the four matrices the lane gives the address of.
    const std::string near = "lane % 8 + lane / 16 * 8", far = "lane / 8 % 2";
    const int next = layout_.next_columns();
    // Of rows of f32 a register has the first and the fifth of eight terms, and so of columns.
    const std::string term =
        is_ready(0) ? "lane % 16" : "(lane % 8 / 2 + lane % 2 * 4 + lane / 8 % 2 * 8)";
    std::string at;
    if (layout_.operand(side).along_terms) {
      at = side == 0 ? fmt::format("({} + lane % 16) * {} + lane / 16 * 16", first, pitch(side))
                     : fmt::format("({} + {}) * {} + {} * 16", first, near, pitch(side), far);
    } else {
      at = side == 0
               ? fmt::format("({}) * {} + ({} + {} * 8) * 2", near, pitch(side), first, far)
               : fmt::format("{} * {} + ({} + lane / 16 * {}) * 2", term, pitch(side), first, next);
    }
    text.line("const unsigned {}_at = in_shared + {}(unsigned)({});", kSides[side],
              side == 0 ? "" : fmt::format("{}u + ", layout_.bytes(0)), at);
  }
}

void PipelinedFragments::multiply(TextWriter& text) const {
  text.open("if (warp_row < rows_there && warp_column < columns_there)");
  text.line("#pragma unroll");
  text.open("for (int at_term = 0; at_term < {}; at_term += {})", layout_.steps(), steps(1));
  text.line("unsigned left_fragment[{}][4];", sums_.rows / 2);
  if (is_split_) text.line("unsigned left_low[{}][4];", sums_.rows / 2);
  text.line("#pragma unroll");
  text.open("for (int at_row = 0; at_row < {}; at_row += 2)", sums_.rows);
  fragment(text, 0);
  text.close();
  // Two instructions beside each other.
  text.line("#pragma unroll");
  text.open("for (int at_two = 0; at_two < {}; ++at_two)", layout_.instructions() / 2);
  text.line("unsigned right_fragment[4];");
  if (is_split_) text.line("unsigned right_low[4];");
  fragment(text, 1);
  text.line("#pragma unroll");
  text.open("for (int at_row = 0; at_row < {}; at_row += 2)", sums_.rows);
  for (const int half : {0, 1}) {
    const bool asks = half == 1 && layout_.parts() == 3;
    if (asks) text.open("if (at_two == 0)");  // there is no fourth part
    // The small products first, so that they are not lost next to the large one.
    if (is_split_) {
      product(text, "left_low", "right_fragment", half);
      product(text, "left_fragment", "right_low", half);
    }
    product(text, "left_fragment", "right_fragment", half);
    if (asks) text.close();
  }
  for (int i = 0; i < 4; ++i) text.close();
}

void PipelinedFragments::product(TextWriter& text, std::string_view left, std::string_view right,
                                 int half) const {
  // The instructions of a part, of whose sums each has two columns of a lane.
  const int of_part = sums_.columns / 2;
  std::string part = "0", column = half == 0 ? "at_two * 4" : "at_two * 4 + 2";
  if (layout_.parts() > 1 && of_part == 1) {
    part = half == 0 ? "at_two * 2" : "at_two * 2 + 1";
    column = "0";
  } else if (layout_.parts() > 1) {
    part = "at_two";
    column = half == 0 ? "0" : "2";
  }
  write_mma(text, form_, left,
            {fmt::format("{}[{}]", right, 2 * half), fmt::format("{}[{}]", right, 2 * half + 1)},
            part, column);
}

void PipelinedFragments::fragment(TextWriter& text, int side) const {
  const std::string to = side == 0 ? "left_fragment[at_row / 2]" : std::string("right_fragment");
  if (is_ready(side)) return load(text, side, to, "at_term");
  text.line("unsigned words[{}];", 4 * steps(side));
  // The loop counts steps of the right operand.
  const std::string_view first = steps(side) > steps(1) ? "at_term * 2" : "at_term";
  for (int step = 0; step < steps(side); ++step) {
    load(text, side, "words",
         step == 0 && first == "at_term" ? "at_term" : fmt::format("({} + {})", first, step),
         4 * step);
  }
  const auto value = [](int word) { return fmt::format("__uint_as_float(words[{}])", word); };
  for (int i = 0; i < 4; ++i) {
    if (form_.terms == 8) {
      text.line("{}[{}] = {}({});", to, i, form_.rounded, value(i));
      if (is_split_)
        text.line("{}[{}] = tf32_bits({} - tf32_value({}[{}]));",
                  side == 0 ? "left_low[at_row / 2]" : "right_low", i, value(i), to, i);
      continue;
    }
    // A register has the first and the fifth of eight terms of a step, in both operands.
    const int word = side == 0 ? i / 2 * 4 + i % 2 : i % 2 * 4 + i / 2 * 2;
    text.line("{}[{}] = {}({}, {});", to, i, form_.rounded, value(word),
              value(word + (side == 0 ? 2 : 1)));
  }
}

void PipelinedFragments::load(TextWriter& text, int side, const std::string& to,
                              const std::string& step, int first) const {
  if (!has_matrices(side)) return load_words(text, side, to, step, first);
  const CopiedOperand& operand = layout_.operand(side);
  const int64_t line = operand.along_terms ? pitch(side) : layout_.element_bytes(side);
  const int64_t of_step = operand.along_terms ? PipelineLayout::kStepBytes : 16 * pitch(side);
  const auto reg = [&](int i) { return fmt::format("\"=r\"({}[{}])", to, first + i); };
  text.line("asm volatile(");
  text.line("    \"ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 \"",
            operand.along_terms ? "" : ".trans");
  text.line("    \"{{%0, %1, %2, %3}}, [%4];\"");
  text.line("    : {}, {}, {}, {}", reg(0), reg(1), reg(2), reg(3));
  text.line("    : \"r\"({}_at + place * {}u + (unsigned)({} * {} + {} * {}))", kSides[side],
            layout_.stage(), step, of_step, side == 0 ? "at_row" : "at_two",
            line * (side == 0 ? 8 : layout_.next_two_columns()));
  text.line("    : \"memory\");");
}

void PipelinedFragments::load_words(TextWriter& text, int side, const std::string& to,
                                    const std::string& step, int first) const {
  const int64_t words = pitch(side) / 4;
  const std::string line =
      side == 0 ? "warp_row + at_row * 8 + group"
                : fmt::format("warp_column + at_two * {} + group", layout_.next_two_columns());
  const int next = side == 0 ? 8 : layout_.next_columns();
  text.open_block();
  text.line(
      "const float* at = &shared[place * {}u + {}u + (unsigned)(({} * 8 + in_group) * {} + {})];",
      layout_.stage() / 4, side == 0 ? 0 : layout_.bytes(0) / 4, step, words, line);
  // Of the left operand both rows of a term come before the next term, of the right one both
  // terms of a column before the next column.
  for (int i = 0; i < 4; ++i) {
    const int64_t term = side == 0 ? i / 2 : i % 2, other = side == 0 ? i % 2 : i / 2;
    text.line("{}[{}] = __float_as_uint(at[{}]);", to, first + i, 4 * words * term + next * other);
  }
  text.close();
}

}  // namespace graphc::core::cuda::internal
