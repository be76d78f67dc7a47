// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/wanted.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <random>

#include "ir/evaluate.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/pipeline.h"
#include "tests/testing/disturbed_graph.h"
#include "tests/testing/exact_graph.h"
#include "tests/testing/rounding_bound.h"

namespace graphc::core::testing {
namespace {

using Literals = std::vector<Literal>;

/// Numbers below this lose digits where sums of them leave f32's normal range.
constexpr double kSmallest = 1e-34;

/// For each result the largest distance of an element from the other's.
std::vector<double> largest_differences(const Literals& a, const Literals& b) {
  std::vector<double> largest(a.size(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    for (int64_t k = 0; k < a[i].elements(); ++k)
      largest[i] = std::max(largest[i], std::abs(a[i].element(k) - b[i].element(k)));
  }
  return largest;
}

/// What is beyond one tolerance for a whole result: twenty times the largest error that rounding
/// each value of the graph once makes in it (its own conditioning, measured), and 1e-5 of its
/// largest element, for sums in an order of the target's own. It is for the elements whose error
/// bound is large or not finite: bounds do not see that errors cancel. At every scale a step of
/// tanh may lie between one rounding and the next, which a measurement may miss: then elements
/// whose bound is at most 1e-2 of the largest are left to it, and the others are compared with 1e-3
/// in place of 1e-5.
std::string beyond_rounding(const Literals& found, const BoundedResults& wanted,
                            const std::vector<double>& errors, Numbers numbers) {
  const double bounded = numbers == Numbers::scaled ? 1e-2 : 0;
  const double share = numbers == Numbers::scaled ? 1e-3 : 1e-5;
  for (size_t i = 0; i < found.size(); ++i) {
    const Literal& values = wanted.values[i];
    double largest = kSmallest;
    for (int64_t k = 0; k < values.elements(); ++k)
      largest = std::max(largest, std::abs(values.element(k)));
    const double tolerance = 20 * errors[i] + share * largest;
    if (!std::isfinite(tolerance)) continue;
    for (int64_t k = 0; k < values.elements(); ++k) {
      if (wanted.bounds[i].element(k) <= bounded * largest) continue;
      const double difference = std::abs(found[i].element(k) - values.element(k));
      if (!(difference <= tolerance)) {
        return fmt::format("result {} element {}: wanted {}, found {}, tolerance {}", i, k,
                           values.element(k), found[i].element(k), tolerance);
      }
    }
  }
  return {};
}

double power_of_ten(unsigned seed) { return std::pow(10.0, double(seed * 7 % 10) - 6); }

Literal random_literal(const Type& type, std::mt19937& random, Numbers numbers, double scale) {
  std::uniform_real_distribution<float> real(-1, 1);
  std::uniform_int_distribution<int> whole(-kExactInput, kExactInput), index(0, 1);
  const bool has_sign = type.dtype != DType::u8 && type.dtype != DType::u32;
  Literal literal(Type{DType::f64, type.shape});
  for (double& x : literal.mutable_data<double>()) {
    if (type.dtype == DType::boolean) {
      x = index(random);
    } else if (numbers == Numbers::whole) {
      x = whole(random);
      if (!has_sign) x = std::abs(x);
    } else {
      x = is_floating(type.dtype) ? scale * double(real(random)) : index(random);
    }
  }
  return literal.converted(type.dtype);
}

Literals together(const Literals& a, const Literals& b) {
  Literals all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

bool has_gradient(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return node.is(ops::grad); });
}

bool is_assigned(const Graph& graph, Value state) {
  return std::ranges::any_of(graph.next(), [&](const Next& next) { return next.state == state; });
}

bool same_numbers(const Literals& a, const Literals& b) { return other_number(a, b).empty(); }

}  // namespace

std::string other_number(const Literals& found, const Literals& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (int64_t k = 0; k < wanted[i].elements(); ++k) {
      const double x = found[i].element(k), y = wanted[i].element(k);
      if (x != y && !(std::isnan(x) && std::isnan(y)))
        return fmt::format("result {} element {}: wanted {}, found {}", i, k, y, x);
    }
  }
  return {};
}

Call random_call(const Graph& graph, unsigned seed, Numbers numbers) {
  std::mt19937 random(seed);
  const double scale = numbers == Numbers::scaled ? power_of_ten(seed) : 1;
  Call call;
  for (Value input : graph.inputs())
    call.inputs.push_back(random_literal(input.type(), random, numbers, scale));
  for (Value state : graph.states())
    call.states.push_back(random_literal(state.type(), random, numbers, scale));
  return call;
}

