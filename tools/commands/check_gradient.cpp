// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/check_gradient.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "ir/build.h"
#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "tools/commands/arguments.h"

namespace graphc::core::commands {
namespace {

/// Combines the results into one number: the sum of all elements times numbers in [-0.5, 0.5).
Value combination(const Values& results, Graph& to) {
  Value all;
  int64_t number = 0;
  for (Value result : results) {
    if (!is_floating(result.dtype())) continue;
    const Value key = apply1(ops::fold_in, {scalar_constant(to, 0, DType::i64),
                                            scalar_constant(to, double(number++), DType::i64)});
    const Value weights =
        apply1(ops::uniform, {key},
               {{"shape", std::vector<int64_t>(result.shape().begin(), result.shape().end())}}) -
        0.5;
    const Value part = sum(cast(result, DType::f32) * weights);
    all = all ? all + part : part;
  }
  return all;
}

/// What is differentiated, and with respect to what.
struct Loss {
  GraphPtr alone;        ///< returns the loss
  GraphPtr derivatives;  ///< returns the derivative by each leaf
  std::string what;      ///< for people
  Values leaves;         ///< of `alone`: its floating-point inputs, then states
};

/// Copies the nodes before `grad` from `from` to `to`; returns the copied values, by node.
std::vector<Values> copy_forward(const Graph& from, Graph& to) {
  std::vector<Values> values(from.nodes().size());
  for (Value input : from.inputs())
    values[size_t(input.node->id)] = {to.input(input.type(), input.name())};
  for (Value state : from.states())
    values[size_t(state.node->id)] = {to.state(state.type(), state.name())};
  for (const Node& node : from.nodes()) {
    if (node.is(ops::grad)) break;
    if (node.is(ops::input) || node.is(ops::state)) continue;
    Values operands;
    for (Value operand : node.operands)
      operands.push_back(values[size_t(operand.node->id)].at(size_t(operand.index)));
    const Node& copy = copy_node(node, std::move(operands), to);
    for (int i = 0; i < copy.results(); ++i) values[size_t(node.id)].push_back(copy.result(i));
  }
  return values;
}

/// The loss in a copy of the graph: that of its `grad`, otherwise its only scalar result, otherwise
/// a combination of all results. Sets `what` to its description.
Value find_loss(const Graph& from, const std::vector<Values>& values, Graph& to,
                std::string& what) {
  const auto mapped = [&](Value value) {
    return values[size_t(value.node->id)].at(size_t(value.index));
  };
  for (const Node& node : from.nodes()) {
    if (!node.is(ops::grad)) continue;
    what = fmt::format("%{}", node.operands[0].name());
    return mapped(node.operands[0]);
  }
  Values floating;
  for (Value result : from.results()) {
    if (is_floating(result.dtype())) floating.push_back(mapped(result));
  }
  if (floating.empty())
    throw input_error({}, "@{}: no floating-point result to differentiate", from.name());
  if (floating.size() == 1 && floating[0].shape().rank() == 0) {
    what = fmt::format("%{}", floating[0].name());
    return floating[0];
  }
  what = "a combination of its results";
  return combination(floating, to);
}

Loss make_loss(const Graph& from) {
  Loss result;
  for (const bool derivatives : {false, true}) {
    auto to = std::make_unique<Graph>(from.name());
    const std::vector<Values> values = copy_forward(from, *to);
    Values results{find_loss(from, values, *to, result.what)};
    Values leaves;
    for (const Values* among : {&to->inputs(), &to->states()}) {
      for (Value leaf : *among) {
        if (is_floating(leaf.dtype())) leaves.push_back(leaf);
      }
    }
    if (leaves.empty()) {
      throw input_error({}, "@{}: no floating-point input or state to differentiate by",
                        from.name());
    }
    if (derivatives) {
      std::vector<Operand> operands{results[0]};
      operands.insert(operands.end(), leaves.begin(), leaves.end());
      const Node& node = apply(ops::grad, operands);
      results.clear();
      for (int i = 0; i < node.results(); ++i) results.push_back(node.result(i));
    } else {
      result.leaves = leaves;
    }
    to->set_results(std::move(results));
    (derivatives ? result.derivatives : result.alone) = freeze(std::move(to));
  }
  result.derivatives = without_grad(result.derivatives);
  return result;
}

/// The loss with one leaf moved along a direction, in f64.
double loss_at(const Loss& loss, Arguments at, Value leaf, const Literal& direction, double step) {
  Literal* moved = nullptr;
  for (size_t i = 0; i < at.inputs.size(); ++i) {
    if (loss.alone->inputs()[i] == leaf) moved = &at.inputs[i];
  }
  if (moved == nullptr) moved = &at.states.at(leaf.name());
  *moved = moved->converted(DType::f64);
  const std::span<double> elements = moved->mutable_data<double>();
  for (size_t i = 0; i < elements.size(); ++i) elements[i] += step * direction.element(int64_t(i));
  return evaluate(*loss.alone, at.inputs, at.states, Precision::f64).results[0].element(0);
}

constexpr double kTolerance = 1e-6;
/// A difference with a larger relative error is meaningless.
constexpr double kSettled = 1e-3;
/// The relative effect of the evaluator's rounding on a loss.
constexpr double kNoise = 1e-14;
/// Step sizes as multiples of the first; neighbours are compared.
constexpr std::array<double, 6> kSteps{16, 4, 1, 1. / 4, 1. / 16, 1. / 64};

/// A directional derivative from finite differences.
struct Difference {
  double value = 0;
  double error = 0;  ///< distance from another step size, or rounding
  double noise = 0;  ///< smaller differences are only rounding
};

Difference central_difference(const std::function<double(double)>& loss, double step) {
  const double above = loss(step), below = loss(-step);
  const double noise = kNoise * std::max(std::abs(above), std::abs(below)) / step;
  return {.value = (above - below) / (2 * step), .error = noise, .noise = noise};
}

/// The two neighbouring steps that agree best.
Difference settled_difference(const std::function<double(double)>& loss, double first) {
  Difference best{.error = std::numeric_limits<double>::infinity()};
  Difference before;
  for (size_t i = 0; i < kSteps.size(); ++i) {
    Difference now = central_difference(loss, first * kSteps[i]);
    const double apart = std::abs(now.value - before.value);
    if (i > 0 && apart < best.error) best = {now.value, apart, now.noise};
    before = now;
  }
  return best;
}

/// Compares a derivative with differences of `loss`, a function of the step; stores them in
/// `found`.
Verdict compare_with_differences(double along, const std::function<double(double)>& loss,
                                 double step, Difference& found) {
  found = central_difference(loss, step);
  const auto same = [&](double error) {
    return std::abs(along - found.value) <= kTolerance * std::abs(found.value) + error;
  };
  if (same(found.error)) return Verdict::agrees;
  found = settled_difference(loss, step);
  if (!(found.error <= kSettled * std::abs(found.value) + found.noise)) return Verdict::undecided;
  return same(8 * found.error + found.noise) ? Verdict::agrees : Verdict::differs;
}

/// The text after the two numbers of a line.
std::string comment(Verdict verdict, const Difference& found) {
  if (verdict == Verdict::agrees) return "";
  if (verdict == Verdict::differs) return "  they differ";
  return fmt::format("  ill-conditioned: another step has it {:.2g} away", found.error);
}

}  // namespace

Agreement check_gradient(const GraphPtr& graph, const TargetCheck& how) {
  const Loss loss = make_loss(*graph);
  // The leaves of the loss are those of the graph, in order.
  const Arguments at =
      draw_arguments(*loss.alone, how.seed, drawing_of(*loss.alone, *loss.alone, how.arguments));
  const Evaluation found = evaluate(*loss.derivatives, at.inputs, at.states, Precision::f64);
  std::string text = fmt::format("@{}: the derivative of {}, along a random direction of each:\n",
                                 graph->name(), loss.what);
  std::set<Verdict> verdicts;
  size_t width = 0;
  for (Value leaf : loss.leaves) width = std::max(width, leaf.name().size());
  for (size_t i = 0; i < loss.leaves.size(); ++i) {
    const Value leaf = loss.leaves[i];
    const Literal direction = draw(leaf.type(), how.seed + 1000 + i);
    // The same distance for large and small values: the error of the difference grows with it.
    const double step = 1e-4 / std::sqrt(std::max(1.0, double(direction.elements())));
    double along = 0;
    for (int64_t k = 0; k < direction.elements(); ++k)
      along += found.results[i].element(k) * direction.element(k);
    Difference wanted;
    const Verdict verdict = compare_with_differences(
        along, [&](double by) { return loss_at(loss, at, leaf, direction, by); }, step, wanted);
    verdicts.insert(verdict);
    text += fmt::format("  %{:<{}}  {:>12.6g}, by differences {:>12.6g}{}\n", leaf.name(), width,
                        along, wanted.value, comment(verdict, wanted));
  }
  if (verdicts.contains(Verdict::differs)) {
    text +=
        "  note: other causes than a wrong derivative: stop_gradient, or a kink (relu, max, "
        "select) near this point; try another --seed\n";
  }
  if (verdicts.contains(Verdict::undecided)) {
    text +=
        "  note: the loss is too sensitive to small steps for finite differences: try --scale=0.1, "
        "or fewer steps of a loop\n";
  }
  return {*verdicts.rbegin(), text};
}

}  // namespace graphc::core::commands
