// SPDX-License-Identifier: Apache-2.0
#include "passes/axis_cuts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/axis_groups.h"
#include "passes/kernels/row_model.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;

bool is_multiplier(const Node& node, size_t operand) {
  return node.is(ops::matmul) && operand == 1;
}

bool is_long(Value value, int axis) { return value.shape()[axis] != 1; }

/// Whether the op pairs its operands' axes with its result's as broadcasting does.
bool pairs_all_axes(const Node& node) {
  return is_elementwise(node.op) || node.is(ops::broadcast_to) || node.is(ops::gelu);
}
/// Whether it treats each vector along the last axis alike.
bool treats_rows(const Node& node) { return node.is(ops::softmax) || node.is(ops::log_softmax); }

}  // namespace

int cut_axis(const Node& node) { return int(node.attributes.get_int("axis", 0)); }

std::vector<AxisPiece> pieces_of(const Node& node) {
  std::vector<AxisPiece> pieces;
  if (node.is(ops::slice)) {
    pieces.push_back({node.operands[0], node.result(), node.attributes.get_int("start", 0)});
  } else if (node.is(ops::split)) {
    const int64_t extent = node.types[0].shape[cut_axis(node)];
    for (int i = 0; i < node.results(); ++i)
      pieces.push_back({node.operands[0], node.result(i), i * extent});
  } else if (node.is(ops::concat)) {
    int64_t start = 0;
    for (const Value operand : node.operands) {
      pieces.push_back({node.result(), operand, start});
      start += operand.shape()[cut_axis(node)];
    }
  }
  return pieces;
}

bool reduces_axes(const Node& node) {
  return node.is(ops::sum) || node.is(ops::max) || node.is(ops::min) || node.is(ops::prod) ||
         node.is(ops::mean) || node.is(ops::variance);
}

AxisCuts::AxisCuts(const Scan& scan) : scan_(scan), live_(live_nodes(scan.body())) {
  number_axes();
  find_matrices();
  each_node([&](const Node& node) { pair(node); });
  for (size_t k = 0; fault_.empty() && k < scan.next().size(); ++k)
    pair_equal(scan.body_carries()[k], scan.next()[k]);
  divide();
  each_node([&](const Node& node) {
    for (int axis = 0; axis < node.types[0].shape.rank(); ++axis) {
      const size_t own = class_of(node.result(), axis);
      if (whole_[own] != nullptr && !cuts_[own].empty())
        refuse(*whole_[own], "needs an axis as a whole that the step divides");
    }
  });
}

template <typename Visit>
void AxisCuts::each_node(const Visit& visit) {
  for (const Node& node : scan_.body().nodes()) {
    if (fault_.empty() && live_[size_t(node.id)]) visit(node);
  }
}

void AxisCuts::refuse(const Node& node, std::string_view what) {
  if (fault_.empty()) fault_ = fmt::format("%{} ({}) {}", node.names[0], node.op.name, what);
}

// --- classes

void AxisCuts::number_axes() {
  size_t axes = 0;
  for (const Node& node : scan_.body().nodes()) {
    first_axis_.push_back(axes);
    axes += size_t(node.types[0].shape.rank());
    if (!live_[size_t(node.id)]) continue;
    if (node.types[0].shape.elements() == 0) refuse(node, "has no elements");
    // Of every node the axes of the first result stand for those of all.
    for (const Type& type : node.types) {
      if (type.shape != node.types[0].shape) refuse(node, "has results of several shapes");
    }
  }
  parent_.resize(axes);
  std::iota(parent_.begin(), parent_.end(), size_t{0});
  cuts_.resize(axes);
  whole_.assign(axes, nullptr);
  matrix_.assign(scan_.body().nodes().size(), false);
}

size_t AxisCuts::number_of(Value value, int axis) const {
  return first_axis_[size_t(value.node->id)] +
         size_t(axis < 0 ? axis + value.shape().rank() : axis);
}

