// SPDX-License-Identifier: Apache-2.0
// Nests without products: elementwise work, sums along rows, sums over rows.
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/targets/cuda/text/kernel_text.h"
#include "codegen/targets/cuda/text/nest_body.h"
#include "codegen/targets/cuda/text/pipelined_form.h"
#include "codegen/targets/cuda/text/pipelined_text.h"
#include "codegen/targets/cuda/text/scalar_text.h"
#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

constexpr int kNestThreads = 256;
constexpr int kWarp = 32;
constexpr int64_t kMostBlocks = 2147483647;  ///< of a grid along x
constexpr int64_t kMaxGrid = 65535;          ///< along y and z
/// Limit of shared memory for the sums over rows.
constexpr int64_t kSharedOfColumns = 40 << 10;

class NestText {
 public:
  NestText(const NestProgram& program, const std::vector<Parameter>& parameters,
           const NestForm& form, NestGrid& grid)
      : program_(program),
        outer_(form.outer),
        loops_(form.owned),
        grid_(grid),
        thread_x_(grid.thread('x')),
        thread_y_(grid.thread('y')),
        body_(program, parameters) {
    body_.hand_on(form.handed_on);
  }

  /// The body of the function, without the braces.
  const std::string& write() {
    internal::open_outer(text_, outer_, grid_);
    if (program_.kind == NestKind::column_wise) {
      over_rows();
    } else if (body_.reductions().empty()) {
      each_element();
    } else {
      along_rows();
    }
    if (outer_ > 0) text_.close();
    return text_.text();
  }

 private:
  /// Opens the loop over a thread's rows. All threads reach the loop's joint operations; only those
  /// that have a row run the rest.
  void each_row() {
    text_.open("{}", loops_.over_rows(grid_, "first_row", grid_.threads('y')));
    text_.line("const long long row = first_row + {};", thread_y_);
    text_.open("if (row < {})", loops_.row_end());
  }
  void end_rows() {
    text_.close();
    text_.close();
  }

  // --- elementwise ---

  void each_element() {
    text_.line("// A thread an element.");
    each_row();
    text_.open("{}", loops_.over_columns(grid_, "first_column", grid_.threads('x')));
    text_.line("const long long column = first_column + {};", thread_x_);
    text_.open("if (column < {})", loops_.column_end());
    body_.write(text_, Level::once);
    body_.write(text_, Level::row);
    body_.write(text_, Level::element);
    text_.close();
    text_.close();
    end_rows();
  }

  // --- sums ---

  /// Writes the loop of index from begin to end by step around the element's instructions, in
  /// pieces of pieces: `depth` is the number of levels of variables that the sums pass through.
  void sum_in_pieces(const std::string& index, const std::string& begin, const std::string& end,
                     int step, int depth) {
    if (depth == 0) {
      text_.open("for (long long {0} = {1}; {0} < {2}; {0} += {3})", index, begin, end, step);
      body_.write(text_, Level::element);
      text_.close();
      return;
    }
    int64_t stride = step;
    for (int i = 0; i < depth; ++i) stride *= kPiece;
    const std::string first = fmt::format("first_{}", depth),
                      limit = fmt::format("limit_{}", depth);
    text_.open("for (long long {0} = {1}; {0} < {2}; {0} += {3})", first, begin, end, stride);
    text_.line("const long long {0} = {1} + {2} < {3} ? {1} + {2} : {3};", limit, first, stride,
               end);
    for (const Reduction& r : body_.reductions()) {
      text_.line("const {} before_{}_{} = {};", register_type_text(r.dtype), r.name, depth, r.name);
      text_.line("{} = {};", r.name, r.identity());
    }
    sum_in_pieces(index, first, limit, step, depth - 1);
    for (const Reduction& r : body_.reductions())
      text_.line("{} = {};", r.name, r.join(fmt::format("before_{}_{}", r.name, depth), r.name));
    text_.close();
  }

  void begin_sums() {
    for (const Reduction& r : body_.reductions())
      text_.line("{} {} = {};", register_type_text(r.dtype), r.name, r.identity());
  }

  /// One warp per row; the lanes' sums are combined in a tree.
  void along_rows() {
    text_.line("// A warp a row.");
    each_row();
    body_.write(text_, Level::once, thread_x_ + " < columns");
    body_.write(text_, Level::row, thread_x_ + " < columns");
    begin_sums();
    sum_in_pieces("column", thread_x_, "columns", kWarp, 2);
    text_.line("// The lanes meet in a tree.");
    text_.open("for (int lanes = {}; lanes > 0; lanes = lanes / 2)", kWarp / 2);
    for (const Reduction& r : body_.reductions()) {
      const bool narrow = size_of(r.dtype) < 4;
      const std::string other =
          fmt::format("__shfl_down_sync(0xffffffffu, {}{}, lanes)", narrow ? "(int)" : "", r.name);
      const std::string_view type = register_type_text(r.dtype);
      text_.line("const {} other_{} = {};", type, r.name,
                 narrow ? fmt::format("({}){}", type, other) : other);
      text_.line("{} = {};", r.name, r.join(r.name, "other_" + r.name));
    }
    text_.close();
    text_.open("if ({} == 0)", thread_x_);
    for (const Reduction& r : body_.reductions()) body_.write_result(text_, r, r.name);
    text_.close();
    end_rows();
  }

