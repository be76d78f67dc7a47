// SPDX-License-Identifier: Apache-2.0
// Finds the groups of the axes of a step.
#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/axis_cuts.h"
#include "passes/axis_groups.h"
#include "passes/kernels/row_model.h"
#include "passes/repeated_numbers.h"
#include "passes/variation.h"

namespace graphc::core {

bool counts_along_axis(const Node& iota) { return iota.attributes.find("axis") != nullptr; }

/// Finds the groups of one loop.
class AxisAnalysis {
 public:
  explicit AxisAnalysis(const Scan& scan) : scan_(scan), body_(scan.body()) {}

  std::optional<AxisGroups> run(std::string* why_not) {
    live_ = live_nodes(body_);
    number_axes();
    find_matrices();
    // Axes are those of each node's first result: behind a refusal nothing may look at others.
    for (const Node& node : body_.nodes()) {
      if (reason_.empty() && is_considered(node)) pair(node);
    }
    if (reason_.empty()) pair_carries();
    if (reason_.empty()) find_rows();
    if (reason_.empty()) find_values_with_rows();
    if (reason_.empty()) find_repeated();
    if (reason_.empty()) check();
    if (reason_.empty()) return std::move(groups_);
    if (why_not != nullptr) *why_not = reason_;
    return std::nullopt;
  }

 private:
  bool is_considered(const Node& node) const {
    return live_[size_t(node.id)] && !groups_.matrix_[size_t(node.id)];
  }

  void refuse(const Node& node, std::string_view what) {
    if (reason_.empty()) reason_ = fmt::format("%{} ({}) {}", node.names[0], node.op.name, what);
  }

  void number_axes() {
    int axes = 0;
    for (const Node& node : body_.nodes()) {
      groups_.first_axis_.push_back(size_t(axes));
      axes += node.types[0].shape.rank();
      if (live_[size_t(node.id)] && node.types[0].shape.elements() == 0)
        refuse(node, "has no elements");
    }
    parent_.resize(size_t(axes));
    std::iota(parent_.begin(), parent_.end(), 0);
    is_column_.assign(size_t(axes), false);
    groups_.matrix_.assign(body_.nodes().size(), false);
    groups_.has_rows_.assign(body_.nodes().size(), false);
    groups_.repeated_.assign(body_.nodes().size(), false);
  }

  // --- which axes belong together

  int find(int axis) {
    while (parent_[size_t(axis)] != axis)
      axis = parent_[size_t(axis)] = parent_[size_t(parent_[size_t(axis)])];
    return axis;
  }
  int axis_of(Value value, int axis) {
    const int rank = value.shape().rank();
    return find(int(groups_.first_axis_[size_t(value.node->id)]) + (axis < 0 ? axis + rank : axis));
  }
  static bool is_long(Value value, int axis) { return value.shape()[axis] != 1; }

  void join(Value a, int axis, Value b, int other) {
    if (!is_long(a, axis) || !is_long(b, other)) return;
    const int gone = axis_of(a, axis), kept = axis_of(b, other);
    parent_[size_t(gone)] = kept;
    if (is_column_[size_t(gone)]) is_column_[size_t(kept)] = true;
  }
  void mark_column(Value value, int axis) {
    if (is_long(value, axis)) is_column_[size_t(axis_of(value, axis))] = true;
  }

  void pair_carries() {
    for (size_t k = 0; k < scan_.next().size(); ++k)
      pair_equal(scan_.body_carries()[k], scan_.next()[k]);
  }
  void pair_equal(Value a, Value b) {
    for (int axis = 0; axis < a.shape().rank(); ++axis) join(a, axis, b, axis);
  }
  /// As broadcasting pairs them, from the last axis on.
  void pair_last(Value from, Value to) {
    for (int i = 1; i <= std::min(from.shape().rank(), to.shape().rank()); ++i)
      join(from, -i, to, -i);
  }

