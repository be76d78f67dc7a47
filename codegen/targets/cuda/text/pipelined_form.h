// SPDX-License-Identifier: Apache-2.0
// Products in launches of their own whose operands come to shared memory by asynchronous copies,
// several stages ahead (pipelined_text.h): which, and in which tiles.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/targets/cuda/text/mma_layout.h"
#include "codegen/targets/cuda/text/nest_parameters.h"

namespace graphc::core::cuda {

/// Shared memory of a block on every GPU that has asynchronous copies (CUDA C++ Programming Guide,
/// "Compute Capabilities").
inline constexpr int64_t kLeastSharedBytes = 99 << 10;

/// The form of a call's kernel, if it has one of its own. It is pipelined where
/// - there is one product, with one part and a right operand that is in no panels;
/// - its factors are for tensor cores, which implies sm_80, and so asynchronous copies;
/// - memory has both operands as bf16, multiplied as they are, or both as f32;
/// - one axis of each is contiguous, and every line of it begins at a multiple of four bytes;
/// - the stages fit the shared memory of a block, `shared_bytes`.
NestForm launched_form_of(const Plan& plan, const NestCall& call,
                          int64_t shared_bytes = kLeastSharedBytes);

/// About how many cycles a call's kernel of this form takes where 128 multiprocessors divide its
/// tiles; for comparing forms.
double pipelined_cycles(const NestProgram& program, const NestCall& call, const NestForm& form);

/// The parameters of a kernel of this form: those of its program, without the strides that the form
/// knows.
std::vector<Parameter> parameters_of(const Plan& plan, const NestCall& call, const NestForm& form);

/// The tile of a block in such a kernel, and what lies where in its shared memory.
class PipelineLayout {
 public:
  PipelineLayout(const NestProgram& program, const NestForm& form);

  /// Stages in shared memory: one is multiplied while the others are on their way.
  static constexpr int kStages = 4;
  static constexpr int kThreads = 256;
  /// Bytes of a line of an operand that the instructions of a step multiply.
  static constexpr int kStepBytes = 32;

  int rows() const { return lines(0); }
  int columns() const { return lines(1); }
  /// Rows of the left operand (0), or columns of the right one (1).
  int lines(int side) const { return side == 0 ? form_.tile_rows : form_.tile_columns; }
  const CopiedOperand& operand(int side) const { return (*form_.pipelined).operands[size_t(side)]; }

  int64_t element_bytes() const { return element_bytes_; }
  /// Terms of a stage.
  int terms() const { return int(stage_bytes_ / element_bytes_); }
  int steps() const { return stage_bytes_ / kStepBytes; }
  /// Bytes in shared memory from one line of memory to the next: of terms, or a term of lines.
  int64_t pitch(int side) const;
  int64_t bytes(int side) const;
  /// Bytes of a stage, and of all.
  int64_t stage() const { return bytes(0) + bytes(1); }
  int64_t all() const { return kStages * stage(); }
  /// Copies of a line of memory in a stage, and how many of a thread.
  int copies_of_line(int side) const;
  int copies_of_thread(int side) const;

  MmaLayout sums() const;
  /// Blocks whose sums the registers of a multiprocessor hold.
  int blocks_beside() const { return sums().rows * sums().columns > 32 ? 1 : 2; }
  /// Bytes that a block loads from, and copies to, shared memory for a stage.
  double moved_bytes() const;

 private:
  const NestForm form_;
  const int64_t element_bytes_;
  int stage_bytes_ = 64;  ///< of a line of terms
};

}  // namespace graphc::core::cuda
