// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/arguments.h"

#include <algorithm>
#include <cmath>

#include "ir/composite.h"
#include "ir/scan.h"
#include "models/random_inputs.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "tools/commands/fan_in.h"

namespace graphc::core::commands {
namespace {

constexpr int64_t kNone = 0;         ///< no limit
constexpr int64_t kSmallNumber = 8;  ///< upper bound of integers that index no table

using Limits = std::vector<int64_t>;

/// Lowers a limit; returns whether it was higher.
bool lower(int64_t& limit, int64_t to) {
  if (to == kNone || (limit != kNone && limit <= to)) return false;
  limit = to;
  return true;
}

/// Propagates the limits of a graph's results back to its leaves.
class Backwards {
 public:
  explicit Backwards(const Graph& graph) : graph_(graph), limits_(graph.nodes().size()) {
    for (const Node& node : graph.nodes())
      limits_[size_t(node.id)].assign(size_t(node.results()), kNone);
  }

  void lower_value(Value value, int64_t to) {
    if (!is_floating(value.dtype())) lower(of(value), to);
  }

  /// The limits of the graph's inputs, then of its states.
  Limits run() {
    for (auto node = graph_.nodes().rbegin(); node != graph_.nodes().rend(); ++node) visit(*node);
    Limits leaves;
    for (Value input : graph_.inputs()) leaves.push_back(of(input));
    for (Value state : graph_.states()) leaves.push_back(of(state));
    return leaves;
  }

 private:
  int64_t& of(Value value) { return limits_[size_t(value.node->id)][size_t(value.index)]; }

  void visit(const Node& node) {
    const Limits& results = limits_[size_t(node.id)];
    if (node.is(ops::scan)) return visit_scan(Scan(node), results);
    const bool labels = node.is(ops::one_hot) || node.is(ops::cross_entropy);
    if (is_composite(node.op) && !labels) {
      const GraphPtr body = body_of(node);
      lower_operands(node, inside(*body, results));
      return;
    }
    int64_t least = kNone;
    for (int64_t limit : results) lower(least, limit);
    if (node.is(ops::check_labels))
      lower(least, std::max<int64_t>(1, node.attributes.get_int("classes", 0)));
    if (node.is(ops::one_hot)) least = node.attributes.get_int("depth", kNone);
    if (node.is(ops::cross_entropy)) least = node.operands[0].shape()[-1];
    const bool table = node.is(ops::gather) || node.is(ops::scatter) || node.is(ops::scatter_add);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const bool index = table && i == 1;
      lower_value(node.operands[i],
                  index ? std::max<int64_t>(1, node.operands[0].shape()[0]) : least);
    }
  }

  void lower_operands(const Node& node, const Limits& limits) {
    for (size_t i = 0; i < node.operands.size(); ++i) lower_value(node.operands[i], limits[i]);
  }

  /// The limits of a region's inputs, given those of its results.
  static Limits inside(const Graph& region, const Limits& results) {
    Backwards backwards(region);
    for (size_t i = 0; i < region.results().size(); ++i)
      backwards.lower_value(region.results()[i], results[i]);
    return backwards.run();
  }

  /// The limit of a carry applies to its next value in the previous step as well.
  void visit_scan(const Scan& scan, const Limits& results) {
    const size_t carries = scan.initial().size(), emits = scan.emits().size();
    Limits wanted(results.begin() + ptrdiff_t(emits), results.end());
    wanted.insert(wanted.end(), results.begin(), results.begin() + ptrdiff_t(emits));
    for (bool changed = true; changed;) {
      changed = false;
      const Limits inputs = inside(scan.body(), wanted);
      for (size_t i = 0; i < carries; ++i)
        changed |= lower(wanted[i], inputs[scan.streams().size() + i]);
      if (changed) continue;
      lower_operands(scan.node(), inputs);
      for (size_t i = 0; i < carries; ++i) lower_value(scan.initial()[i], wanted[i]);
    }
  }

  const Graph& graph_;
  std::vector<Limits> limits_;
};

}  // namespace

GraphPtr without_grad(const GraphPtr& graph) {
  return run_pipeline(graph, {{&passes::autodiff, {}}}).graph;
}

std::vector<int64_t> index_limits(const Graph& graph) {
  Backwards backwards(graph);
  Limits leaves = backwards.run();
  // The next value of a state is the initial one of the next run.
  for (bool changed = true; changed;) {
    changed = false;
    Backwards again(graph);
    for (const Next& next : graph.next()) {
      const auto state = std::ranges::find(graph.states(), next.state);
      const auto position = size_t(state - graph.states().begin());
      again.lower_value(next.value, leaves[graph.inputs().size() + position]);
    }
    const Limits now = again.run();
    for (size_t i = 0; i < leaves.size(); ++i) changed |= lower(leaves[i], now[i]);
  }
  return leaves;
}

Literal draw(const Type& type, uint64_t seed, int64_t limit, double scale) {
  if (!is_floating(type.dtype)) {
    const int64_t most = type.dtype == DType::boolean ? 2
                         : type.dtype == DType::u8    ? 256
                                                      : INT32_MAX;
    const int64_t below = std::min(most, limit == kNone ? kSmallNumber : limit);
    return random_integers(type.shape, below, seed).literal().converted(type.dtype);
  }
  Literal value = random_uniform(type.shape, seed).literal();
  for (float& element : value.mutable_data<float>()) element = float(scale) * (2 * element - 1);
  return value.converted(type.dtype);
}

Drawing drawing_of(const Graph& graph, const Graph& meaning, const ArgumentOptions& options) {
  Drawing drawing{.limits = index_limits(meaning), .scales = {}, .given = {}};
  for (int64_t terms : fan_ins(graph))
    drawing.scales.push_back(options.scale / std::sqrt(double(std::max<int64_t>(1, terms))));
  for (const Values* among : {&graph.inputs(), &graph.states()}) {
    for (Value leaf : *among) {
      const auto text = options.given.find(leaf.name());
      const auto held = options.states.find(leaf.name());
      if (text != options.given.end()) {
        drawing.given.emplace(leaf.name(), read_value(leaf.name(), text->second, leaf.type()));
      } else if (held != options.states.end() && among == &graph.states()) {
        drawing.given.emplace(leaf.name(), held->second);
      }
    }
  }
  return drawing;
}

Arguments draw_arguments(const Graph& graph, uint64_t seed, const Drawing& drawing) {
  Arguments arguments;
  auto limit = drawing.limits.begin();
  auto scale = drawing.scales.begin();
  const auto next = [&](Value leaf) {
    const auto given = drawing.given.find(leaf.name());
    Literal drawn =
        given != drawing.given.end() ? given->second : draw(leaf.type(), seed, *limit, *scale);
    ++seed, ++limit, ++scale;
    return drawn;
  };
  for (Value input : graph.inputs()) arguments.inputs.push_back(next(input));
  for (Value state : graph.states()) arguments.states.emplace(state.name(), next(state));
  return arguments;
}

}  // namespace graphc::core::commands
