// SPDX-License-Identifier: Apache-2.0
// graphc check: a target against the evaluator, and gradients against finite differences.
#include <cmath>
#include <map>

#include "codegen/target.h"
#include "ir/build.h"
#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "models/random_inputs.h"
#include "passes/passes.h"
#include "tools/commands/commands.h"

namespace graphc::commands {
namespace {

struct Options {
  std::string file, graph, target;
  CompileOptions compile;
  bool gradient = false;
  double tolerance = 1e-4;
};

/// Floats uniform in [-1, 1); integers 0 and 1, which index any table of two rows.
Literal draw(const Type& type, uint64_t seed) {
  if (!is_floating(type.dtype))
    return random_integers(type.shape, 2, seed).literal().converted(type.dtype);
  Literal value = random_uniform(type.shape, seed).literal();
  for (float& element : value.mutable_data<float>()) element = 2 * element - 1;
  return value.converted(type.dtype);
}

/// Arguments of a graph: of its inputs in order, then its states by name.
struct Arguments {
  std::vector<Literal> inputs;
  std::map<std::string, Literal> states;
};

Arguments draw_arguments(const Graph& graph, uint64_t seed) {
  Arguments arguments;
  for (Value input : graph.inputs()) arguments.inputs.push_back(draw(input.type(), seed++));
  for (Value state : graph.states())
    arguments.states.emplace(state.name(), draw(state.type(), seed++));
  return arguments;
}

GraphPtr without_grad(const GraphPtr& graph) {
  return run_pipeline(graph, {{&passes::autodiff, {}}}).graph;
}

/// The first element where two values differ by more than the tolerance, as a sentence; empty when
/// there is none.
std::string first_difference(const Literal& found, const Literal& wanted, double tolerance,
                             double& largest) {
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    const double a = found.element(i), b = wanted.element(i);
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    const double difference = std::abs(a - b) / std::max(1.0, std::abs(b));
    if (!(difference <= tolerance)) {
      return fmt::format("element {} is {}: the evaluator has {}", i, a, b);
    }
    largest = std::max(largest, difference);
  }
  return "";
}

/// True when the target agrees with the evaluator.
bool check_target(const GraphPtr& graph, const Target& on, const Options& options) {
  CompileReport report;
  const auto executable = compile(graph, on, options.compile, report);
  const Arguments arguments = draw_arguments(*graph, 1);
  std::vector<Tensor> inputs, states, outputs;
  const Signature& signature = executable->signature();
  for (size_t i = 0; i < signature.inputs.size(); ++i)
    inputs.push_back(arguments.inputs[i].converted(signature.inputs[i].type.dtype));
  for (const Argument& state : signature.states) {
    states.push_back(arguments.states.at(state.name).converted(state.type.dtype));
    states.back().make_unique();
  }
  for (const Argument& output : signature.outputs) outputs.emplace_back(output.type);
  executable->run(inputs, states, outputs);

  const bool wide = options.compile.precision == "f64";
  const Evaluation wanted = evaluate(*without_grad(graph), arguments.inputs, arguments.states,
                                     wide ? Precision::f64 : Precision::f32);
  double largest = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string difference =
        first_difference(outputs[i].literal(), wanted.results[i], options.tolerance, largest);
    if (difference.empty()) continue;
    write_stdout(
        fmt::format("@{}: %{}: {}\n", graph->name(), signature.outputs[i].name, difference));
    return false;
  }
  for (size_t i = 0; i < states.size(); ++i) {
    const auto next = wanted.next.find(signature.states[i].name);
    if (next == wanted.next.end()) continue;
    const std::string difference =
        first_difference(states[i].literal(), next->second, options.tolerance, largest);
    if (difference.empty()) continue;
    write_stdout(fmt::format("@{}: next %{}: {}\n", graph->name(), next->first, difference));
    return false;
  }
  write_stdout(fmt::format("@{}: {} agrees with the evaluator within {:.2g}\n", graph->name(),
                           on.name, largest));
  return true;
}

