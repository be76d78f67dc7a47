// SPDX-License-Identifier: Apache-2.0
// Writes products of a step with a vector as the sums and elementwise products that they are.
//
// Cells whose rows carry a matrix are written with `einsum` or `matmul` as often as with sums:
// S' k is a product of S with one column, k u' a product over one term. A product is a kernel of
// its own that reads its matrix in panels, which in a loop are made in every step, and it keeps the
// rows of a step together. A sum joins what computes the matrix and reads it once; rows stay apart,
// and the loop may be taken in chunks of steps (chunk-recurrence).
//
//     a b', over one term                  a product element by element
//     x' M or M x, batched                 a sum over one axis of M x
//     X M, batched, up to 4 rows           one after another: the queries of a group
//     x' y, batched                        a sum over the last axis
//
// What einsum puts around products, a transpose of the matrix and reshapes that join the axes of
// its rows, is looked through: the matrix itself is never rearranged in a step.
//
// What depends on no carry leaves the loop as a product (hoist), and a matrix that the loop does
// not change is read in panels, packed once: those products stay. Sums are taken in another order
// than in a product, and their factors are not rounded to a lower precision.
#include <algorithm>
#include <optional>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "passes/variation.h"

namespace graphc::core {
namespace {

/// The most rows of a factor that are vectors: the matrix is read once for all of them.
constexpr int64_t kMostVectors = 4;

/// A factor of a product, [batch..., rows, columns] as it is multiplied.
struct Factor {
  Value value;
  bool transposed = false;  ///< the value has its last two axes the other way

  int64_t rows() const { return value.shape()[transposed ? -1 : -2]; }
  int64_t columns() const { return value.shape()[transposed ? -2 : -1]; }
};

Shape lead_of(const Shape& shape) {
  return Shape(std::vector<int64_t>(shape.begin(), shape.end() - 2));
}

/// Whether the transpose exchanges the last two axes and no others.
bool exchanges_last(const Node& transpose) {
  const std::vector<int64_t> order = transpose.attributes.get_ints("permutation");
  const size_t rank = order.size();
  if (rank < 2) return false;
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (order[i] != int64_t(i)) return false;
  }
  return order[rank - 2] == int64_t(rank) - 1;
}

/// The factor as the value that it rearranges: without reshapes of the axes before the last two,
/// and transposes of the last two.
Factor without_rearrangement(Factor factor) {
  while (true) {
    const Node& node = *factor.value.node;
    if (node.is(ops::transpose) && exchanges_last(node)) {
      factor = {node.operands[0], !factor.transposed};
      continue;
    }
    if (!node.is(ops::reshape)) return factor;
    const Shape &to = node.types[0].shape, &from = node.operands[0].shape();
    if (from.rank() < to.rank() || from[-1] != to[-1] || from[-2] != to[-2]) return factor;
    factor.value = node.operands[0];
  }
}

/// What the value is a reshape of, through as many reshapes as leave n elements on the last axis;
/// the value itself if there are none.
Value as_rows(Value value, int64_t n) {
  const auto is_rows = [&](Value x) { return x.shape().rank() > 0 && x.shape()[-1] == n; };
  Value found = value;
  while (found.node->is(ops::reshape) && is_rows(found.node->operands[0]))
    found = found.node->operands[0];
  return found;
}

class VectorProducts {
 public:
  explicit VectorProducts(const Scan& scan) : varies_(variation(scan)) {}

  std::optional<Values> replaced(const Node& node, const Values& operands) {
    if (node.is(ops::matmul)) return product(node, operands);
    if (node.is(ops::reshape) || node.is(ops::transpose)) return rearranged(node, operands);
    return std::nullopt;
  }
  /// How many products it has replaced.
  int count() const { return count_; }

 private:
  static Factor factor(const Node& product, const Values& operands, size_t place) {
    return {operands[place],
            product.attributes.get_bool(place == 0 ? "transpose_a" : "transpose_b", false)};
  }
  Varies varies(Value value) const { return varies_[size_t(value.node->id)]; }

  std::optional<Values> product(const Node& node, const Values& operands) {
    const Factor a = factor(node, operands, 0), b = factor(node, operands, 1);
    const int rank = a.value.shape().rank();
    if (rank < 2 || b.value.shape().rank() != rank ||
        lead_of(a.value.shape()) != lead_of(b.value.shape()))
      return std::nullopt;
    const WhereScope scope(node.where);
    const Shape& shape = node.types[0].shape;
    const bool changes[] = {varies(node.operands[0]) >= Varies::streams,
                            varies(node.operands[1]) >= Varies::streams};
    std::optional<Value> made;
    if (a.columns() == 1) {
      if (changes[0] && changes[1]) made = outer(a.value, b.value, shape);
    } else if (rank > 2 && varies(node.result()) == Varies::carries) {
      if (shape[-1] == 1 && shape[-2] == 1) {
        made = dot(a, b);
      } else if (shape[-1] == 1 && changes[0]) {
        made = sum_of(a, true, b.value);
      } else if (shape[-2] >= 1 && shape[-2] <= kMostVectors && changes[1]) {
        made = sums_of_rows(a, b, shape);
      }
    }
    if (!made) return std::nullopt;
    ++count_;
    return Values{reshape(*made, shape)};
  }