  void find_matrices() {
    for (const Node& node : body_.nodes()) {
      if (!live_[size_t(node.id)] || !node.is(ops::matmul)) continue;
      has_products_ = true;
      const Value right = node.operands[1];
      const auto captures = scan_.body_captures();
      if (std::ranges::find(captures, right) == captures.end()) {
        refuse(node, "multiplies by a matrix that is not the same in all steps");
        continue;
      }
      groups_.matrix_[size_t(right.node->id)] = true;
    }
    for (const Node& node : body_.nodes()) {
      if (!live_[size_t(node.id)]) continue;
      for (size_t i = 0; i < node.operands.size(); ++i) {
        const bool multiplies = node.is(ops::matmul) && i == 1;
        if (!multiplies && groups_.matrix_[size_t(node.operands[i].node->id)])
          refuse(node, "reads the matrix of a product");
      }
    }
  }

  void pair(const Node& node) {
    const Value result = node.result();
    if (node.is(ops::input)) return;
    if (node.is(ops::constant)) {
      if (result.shape().rank() > 0 && !splat_value(result)) refuse(node, "has axes of its own");
    } else if (node.is(ops::iota)) {
      if (counts_along_axis(node) && !is_long(result, int(node.attributes.get_int("axis", 0))))
        refuse(node, "numbers single elements");
    } else if (is_elementwise(node.op) || node.is(ops::broadcast_to)) {
      for (const Value operand : node.operands) pair_last(operand, result);
    } else if (node.is(ops::transpose)) {
      const std::vector<int64_t> from = node.attributes.get_ints("permutation");
      for (size_t axis = 0; axis < from.size(); ++axis)
        join(node.operands[0], int(from[axis]), result, int(axis));
    } else if (node.is(ops::reshape)) {
      pair_reshape(node);
    } else if (is_cut(node)) {
      pair_cut(node);
    } else if (node.is(ops::sum) || node.is(ops::max)) {
      pair_reduction(node);
    } else if (node.is(ops::matmul)) {
      pair_product(node);
    } else {
      refuse(node, "is neither elementwise nor a product or a sum");
    }
  }

  void pair_reshape(const Node& node) {
    const Value from = node.operands[0], to = node.result();
    const auto long_axes = [](Value value) {
      std::vector<int> axes;
      for (int axis = 0; axis < value.shape().rank(); ++axis) {
        if (is_long(value, axis)) axes.push_back(axis);
      }
      return axes;
    };
    const std::vector<int> old_axes = long_axes(from), new_axes = long_axes(to);
    const bool same = std::ranges::equal(
        old_axes, new_axes, {}, [&](int axis) { return from.shape()[axis]; },
        [&](int axis) { return to.shape()[axis]; });
    if (!same) return refuse(node, "divides or merges axes");
    for (size_t i = 0; i < old_axes.size(); ++i) join(from, old_axes[i], to, new_axes[i]);
  }

  void pair_cut(const Node& node) {
    const int axis = cut_axis(node);
    for (const Value operand : node.operands) {
      if (!is_long(operand, axis)) return refuse(node, "cuts or joins single elements");
      pair_equal(operand, node.result());
    }
    if (!is_long(node.result(), axis)) return refuse(node, "cuts single elements");
    mark_column(node.result(), axis);
  }

  void pair_reduction(const Node& node) {
    const Value from = node.operands[0], to = node.result();
    const std::vector<int64_t> axes = node.attributes.get_ints("axes");
    const bool keep = node.attributes.get_bool("keep", false);
    int64_t reduced = 1;
    for (int axis = 0, left = 0; axis < from.shape().rank(); ++axis) {
      if (std::ranges::count(axes, axis) == 0) {
        join(from, axis, to, keep ? axis : left++);
        continue;
      }
      reduced *= from.shape()[axis];
      mark_column(from, axis);
    }
    if (reduced == 1) refuse(node, "sums single elements");
  }

  void pair_product(const Node& node) {
    const Value a = node.operands[0], b = node.operands[1], to = node.result();
    if (node.attributes.get_bool("transpose_a", false))
      return refuse(node, "transposes its left operand");
    const int batch = b.shape().rank() - 2;
    if (batch > 0 && (a.shape().rank() != b.shape().rank() ||
                      !std::equal(b.shape().begin(), b.shape().end() - 2, a.shape().begin())))
      return refuse(node, "repeats a matrix for some rows");
    for (int axis = 0; axis + 1 < a.shape().rank(); ++axis) join(a, axis, to, axis);
    mark_column(a, -1);
    mark_column(to, -1);
    // A batch of one matrix is one matrix for all rows.
    if (b.shape().elements() > b.shape()[-2] * b.shape()[-1]) batched_.push_back(&node);
  }

