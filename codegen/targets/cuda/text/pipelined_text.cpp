// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/pipelined_text.h"

#include <set>

#include "codegen/targets/cuda/text/pipelined_form.h"
#include "codegen/targets/cuda/text/shared_text.h"
#include "codegen/targets/cuda/text/tile_body.h"

namespace graphc::core::cuda::internal {
namespace {

constexpr std::string_view kSides[] = {"left", "right"};

/// Copies so many bytes from memory, of which `there` are read; the others become zeros. Copies of
/// 16 bytes bypass the first-level cache.
std::string copy_function(int bytes) {
  return fmt::format(
      R"(__device__ __forceinline__ void copy_{0}(unsigned to, const void* from, unsigned there) {{
  asm volatile("cp.async.{1}.shared.global [%0], [%1], {0}, %2;"
               : : "r"(to), "l"(from), "r"(there) : "memory");
}}

)",
      bytes, bytes == 16 ? "cg" : "ca");
}

/// Waits for all groups of copies but so many of the last.
std::string await_function(int groups) {
  return fmt::format(R"(__device__ __forceinline__ void await_copies_but_{0}() {{
  asm volatile("cp.async.wait_group {0};" : : : "memory");
}}

)",
                     groups);
}

class PipelineSums : public TileSums {
 public:
  explicit PipelineSums(const MmaLayout& layout)
      : TileSums(layout.rows, layout.columns), layout_(layout) {}
  void declare(TextWriter& text) const override { layout_.declare(text); }
  std::string row() const override { return MmaLayout::row(); }
  std::string column() const override { return MmaLayout::column(); }
  std::string first_column() const override { return MmaLayout::first_column(); }
  std::string has_sums() const override { return {}; }

 private:
  const MmaLayout layout_;
};

/// Copies of a stage of both operands.
class CopyText {
 public:
  CopyText(const NestProgram& program, const NestForm& form, const PipelineLayout& layout,
           const NestBody& body)
      : program_(program), form_(form), layout_(layout), body_(body) {}

  /// Declares what the thread copies first, and how much of it is there in every stage.
  void declare(TextWriter& text, int side) const {
    const CopiedOperand& operand = layout_.operand(side);
    const std::string_view name = kSides[side];
    const std::string line = fmt::format("thread / {}", layout_.copies_of_line(side));
    std::vector<std::string> index =
        body_.outer_terms(side == 0 ? ParameterKind::left_outer : ParameterKind::right_outer, 0);
    const std::string lines =
        operand.along_terms ? fmt::format("first_{} + {}", axis(side), line) : line;
    index.push_back(fmt::format("({}) * {}", lines, stride(side)));
    if (!operand.along_terms) index.push_back(fmt::format("first_{}", axis(side)));
    index.push_back(first_in_line(side));
    if (!operand.along_terms)
      text.line("const unsigned {}_bytes = {};", name,
                bytes_there(side, fmt::format("{}s_there", axis(side))));
    text.line("const {}* {}_from = &{}[{}];", stored_type_text(program_.products[0].left), name,
              body_.name_of(side == 0 ? ParameterKind::left : ParameterKind::right, 0),
              NestBody::sum_of(index));
    text.line("const unsigned {}_to = in_shared + {}u + (unsigned)({} * {} + thread % {} * {});",
              name, side == 0 ? 0 : layout_.bytes(0), line, layout_.pitch(side),
              layout_.copies_of_line(side), operand.bytes);
  }

  /// Begins the copies of the stage that comes next, if there is one, to the place `into`.
  void copy(TextWriter& text, std::string_view into) const {
    text.open("if (next_stage < stages)");
    text.line("const int terms_there = (int)min({} - next_stage * {}ll, {}ll);",
              body_.name_of(ParameterKind::k, 0), layout_.terms(), layout_.terms());
    for (int side = 0; side < 2; ++side) copy(text, side, into);
    text.close();
    text.line("end_copies();");
    text.line("next_stage = next_stage + 1;");
  }

