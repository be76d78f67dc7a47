// SPDX-License-Identifier: Apache-2.0
// Finds operations that amplify the rounding error of a value stored with fewer digits.
//
// Rounding is a relative error. The factors of matrix products are rounded too, so most
// computations tolerate it. Some readers of a value amplify it:
//
// - exp turns an absolute error into a relative one. 8.03 is 8 in bf16, and its exp is 3 % too
//   small, although the sum of products of size 1 behind it, plus a bias of 7, was correct to
//   0.003;
// - sines and remainders: their arguments may be many periods away from 0;
// - reciprocals, roots and logarithms of a sum or difference, which may be near 0 although its
//   terms are not;
// - comparisons of two values: the derivative of a maximum compares rounded numbers again, and may
//   route all of a gradient to the wrong one.
//
// Products, and roots and reciprocals of the value itself, preserve the relative error. Sigmoid and
// tanh bound it, because they are flat for large arguments; so does exp of a value that cannot be
// positive and was not added to, such as -softplus(x).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// For each value of a graph: the first node downstream that may make a relative error of the value
/// arbitrarily large compared to its own result. Paths go through loops, from step to step and out
/// of them. They end at matrix products, whose factors are rounded anyway, at sums over the rows of
/// a matrix, which are products with ones, and at conditions.
class Amplifiers {
 public:
  explicit Amplifiers(const Graph& graph);
  /// Null if there is none.
  const Node* of(Value value) const;
  /// The amplifiers of a loop's body; `scan` is a node of the graph.
  const Amplifiers& inside(const Node& scan) const;

 private:
  /// For an error of each size (amplified.cpp) of one value: the node that amplifies it, or null.
  using Reasons = std::array<const Node*, 4>;

  Amplifiers(const Graph& body, const std::vector<Reasons>& results);
  void find(const Graph& graph, const std::vector<Reasons>& roots);
  void find_of_operands(const Node& node);
  void find_of_operands_of_loop(const Node& node);
  Reasons& reasons(Value value) { return reasons_[size_t(value.node->id)][size_t(value.index)]; }

  std::vector<std::vector<Reasons>> reasons_;  // by node and result
  std::map<const Node*, std::unique_ptr<const Amplifiers>> bodies_;
};

}  // namespace graphc::core