  // --- their order

  void add_row(int group) {
    if (std::ranges::find(rows_, group) == rows_.end()) rows_.push_back(group);
  }

  /// Where no op says which axis is columns, the last one of a value with most axes.
  void choose_columns() {
    if (std::ranges::find(is_column_, true) != is_column_.end()) return;
    const auto rank = [&](const Node& node) {
      return is_considered(node) ? node.types[0].shape.rank() : 0;
    };
    const Node& most = *std::ranges::max_element(body_.nodes(), {}, rank);
    int axis = rank(most) - 1;
    while (axis > 0 && !is_long(most.result(), axis)) --axis;
    if (axis >= 0) mark_column(most.result(), axis);
  }

  void find_rows() {
    choose_columns();
    for (const Node* node : batched_) {
      std::vector<int> batch;
      for (int axis = 0; axis + 2 < node->operands[1].shape().rank(); ++axis) {
        if (is_long(node->result(), axis)) batch.push_back(axis_of(node->result(), axis));
      }
      if (node != batched_[0] && batch != rows_)
        refuse(*node, "has matrices for other rows than another product");
      rows_ = std::move(batch);
    }
    const size_t with_matrices = rows_.size();
    // The axes of the values that have most of them first, in their order.
    for (int rank = Shape::kMaxRank; rank > 0; --rank) {
      for (const Node& node : body_.nodes()) {
        if (!is_considered(node) || node.types[0].shape.rank() != rank) continue;
        for (int axis = 0; axis < rank; ++axis) {
          const Value value = node.result();
          if (is_long(value, axis) && !is_column_[size_t(axis_of(value, axis))])
            add_row(axis_of(value, axis));
        }
      }
    }
    if (rows_.size() == with_matrices) rows_.push_back(-1);
    if (rows_.size() + 2 > size_t(Shape::kMaxRank))
      return void(reason_ = "its values have too many axes");
    if (with_matrices > 0 && rows_.size() > with_matrices + 1)
      return refuse(*batched_[0], "has matrices for some axes of several");
    groups_.place_.assign(parent_.size(), int(rows_.size()));
    std::vector<int64_t> extents(rows_.size(), 1);
    for (const Node& node : body_.nodes()) {
      if (!is_considered(node)) continue;
      for (int axis = 0; axis < node.types[0].shape.rank(); ++axis) {
        if (!is_long(node.result(), axis)) continue;
        const auto row = std::ranges::find(rows_, axis_of(node.result(), axis));
        groups_.place_[groups_.first_axis_[size_t(node.id)] + size_t(axis)] =
            int(row - rows_.begin());
        if (row == rows_.end()) continue;
        if (is_column_[size_t(*row)])
          return refuse(node, "has an axis that is one of rows and one of columns");
        extents[size_t(row - rows_.begin())] = node.types[0].shape[axis];
      }
    }
    groups_.rows_ = Shape(extents);
  }

  /// Streams and carries have rows, but for single numbers; so has what is computed from them.
  void find_values_with_rows() {
    std::vector<bool>& has = groups_.has_rows_;
    const auto varies = [&](Value input) {
      if (input.shape().elements() > 1) has[size_t(input.node->id)] = true;
    };
    std::ranges::for_each(scan_.body_streams(), varies);
    std::ranges::for_each(scan_.body_carries(), varies);
    for (bool changed = true; changed;) {
      changed = false;
      for (const Node& node : body_.nodes()) {
        if (!is_considered(node) || has[size_t(node.id)]) continue;
        const std::vector<int> places = groups_.places_of(node.result());
        has[size_t(node.id)] =
            std::ranges::any_of(places, [&](int place) { return place < int(rows_.size()); }) ||
            std::ranges::any_of(node.operands, [&](Value x) { return has[size_t(x.node->id)]; });
        changed |= has[size_t(node.id)];
      }
      for (size_t k = 0; k < scan_.next().size(); ++k) {
        const size_t carry = size_t(scan_.body_carries()[k].node->id);
        changed |= has[size_t(scan_.next()[k].node->id)] && !has[carry];
        if (has[size_t(scan_.next()[k].node->id)]) has[carry] = true;
      }
    }
  }