 private:
  void copy(TextWriter& text, int side, std::string_view into) const {
    const CopiedOperand& operand = layout_.operand(side);
    const std::string_view name = kSides[side];
    const int per_line = layout_.copies_of_line(side);
    const int step = PipelineLayout::kThreads / per_line;
    if (operand.along_terms)
      text.line("const unsigned {}_bytes = {};", name, bytes_there(side, "terms_there"));
    text.line("#pragma unroll");
    text.open("for (int at = 0; at < {}; ++at)", layout_.copies_of_thread(side));
    const std::string lines =
        operand.along_terms ? fmt::format("{}s_there", axis(side)) : "terms_there";
    text.line(
        "copy_{0}({1}_to + {2} * {3}u + (unsigned)at * {4}u, &{1}_from[at * {5} * {6}], at * {5} + "
        "thread / {7} < {8} ? {1}_bytes : 0u);",
        operand.bytes, name, into, layout_.stage(), step * layout_.pitch(side), step,
        offset(stride(side)), per_line, lines);
    text.close();
    const std::string further = std::to_string(layout_.terms());
    text.line("{0}_from = &{0}_from[{1}];", name,
              operand.along_terms ? further : further + " * " + stride(side));
  }

  static std::string_view axis(int side) { return side == 0 ? "row" : "column"; }
  /// The thread's first element of a line of memory.
  std::string first_in_line(int side) const {
    return fmt::format("thread % {} * {}", layout_.copies_of_line(side), elements_of_copy(side));
  }
  int elements_of_copy(int side) const {
    return int(layout_.operand(side).bytes / layout_.element_bytes());
  }
  /// The bytes of a copy of the thread that are there, of a line of so many elements.
  std::string bytes_there(int side, std::string_view elements) const {
    return fmt::format("(unsigned)(max(min({} - {}, {}), 0) * {})", elements, first_in_line(side),
                       elements_of_copy(side), layout_.element_bytes());
  }
  /// From one line of memory to the next.
  std::string stride(int side) const {
    const bool along_terms = layout_.operand(side).along_terms;
    if (side == 0)
      return body_.name_of(along_terms ? ParameterKind::left_row : ParameterKind::left_k, 0);
    return body_.name_of(along_terms ? ParameterKind::right_column : ParameterKind::right_k, 0);
  }
  /// Within a stage an `int` counts them, unless a stride is too long.
  std::string offset(const std::string& stride) const {
    return form_.far ? stride : "(int)" + stride;
  }

  const NestProgram& program_;
  const NestForm& form_;
  const PipelineLayout& layout_;
  const NestBody& body_;
};

/// The fragments of a step, and their products.
class FragmentText {
 public:
  FragmentText(const NestProgram& program, const PipelineLayout& layout)
      : layout_(layout),
        sums_(layout.sums()),
        form_(mma_form(program.products[0].factors)),
        is_ready_(program.products[0].left == DType::bf16),
        is_split_(program.products[0].factors == Factors::split_tf32) {}

  /// Declares where a lane reads.
  void declare(TextWriter& text) const {
    for (int side = 0; side < 2; ++side) {
      if (!has_matrices(side)) continue;
      const std::string first = side == 0 ? "warp_row" : "warp_column";
      // Which row of 16 bytes of the four matrices the lane gives the address of.
      const std::string near = "lane % 8 + lane / 16 * 8", far = "lane / 8 % 2";
      std::string at;
      if (layout_.operand(side).along_terms) {
        at = side == 0 ? fmt::format("({} + lane % 16) * {} + lane / 16 * 16", first, pitch(side))
                       : fmt::format("({} + {}) * {} + {} * 16", first, near, pitch(side), far);
      } else {
        at = side == 0
                 ? fmt::format("({}) * {} + ({} + {} * 8) * 2", near, pitch(side), first, far)
                 : fmt::format("lane % 16 * {} + ({} + lane / 16 * 8) * 2", pitch(side), first);
      }
      text.line("const unsigned {}_at = in_shared + {}(unsigned)({});", kSides[side],
                side == 0 ? "" : fmt::format("{}u + ", layout_.bytes(0)), at);
    }
  }

  /// Adds the products of the stage at `place` to the sums of the piece.
  void multiply(TextWriter& text) const {
    text.open("if (warp_row < rows_there && warp_column < columns_there)");
    text.line("#pragma unroll");
    text.open("for (int at_term = 0; at_term < {}; at_term += {})", layout_.steps(), steps());
    text.line("unsigned left_fragment[{}][4];", sums_.rows / 2);
    if (is_split_) text.line("unsigned left_low[{}][4];", sums_.rows / 2);
    text.line("#pragma unroll");
    text.open("for (int at_row = 0; at_row < {}; at_row += 2)", sums_.rows);
    fragment(text, 0);
    text.close();
    text.line("#pragma unroll");
    text.open("for (int at_column = 0; at_column < {}; at_column += 4)", sums_.columns);
    text.line("unsigned right_fragment[4];");
    if (is_split_) text.line("unsigned right_low[4];");
    fragment(text, 1);
    text.line("#pragma unroll");
    text.open("for (int at_row = 0; at_row < {}; at_row += 2)", sums_.rows);
    for (const int half : {0, 1}) {
      // The small products first, so that they are not lost next to the large one.
      if (is_split_) {
        product(text, "left_low", "right_fragment", half);
        product(text, "left_fragment", "right_low", half);
      }
      product(text, "left_fragment", "right_fragment", half);
    }
    for (int i = 0; i < 4; ++i) text.close();
  }

