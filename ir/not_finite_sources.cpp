// SPDX-License-Identifier: Apache-2.0
// Three exact rules and a coarse one. Elementwise ops: by broadcasting. Ops that move elements: by
// moving the numbers of the origins. Sums and products: by the rows and columns they reduce.
// Everything else: each element depends on all elements.
#include "ir/not_finite_sources.h"

#include <algorithm>
#include <cmath>

#include "ir/op.h"
#include "ir/scalar.h"

namespace graphc::core::evaluation {
namespace {

NotFiniteSource source_at(const Array& x, int64_t i) {
  NotFiniteSource source;
  const int origin = x.origins == nullptr ? 0 : (*x.origins)[size_t(i)];
  if (origin != 0) (std::isnan(x.floats()[i]) ? source.nan : source.infinite) = origin;
  return source;
}

/// Where element `i` of `shape` is read in a value that is broadcast to it, or that lacks the axes
/// with `stride` 0.
class Places {
 public:
  Places(const Shape& shape, std::vector<int64_t> strides)
      : shape_(shape), strides_(std::move(strides)) {}

  static Places broadcast(const Shape& from, const Shape& to) {
    std::vector<int64_t> strides(size_t(to.rank()), 0);
    const auto own = from.strides();
    for (int axis = 0; axis < from.rank(); ++axis) {
      if (from[axis] != 1) strides[size_t(to.rank() - from.rank() + axis)] = own[size_t(axis)];
    }
    return {to, std::move(strides)};
  }

  int64_t of(int64_t i) const {
    int64_t place = 0;
    for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
      place += i % shape_[axis] * strides_[size_t(axis)];
      i /= shape_[axis];
    }
    return place;
  }

 private:
  Shape shape_;
  std::vector<int64_t> strides_;
};

NotFiniteSources elementwise_sources(const Node& node, const Arrays& operands,
                                     const Array& result) {
  NotFiniteSources sources(size_t(result.elements()));
  const bool selects = node.is(ops::select);
  const Places condition =
      Places::broadcast(operands.empty() ? Shape{} : operands[0].shape(), result.shape());
  for (size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].origins == nullptr) continue;
    const Places places = Places::broadcast(operands[k].shape(), result.shape());
    for (int64_t i = 0; i < result.elements(); ++i) {
      if (selects && (operands[0].integers()[condition.of(i)] != 0) != (k == 1)) continue;
      sources[size_t(i)].add(source_at(operands[k], places.of(i)));
    }
  }
  return sources;
}

bool moves_elements(const Node& node) {
  for (const Op* op : {&ops::reshape, &ops::transpose, &ops::broadcast_to, &ops::slice, &ops::pad,
                       &ops::reverse, &ops::concat, &ops::split, &ops::gather, &ops::scatter}) {
    if (node.is(*op)) return true;
  }
  return false;
}

/// Applies the op itself to the origins' numbers, which are valid floats.
NotFiniteSources moved_sources(int index, const Arrays& operands, const Array& result,
                               const std::function<Arrays(const Arrays&)>& again) {
  Arrays numbers;
  for (const Array& operand : operands) {
    if (!operand.floating()) {
      numbers.push_back(operand);
      continue;
    }
    Array origins(operand.type());
    for (int64_t i = 0; i < operand.elements(); ++i)
      origins.floats()[i] = operand.origins == nullptr ? 0 : (*operand.origins)[size_t(i)];
    numbers.push_back(std::move(origins));
  }
  const Array moved = again(numbers)[size_t(index)];
  NotFiniteSources sources(size_t(result.elements()));
  for (int64_t i = 0; i < result.elements(); ++i) {
    const double origin = moved.floats()[i];
    // The padding of a pad is not the number of an origin.
    if (!(origin >= 1 && origin < NotFiniteSource::none) || std::isfinite(result.floats()[i]))
      continue;
    NotFiniteSource& source = sources[size_t(i)];
    (std::isnan(result.floats()[i]) ? source.nan : source.infinite) = int(origin);
  }
  return sources;
}

