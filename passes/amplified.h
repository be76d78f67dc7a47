// SPDX-License-Identifier: Apache-2.0
// What amplifies the rounding of a value that is stored in fewer digits.
//
// Rounding changes a number by a part of itself. The factors of products are rounded too, so most
// of what is computed bears that. What reads the value may make more of it:
//
// - exp makes a relative error of an absolute one. 8.03 is 8 in bf16, and exp of it 3 % less; the
//   sum of products of size 1 that it came from, beside a bias of 7, was right to 0.003;
// - sines and remainders: their arguments may be many periods from 0;
// - reciprocals, roots and logarithms of a sum or difference, which may be near 0 where what was
//   added is not;
// - comparisons of two values: where a maximum was taken, its derivative asks again which of them
//   it was, of rounded numbers, and may give all of a gradient to the other.
//
// Products, and roots and reciprocals of the value itself, keep the error in proportion. Sigmoid
// and tanh bound it, for they are flat where their arguments are large; so does exp of a number
// that cannot be positive and to which nothing was added, such as -softplus(x).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// The first node, along any way from a value of a graph to what is computed from it, that makes an
/// error of a part of the value arbitrarily large beside what that node computes. Ways go through
/// loops, from step to step and out of them. They end at products, whose factors are rounded
/// anyway, at sums over the rows of a matrix, which are products with ones, and at conditions.
class Amplifiers {
 public:
  explicit Amplifiers(const Graph& graph);
  /// Null where there is none.
  const Node* of(Value value) const;
  /// Those of the values of a loop's body; `scan` is a node of the graph.
  const Amplifiers& inside(const Node& scan) const;

 private:
  /// For errors of each size (amplified.cpp) of one value: what amplifies them, or null.
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
