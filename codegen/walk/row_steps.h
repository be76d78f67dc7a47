// SPDX-License-Identifier: Apache-2.0
// All steps of a loop for one row after another, where the arguments of a nest move by a constant
// from step to step.
#pragma once

#include <array>
#include <memory>
#include <optional>
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
  RowSteps(const Plan& plan, const std::vector<CompiledNest>& nests, int64_t panel_group)
      : plan_(plan), nests_(nests), panel_group_(panel_group) {}

  /// Runs all steps of `rows`; returns false, and runs nothing, for a loop with several outer axes
  /// around a nest, or with a product that is not in panels or is by matrix tiles. `position` is
  /// that of the `depth` loops around; `bases` has the address of every buffer.
  bool run(const LoopCall& loop, const Range& rows, const Position& position, int depth,
           char* const* bases);

 private:
  struct Nest {
    const NestCall* call = nullptr;
    NestFunction function = nullptr;
    NestArguments arguments;
    /// Of even and of odd steps.
    std::array<std::vector<NestOperandArguments>, 2> operands;
    std::array<std::vector<NestProductArguments>, 2> products;
    /// Bytes of two steps, of each operand and of each product's left one.
    std::vector<int64_t> advance, advance_left;
  };
  struct Loop;
  /// What a step does: a nest, or a loop.
  struct Item {
    const Record* record = nullptr;
    Nest nest;
    std::unique_ptr<Loop> loop;
  };
  struct Loop {
    const LoopCall* call = nullptr;
    size_t depth = 0;
    std::vector<Item> items;
  };

  std::optional<Loop> prepared(const LoopCall& loop, int depth) const;
  std::optional<Nest> prepared(const NestCall& call, const LoopCall& loop, int depth) const;
  void steps(Loop& loop, int64_t row);
  void bind(Nest& nest, int64_t step, int64_t row) const;
  void bind_products(Nest& nest, int64_t step, int64_t row) const;
  char* resolved(const Address& address) const;

  const Plan& plan_;
  const std::vector<CompiledNest>& nests_;
  const int64_t panel_group_;  ///< NestArguments::panel_group
  Position position_;
  char* const* bases_ = nullptr;
};

}  // namespace graphc::core::cpu
