// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/matrix_rows.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "passes/kernels/clusters.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

/// The most operations, in additions, and the most readers of a repeated node.
constexpr int64_t kMostOperations = 4;
constexpr size_t kMostReaders = 4;

bool is_matrix(const Shape& shape) { return shape.rank() > 2 && shape[-1] > 1 && shape[-2] > 1; }

bool is_cheap(const Node& node) {
  const Shape& shape = node.types[0].shape;
  if (!is_elementwise(node.op) || node.results() != 1 || !is_matrix(shape)) return false;
  const auto whole =
      std::ranges::count_if(node.operands, [&](Value operand) { return operand.shape() == shape; });
  return whole == 1 && emitted_instructions(node) <= kMostOperations;
}

/// Whether every operand has the shape, or is a scalar.
bool reads_alike(const Node& node, const Shape& shape) {
  return std::ranges::all_of(node.operands, [&](Value operand) {
    return operand.shape() == shape || operand.shape().rank() == 0;
  });
}

/// The highest rank of what a step, or one of a loop inside, multiplies by captured matrices.
int rank_of_multiplied(const Scan& scan) {
  int rank = 0;
  for (const Node& node : scan.body().nodes()) {
    if (node.is(ops::scan)) rank = std::max(rank, rank_of_multiplied(Scan(node)));
    if (!node.is(ops::matmul)) continue;
    const auto captures = scan.body_captures();
    if (std::ranges::find(captures, node.operands[1]) != captures.end())
      rank = std::max(rank, node.operands[0].shape().rank());
  }
  return rank;
}

/// The rows of those carries of the highest rank that have the shape of a matrix in every row.
Shape rows_by_shape(std::span<const Value> carries) {
  int rank = 0;
  for (const Value carry : carries) {
    if (is_matrix(carry.shape())) rank = std::max(rank, carry.shape().rank());
  }
  Shape rows;
  for (const Value carry : carries) {
    const Shape& shape = carry.shape();
    if (shape.rank() != rank || !is_matrix(shape)) continue;
    const Shape lead(std::vector<int64_t>(shape.begin(), shape.end() - 2));
    if (rows.rank() != 0 && lead != rows) return {};
    rows = lead;
  }
  return rows.elements() > 0 ? rows : Shape{};
}

class MatrixRows {
 public:
  explicit MatrixRows(const Scan& scan)
      : body_(scan.body()),
        known_(body_),
        live_(live_nodes(body_)),
        readers_(body_.nodes().size()),
        rows_(matrix_rows(scan)) {
    for (const Node& node : body_.nodes()) {
      if (!live_[size_t(node.id)]) continue;
      for (Value operand : node.operands) ++readers_[size_t(operand.node->id)];
    }
    // What is a result is stored anyhow.
    for (Value result : body_.results()) readers_[size_t(result.node->id)] = 0;
  }

  GraphPtr run() {
    for (Value input : body_.inputs())
      known_.set(input, to_->input(input.type(), input.name(), input.node->where));
    for (const Node& node : body_.nodes()) {
      if (live_[size_t(node.id)] && !node.is(ops::input)) make(node);
    }
    Values results;
    for (Value result : body_.results()) results.push_back(known_.find(result));
    to_->set_results(std::move(results));
    return freeze(std::move(to_));
  }

 private:
  void make(const Node& node) {
    const WhereScope scope(node.where);
    Values operands;
    for (Value operand : node.operands) operands.push_back(value_of(operand));
    const Shape& shape = node.types[0].shape;
    if (const std::optional<Shape> other = other_shape(node, operands)) {
      for (Value& operand : operands) operand = in_shape(operand, shape, *other);
      const Value made = copy_node(node, std::move(operands), *to_).result();
      return known_.set(node.result(), reshape(made, shape));
    }
    const Node& made = copy_node(node, std::move(operands), *to_);
    for (int i = 0; i < node.results(); ++i) known_.set(node.result(i), made.result(i));
  }

  /// An operand of what is computed in another shape, in that: what it is a reshape of, if that has
  /// the shape. A reshape between two nodes would keep them out of one kernel.
  static Value in_shape(Value value, const Shape& old, const Shape& other) {
    if (value.shape().rank() == 0) return value;
    const Shape shape = value.shape() == old ? other : Shape{other[-2], other[-1]};
    const bool reshaped = value.node->is(ops::reshape);
    if (reshaped && value.node->operands[0].shape() == shape) return value.node->operands[0];
    return reshape(value, shape);
  }

  /// The shape that an elementwise node is computed in, if that is not its own.
  std::optional<Shape> other_shape(const Node& node, const Values& operands) const {
    const Shape& shape = node.types[0].shape;
    if (!is_elementwise(node.op) || node.results() != 1) return std::nullopt;
    if (joins_columns(shape) && can_divide(operands, shape)) {
      const int64_t last = rows_[-1];
      return shape.with(shape.rank() - 1, last).insert(shape.rank(), shape[-1] / last);
    }
    if (!reads_alike(node, shape)) return std::nullopt;
    if (shape == rows_) return shape.insert(shape.rank(), 1);
    const bool of_matrix = shape.rank() == rows_.rank() + 2 && shape[-1] == 1 && shape[-2] > 1;
    if (of_matrix) return shape.without(shape.rank() - 1);
    return std::nullopt;
  }

  /// Whether it is [batch, heads * V] where the rows are [batch, heads].
  bool joins_columns(const Shape& shape) const {
    return rows_.rank() > 1 && shape.rank() == rows_.rank() && shape[-1] > rows_[-1] &&
           shape[-1] % rows_[-1] == 0 && std::equal(shape.begin(), shape.end() - 1, rows_.begin());
  }

  /// Whether operands of such a node can be read as [batch, heads, V]: what the loop reads, what is
  /// computed like that, and vectors [heads * V].
  static bool can_divide(const Values& operands, const Shape& shape) {
    return std::ranges::all_of(operands, [&](Value operand) {
      const Shape& own = operand.shape();
      if (own.rank() == 0) return true;
      if (own == shape) return operand.node->is(ops::input) || operand.node->is(ops::reshape);
      return own.elements() == shape[-1] && own[-1] == shape[-1] && operand.node->is(ops::input);
    });
  }

  bool is_repeated(const Node& node) const {
    const size_t count = readers_[size_t(node.id)];
    return count > 1 && count <= kMostReaders && is_cheap(node);
  }

  Value value_of(Value old) {
    if (!is_repeated(*old.node)) return known_.find(old);
    Values operands;
    for (Value operand : old.node->operands) operands.push_back(known_.find(operand));
    return copy_node(*old.node, std::move(operands), *to_).result();
  }

  const Graph& body_;
  ValueMap known_;
  std::vector<bool> live_;
  std::vector<size_t> readers_;
  Shape rows_;
  std::unique_ptr<Graph> to_ = std::make_unique<Graph>(body_.name());
};

}  // namespace

Shape matrix_rows(const Scan& scan) { return matrix_rows(scan, scan.body_carries()); }

Shape matrix_rows(const Scan& scan, std::span<const Value> carries) {
  const Shape rows = rows_by_shape(carries);
  return rows.rank() + 2 > rank_of_multiplied(scan) ? rows : Shape{};
}

bool carries_matrix_shapes(const Scan& scan) {
  return rows_by_shape(scan.body_carries()).rank() > 0;
}

bool is_matrix_of(const Shape& rows, const Shape& shape) {
  return shape.rank() == rows.rank() + 2 && std::equal(rows.begin(), rows.end(), shape.begin());
}

GraphPtr with_matrix_rows(const Scan& scan) { return MatrixRows(scan).run(); }

}  // namespace graphc::core
