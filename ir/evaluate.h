// SPDX-License-Identifier: Apache-2.0
// The reference evaluator: it defines the meaning of a graph, and targets must agree with it.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"
#include "ir/precision.h"

namespace graphc::core {

struct Evaluation {
  std::vector<Literal> results;
  std::map<std::string, Literal> next;  ///< new values of the states the graph assigns
};

/// How evaluations of the ranks' graphs, which run side by side, exchange values.
class RankExchange {
 public:
  virtual ~RankExchange() = default;
  virtual int count() const = 0;
  /// all[r * mine.size() ...] = `mine` of rank r, for every rank: each calls it in the same order,
  /// with as many bytes.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
};

/// Evaluates the graph in one of two precisions; factors of products are never rounded
/// (evaluated_precision()). In f32 every value is rounded to its type (sums and products are
/// accumulated in f64 and rounded once). In f64, values of f32 and bf16 are computed and kept in
/// f64, and returned as f64 literals.
///
/// `inputs` are in the graph's order; `states` contains every state that the graph lists. In f64
/// floating-point arguments may be f64 literals of the same shape. Throws ErrorKind::input for a
/// missing or mistyped argument, an index outside a table, a label outside the classes (naming it
/// and the node's line), and for `grad`.
///
/// The graph may be that of one of several ranks: then `ranks` exchanges values with the
/// evaluations of the others. Sums over ranks are accumulated in f64 and rounded once. Throws
/// ErrorKind::input, at the node's line, for a collective of another number of ranks; without
/// `ranks` there is one.
Evaluation evaluate(const Graph& graph, const std::vector<Literal>& inputs,
                    const std::map<std::string, Literal>& states = {},
                    Precision precision = Precision::f32, RankExchange* ranks = nullptr);

/// The error for a label outside the classes, the same for every target; `row` is its row-major
/// position.
Error label_error(Where where, int64_t label, int64_t row, int64_t classes);

}  // namespace graphc::core