  /// a b' in `shape`, [batch..., elements of a, elements of b].
  static Value outer(Value a, Value b, const Shape& shape) {
    return reshape(a, shape.with(-1, 1)) * reshape(b, shape.with(-2, 1));
  }

  static Value dot(const Factor& a, const Factor& b) {
    const int64_t n = a.columns();
    Value x = as_rows(a.value, n), y = as_rows(b.value, n);
    if (x.shape() != y.shape() || x.shape()[-1] != n) {
      const Shape rows = lead_of(a.value.shape());
      x = reshape(x, rows.insert(rows.rank(), n));
      y = reshape(y, rows.insert(rows.rank(), n));
    }
    return sum(x * y, {x.shape().rank() - 1});
  }

  /// M x, a sum over the columns of the matrix M, or x' M, a sum over its rows; without the axis of
  /// the sum.
  static Value sum_of(const Factor& given, bool over_columns, Value vector) {
    const Factor matrix = without_rearrangement(given);
    const Shape& shape = matrix.value.shape();
    const int axis = shape.rank() - (over_columns != matrix.transposed ? 1 : 2);
    const int other = 2 * shape.rank() - 3 - axis;  // of the last two axes
    return sum(matrix.value * reshape(vector, shape.with(other, 1)), {axis});
  }

  /// The rows of a, each times the matrix, in `shape`, that of the product.
  static Value sums_of_rows(const Factor& a, const Factor& matrix, const Shape& shape) {
    if (a.rows() == 1) return sum_of(matrix, false, a.value);
    const int axis = a.value.shape().rank() - (a.transposed ? 1 : 2);
    Values rows;
    for (int64_t i = 0; i < a.rows(); ++i) {
      const Value made = sum_of(matrix, false, slice(a.value, axis, i, i + 1));
      rows.push_back(reshape(made, shape.with(-2, 1)));
    }
    return concat(rows, shape.rank() - 2);
  }

  /// A product over one term whose result is rearranged, in the shape that is wanted. `node` is of
  /// the old graph.
  std::optional<Values> rearranged(const Node& node, const Values& operands) {
    const Node& made = *operands[0].node;
    const Value from = made.is(ops::reshape) ? made.operands[0] : operands[0];
    if (!from.node->is(ops::mul)) return std::nullopt;
    const Value a = from.node->operands[0], b = from.node->operands[1];
    const int rank = from.shape().rank();
    const bool is_outer = rank >= 2 && a.shape().rank() == rank && b.shape().rank() == rank &&
                          a.shape()[-1] == 1 && b.shape()[-2] == 1 && a.shape()[-2] > 1 &&
                          b.shape()[-1] > 1 && lead_of(a.shape()) == lead_of(b.shape());
    if (!is_outer) return std::nullopt;
    const WhereScope scope(node.where);
    const Shape& shape = node.types[0].shape;
    if (node.is(ops::transpose)) {
      if (!exchanges_last(node) || operands[0].shape() != from.shape()) return std::nullopt;
      return Values{outer(b, a, shape)};
    }
    if (shape.rank() < 2 || shape[-1] != b.shape()[-1] || shape[-2] != a.shape()[-2])
      return std::nullopt;
    return Values{outer(a, b, shape)};
  }

  const std::vector<Varies> varies_;
  int count_ = 0;
};

GraphPtr replace_in(const GraphPtr& graph, Remarks& remarks) {
  const auto is_candidate = [](const Node& node) {
    return node.is(ops::scan) && contains(node.region(), ops::matmul);
  };
  if (std::ranges::none_of(graph->nodes(), is_candidate)) return graph;
  bool is_changed = false;
  const auto with_sums = [&](const Node& node, const Values& operands,
                             Graph& to) -> std::optional<Values> {
    if (!is_candidate(node)) return std::nullopt;
    VectorProducts products{Scan(node)};
    GraphPtr body = rewrite(node.region(), [&](const Node& inner, const Values& inputs, Graph&) {
      return products.replaced(inner, inputs);
    });
    if (products.count() == 0) return std::nullopt;
    is_changed = true;
    remarks.add(node, fmt::format("{} products with a vector are sums or products element by "
                                  "element",
                                  products.count()));
    return results_of(copy_node(node, operands, to, {std::move(body)}));
  };
  GraphPtr changed = rewrite(*graph, with_sums);
  return is_changed ? changed : graph;
}

GraphPtr run_vector_products(const GraphPtr& graph, const PassOptions&, Remarks& remarks) {
  const auto change = [&](const GraphPtr& from) { return replace_in(from, remarks); };
  return change(rewrite_regions(graph, change));
}

}  // namespace

constinit const Pass passes::vector_products{
    .name = "vector-products",
    .summary = "writes products of a step with a vector as sums and products element by element",
    .options = "",
    .run = run_vector_products,
};

}  // namespace graphc::core