NotFiniteSources folded_sources(const Node& node, const Array& x, const Array& result) {
  NotFiniteSources sources(size_t(result.elements()));
  const std::vector<int64_t> axes = node.attributes.get_ints("axes");
  std::vector<int64_t> strides(size_t(x.shape().rank()), 0);
  int64_t stride = 1;
  for (int axis = x.shape().rank() - 1; axis >= 0; --axis) {
    if (std::ranges::find(axes, axis) != axes.end()) continue;
    strides[size_t(axis)] = stride;
    stride *= x.shape()[axis];
  }
  const Places places(x.shape(), strides);
  for (int64_t i = 0; i < x.elements(); ++i) {
    if ((*x.origins)[size_t(i)] != 0) sources[size_t(places.of(i))].add(source_at(x, i));
  }
  return sources;
}

/// For a factor of a product: the source of each of its rows (or columns, if transposed), in each
/// batch.
NotFiniteSources lines_of(const Array& x, bool columns) {
  const int64_t rows = x.shape()[-2], width = x.shape()[-1];
  const int64_t lines = columns ? width : rows;
  NotFiniteSources sources(size_t(x.elements() / std::max<int64_t>(1, columns ? rows : width)));
  for (int64_t i = 0; x.origins != nullptr && i < x.elements(); ++i) {
    const int64_t batch = i / (rows * width), line = columns ? i % width : i / width % rows;
    sources[size_t(batch * lines + line)].add(source_at(x, i));
  }
  return sources;
}

NotFiniteSources all_of_all(const Arrays& operands, const Array& result) {
  NotFiniteSource any;
  for (const Array& operand : operands) {
    for (int64_t i = 0; operand.origins != nullptr && i < operand.elements(); ++i)
      any.add(source_at(operand, i));
  }
  return NotFiniteSources(size_t(result.elements()), any);
}

NotFiniteSources product_sources(const Node& node, const Arrays& operands, const Array& result) {
  const Array &a = operands[0], &b = operands[1];
  if (a.shape().rank() < 2 || b.shape().rank() < 2 || result.shape().rank() < 2)
    return all_of_all(operands, result);
  const int64_t rows = result.shape()[-2], columns = result.shape()[-1];
  const NotFiniteSources of_rows = lines_of(a, node.attributes.get_bool("transpose_a", false));
  const NotFiniteSources of_columns = lines_of(b, !node.attributes.get_bool("transpose_b", false));
  // A factor with fewer batches is broadcast: one matrix, or the last batch axes.
  NotFiniteSources sources(size_t(result.elements()));
  if (of_rows.empty() || of_columns.empty()) return sources;
  for (int64_t i = 0; i < result.elements(); ++i) {
    const int64_t batch = i / (rows * columns);
    const size_t row = size_t(batch * rows + i / columns % rows) % of_rows.size();
    const size_t column = size_t(batch * columns + i % columns) % of_columns.size();
    sources[size_t(i)] = of_rows[row];
    sources[size_t(i)].add(of_columns[column]);
  }
  return sources;
}

}  // namespace

NotFiniteSources sources_of(const Node& node, int index, const Arrays& operands,
                            const Array& result,
                            const std::function<Arrays(const Arrays&)>& again) {
  const bool any = std::ranges::any_of(
      operands, [](const Array& operand) { return operand.origins != nullptr; });
  if (!any) return NotFiniteSources(size_t(result.elements()));
  if (is_elementwise(node.op)) return elementwise_sources(node, operands, result);
  if (moves_elements(node)) return moved_sources(index, operands, result, again);
  if (node.is(ops::sum) || node.is(ops::max) || node.is(ops::prod))
    return folded_sources(node, operands[0], result);
  if (node.is(ops::matmul)) return product_sources(node, operands, result);
  return all_of_all(operands, result);
}

}  // namespace graphc::core::evaluation
