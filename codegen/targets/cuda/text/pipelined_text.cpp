// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/pipelined_text.h"

#include <set>

#include "codegen/targets/cuda/text/pipelined_form.h"
#include "codegen/targets/cuda/text/pipelined_fragments.h"
#include "codegen/targets/cuda/text/shared_text.h"
#include "codegen/targets/cuda/text/tile_body.h"

namespace graphc::core::cuda::internal {
namespace {

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
  std::string even_column() const override { return MmaLayout::even_column(); }
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
    const bool in_panels = side == 1 && layout_.in_panels();
    const std::string line = fmt::format("thread / {}", layout_.copies_of_line(side));
    std::vector<std::string> index =
        body_.outer_terms(side == 0 ? ParameterKind::left_outer : ParameterKind::right_outer, 0);
    const std::string lines =
        operand.along_terms ? fmt::format("first_{} + {}", axis(side), line) : line;
    index.push_back(fmt::format("({}) * {}", lines, stride(side)));
    if (in_panels)
      index.push_back(fmt::format("first_column / {} * {}", layout_.columns(),
                                  body_.name_of(ParameterKind::right_block, 0)));
    else if (!operand.along_terms)
      index.push_back(fmt::format("first_{}", axis(side)));
    index.push_back(first_in_line(side));
    if (!operand.along_terms)
      text.line("const unsigned {}_bytes = {};", name, bytes_of_lines(side));
    text.line("const {}* {}_from = &{}[{}];",
              stored_type_text(side == 0 ? program_.products[0].left : program_.products[0].right),
              name, body_.name_of(side == 0 ? ParameterKind::left : ParameterKind::right, 0),
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
  /// Of a block of panels, for each term.
  int elements_of_panels() const { return layout_.columns() * layout_.parts(); }
  int elements_of_copy(int side) const {
    return int(layout_.operand(side).bytes / layout_.element_bytes(side));
  }
  /// The bytes of a copy of the thread that are there, of a line of so many elements.
  std::string bytes_there(int side, std::string_view elements) const {
    return fmt::format("(unsigned)(max(min({} - {}, {}), 0) * {})", elements, first_in_line(side),
                       elements_of_copy(side), layout_.element_bytes(side));
  }
  /// The same of lines side by side; a block of panels has them all, or those of three parts.
  std::string bytes_of_lines(int side) const {
    if (side == 0 || !layout_.in_panels())
      return bytes_there(side, fmt::format("{}s_there", axis(side)));
    if (elements_of_panels() == layout_.lines(1))
      return fmt::format("{}u", layout_.operand(side).bytes);
    return bytes_there(side, std::to_string(elements_of_panels()));
  }
  /// From one line of memory to the next.
  std::string stride(int side) const {
    if (side == 1 && layout_.in_panels()) return std::to_string(elements_of_panels());
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
              [](int, int part) { return fmt::format("sums_0[{}][at_row][at_column]", part); }),
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
      text_.line("float {}[{}][{}][{}] = {{}};", name, layout_.parts(), sums_.rows(),
                 sums_.columns());
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
    sums_.each_sum(text_, layout_.parts(), [&] {
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
  const PipelinedFragments fragments_;
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
