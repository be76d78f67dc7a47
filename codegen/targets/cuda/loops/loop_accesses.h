// SPDX-License-Identifier: Apache-2.0
// Which accesses of a loop's nests are of the same element, in the same step or in the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/targets/cuda/loops/loop_barriers.h"
#include "codegen/targets/cuda/loops/loop_reach.h"

namespace graphc::core::cuda {

/// The accesses of a loop's nests, which must outlive it. An access is a load, a store or a
/// reduction, by its nest and the index of the instruction in the nest's body.
class LoopAccesses {
 public:
  explicit LoopAccesses(const LoopNests& nests);

  const std::vector<NestInstruction>& body(size_t nest) const { return nests_.program(nest).body; }
  const NestOperand& form_of(size_t nest, size_t in) const {
    return nests_.program(nest).operands[size_t(body(nest)[in].operand)];
  }
  const CallOperand& call_of(size_t nest, size_t in) const {
    return nests_.nests[nest]->operands[size_t(body(nest)[in].operand)];
  }
  /// Where its first element is, and how many bytes it is from there to that of the next group of
  /// rows.
  MovingPlace place_of(size_t nest, size_t in) const;
  int64_t group_stride_of(size_t nest, size_t in) const;

  /// The columns of the widest nest.
  int64_t columns() const { return columns_; }
  /// Whether a nest has one column where others have more: it computes numbers of rows.
  bool is_of_rows(size_t nest) const { return columns_ > 1 && nests_.nests[nest]->unit == 1; }
  /// Whether a load or a store accesses an element of its own for each row and column.
  bool is_element(size_t nest, size_t in, NestOp kind) const;
  /// Whether a load, a store or a reduction accesses a number of its own for each row, the same for
  /// all columns.
  bool is_of_row(size_t nest, size_t in) const;
  /// The type in which it is stored and computed; none where these differ, or where a register
  /// holds more than memory does.
  std::optional<DType> type_of(size_t nest, size_t in) const;

  /// Whether a store or a reduction writes, for each element, what a load reads of it in the same
  /// step, or with `of_next` in the next one.
  bool is_same_element(size_t i, size_t load, size_t j, size_t store, bool of_next) const;
  /// The bytes that it may touch over all steps but the first, where it may be elsewhere.
  Reach reach_of(size_t nest, size_t in) const;
  /// Whether an operand of a nest may write what an access of a buffer reaches.
  bool may_write(size_t j, size_t operand, const Reach& reach, int buffer) const;
  /// Calls `visit` with the nest and the operand of all writes that a load may read.
  template <typename Visit>
  void visit_writers(size_t i, size_t load, const Visit& visit) const {
    const Reach reach = reach_of(i, load);
    const int buffer = place_of(i, load).base.buffer;
    for (size_t j = 0; j < nests_.nests.size(); ++j) {
      for (size_t operand = 0; operand < nests_.nests[j]->operands.size(); ++operand) {
        if (may_write(j, operand, reach, buffer)) visit(j, operand);
      }
    }
  }
  /// Whether no nest writes what a load reads.
  bool is_written_by_none(size_t nest, size_t load) const {
    bool is_written = false;
    visit_writers(nest, load, [&](size_t, size_t) { is_written = true; });
    return !is_written;
  }
  /// Whether anything but the loop's nests may read what an access of them stores in a buffer.
  bool is_read_outside(int buffer) const;

 private:
  int64_t columns_of(size_t nest, size_t in) const;
  int64_t extent_of(size_t nest, size_t in) const;
  bool has_steps_apart(size_t nest, size_t in) const;
  bool is_used_outside(const std::vector<Record>& records, int buffer) const;

  const LoopNests& nests_;
  int64_t columns_ = 1;
};

}  // namespace graphc::core::cuda
