// SPDX-License-Identifier: Apache-2.0
#include "passes/accumulated.h"

#include <algorithm>
#include <utility>

#include "ir/build.h"
#include "ir/op.h"
#include "passes/kernels/matrix_rows.h"

namespace graphc::core {

Accumulated::Accumulated(const Scan& scan, Moves moves, const Moves& made_here)
    : scan_(scan), moves_(std::move(moves)) {
  for (const Value carry : scan.body_carries()) carries_.add(carry);
  find_terms();
  Values others;
  for (size_t k = 0; k < terms_.size(); ++k) {
    if (!has(k)) others.push_back(scan.body_carries()[k]);
  }
  rows_ = matrix_rows(scan, others);
  has_loops_ = contains(scan.body(), ops::scan);
  if (has_matrices()) find_row_sums(made_here);
}

void Accumulated::find_terms() {
  const Graph& body = scan_.body();
  const std::vector<std::vector<int>> uses = value_uses(body);
  const std::vector<bool> live = live_nodes(body);
  std::vector<std::vector<const Node*>> users(body.nodes().size());
  for (const Node& node : body.nodes()) {
    if (!live[size_t(node.id)]) continue;
    for (const Value operand : node.operands) users[size_t(operand.node->id)].push_back(&node);
  }
  const auto is_sum = [&](Value term) {
    return is_scatter_on_carry(term) || operands_of_sum(term, moves_, [](Value) { return false; });
  };
  for (size_t k = 0; k < scan_.next().size(); ++k) {
    terms_.push_back(terms_added(scan_.body_carries()[k], scan_.next()[k], uses, users));
    if (terms_[k] && !std::ranges::all_of(*terms_[k], is_sum)) terms_[k] = std::nullopt;
  }
}

void Accumulated::find_row_sums(const Moves& made_here) {
  // A sum that the loop gives anyhow would be computed twice.
  Values given(scan_.emits().begin(), scan_.emits().end());
  for (size_t k = 0; k < terms_.size(); ++k) {
    if (!has(k)) given.push_back(scan_.next()[k]);
  }
  const std::vector<bool> is_given = needed_for(scan_.body(), given);
  const auto is_of_matrices = [&](Value value) {
    return value.node->is(ops::sum) && made_here(value.node->operands[0]) &&
           is_matrix_of(rows_, value.node->operands[0].shape());
  };
  const auto is_row_sum = [&](Value value) {
    if (!is_of_matrices(value) || is_given[size_t(value.node->id)]) return false;
    // Behind the loop a sum of bf16 is rounded once.
    if (value.dtype() == DType::bf16) return false;
    const Ints axes = row_axes(value);
    return std::ranges::any_of(axes, [&](int64_t axis) { return rows_[int(axis)] > 1; });
  };
  for (std::optional<Values>& terms : terms_) {
    Values found;
    bool is_within_rows = false;
    for (size_t i = 0; terms && i < terms->size(); ++i) {
      if (is_scatter_on_carry((*terms)[i])) continue;
      operands_of_sum((*terms)[i], moves_, [&](Value value) {
        // What is summed within a row is what that row accumulates already.
        is_within_rows |= is_of_matrices(value) && row_axes(value).empty();
        if (is_row_sum(value)) found.push_back(value);
        return is_row_sum(value);
      });
    }
    if (is_within_rows) terms = std::nullopt;
    for (size_t i = 0; terms && i < found.size(); ++i) {
      if (row_sums_.add(found[i])) of_rows_.push_back(found[i].node->operands[0]);
    }
  }
}

bool Accumulated::any() const {
  return std::ranges::any_of(terms_,
                             [](const std::optional<Values>& terms) { return bool(terms); });
}

/// Whether the term is a scatter onto a carry, or onto another such scatter.
bool Accumulated::is_scatter_on_carry(Value term) const {
  if (!term.node->is(ops::scatter_add)) return false;
  // Behind the loop there is one of the rows of all steps.
  if (term.node->operands[2].shape().rank() == Shape::kMaxRank) return false;
  Value base = term.node->operands[0];
  while (base.node->is(ops::scatter_add) || base.node->is(ops::add)) {
    const Node& node = *base.node;
    const bool right = node.is(ops::add) && carries_.contains(node.operands[1]);
    base = node.operands[right ? 1 : 0];
  }
  return carries_.contains(base);
}

bool Accumulated::joins_rows(const Node& reduction) const {
  const Shape& shape = reduction.operands[0].shape();
  if (!has_matrices() || is_matrix_of(rows_, shape)) return false;
  if (has_loops_) return true;
  return shape.rank() >= rows_.rank() && std::equal(rows_.begin(), rows_.end(), shape.begin()) &&
         !row_axes(reduction.result()).empty();
}

Values Accumulated::needed_by(Value term) const {
  if (is_scatter_on_carry(term)) return {term.node->operands[1], term.node->operands[2]};
  return *operands_of_sum(term, moves_, [&](Value x) { return row_sums_.contains(x); });
}

Values Accumulated::needed(size_t carry) const {
  Values values;
  for (const Value term : *terms_[carry]) {
    const Values operands = needed_by(term);
    values.insert(values.end(), operands.begin(), operands.end());
  }
  return values;
}

Accumulated::Ints Accumulated::row_axes(Value sum) const {
  Ints axes = sum.node->attributes.get_ints("axes");
  std::erase_if(axes, [&](int64_t axis) { return axis >= rows_.rank(); });
  return axes;
}

Accumulated::Ints Accumulated::inner_axes(Value sum) const {
  Ints axes = sum.node->attributes.get_ints("axes");
  std::erase_if(axes, [&](int64_t axis) { return axis < rows_.rank(); });
  return axes;
}

Values Accumulated::add_carries(Graph& body, ScanParts& parts, Graph& to) const {
  Values inputs;
  for (const Value sum : row_sums_.values()) {
    Type type = sum.node->operands[0].type();
    const Ints inner = inner_axes(sum);
    for (auto axis = inner.rbegin(); axis != inner.rend(); ++axis)
      type.shape = type.shape.without(int(*axis));
    if (type.shape == rows_) type.shape = rows_.insert(rows_.rank(), 1);
    inputs.push_back(body.input(type, sum.name(), sum.node->where));
    parts.initial.push_back(splat(to, 0, type));
  }
  return inputs;
}

Value Accumulated::next(size_t row_sum, Value carry, Value matrix) const {
  const Value sum = row_sums_.values()[row_sum];
  const WhereScope scope(sum.node->where);
  const Ints inner = inner_axes(sum);
  if (inner.empty()) return carry + matrix;
  const Value within = core::sum(matrix, inner);
  return carry + (within.shape() == carry.shape() ? within : reshape(within, carry.shape()));
}

Value Accumulated::total(size_t carry, Value initial, const Values& rows, Batch& batch,
                         Graph& to) const {
  ValueMap sums(scan_.body());
  for (size_t i = 0; i < row_sums_.size(); ++i) {
    const Value sum = row_sums_.values()[i];
    const WhereScope scope(sum.node->where);
    const Ints outer = row_axes(sum);
    sums.set(sum, reshape(outer.empty() ? rows[i] : core::sum(rows[i], outer), sum.shape()));
  }
  Value total = initial;
  for (const Value term : *terms_[carry]) {
    if (is_scatter_on_carry(term))
      total = scatter_add(total, batch.get_stacked(term.node->operands[1]),
                          batch.get_stacked(term.node->operands[2]));
    else
      total = total + sum_over_steps(term, moves_, batch, to, scan_.steps(), sums);
  }
  return total;
}

}  // namespace graphc::core