  void find_repeated() {
    const std::vector<bool> none(body_.nodes().size(), false);
    StepRows rows{groups_.has_rows_, none, none};
    for (const Node& node : body_.nodes()) {
      if (!is_considered(node) || !groups_.has_rows_[size_t(node.id)]) continue;
      const std::vector<int> places = groups_.places_of(node.result());
      rows.are_fewer[size_t(node.id)] = !groups_.repeats_of(node.result()).empty();
      rows.are_one[size_t(node.id)] = std::ranges::find(places, int(rows_.size())) == places.end();
    }
    groups_.repeated_ = repeated_numbers(scan_, rows);
  }

  void check() {
    for (const Node& node : body_.nodes()) {
      if (!is_considered(node)) continue;
      std::vector<int> places = groups_.places_of(node.result());
      std::ranges::sort(places);
      if (std::ranges::adjacent_find(places) != places.end())
        return refuse(node, "has two axes of one kind");
      if (node.is(ops::iota) && !counts_along_axis(node) && !is_integer(node.types[0].dtype) &&
          !std::ranges::is_sorted(groups_.order_of(node.result())))
        return refuse(node, "numbers its elements in another order, rounded");
      if (node.is(ops::matmul)) check_product(node);
      if (node.is(ops::concat)) check_concat(node);
    }
    if (!has_products_) check_rows();
    check_common_rows();
    for (size_t k = 0; k < scan_.next().size(); ++k) {
      const Value carry = scan_.body_carries()[k], next = scan_.next()[k];
      if (groups_.is_matrix(next) || groups_.shape_of(carry) != groups_.shape_of(next))
        return refuse(*carry.node, "has other rows than its next value");
    }
    for (const Value emit : scan_.emits()) {
      if (groups_.is_matrix(emit)) refuse(*emit.node, "is emitted, the matrix of a product");
    }
  }

  /// A step without products is put in order only if all of its values have the same rows. One that
  /// carries a matrix reads vectors of fewer rows as they are (decision 25): to repeat them for all
  /// rows would cost more.
  void check_rows() {
    const std::vector<Varies> varies = variation(scan_);
    for (const Node& node : body_.nodes()) {
      const Value value = node.result();
      if (is_considered(node) && varies[size_t(node.id)] > Varies::captures && has_rows(value) &&
          !groups_.is_repeated(value) && !groups_.repeats_of(value).empty())
        return refuse(node, "has fewer rows than others");
    }
  }

  /// Values that have nothing to do with each other have rows of their own. A step of all their
  /// rows would be their product.
  void check_common_rows() {
    const bool any = std::ranges::any_of(body_.nodes(), [&](const Node& node) {
      return is_considered(node) && has_rows(node.result()) &&
             groups_.repeats_of(node.result()).empty();
    });
    if (!any && reason_.empty()) reason_ = "none of its values has the rows of all";
  }

  bool has_rows(Value value) const { return groups_.has_rows_[size_t(value.node->id)]; }

  void check_product(const Node& node) {
    if (!has_rows(node.operands[0]))
      return refuse(node, "multiplies what is the same in all steps");
    for (const Value value : {node.operands[0], node.result()}) {
      const size_t first = groups_.first_axis_[size_t(value.node->id)];
      for (int axis = 0; axis + 1 < value.shape().rank(); ++axis) {
        if (is_long(value, axis) && groups_.place_[first + size_t(axis)] == int(rows_.size()))
          return refuse(node, "has columns among the rows of its product");
      }
    }
  }

  void check_concat(const Node& node) {
    for (const Value operand : node.operands) {
      if (has_rows(operand) != has_rows(node.result()))
        return refuse(node, "joins what has rows with what has none");
    }
  }

  const Scan& scan_;
  const Graph& body_;
  std::vector<bool> live_;
  std::vector<int> parent_;
  std::vector<bool> is_column_;  ///< by the axis that stands for a group
  std::vector<const Node*> batched_;
  std::vector<int> rows_;  ///< groups; -1 for one of extent 1
  bool has_products_ = false;
  std::string reason_;
  AxisGroups groups_;
};

std::optional<AxisGroups> AxisGroups::of(const Scan& scan, std::string* why_not) {
  return AxisAnalysis(scan).run(why_not);
}

}  // namespace graphc::core