 private:
  int64_t pitch(int side) const { return layout_.pitch(side); }
  /// Whether ldmatrix loads it: words of f32 cannot be transposed.
  bool has_matrices(int side) const { return is_ready_ || layout_.operand(side).along_terms; }
  /// Steps of 32 bytes of an instruction.
  int steps() const { return is_ready_ || form_.terms == 8 ? 1 : 2; }

  void product(TextWriter& text, std::string_view left, std::string_view right, int half) const {
    write_mma(text, form_, left,
              {fmt::format("{}[{}]", right, 2 * half), fmt::format("{}[{}]", right, 2 * half + 1)},
              "0", half == 0 ? "at_column" : "at_column + 2");
  }

  /// The four registers of the operand of a step.
  void fragment(TextWriter& text, int side) const {
    const std::string to = side == 0 ? "left_fragment[at_row / 2]" : std::string("right_fragment");
    if (is_ready_) return load(text, side, to, "at_term");
    text.line("unsigned words[{}];", 4 * steps());
    for (int step = 0; step < steps(); ++step) {
      load(text, side, "words", step == 0 ? "at_term" : fmt::format("(at_term + {})", step),
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
      const int first = side == 0 ? i / 2 * 4 + i % 2 : i % 2 * 4 + i / 2 * 2;
      text.line("{}[{}] = {}({}, {});", to, i, form_.rounded, value(first),
                value(first + (side == 0 ? 2 : 1)));
    }
  }

  /// Loads four registers `to`[first...] of the step `step` of the stage.
  void load(TextWriter& text, int side, const std::string& to, const std::string& step,
            int first = 0) const {
    if (!has_matrices(side)) return load_words(text, side, to, step, first);
    const CopiedOperand& operand = layout_.operand(side);
    const int64_t line = operand.along_terms ? pitch(side) : layout_.element_bytes();
    const int64_t of_step = operand.along_terms ? PipelineLayout::kStepBytes : 16 * pitch(side);
    const auto reg = [&](int i) { return fmt::format("\"=r\"({}[{}])", to, first + i); };
    text.line("asm volatile(");
    text.line("    \"ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 \"",
              operand.along_terms ? "" : ".trans");
    text.line("    \"{{%0, %1, %2, %3}}, [%4];\"");
    text.line("    : {}, {}, {}, {}", reg(0), reg(1), reg(2), reg(3));
    text.line("    : \"r\"({}_at + place * {}u + (unsigned)({} * {} + {} * {}))", kSides[side],
              layout_.stage(), step, of_step, side == 0 ? "at_row" : "at_column",
              line * (side == 0 ? 8 : 4));
    text.line("    : \"memory\");");
  }

  void load_words(TextWriter& text, int side, const std::string& to, const std::string& step,
                  int first) const {
    const int64_t words = pitch(side) / 4;
    const std::string line =
        side == 0 ? "warp_row + at_row * 8 + group" : "warp_column + at_column * 4 + group";
    text.open_block();
    text.line(
        "const float* at = &shared[place * {}u + {}u + (unsigned)(({} * 8 + in_group) * {} + {})];",
        layout_.stage() / 4, side == 0 ? 0 : layout_.bytes(0) / 4, step, words, line);
    // Of the left operand both rows of a term come before the next term, of the right one both
    // terms of a column before the next column.
    for (int i = 0; i < 4; ++i) {
      const int64_t term = side == 0 ? i / 2 : i % 2, other = side == 0 ? i % 2 : i / 2;
      text.line("{}[{}] = __float_as_uint(at[{}]);", to, first + i, 4 * words * term + 8 * other);
    }
    text.close();
  }

  const PipelineLayout& layout_;
  const MmaLayout sums_;
  const MmaForm form_;
  const bool is_ready_, is_split_;
};

class PipelinedText {
 public:
  PipelinedText(const NestProgram& program, const std::vector<Parameter>& parameters,
                const NestForm& form, NestGrid& grid)
      : form_(form),
        layout_(program, form),
        sums_(layout_.sums()),
        loops_(false),
        grid_(grid),
        body_(program, parameters,
              [](int, int) { return std::string("sums_0[0][at_row][at_column]"); }),
        copies_(program, form, layout_, body_),
        fragments_(program, layout_) {
    body_.pair(form.pipelined->pairs);
    body_.leave_rounding_to_stores();
  }