GraphPtr without_states(const Graph& graph) {
  auto copy = std::make_unique<Graph>(graph.name());
  std::map<std::pair<const Node*, int>, Value> made;
  const auto at = [&](Value value) { return made.at({value.node, value.index}); };
  for (const Values& leaves : {graph.inputs(), graph.states()}) {
    for (Value leaf : leaves) made[{leaf.node, 0}] = copy->input(leaf.type(), leaf.name());
  }
  for (const Node& node : graph.nodes()) {
    if (made.contains({&node, 0})) continue;
    Values operands;
    for (Value operand : node.operands) operands.push_back(at(operand));
    const Node& added = copy_node(node, operands, *copy);
    for (int i = 0; i < added.results(); ++i) made[{&node, i}] = added.result(i);
  }
  Values results;
  for (Value root : graph.results()) results.push_back(at(root));
  for (Value state : graph.states()) {
    for (const Next& next : graph.next()) {
      if (next.state == state) results.push_back(at(next.value));
    }
  }
  copy->set_results(results);
  return freeze(std::move(copy));
}

Wanted::Wanted(const GraphPtr& graph, Numbers numbers)
    : graph_(run_pipeline(graph, parse_pipeline("autodiff")).graph),
      stateless_(without_states(*graph_)),
      numbers_(numbers),
      has_gradient_(has_gradient(*graph)) {}

const Wanted::Answer& Wanted::answer(const Call& call) {
  for (const Answer& known : answers_) {
    if (known.call == call) return known;
  }
  Answer made{.call = call};
  std::map<std::string, Literal> states;
  for (size_t i = 0; i < call.states.size(); ++i)
    states.emplace(graph_->states()[i].name(), call.states[i]);
  const auto evaluated = [&](Precision precision) {
    const Evaluation all = evaluate(*graph_, call.inputs, states, precision);
    Literals values = all.results;
    for (Value state : graph_->states()) {
      if (const auto next = all.next.find(state.name()); next != all.next.end())
        values.push_back(next->second);
    }
    return values;
  };
  made.rounded = evaluated(Precision::f32);
  made.values = evaluated(Precision::f64);
  if (numbers_ == Numbers::whole) {
    made.exact = same_numbers(made.rounded, made.values);
    made.values = made.rounded;
  } else {
    made.bounds = evaluate_with_bounds(*stateless_, together(call.inputs, call.states)).bounds;
  }
  answers_.push_back(std::move(made));
  return answers_.back();
}

Call Wanted::call_after(const Call& call, const Literals& inputs) {
  const Literals& values = answer(call).rounded;
  Call after{inputs, call.states};
  size_t next = graph_->results().size();
  for (size_t i = 0; i < after.states.size(); ++i) {
    if (is_assigned(*graph_, graph_->states()[i])) after.states[i] = values[next++];
  }
  return after;
}

std::string Wanted::compared(const Answer& wanted, const Literals& found) const {
  if (numbers_ == Numbers::whole) {
    // Numbers that no f32 holds are rounded once, so that f32 has the only answer; sums of states
    // that have grown, and derivatives, may be of more digits than it has.
    const bool one_answer = wanted.exact || (!has_gradient_ && &wanted == &answers_.front());
    return one_answer ? other_number(found, wanted.values) : std::string();
  }
  const BoundedResults bounded{wanted.values, wanted.bounds};
  std::string fault = beyond_bound(found, bounded);
  if (!fault.empty()) return fault;
  std::vector<double> errors = largest_differences(wanted.values, wanted.rounded);
  fault = beyond_rounding(found, bounded, errors, numbers_);
  if (fault.empty()) return {};
  // One evaluation in f32 may round to the exact result by luck: tanh(x) - x is 0 for a small x.
  for (const double turn : {0.0, std::numbers::pi / 2}) {
    const Literals disturbed =
        evaluate(*disturbed_graph(*stateless_, turn),
                 together(wanted.call.inputs, wanted.call.states), {}, Precision::f64)
            .results;
    const std::vector<double> more = largest_differences(wanted.values, disturbed);
    for (size_t i = 0; i < errors.size(); ++i) errors[i] = std::max(errors[i], more[i]);
  }
  return beyond_rounding(found, bounded, errors, numbers_);
}

std::string Wanted::fault(const Call& call, const Outcome& found) {
  Literals all = found.results;
  for (size_t i = 0; i < call.states.size(); ++i) {
    const Value state = graph_->states()[i];
    if (is_assigned(*graph_, state)) {
      all.push_back(found.states[i]);
    } else if (!(found.states[i] == call.states[i])) {
      return fmt::format("state %{} has no next value, and another than before", state.name());
    }
  }
  return compared(answer(call), all);
}

}  // namespace graphc::core::testing
