// SPDX-License-Identifier: Apache-2.0
// Kernels as CUDA text: what NVRTC compiles, and how each is launched.
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

/// One `__global__` function with the device functions it calls. Nothing outside the text decides
/// what it does.
struct KernelText {
  std::string name;
  std::string text;
};

ProductTile product_tile(const NestProgram& program, const NestForm& form);
/// Whether a thread's sums of that tile lie in registers.
bool fits_registers(const NestProgram& program, const NestForm& form);
/// Those sums, and how many of them leave registers for a second block beside it.
int sums_of_thread(const NestProgram& program, const NestForm& form);
inline constexpr int kSumsBesideOthers = 32;

/// The kernel of a nest. `name` is what the function is called.
KernelText nest_kernel(const Plan& plan, const NestCall& call, std::string_view name);
/// How a call of it is launched. No blocks (0): there is nothing to do.
Grid nest_grid(const NestProgram& program, const NestCall& call);

/// Bytes of parameters that a kernel may have: from CUDA 12.1 on.
constexpr size_t kMostParameterBytes = 32764;

namespace internal {

/// How many terms a variable takes in: the sums of so many go into the next, as on the CPU, so that
/// long sums are as exact as short ones.
inline constexpr int kPiece = 256;

/// The loops of a block over its part of a nest. The blocks of a launch share a nest out in turns,
/// by their place in the grid; in the kernel of a loop whose blocks own rows and columns
/// (NestForm::owned) what is theirs lies between row_begin and row_end, column_begin and
/// column_end.
class BlockLoops {
 public:
  explicit BlockLoops(bool owned) : owned_(owned) {}

  /// for (index = the block's first row; ...): `rows` of them at a time.
  std::string over_rows(std::string_view index, std::string_view rows) const {
    return over(index, rows, "y", "row");
  }
  std::string over_columns(std::string_view index, std::string_view columns) const {
    return over(index, columns, "x", "column");
  }
  /// Where the block's rows and columns end at the latest.
  std::string_view row_end() const { return owned_ ? "row_end" : "rows"; }
  std::string_view column_begin() const { return owned_ ? "column_begin" : "0"; }
  std::string_view column_end() const { return owned_ ? "column_end" : "columns"; }

 private:
  std::string over(std::string_view index, std::string_view step, std::string_view axis,
                   std::string_view what) const;

  bool owned_;
};

/// What stands between the braces of a nest's kernel; one step in.
std::string nest_body_text(const NestProgram& program, const std::vector<Parameter>& parameters,
                           const NestForm& form);
/// A nest's text with a grid of its own in the place of the launch's: thread_x, block_x, threads_x,
/// blocks_x and those of the other axes, which are in scope.
std::string with_own_grid(std::string text);
/// Bytes of shared memory that the nest takes.
int64_t shared_bytes(const NestProgram& program, const NestForm& form);

/// The head of the function: its parameters, its name, the most threads of its blocks, and how many
/// of those a multiprocessor has registers for.
std::string head_of(std::string_view name, const std::vector<Parameter>& parameters, int threads,
                    int blocks);
/// The loop over the axes around the rows, if there are any: one index for each in scope.
void open_outer(TextWriter& text, int outer);
/// Warps of a block that share the rows of a column.
int column_warps(const NestProgram& program);
int64_t tile_shared_bytes(const NestProgram& program, const NestForm& form);
/// Puts the block's columns of a product's right operand into shared memory, where they stay
/// (NestForm::held).
std::string hold_text(const NestProgram& program, const std::vector<Parameter>& parameters,
                      const NestForm& form, int product);
/// Elements of shared memory that it takes, for `columns` of a matrix with `k` rows.
int64_t held_elements(const NestProgram& program, const NestForm& form, size_t product,
                      int64_t columns, int64_t k);
/// Puts the block's rows of a product's left operand into shared memory (NestForm::exchanged), at
/// first those of the first step and zeros where there are none, twice: the second time zeros.
/// Without `given` both are zeros.
std::string exchange_text(const NestProgram& program, const std::vector<Parameter>& parameters,
                          const NestForm& form, int product, bool given);
/// Elements of shared memory that it takes once, for `rows` of an operand of `k` columns.
int64_t exchanged_elements(const NestProgram& program, const NestForm& form, int64_t rows,
                           int64_t k);
/// How such an operand lies there: what HandedOn says of it but for the variable and the store.
HandedOn exchanged_form(const NestProgram& program, const NestForm& form, const std::string& terms);
/// What stands between the braces of the kernel of a nest with products.
std::string tile_body(const NestProgram& program, const std::vector<Parameter>& parameters,
                      const NestForm& form);

}  // namespace internal
}  // namespace graphc::core::cuda