/// A graph that returns its loss, alone or with the derivatives by its floating-point inputs and
/// states. The loss is that of the graph's `grad`, else its only scalar result.
GraphPtr loss_graph(const Graph& from, bool derivatives) {
  auto to = std::make_unique<Graph>(from.name());
  Values arguments;
  for (Value input : from.inputs()) arguments.push_back(to->input(input.type(), input.name()));
  std::map<const Node*, Value> states;
  for (Value state : from.states()) states[state.node] = to->state(state.type(), state.name());
  Value loss;
  std::vector<Values> values(from.nodes().size());
  for (size_t i = 0; i < arguments.size(); ++i)
    values[size_t(from.inputs()[i].node->id)] = {arguments[i]};
  for (const auto& [node, state] : states) values[size_t(node->id)] = {state};
  const auto mapped = [&](Value value) {
    return values[size_t(value.node->id)].at(size_t(value.index));
  };
  for (const Node& node : from.nodes()) {
    if (node.is(ops::input) || node.is(ops::state)) continue;
    if (node.is(ops::grad)) {
      loss = mapped(node.operands[0]);
      break;
    }
    Values operands;
    for (Value operand : node.operands) operands.push_back(mapped(operand));
    const Node& copy = copy_node(node, std::move(operands), *to);
    for (int i = 0; i < copy.results(); ++i) values[size_t(node.id)].push_back(copy.result(i));
  }
  for (Value result : from.results()) {
    if (!loss && result.shape().rank() == 0 && is_floating(result.dtype())) loss = mapped(result);
  }
  if (!loss)
    throw input_error({}, "@{}: no scalar floating-point result to differentiate", from.name());
  Values results{loss};
  if (derivatives) {
    std::vector<Operand> operands{loss};
    for (const Values* leaves : {&to->inputs(), &to->states()}) {
      for (Value leaf : *leaves) {
        if (is_floating(leaf.dtype())) operands.emplace_back(leaf);
      }
    }
    const Node& node = apply(ops::grad, operands);
    for (int i = 0; i < node.results(); ++i) results.push_back(node.result(i));
  }
  to->set_results(std::move(results));
  return freeze(std::move(to));
}

/// True when the derivative along a random direction is that of a central difference, in f64.
bool check_gradient(const GraphPtr& graph) {
  const GraphPtr loss = loss_graph(*graph, false);
  const GraphPtr derivative = without_grad(loss_graph(*graph, true));
  const Arguments at = draw_arguments(*graph, 1), direction = draw_arguments(*graph, 1000);
  const auto moved = [](const Literal& from, const Literal& along, double step) {
    if (!is_floating(from.dtype())) return from;
    Literal result = from.converted(DType::f64);
    for (int64_t i = 0; i < from.elements(); ++i)
      result.mutable_data<double>()[size_t(i)] += step * along.element(i);
    return result;
  };
  const auto loss_at = [&](double step) {
    Arguments there;
    for (size_t i = 0; i < at.inputs.size(); ++i)
      there.inputs.push_back(moved(at.inputs[i], direction.inputs[i], step));
    for (const auto& [name, value] : at.states)
      there.states.emplace(name, moved(value, direction.states.at(name), step));
    return evaluate(*loss, there.inputs, there.states, Precision::f64).results[0].element(0);
  };
  constexpr double kStep = 1e-5;
  const double wanted = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
  const Evaluation found = evaluate(*derivative, at.inputs, at.states, Precision::f64);
  double along = 0;
  size_t result = 1;
  const auto add = [&](const Literal& towards) {
    if (!is_floating(towards.dtype())) return;
    const Literal& gradient = found.results[result++];
    for (int64_t i = 0; i < towards.elements(); ++i)
      along += gradient.element(i) * towards.element(i);
  };
  for (const Literal& towards : direction.inputs) add(towards);
  for (Value state : derivative->states()) add(direction.states.at(state.name()));
  const bool agrees = std::abs(along - wanted) <= 1e-6 * std::max(1.0, std::abs(wanted));
  write_stdout(
      fmt::format("@{}: derivative {:.10g} along a random direction, by differences {:.10g}{}\n",
                  graph->name(), along, wanted, agrees ? "" : ": they differ"));
  return agrees;
}

int check(const Options& options) {
  const Module module = read_module(options.file);
  verify(module);
  const Target& on = options.target.empty() ? default_target() : target(options.target);
  bool agrees = true;
  for (const GraphPtr& graph : module.graphs) {
    if (!options.graph.empty() && graph != module.graph(options.graph)) continue;
    agrees &= check_target(graph, on, options);
    if (options.gradient) agrees &= check_gradient(graph);
  }
  return agrees ? 0 : int(ErrorKind::check);
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("check", "Compare a target with the reference evaluator");
  auto options = std::make_shared<Options>();
  verb->add_option("FILE", options->file, "a .graph, .pb, .pbtxt or .json file, or - for stdin")
      ->required();
  verb->add_option("--graph", options->graph, "only this graph of the file");
  verb->add_option("--target", options->target, "what to compile for");
  verb->add_option("--precision", options->compile.precision, "what f32 are computed in")
      ->capture_default_str();
  verb->add_option("--tolerance", options->tolerance, "largest difference, relative above 1")
      ->capture_default_str();
  verb->add_flag("--gradient", options->gradient, "check derivatives by finite differences too");
  verb->callback([=, &action] { action = [=] { return check(*options); }; });
}

}  // namespace graphc::commands
