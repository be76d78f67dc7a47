// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/check_gradient.h"

#include <fmt/format.h>

#include <cmath>

#include "ir/build.h"
#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "tools/commands/arguments.h"

namespace graphc::commands {
namespace {

/// The results put together to one number: each element times a number in [-0.5, 0.5), all added.
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

/// What is differentiated, and by what.
struct Loss {
  GraphPtr alone;        ///< returns the loss
  GraphPtr derivatives;  ///< returns the derivative by each leaf
  std::string what;      ///< for people
  Values leaves;         ///< of `alone`: its floating-point inputs, then states
};

/// The nodes of `from` that stand before its `grad`, in `to`; the values they became, by node.
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

/// The loss in a copy of the graph: that of its `grad`, else its only scalar result, else a
/// combination of all results. `what` becomes its name for people.
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

/// The loss where one leaf is moved along a direction, in f64.
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

}  // namespace

Agreement check_gradient(const GraphPtr& graph, uint64_t seed) {
  const Loss loss = make_loss(*graph);
  // In order, the leaves of the loss are those of the graph.
  const std::vector<int64_t> limits = index_limits(*loss.alone);
  const Arguments at = draw_arguments(*loss.alone, seed, limits);
  const Evaluation found = evaluate(*loss.derivatives, at.inputs, at.states, Precision::f64);
  constexpr double kTolerance = 1e-6;
  std::string text = fmt::format("@{}: the derivative of {}, along a random direction of each:\n",
                                 graph->name(), loss.what);
  bool agrees = true;
  size_t width = 0;
  for (Value leaf : loss.leaves) width = std::max(width, leaf.name().size());
  for (size_t i = 0; i < loss.leaves.size(); ++i) {
    const Value leaf = loss.leaves[i];
    const Literal direction = draw(leaf.type(), seed + 1000 + i);
    // As long a way for a large value as for a small one: the error of the difference grows with
    // it.
    const double step = 1e-4 / std::sqrt(std::max(1.0, double(direction.elements())));
    const double wanted =
        (loss_at(loss, at, leaf, direction, step) - loss_at(loss, at, leaf, direction, -step)) /
        (2 * step);
    double along = 0;
    for (int64_t k = 0; k < direction.elements(); ++k)
      along += found.results[i].element(k) * direction.element(k);
    const bool same = std::abs(along - wanted) <= kTolerance * std::max(1.0, std::abs(wanted));
    agrees &= same;
    text += fmt::format("  %{:<{}}  {:>12.6g}, by differences {:>12.6g}{}\n", leaf.name(), width,
                        along, wanted, same ? "" : "  they differ");
  }
  if (!agrees) {
    text +=
        "  note: beside a wrong derivative, stop_gradient differs, and a kink (relu, max, select) "
        "at this point: try --seed\n";
  }
  return {agrees, text};
}

}  // namespace graphc::commands
