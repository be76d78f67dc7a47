// SPDX-License-Identifier: Apache-2.0
// What a call of a compiled graph should give, and whether what it gave is that.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"

namespace graphc::core::testing {

/// What inputs are made of, and so how results are compared.
enum class Numbers {
  real,    ///< in [-1, 1): results agree within the running error bound of each element, and
           ///< within a tolerance for the whole where a bound is larger or there is none
  scaled,  ///< the same numbers times a power of ten from 1e-6 to 1e3, one for a seed
  whole,   ///< of tests/testing/exact_graph.h: every element is equal (0 is -0)
};

/// What a call takes: inputs and states in the order of the graph.
struct Call {
  std::vector<Literal> inputs, states;

  bool operator==(const Call&) const = default;
};

/// What a call gives: results, and all states as they are then.
struct Outcome {
  std::vector<Literal> results, states;
};

/// A random call. Of real numbers integers are 0 or 1, so that they may be indices; unsigned ones
/// are never negative.
Call random_call(const Graph& graph, unsigned seed, Numbers numbers);

/// The evaluator's answers for a graph, remembered by call.
class Wanted {
 public:
  Wanted(const GraphPtr& graph, Numbers numbers);

  /// The call after this one: these inputs, and the states that the evaluator leaves. Throws
  /// ErrorKind::input where the evaluator refuses the call.
  Call call_after(const Call& call, const std::vector<Literal>& inputs);

  /// The first thing in which `found` is not what the call should give; empty when there is none. A
  /// state without a next value keeps its bits. Of whole numbers, derivatives and calls after the
  /// first are not compared where f32 and f64 have other answers.
  std::string fault(const Call& call, const Outcome& found);

 private:
  struct Answer {
    Call call;
    std::vector<Literal> values, bounds, rounded;  ///< of results, then of what is next
    bool exact = true;
  };
  const Answer& answer(const Call& call);
  std::string compared(const Answer& wanted, const std::vector<Literal>& found) const;

  GraphPtr graph_;      ///< without `grad`
  GraphPtr stateless_;  ///< states are further inputs, their next values further results
  Numbers numbers_;
  bool has_gradient_;
  std::deque<Answer> answers_;
};

/// The first element that is another number, or nothing.
std::string other_number(const std::vector<Literal>& found, const std::vector<Literal>& wanted);

/// A copy of the graph in which states are inputs behind the others, and the values of `next`, in
/// the order of the states that have one, results behind the others.
GraphPtr without_states(const Graph& graph);

}  // namespace graphc::core::testing
