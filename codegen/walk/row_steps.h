// SPDX-License-Identifier: Apache-2.0
// All steps of a loop for one row after another, where the arguments of a nest move by a constant
// from step to step.
#pragma once

#include <array>
#include <vector>

#include "codegen/step/plan.h"
#include "codegen/step/position.h"
#include "codegen/walk/nest_abi.h"

namespace graphc::core::cpu {

/// A nest of the plan as machine code.
struct CompiledNest {
  NestFunction function = nullptr;
  bool by_matrix_tiles = false;
};

/// Runs loops with LoopCall::rows_apart. A nest of few elements takes less time than it takes to
/// resolve its addresses: here these are resolved for the first three steps of a row, and then
/// advanced by two steps, since odd and even steps may use different slots.
class RowSteps {
 public:
  /// `plan` and `nests` outlive it.
  RowSteps(const Plan& plan, const std::vector<CompiledNest>& nests) : plan_(plan), nests_(nests) {}

  /// Runs all steps of `rows`; returns false, and runs nothing, for a loop with products or with
  /// several outer axes. `position` is that of the `depth` loops around; `bases` has the address of
  /// every buffer.
  bool run(const LoopCall& loop, const Range& rows, const Position& position, int depth,
           char* const* bases);

 private:
  struct Nest {
    const Record* record = nullptr;
    const NestCall* call = nullptr;
    NestFunction function = nullptr;
    NestArguments arguments;
    /// Of even and of odd steps.
    std::array<std::vector<NestOperandArguments>, 2> operands;
    std::vector<int64_t> advance;  ///< bytes of two steps, of each operand
  };

  bool prepare(const LoopCall& loop, int depth);
  void bind(Nest& nest, int64_t step, int64_t row, const Position& position, char* const* bases);

  const Plan& plan_;
  const std::vector<CompiledNest>& nests_;
  std::vector<Nest> bound_;
};

}  // namespace graphc::core::cpu
