// SPDX-License-Identifier: Apache-2.0
// Kernels as CUDA text, the input of NVRTC, and how each is launched.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/targets/cuda/text/nest_parameters.h"
#include "codegen/targets/cuda/text/product_text.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda {

/// Blocks and threads of a launch.
struct Grid {
  std::array<unsigned, 3> blocks{1, 1, 1}, threads{1, 1, 1};
};

/// One `__global__` function and the device functions it calls. The text alone determines what it
/// does.
struct KernelText {
  std::string name;
  std::string text;
};

ProductTile product_tile(const NestProgram& program, const NestForm& form);
/// Whether a thread's sums of that tile fit in registers.
bool fits_registers(const NestProgram& program, const NestForm& form);
/// The number of those sums, and the most that leave registers for a second block on the
/// multiprocessor.
int sums_of_thread(const NestProgram& program, const NestForm& form);
inline constexpr int kSumsBesideOthers = 32;

/// The kernel of a nest that is launched by itself; `name` is the name of the function. `form` is
/// launched_form_of(), or form_of().
KernelText nest_kernel(const Plan& plan, const NestCall& call, const NestForm& form,
                       std::string_view name);
/// The launch of a call of it. Zero blocks: there is nothing to do.
Grid nest_grid(const NestProgram& program, const NestCall& call, const NestForm& form);
/// The same where it is not launched by itself: in a loop, or beside others.
Grid nest_grid(const NestProgram& program, const NestCall& call);

/// Maximum bytes of parameters of a kernel, from CUDA 12.1 on.
constexpr size_t kMostParameterBytes = 32764;

namespace internal {

/// The loops of a block over its part of a nest. The blocks of a launch divide a nest in turns, by
/// their position in the grid. In the kernel of a loop whose blocks own rows and columns
/// (NestForm::owned), a block's part is from row_begin to row_end and column_begin to column_end.
class BlockLoops {
 public:
  explicit BlockLoops(bool owned) : owned_(owned) {}

  /// for (index = the block's first row; ...), in steps of `rows`.
  std::string over_rows(NestGrid& grid, std::string_view index, std::string_view rows) const {
    return over(grid, index, rows, 'y', "row");
  }
  std::string over_columns(NestGrid& grid, std::string_view index, std::string_view columns) const {
    return over(grid, index, columns, 'x', "column");
  }
  /// Upper bounds of the block's rows and columns.
  std::string_view row_end() const { return owned_ ? "row_end" : "rows"; }
  std::string_view column_begin() const { return owned_ ? "column_begin" : "0"; }
  std::string_view column_end() const { return owned_ ? "column_end" : "columns"; }

 private:
  std::string over(NestGrid& grid, std::string_view index, std::string_view step, char axis,
                   std::string_view what) const;

  bool owned_;
};

/// The body of a nest's kernel, without the braces, indented by one level. What it reads of a grid
/// of its own must be in scope.
std::string nest_body_text(const NestProgram& program, const std::vector<Parameter>& parameters,
                           const NestForm& form, NestGrid& grid);
/// Bytes of shared memory that the nest takes.
int64_t shared_bytes(const NestProgram& program, const NestForm& form);

/// The head of the function: its parameters, its name, the maximum number of threads of its blocks,
/// and the number of blocks that the registers of a multiprocessor must suffice for.
std::string head_of(std::string_view name, const std::vector<Parameter>& parameters, int threads,
                    int blocks);
/// Opens the loops over the outer axes, if there are any: brings one index for each into scope.
void open_outer(TextWriter& text, int outer, NestGrid& grid);
/// Warps of a block that share the rows of a column.
int column_warps(const NestProgram& program);
int64_t tile_shared_bytes(const NestProgram& program, const NestForm& form);
/// Copies the block's columns of a product's right operand into shared memory, where they stay
/// (NestForm::resident).
std::string resident_text(const NestProgram& program, const std::vector<Parameter>& parameters,
                          const NestForm& form, int product);
/// Elements of shared memory that they take, for `columns` of a matrix with `k` rows.
int64_t resident_elements(const NestProgram& program, const NestForm& form, size_t product,
                          int64_t columns, int64_t k);
/// Copies the block's rows of a product's left operand into shared memory (NestForm::exchanged):
/// first those of the first step, with zeros where there are none, then a second copy, all zeros.
/// Without `given` both copies are zeros.
std::string exchange_text(const NestProgram& program, const std::vector<Parameter>& parameters,
                          const NestForm& form, int product, bool given);
/// Elements of shared memory of one copy, for `rows` of an operand of `k` columns.
int64_t exchanged_elements(const NestProgram& program, const NestForm& form, int64_t rows,
                           int64_t k);
/// The layout of such an operand in shared memory: a HandedOn without the variable and the store.
HandedOn exchanged_form(const NestProgram& program, const NestForm& form, const std::string& terms);
/// The body of the kernel of a nest with products, without the braces.
std::string tile_body(const NestProgram& program, const std::vector<Parameter>& parameters,
                      const NestForm& form, NestGrid& grid);

}  // namespace internal
}  // namespace graphc::core::cuda
