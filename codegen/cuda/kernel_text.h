// SPDX-License-Identifier: Apache-2.0
// Kernels as CUDA text: what NVRTC compiles, and how each is launched.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/cuda/nest_parameters.h"
#include "codegen/cuda/text.h"

namespace graphc::cuda {

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

/// How the tiles of a nest with products lie on a block of threads: each thread sums `rows` x
/// `columns` elements of every part, 16 apart, so that neighbours in the block are neighbours in
/// memory. Small products have small tiles.
struct ProductTile {
  static constexpr int kSide = 16;  ///< threads of a block along rows, and along columns
  int rows = 4, columns = 4;        ///< of a thread
  int terms = 16;                   ///< of k that lie in shared memory at a time

  int block_rows() const { return kSide * rows; }
  int block_columns() const { return kSide * columns; }
};
ProductTile product_tile(const NestProgram& program, const NestForm& form);

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

/// What stands between the braces of a nest's kernel; one step in.
std::string nest_body_text(const NestProgram& program, const std::vector<Parameter>& parameters,
                           const NestForm& form);
/// Bytes of shared memory that the nest takes.
int64_t shared_bytes(const NestProgram& program, const NestForm& form);

/// The head of the function: its parameters, its name, the most threads of its blocks.
std::string head_of(std::string_view name, const std::vector<Parameter>& parameters, int threads);
/// The loop over the axes around the rows, if there are any: one index for each in scope.
void open_outer(TextWriter& text, int outer);
/// Warps of a block that share the rows of a column.
int column_warps(const NestProgram& program);
int64_t tile_shared_bytes(const NestProgram& program, const NestForm& form);
/// What stands between the braces of the kernel of a nest with products.
std::string tile_body(const NestProgram& program, const std::vector<Parameter>& parameters,
                      const NestForm& form);

}  // namespace internal
}  // namespace graphc::cuda
