// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/wanted_runs.h"

#include <algorithm>

#include "ir/composite.h"
#include "ir/denormals.h"
#include "ir/op.h"
#include "ir/scan.h"
#include "models/random_inputs.h"

namespace graphc::core::commands {
namespace {

/// The distance between the seeds of consecutive runs: larger than the number of inputs of a graph.
constexpr uint64_t kSeedsOfARun = 1'000'003;

/// A floating-point value in f64 with each element moved up or down by one rounding; other values
/// are unchanged.
Literal one_rounding_away(const Literal& value, double rounding, uint64_t seed) {
  if (!is_floating(value.dtype())) return value;
  const Literal side = random_integers(value.shape(), 2, seed).literal();
  Literal moved = value.converted(DType::f64);
  const std::span<double> elements = moved.mutable_data<double>();
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] *= 1 + (side.element(int64_t(i)) == 0 ? -rounding : rounding);
  return moved;
}

/// The largest number of terms of a sum in the graph, over the steps of its loops.
double most_terms(const Graph& graph) {
  double most = 1;
  for (const Node& node : graph.nodes()) {
    double terms = 1;
    if (node.is(ops::scan)) {
      terms = double(Scan(node).steps()) * most_terms(Scan(node).body());
    } else if (is_composite(node.op)) {
      terms = most_terms(*body_of(node));
    } else if (node.is(ops::matmul)) {
      const Shape& left = node.operands[0].shape();
      terms = double(left[node.attributes.get_bool("transpose_a", false) ? -2 : -1]);
    } else if (!is_elementwise(node.op)) {
      for (Value operand : node.operands)
        terms = std::max(terms, double(operand.shape().elements()));
    }
    most = std::max(most, terms);
  }
  return most;
}

}  // namespace

WantedRuns::WantedRuns(const Graph& graph, Drawing drawing, int64_t runs, uint64_t seed,
                       Precision precision, double rounding)
    : graph_(graph), precision_(precision), rounding_(rounding), terms_(most_terms(graph)) {
  try {
    draw_runs(runs, seed, drawing);
  } catch (const Error& error) {
    // A computed index such as `add(%i, 3)` may be outside its table: 0 is most likely to stay
    // inside.
    if (error.kind() != ErrorKind::input) throw;
    std::ranges::fill(drawing.limits, 1);
    draw_runs(runs, seed, drawing);
  }
}

void WantedRuns::draw_runs(int64_t runs, uint64_t seed, const Drawing& drawing) {
  inputs_.clear();
  for (int64_t run = 0; run < runs; ++run) {
    Arguments drawn = draw_arguments(graph_, seed + kSeedsOfARun * uint64_t(run), drawing);
    inputs_.push_back(std::move(drawn.inputs));
    if (run == 0) states_ = std::move(drawn.states);
  }
  wanted_ = evaluate_runs(inputs_, states_, precision_);
}

const std::vector<AfterRun>& WantedRuns::forms(int64_t run) {
  if (!forms_.empty()) return forms_[size_t(run)];
  Inputs inputs = inputs_;
  std::map<std::string, Literal> states = states_;
  uint64_t seed = 0;
  for (std::vector<Literal>& of_run : inputs) {
    for (Literal& input : of_run) input = one_rounding_away(input, rounding_, seed++);
  }
  for (auto& [name, state] : states) state = one_rounding_away(state, rounding_, seed++);
  forms_.resize(inputs_.size());
  const std::vector<AfterRun> exact = evaluate_runs(inputs_, states_, Precision::f64);
  const std::vector<AfterRun> moved = evaluate_runs(inputs, states, Precision::f64);
  const DenormalsFlushed scope;
  const std::vector<AfterRun> flushed = evaluate_runs(inputs_, states_, precision_);
  for (size_t i = 0; i < forms_.size(); ++i) forms_[i] = {exact[i], moved[i], flushed[i]};
  return forms_[size_t(run)];
}

std::vector<AfterRun> WantedRuns::evaluate_runs(const Inputs& inputs,
                                                std::map<std::string, Literal> states,
                                                Precision precision) const {
  std::vector<AfterRun> after;
  for (const std::vector<Literal>& of_run : inputs) {
    Evaluation evaluation = evaluate(graph_, of_run, states, precision);
    for (auto& [name, value] : evaluation.next) states.at(name) = std::move(value);
    after.push_back({std::move(evaluation.results), states});
  }
  return after;
}

}  // namespace graphc::core::commands