  const std::string& write() {
    text_.line("extern __shared__ __align__(16) float shared[];");
    text_.line("const unsigned in_shared = shared_address(shared);");
    text_.line("const int thread = {} * 16 + {};", grid_.thread('y'), grid_.thread('x'));
    sums_.declare(text_);
    fragments_.declare(text_);
    open_outer(text_, form_.outer, grid_);
    text_.open("{}", loops_.over_rows(grid_, "first_row", std::to_string(layout_.rows())));
    text_.open("{}", loops_.over_columns(grid_, "first_column", std::to_string(layout_.columns())));
    sum();
    TileBody elements(body_, sums_, loops_, true);
    elements.read_columns(text_);
    elements.finish(text_);
    // The next tile is copied to where this one was.
    text_.line("__syncthreads();");
    for (int i = 0; i < (form_.outer > 0 ? 3 : 2); ++i) text_.close();
    return text_.text();
  }

 private:
  void sum() {
    constexpr int ahead = PipelineLayout::kStages - 1;
    const std::string terms = body_.name_of(ParameterKind::k, 0);
    const auto sums = [&](std::string_view name) {
      text_.line("float {}[1][{}][{}] = {{}};", name, sums_.rows(), sums_.columns());
    };
    text_.line("// {} by {}: stages of {} terms, copied {} ahead.",
               body_.name_of(ParameterKind::left, 0), body_.name_of(ParameterKind::right, 0),
               layout_.terms(), ahead);
    sums("sums_0");
    text_.line("const int rows_there = (int)min(rows - first_row, {}ll);", layout_.rows());
    text_.line("const int columns_there = (int)min(columns - first_column, {}ll);",
               layout_.columns());
    text_.line("const int stages = (int)(({} + {}) / {});", terms, layout_.terms() - 1,
               layout_.terms());
    for (int side = 0; side < 2; ++side) copies_.declare(text_, side);
    text_.line("int next_stage = 0;");
    text_.line("unsigned place = 0u, next_place = {}u;", ahead);
    text_.line("#pragma unroll");
    text_.open("for (unsigned slot = 0u; slot < {}u; ++slot)", ahead);
    copies_.copy(text_, "slot");
    text_.close();
    const int of_piece = kPiece / layout_.terms();
    text_.open("for (int piece = 0; piece < stages; piece += {})", of_piece);
    sums("sums");
    text_.line("const int end = min(piece + {}, stages);", of_piece);
    text_.open("for (int stage = piece; stage < end; ++stage)");
    text_.line("await_copies_but_{}();", ahead - 1);
    text_.line("__syncthreads();");
    copies_.copy(text_, "next_place");
    fragments_.multiply(text_);
    for (const std::string_view at : {"place", "next_place"})
      text_.line("{0} = {0} == {1}u ? 0u : {0} + 1u;", at, ahead);
    text_.close();
    sums_.each_sum(text_, 1, [&] {
      text_.line("{0} = {0} + sums[at_part][at_row][at_column];",
                 "sums_0[at_part][at_row][at_column]");
    });
    text_.close();
  }

  const NestForm& form_;
  const PipelineLayout layout_;
  const PipelineSums sums_;
  const BlockLoops loops_;
  NestGrid& grid_;
  NestBody body_;
  const CopyText copies_;
  const FragmentText fragments_;
  TextWriter text_{1};
};

}  // namespace

std::string pipelined_functions(const NestForm& form) {
  std::string text(kSharedAddress);
  std::set<int> sizes;
  for (const CopiedOperand& operand : form.pipelined->operands) sizes.insert(operand.bytes);
  for (const int bytes : sizes) text += copy_function(bytes);
  text += R"(// Ends a group of copies.
__device__ __forceinline__ void end_copies() {
  asm volatile("cp.async.commit_group;" : : : "memory");
}

)";
  return text + await_function(PipelineLayout::kStages - 2);
}

std::string pipelined_body(const NestProgram& program, const std::vector<Parameter>& parameters,
                           const NestForm& form, NestGrid& grid) {
  return PipelinedText(program, parameters, form, grid).write();
}

}  // namespace graphc::core::cuda::internal
