// SPDX-License-Identifier: Apache-2.0
// Products in launches of their own whose operands come to shared memory by asynchronous copies,
// several stages ahead (pipelined_text.h): which, and in which tiles.
#pragma once

#include <array>
#include <bit>
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
/// - there is one product, of one part, or of up to four with its right operand in panels;
/// - its factors are for tensor cores, which implies sm_80, and so asynchronous copies;
/// - memory has both operands as bf16, multiplied as they are, or both as f32, or rows of f32 that
///   are rounded to bf16 and columns of bf16 side by side, such as those of panels;
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
  /// Bytes of a line of the right operand that the instructions of a step multiply.
  static constexpr int kStepBytes = 32;

  /// Of the tile, in each part.
  int rows() const { return form_.tile_rows; }
  int columns() const { return form_.tile_columns; }
  int parts() const { return parts_; }
  /// Rows of the left operand (0), or columns of all parts of the right one (1): a block of panels
  /// has those of each part side by side, and with three parts place for a fourth.
  int lines(int side) const {
    return side == 0 ? rows() : columns() * std::bit_ceil(unsigned(parts_));
  }
  bool in_panels() const { return form_.pipelined->in_panels; }
  const CopiedOperand& operand(int side) const { return (*form_.pipelined).operands[size_t(side)]; }

  int64_t element_bytes(int side) const { return element_bytes_[size_t(side)]; }
  /// Terms of a stage.
  int terms() const { return int(stage_bytes_ / element_bytes(1)); }
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

  /// The sums of a lane, of one part. The eight columns of an instruction are of one part: a warp
  /// has as many of each, in its columns.
  MmaLayout sums() const;
  /// Lines of the right operand from one instruction's columns to the next, of two that are loaded
  /// together, and from two to the next two.
  int next_columns() const { return sums().columns > 2 ? 8 : columns(); }
  int next_two_columns() const {
    return parts_ == 1 ? 16 : sums().columns > 2 ? columns() : 2 * columns();
  }
  /// Instructions of a warp beside each other, with those of a fourth part that there is not.
  int instructions() const { return sums().columns / 2 * lines(1) / columns(); }
  /// Blocks whose sums the registers of a multiprocessor hold.
  int blocks_beside() const { return sums().rows * sums().columns * parts_ > 32 ? 1 : 2; }
  /// Bytes that a block loads from, and copies to, shared memory for a stage.
  double moved_bytes() const;

 private:
  const NestForm form_;
  const std::array<int64_t, 2> element_bytes_;
  const int parts_;
  int stage_bytes_ = 64;  ///< of a line of terms of the right operand
};

}  // namespace graphc::core::cuda
