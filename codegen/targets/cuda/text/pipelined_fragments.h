// SPDX-License-Identifier: Apache-2.0
// The fragments of a pipelined product, which ldmatrix or lanes load from a stage in shared memory,
// and their products.
#pragma once

#include <string>
#include <string_view>

#include "codegen/targets/cuda/text/pipelined_form.h"

namespace graphc::core::cuda::internal {

/// The operands' names in the text.
inline constexpr std::string_view kSides[] = {"left", "right"};

/// The layout must outlive it.
class PipelinedFragments {
 public:
  PipelinedFragments(const NestProgram& program, const PipelineLayout& layout);

  /// Declares where a lane reads.
  void declare(TextWriter& text) const;
  /// Adds the products of the stage at `place` to the sums of the piece.
  void multiply(TextWriter& text) const;

 private:
  int64_t pitch(int side) const { return layout_.pitch(side); }
  /// Whether ldmatrix loads it: words of f32 cannot be transposed.
  bool has_matrices(int side) const { return is_ready(side) || layout_.operand(side).along_terms; }
  /// Whether memory has it as bf16.
  bool is_ready(int side) const { return layout_.element_bytes(side) == 2; }
  /// Steps of 32 bytes of a line of the operand that an instruction multiplies.
  int steps(int side) const { return is_ready(side) || form_.terms == 8 ? 1 : 2; }
  /// The product with one of two right fragments beside each other.
  void product(TextWriter& text, std::string_view left, std::string_view right, int half) const;
  /// The four registers of the operand of a step.
  void fragment(TextWriter& text, int side) const;
  /// Loads four registers `to`[first...] of the step `step` of the stage.
  void load(TextWriter& text, int side, const std::string& to, const std::string& step,
            int first = 0) const;
  void load_words(TextWriter& text, int side, const std::string& to, const std::string& step,
                  int first) const;

  const PipelineLayout& layout_;
  const MmaLayout sums_;
  const MmaForm form_;
  const bool is_split_;
};

}  // namespace graphc::core::cuda::internal