size_t AxisCuts::find(size_t axis) const {
  while (parent_[axis] != axis) axis = parent_[axis] = parent_[parent_[axis]];
  return axis;
}

void AxisCuts::join(Value a, int axis, Value b, int other) {
  if (!is_long(a, axis) || !is_long(b, other)) return;
  const size_t gone = class_of(a, axis), kept = class_of(b, other);
  if (gone == kept) return;
  parent_[gone] = kept;
  if (whole_[kept] == nullptr) whole_[kept] = whole_[gone];
}

void AxisCuts::pair_equal(Value a, Value b) {
  for (int axis = 0; axis < a.shape().rank(); ++axis) join(a, axis, b, axis);
}

/// As broadcasting pairs them, from the last axis on.
void AxisCuts::pair_last(Value from, Value to) {
  for (int i = 1; i <= std::min(from.shape().rank(), to.shape().rank()); ++i)
    join(from, -i, to, -i);
}

void AxisCuts::keep_whole(const Node& node, Value value, int axis) {
  const size_t own = class_of(value, axis);
  if (whole_[own] == nullptr) whole_[own] = &node;
}
void AxisCuts::keep_whole(const Node& node, Value value) {
  for (int axis = 0; axis < value.shape().rank(); ++axis) keep_whole(node, value, axis);
}

void AxisCuts::find_matrices() {
  const auto captures = scan_.body_captures();
  each_node([&](const Node& node) {
    if (node.is(ops::matmul) && std::ranges::find(captures, node.operands[1]) != captures.end())
      matrix_[size_t(node.operands[1].node->id)] = true;
  });
  each_node([&](const Node& node) {
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (is_matrix(node.operands[i]) && !is_multiplier(node, i))
        refuse(node, "reads the matrix of a product");
    }
  });
  for (const Value result : scan_.body().results()) {
    if (is_matrix(result)) refuse(*result.node, "is the matrix of a product, and a result");
  }
}

void AxisCuts::pair(const Node& node) {
  const Value result = node.result();
  if (node.is(ops::input) || node.is(ops::reshape)) return;
  if (node.is(ops::constant) && (result.shape().rank() == 0 || splat_value(result))) return;
  if (pairs_all_axes(node)) {
    for (const Value operand : node.operands) pair_last(operand, result);
  } else if (node.is(ops::transpose)) {
    const Ints from = node.attributes.get_ints("permutation");
    for (size_t axis = 0; axis < from.size(); ++axis)
      join(node.operands[0], int(from[axis]), result, int(axis));
  } else if (is_cut(node) || node.is(ops::split)) {
    for (const Value operand : node.operands) {
      for (int axis = 0; axis < result.shape().rank(); ++axis) {
        if (axis != cut_axis(node)) join(operand, axis, result, axis);
      }
    }
  } else if (treats_rows(node)) {
    pair_equal(node.operands[0], result);
    keep_whole(node, result, -1);
  } else if (reduces_axes(node)) {
    pair_reduction(node);
  } else if (node.is(ops::matmul)) {
    pair_product(node);
  } else if (node.is(ops::iota)) {
    if (counts_along_axis(node)) keep_whole(node, result, int(node.attributes.get_int("axis", 0)));
  } else {
    for (const Value operand : node.operands) keep_whole(node, operand);
    keep_whole(node, result);
  }
}

void AxisCuts::pair_reduction(const Node& node) {
  const Value from = node.operands[0], to = node.result();
  const Ints axes = node.attributes.get_ints("axes");
  const bool keep = node.attributes.get_bool("keep", false);
  for (int axis = 0, left = 0; axis < from.shape().rank(); ++axis) {
    if (std::ranges::count(axes, axis) > 0) continue;
    join(from, axis, to, keep ? axis : left++);
  }
}

