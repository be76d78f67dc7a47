// SPDX-License-Identifier: Apache-2.0
#include "passes/divided_graph.h"

#include <set>
#include <string>
#include <utility>

#include "ir/op.h"
#include "passes/cut.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

class Division {
 public:
  Division(const Graph& graph, size_t results, size_t late)
      : graph_(graph),
        early_inputs_(graph.inputs().begin(), graph.inputs().end() - long(late)),
        late_inputs_(graph.inputs().end() - long(late), graph.inputs().end()),
        early_(graph.results().begin(), graph.results().begin() + long(results)),
        late_(graph.results().begin() + long(results), graph.results().end()),
        depends_on_late_(dependents(graph, late_inputs_)) {
    for (const Next& next : graph.next()) written_.insert(next.state.name());
  }

  DividedGraph run() {
    check();
    cut();
    return {make_first(), make_second(), handed_, saved_.size()};
  }

 private:
  bool is_late(Value value) const { return depends_on_late_[size_t(value.node->id)]; }

  void check() const {
    const auto refuse = [&](const std::string& what, Value value) {
      if (!is_late(value)) return;
      throw input_error(value.node->where,
                        "graph '{}' is divided, but {} depends on an input that is known later",
                        graph_.name(), what);
    };
    for (size_t i = 0; i < early_.size(); ++i) refuse(fmt::format("result {}", i), early_[i]);
    for (const Next& next : graph_.next())
      refuse(fmt::format("state '{}'", next.state.name()), next.value);
  }

  /// Everything that the first graph computes anyway.
  Values forward_roots() const {
    Values roots = early_;
    for (const Next& next : graph_.next()) roots.push_back(next.value);
    return roots;
  }

  /// Nothing for what the second graph has in any case: arguments, results, states as they were.
  int64_t price(Value value) const {
    if (value.node->is(ops::constant) || value.node->is(ops::iota)) return never;
    const bool is_read = value.node->is(ops::state) && !written_.contains(value.name());
    if (value.node->is(ops::input) || is_read || results_.contains(value)) return 0;
    return cost_of_storing(value.type());
  }

  void cut() {
    const std::vector<bool> forward = needed_for(graph_, forward_roots());
    const std::vector<bool> needed = needed_for(graph_, late_);
    CutProblem problem;
    for (const Node& node : graph_.nodes()) {
      if (!depends_on_late_[size_t(node.id)] || !needed[size_t(node.id)]) continue;
      for (Value operand : node.operands) {
        if (!is_late(operand)) problem.wanted.push_back(operand);
      }
    }
    for (Value result : late_) {
      if (!is_late(result)) problem.wanted.push_back(result);
    }
    problem.repeat = [&](const Node& node) -> int64_t {
      if (node.is(ops::state)) return never;
      if (!forward[size_t(node.id)]) return 0;
      return is_heavy(node) ? never : cost_of_repeating(node);
    };
    problem.store = [&](Value value) { return price(value); };
    crossing_ = minimum_cut(graph_, problem);
  }

  GraphPtr make_first() {
    auto to = std::make_unique<Graph>(graph_.name());
    ValueMap known(graph_);
    for (Value input : early_inputs_)
      known.set(input, to->input(input.type(), input.name(), input.node->where));
    for (Value state : graph_.states())
      known.set(state, to->state(state.type(), state.name(), state.node->where));
    Values wanted = early_;
    const ValueSet inputs(early_inputs_);
    for (Value value : crossing_) {
      if (is_kept_state(value)) continue;
      if (value.node->is(ops::input)) {
        handed_.push_back({HandedOver::From::input, inputs.index(value)});
      } else if (results_.contains(value)) {
        handed_.push_back({HandedOver::From::result, place_of_result(value)});
      } else {
        handed_.push_back({HandedOver::From::saved, saved_.size()});
        saved_.push_back(value);
        wanted.push_back(value);
      }
    }
    to->set_results(copy_cone(graph_, known, wanted, *to));
    for (const Next& next : graph_.next())
      to->set_next(known(next.state), copy_cone(graph_, known, {next.value}, *to)[0]);
    return freeze(std::move(to));
  }

  GraphPtr make_second() const {
    auto to = std::make_unique<Graph>(graph_.name() + ".second");
    ValueMap known(graph_);
    for (Value value : crossing_) {
      if (is_kept_state(value)) continue;
      known.set(value, to->input(value.type(), value.name(), value.node->where));
    }
    for (Value value : crossing_) {
      if (!is_kept_state(value)) continue;
      known.set(value, to->state(value.type(), value.name(), value.node->where));
    }
    for (Value input : late_inputs_)
      known.set(input, to->input(input.type(), input.name(), input.node->where));
    to->set_results(copy_cone(graph_, known, late_, *to));
    return freeze(std::move(to));
  }

  /// A state that nobody assigns: the second graph reads it too.
  bool is_kept_state(Value value) const {
    return value.node->is(ops::state) && !written_.contains(value.name());
  }

  size_t place_of_result(Value value) const {
    size_t place = 0;
    while (early_[place] != value) ++place;
    return place;
  }

  const Graph& graph_;
  Values early_inputs_, late_inputs_, early_, late_;
  std::vector<bool> depends_on_late_;
  std::set<std::string> written_;
  ValueSet results_{early_};
  Values crossing_, saved_;
  std::vector<HandedOver> handed_;
};

}  // namespace

DividedGraph divided(const Graph& graph, size_t results, size_t late) {
  GRAPHC_CHECK(results <= graph.results().size() && late <= graph.inputs().size(),
               "graph '{}' has {} results and {} inputs: found {} and {}", graph.name(),
               graph.results().size(), graph.inputs().size(), results, late);
  return Division(graph, results, late).run();
}

}  // namespace graphc::core