  /// One column per lane; the warps of a block share its rows, and their sums are combined in a
  /// tree.
  void over_rows() {
    const int warps = internal::column_warps(program_);
    text_.line("// A column a lane; the warps of a block share its rows.");
    for (const Reduction& r : body_.reductions())
      text_.line("__shared__ {} of_warps_{}[{}][{}];", register_type_text(r.dtype), r.name, warps,
                 kWarp);
    text_.open("{}", loops_.over_columns(grid_, "first", std::to_string(kWarp)));
    text_.line("const long long column = first + {};", thread_x_);
    begin_sums();
    text_.open("if (column < {})", loops_.column_end());
    body_.write(text_, Level::once, thread_y_ + " < rows");
    sum_in_pieces("row", thread_y_, "rows", warps, 2);
    text_.close();
    for (const Reduction& r : body_.reductions())
      text_.line("{} = {};", of_warps(r, thread_y_), r.name);
    text_.line("__syncthreads();");
    if (warps > 1) {
      text_.line("// The warps meet in a tree.");
      text_.open("for (int warps = {}; warps > 0; warps = warps / 2)", warps / 2);
      text_.open("if ({} < warps)", thread_y_);
      for (const Reduction& r : body_.reductions()) {
        const std::string mine = of_warps(r, thread_y_);
        text_.line("{} = {};", mine, r.join(mine, of_warps(r, thread_y_ + " + warps")));
      }
      text_.close();
      text_.line("__syncthreads();");
      text_.close();
    }
    text_.open("if ({} == 0 && column < {})", thread_y_, loops_.column_end());
    for (const Reduction& r : body_.reductions()) body_.write_result(text_, r, of_warps(r, "0"));
    text_.close();
    text_.line("__syncthreads();  // the next columns' sums go to the same places");
    text_.close();
  }

  /// The sum of a warp's rows in the thread's column.
  std::string of_warps(const Reduction& r, std::string_view warp) const {
    return fmt::format("of_warps_{}[{}][{}]", r.name, warp, thread_x_);
  }

  const NestProgram& program_;
  const int outer_;
  const internal::BlockLoops loops_;
  NestGrid& grid_;
  const std::string thread_x_, thread_y_;
  NestBody body_;
  TextWriter text_{1};
};

unsigned blocks_for(int64_t count, int64_t of_a_block, int64_t most) {
  return unsigned(std::min((count + of_a_block - 1) / of_a_block, most));
}

/// The smallest power of two that is at least `count`, and at most `most`.
unsigned power_of_two(int64_t count, unsigned most) {
  unsigned power = 1;
  while (power < most && power < count) power *= 2;
  return power;
}

bool reduces(const NestProgram& program) {
  return std::ranges::any_of(program.body,
                             [](const NestInstruction& in) { return in.kind == NestOp::reduce; });
}

Grid element_grid(const NestCall& call) {
  Grid grid;
  grid.threads[0] = power_of_two(call.unit, kNestThreads);
  grid.threads[1] = kNestThreads / grid.threads[0];
  grid.blocks[0] = blocks_for(call.unit, grid.threads[0], kMostBlocks);
  grid.blocks[1] = blocks_for(call.rows, grid.threads[1], kMaxGrid);
  return grid;
}

Grid row_grid(const NestCall& call) {
  Grid grid;
  grid.threads = {kWarp, kNestThreads / kWarp, 1};
  grid.blocks[1] = blocks_for(call.rows, grid.threads[1], kMaxGrid);
  return grid;
}

Grid column_grid(const NestProgram& program, const NestCall& call) {
  Grid grid;
  grid.threads = {kWarp, unsigned(internal::column_warps(program)), 1};
  grid.blocks[0] = blocks_for(call.unit, kWarp, kMostBlocks);
  return grid;
}

Grid tile_grid(const NestProgram& program, const NestCall& call, const NestForm& form) {
  const ProductTile tile = product_tile(program, form);
  Grid grid;
  grid.threads = {unsigned(tile.across), unsigned(tile.down), 1};
  grid.blocks[0] = blocks_for(call.unit, tile.block_columns(), kMostBlocks);
  grid.blocks[1] = blocks_for(call.rows, tile.block_rows(), kMaxGrid);
  return grid;
}

/// Bytes of one warp's sums over rows.
int64_t shared_of_a_warp(const NestProgram& program) {
  int64_t bytes = 0;
  for (const NestInstruction& in : program.body) {
    if (in.kind == NestOp::reduce)
      bytes += kWarp * size_of(program.operands[size_t(in.operand)].dtype);
  }
  return bytes;
}