void AxisCuts::pair_product(const Node& node) {
  const Value a = node.operands[0], b = node.operands[1], to = node.result();
  if (node.attributes.get_bool("transpose_a", false))
    return refuse(node, "transposes its left operand");
  const bool turned = node.attributes.get_bool("transpose_b", false);
  for (int axis = 0; axis + 1 < a.shape().rank(); ++axis) join(a, axis, to, axis);
  for (int axis = 0; axis + 2 < b.shape().rank(); ++axis) join(b, axis, to, axis);
  join(a, -1, b, turned ? -1 : -2);
  join(to, -1, b, turned ? -2 : -1);
  keep_whole(node, a, -1);
  if (b.shape().rank() > 2) keep_whole(node, to, -2);
  if (!is_matrix(b)) keep_whole(node, b);
}

// --- where they are cut

void AxisCuts::cut(const Node& node, Value value, int axis, int64_t distance) {
  const int64_t extent = value.shape()[axis];
  if (distance <= 1 || distance >= extent) return;
  Cuts& cuts = cuts_[class_of(value, axis)];
  if (!cuts.insert(distance).second) return;
  changed_ = true;
  int64_t before = 1;
  for (const int64_t each : cuts) {
    if (each % std::exchange(before, each) != 0) refuse(node, "divides an axis in two ways");
  }
  if (extent % before != 0) refuse(node, "divides an axis in unequal parts");
}

void AxisCuts::divide() {
  // Forwards and backwards in turn: a cut goes through a chain of reshapes in one of them.
  std::vector<const Node*> movers;
  each_node([&](const Node& node) {
    if (node.is(ops::reshape) || !pieces_of(node).empty()) movers.push_back(&node);
  });
  do {
    changed_ = false;
    for (const Node* node : movers) {
      if (!fault_.empty()) return;
      if (node->is(ops::reshape)) divide_reshape(*node);
      for (const AxisPiece& piece : pieces_of(*node)) divide_piece(*node, piece);
    }
    std::ranges::reverse(movers);
  } while (changed_);
}

/// The distances at which axes and their parts begin, in a value's elements.
void AxisCuts::add_distances(Value value, Cuts& all) const {
  int64_t distance = 1;
  for (int axis = value.shape().rank() - 1; axis >= 0; distance *= value.shape()[axis--]) {
    all.insert(distance);
    for (const int64_t each : cuts_[class_of(value, axis)]) all.insert(distance * each);
  }
}

void AxisCuts::divide_reshape(const Node& node) {
  Cuts all;
  for (const Value value : {node.operands[0], node.result()}) add_distances(value, all);
  for (const Value value : {node.operands[0], node.result()}) {
    int64_t distance = 1;
    for (int axis = value.shape().rank() - 1; axis >= 0; --axis) {
      const int64_t end = distance * value.shape()[axis];
      for (auto at = all.upper_bound(distance); at != all.end() && *at < end; ++at) {
        if (*at % distance != 0) return refuse(node, "divides axes that do not divide each other");
        cut(node, value, axis, *at / distance);
      }
      distance = end;
    }
  }
}

/// A piece of a cut axis is cut as the axis is, and the axis where such pieces begin.
void AxisCuts::divide_piece(const Node& node, const AxisPiece& piece) {
  const int axis = cut_axis(node);
  const int64_t start = piece.start, extent = piece.part.shape()[axis];
  const Cuts of_part = cuts_[class_of(piece.part, axis)], of_all = cuts_[class_of(piece.all, axis)];
  if (of_part.empty() && of_all.empty()) return;
  for (const int64_t each : of_part) cut(node, piece.all, axis, each);
  if (start % extent == 0 && piece.all.shape()[axis] % extent == 0)
    cut(node, piece.all, axis, extent);
  for (const int64_t each : Cuts(cuts_[class_of(piece.all, axis)])) {
    if (each < extent) cut(node, piece.part, axis, each);
    const bool has_parts = each <= extent && start % each == 0 && extent % each == 0;
    const bool is_in_part = each > extent && each % extent == 0 && start % extent == 0;
    if (!has_parts && !is_in_part) refuse(node, "cuts the parts of an axis");
  }
}

}  // namespace graphc::core
