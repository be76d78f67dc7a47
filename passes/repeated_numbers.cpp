// SPDX-License-Identifier: Apache-2.0
#include "passes/repeated_numbers.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/op.h"
#include "passes/kernels/row_model.h"

namespace graphc::core {
namespace {

size_t id_of(Value value) { return size_t(value.node->id); }

/// Finds the numbers that may be repeated: begins with all that have fewer rows, and removes those
/// whose operands, readers or carries do not allow it, until none is left to remove.
class Repeatable {
 public:
  Repeatable(const Scan& scan, const StepRows& rows) : scan_(scan), rows_(rows) {
    for (size_t id = 0; id < rows.differ.size(); ++id)
      able_.push_back(rows.are_fewer[id] && rows.are_one[id]);
  }

  std::vector<bool> run() {
    for (changed_ = true; changed_;) {
      changed_ = false;
      for (const Node& node : scan_.body().nodes()) {
        keep_if(node.result(), can_repeat(node));
        for (const Value operand : node.operands) keep_if(operand, can_read_repeated(node));
      }
      for (size_t k = 0; k < scan_.next().size(); ++k) {
        keep_if(scan_.body_carries()[k], able_[id_of(scan_.next()[k])]);
        keep_if(scan_.next()[k], able_[id_of(scan_.body_carries()[k])]);
      }
    }
    return able_;
  }

 private:
  void keep_if(Value value, bool condition) {
    if (condition || !able_[id_of(value)]) return;
    able_[id_of(value)] = false;
    changed_ = true;
  }

  /// Whether its operands are such numbers, or the same in all rows.
  bool can_repeat(const Node& node) const {
    const bool computes = is_elementwise(node.op) || rearranges(node) || node.is(ops::input);
    return computes && std::ranges::all_of(node.operands, [&](Value operand) {
             return !rows_.differ[id_of(operand)] || able_[id_of(operand)];
           });
  }
  /// Whether it may read numbers that are repeated: it has all rows, or is repeated itself.
  bool can_read_repeated(const Node& node) const {
    return able_[size_t(node.id)] || !rows_.are_fewer[size_t(node.id)];
  }

  const Scan& scan_;
  const StepRows& rows_;
  std::vector<bool> able_;
  bool changed_ = false;
};

}  // namespace

bool rearranges(const Node& node) { return node.is(ops::transpose) || node.is(ops::reshape); }

std::vector<bool> repeated_numbers(const Scan& scan, const StepRows& rows) {
  const std::vector<bool> able = Repeatable(scan, rows).run();
  std::vector<bool> repeated(able.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    const auto repeat = [&](Value value) {
      if (!able[id_of(value)] || repeated[id_of(value)]) return;
      repeated[id_of(value)] = true;
      changed = true;
    };
    for (const Node& node : scan.body().nodes()) {
      if (is_elementwise(node.op)) repeat(node.result());
      if (rearranges(node) && repeated[id_of(node.operands[0])]) repeat(node.result());
      if (!repeated[size_t(node.id)]) continue;
      for (const Value operand : node.operands) repeat(operand);
    }
    for (size_t k = 0; k < scan.next().size(); ++k) {
      repeat(scan.body_carries()[k]);
      repeat(scan.next()[k]);
    }
  }
  return repeated;
}

}  // namespace graphc::core