/// The comment that describes a kernel.
std::string comment_of(const NestProgram& program, const NestCall& call, const NestForm& form) {
  std::string how = "row by row";
  if (program.kind == NestKind::column_wise) how = "over the rows";
  if (program.kind == NestKind::tiles) {
    const ProductTile tile = product_tile(program, form);
    how = fmt::format("in tiles of {} rows x {} columns{}", tile.block_rows(), tile.block_columns(),
                      on_tensor_cores(program) ? ", on tensor cores" : "");
  }
  return fmt::format("// {}, {}\n", in_comment(call.name), how);
}

}  // namespace

namespace internal {

std::string BlockLoops::over(NestGrid& grid, std::string_view index, std::string_view step,
                             char axis, std::string_view what) const {
  if (owned_)
    return fmt::format("for (long long {0} = {1}_begin; {0} < {1}_end; {0} += {2})", index, what,
                       step);
  return fmt::format(
      "for (long long {0} = (long long){3} * {2}; {0} < {1}s; {0} += (long long){4} * {2})", index,
      what, step, grid.block(axis), grid.blocks(axis));
}

std::string head_of(std::string_view name, const std::vector<Parameter>& parameters, int threads,
                    int blocks) {
  std::vector<std::string> listed;
  for (const Parameter& parameter : parameters)
    listed.push_back(fmt::format("\n    {} {}", parameter.type, parameter.name));
  return fmt::format("extern \"C\" __global__ void __launch_bounds__({}, {}) {}({}) {{\n", threads,
                     blocks, name, fmt::join(listed, ","));
}

void open_outer(TextWriter& text, int outer, NestGrid& grid) {
  if (outer == 0) return;
  std::vector<std::string> extents;
  for (int axis = 0; axis < outer; ++axis) extents.push_back(fmt::format("extent_{}", axis));
  text.line("const long long around = {};", fmt::join(extents, " * "));
  text.open("for (long long outer = {}; outer < around; outer += {})", grid.block('z'),
            grid.blocks('z'));
  text.line("long long rest = outer;");
  for (int axis = outer - 1; axis >= 0; --axis) {
    text.line("const long long outer_{} = rest % extent_{};", axis, axis);
    text.line("rest = rest / extent_{};", axis);
  }
}

std::string nest_body_text(const NestProgram& program, const std::vector<Parameter>& parameters,
                           const NestForm& form, NestGrid& grid) {
  if (form.pipelined) return pipelined_body(program, parameters, form, grid);
  if (program.kind == NestKind::tiles) return tile_body(program, parameters, form, grid);
  return NestText(program, parameters, form, grid).write();
}

int64_t shared_bytes(const NestProgram& program, const NestForm& form) {
  if (program.kind == NestKind::tiles) return tile_shared_bytes(program, form);
  return program.kind == NestKind::column_wise ? column_warps(program) * shared_of_a_warp(program)
                                               : 0;
}

int column_warps(const NestProgram& program) {
  const int64_t bytes = shared_of_a_warp(program);
  int warps = kNestThreads / kWarp;
  while (warps > 1 && warps * bytes > kSharedOfColumns) warps /= 2;
  GRAPHC_CHECK(warps * bytes <= kSharedOfColumns, "sums over rows that need {} bytes of a warp",
               bytes);
  return warps;
}

}  // namespace internal

KernelText nest_kernel(const Plan& plan, const NestCall& call, const NestForm& form,
                       std::string_view name) {
  const NestProgram& program = plan.programs[size_t(call.program)];
  const std::vector<Parameter> parameters = parameters_of(plan, call, form);
  NestGrid grid(NestGrid::Of::launch);
  const std::string body = internal::nest_body_text(program, parameters, form, grid);
  // Fragments of tensor cores and many sums would spill if two blocks shared the registers.
  const bool fills_registers = program.kind == NestKind::tiles && on_tensor_cores(program) &&
                               sums_of_thread(program, form) > kSumsBesideOthers;
  int beside = fills_registers ? 1 : 2;
  KernelText kernel{std::string(name), {}};
  if (form.pipelined) {
    beside = PipelineLayout(program, form).blocks_beside();
    kernel.text = internal::pipelined_functions(form);
  }
  kernel.text += helpers_of(body) + comment_of(program, call, form) +
                 internal::head_of(name, parameters, kNestThreads, beside) + body + "}\n";
  return kernel;
}

Grid nest_grid(const NestProgram& program, const NestCall& call) {
  return nest_grid(program, call, form_of(call));
}

Grid nest_grid(const NestProgram& program, const NestCall& call, const NestForm& form) {
  int64_t around = 1;
  for (int64_t extent : call.outer) around *= extent;
  Grid grid;
  if (program.kind == NestKind::tiles) {
    grid = tile_grid(program, call, form);
  } else if (!reduces(program)) {
    grid = element_grid(call);
  } else {
    grid = program.kind == NestKind::row_wise ? row_grid(call) : column_grid(program, call);
  }
  grid.blocks[2] = blocks_for(around, 1, kMaxGrid);
  return grid;
}

}  // namespace graphc::core::cuda
