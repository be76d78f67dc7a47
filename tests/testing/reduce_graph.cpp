// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/reduce_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "tests/testing/change_scan.h"
#include "tests/testing/prune_graph.h"
#include "tests/testing/with_extent.h"

namespace graphc::core::testing {
namespace {

using Edit = std::function<GraphPtr()>;
using Edits = std::vector<Edit>;

bool is_leaf(const Node& node) {
  return node.is(ops::input) || node.is(ops::state) || node.is(ops::constant);
}

int64_t sum_of_extents(const Graph& graph) {
  int64_t sum = 0;
  for (const Node& node : graph.nodes()) {
    for (const Type& type : node.types) {
      for (int64_t extent : type.shape) sum += extent;
    }
    for (const GraphPtr& region : node.regions) sum += sum_of_extents(*region);
  }
  return sum;
}

int count_on(const Attributes& attributes) {
  return int(std::ranges::count_if(attributes, [](const auto& attribute) {
    const bool* flag = std::get_if<bool>(&attribute.second);
    return flag != nullptr && *flag;
  }));
}

int count_on(const Graph& graph) {
  int on = 0;
  for (const Node& node : graph.nodes()) {
    on += count_on(node.attributes);
    for (const GraphPtr& region : node.regions) on += count_on(*region);
  }
  return on;
}

int leaves(const Graph& graph) {
  int sum = 0;
  for (const Node& node : graph.nodes()) {
    sum += is_leaf(node);
    for (const GraphPtr& region : node.regions) sum += leaves(*region);
  }
  return sum;
}

int results(const Graph& graph) {
  int sum = int(graph.results().size() + graph.next().size() + graph.states().size());
  for (const Node& node : graph.nodes()) {
    for (const GraphPtr& region : node.regions) sum += results(*region);
  }
  return sum;
}

/// Every step must decrease this, so that the reduction terminates.
auto size_of(const Graph& graph) {
  return std::tuple(applications(graph), results(graph), leaves(graph), count_on(graph),
                    sum_of_extents(graph));
}

/// The ending of a shorter graph.
struct Ending {
  Values results;
  std::vector<Next> next;
};

/// The nodes of the graph that the ending needs; states in `as_inputs` become inputs.
GraphPtr ended(const Graph& graph, const Ending& ending, const Values& as_inputs = {}) {
  auto copy = std::make_unique<Graph>(graph.name());
  std::map<std::pair<const Node*, int>, Value> made;
  const auto at = [&](Value value) { return made.at({value.node, value.index}); };
  for (Value input : graph.inputs())
    made[{input.node, 0}] = copy->input(input.type(), input.name());
  for (Value state : as_inputs) made[{state.node, 0}] = copy->input(state.type(), state.name());
  Values roots = ending.results;
  for (const Next& next : ending.next) roots.insert(roots.end(), {next.state, next.value});
  const std::vector<bool> needed = needed_nodes(graph, roots);
  for (const Node& node : graph.nodes()) {
    if (made.contains({&node, 0}) || !needed[size_t(node.id)]) continue;
    if (node.is(ops::state)) {
      made[{&node, 0}] = copy->state(node.types[0], node.names[0]);
      continue;
    }
    Values operands;
    for (Value operand : node.operands) operands.push_back(at(operand));
    const Node& added = copy_node(node, operands, *copy);
    for (int i = 0; i < added.results(); ++i) made[{&node, i}] = added.result(i);
  }
  Values kept;
  for (Value result : ending.results) kept.push_back(at(result));
  copy->set_results(kept);
  for (const Next& next : ending.next) copy->set_next(at(next.state), at(next.value));
  return freeze(std::move(copy));
}

/// The graph with `node` replaced by the values from `make`.
GraphPtr with_node(const GraphPtr& graph, const Node* node,
                   const std::function<Values(const Values& operands, Graph& to)>& make) {
  return rewrite(*graph,
                 [&](const Node& old, const Values& operands, Graph& to) -> std::optional<Values> {
                   if (&old != node) return std::nullopt;
                   return make(operands, to);
                 });
}

template <typename T>
std::vector<T> without(std::vector<T> all, size_t i) {
  all.erase(all.begin() + int64_t(i));
  return all;
}

/// Drops results and next values, and ends the graph at any of its nodes.
Edits endings(const GraphPtr& graph) {
  Edits edits;
  const Ending all{graph->results(), graph->next()};
  const size_t count = all.results.size();
  const auto end = [&](Ending ending) {
    if (ending.results.size() + ending.next.size() > 0)
      edits.push_back([=] { return ended(*graph, ending); });
  };
  for (const Next& next : all.next) end({{}, {next}});
  for (size_t i = 0; i < count && count + all.next.size() > 1; ++i) {
    end({{all.results[i]}, {}});
    end({{all.results[i]}, all.next});
  }
  if (count > 0) end({{}, all.next});
  if (!all.next.empty()) end({all.results, {}});
  for (const Node& node : graph->nodes()) {
    if (is_leaf(node)) continue;
    Values made;
    for (int i = 0; i < node.results(); ++i) made.push_back(node.result(i));
    end({made, {}});
    if (!all.next.empty()) end({made, all.next});
  }
  for (size_t i = 0; i < count; ++i) {
    end({without(all.results, i), all.next});
    // Replaces a result by one of its operands.
    for (Value operand : all.results[i].node->operands) {
      Ending earlier = all;
      earlier.results[i] = operand;
      end(earlier);
    }
  }
  for (size_t i = 0; i < all.next.size(); ++i) {
    end({all.results, without(all.next, i)});
    for (Value operand : all.next[i].value.node->operands) {
      Ending earlier = all;
      earlier.next[i].value = operand;
      if (operand.type() == all.next[i].state.type()) end(earlier);
    }
  }
  return edits;
}

/// Replaces unassigned states by inputs.
Edits states_read(const GraphPtr& graph) {
  Edits edits;
  for (Value state : graph->states()) {
    const bool assigned =
        std::ranges::any_of(graph->next(), [&](const Next& next) { return next.state == state; });
    if (assigned) continue;
    edits.push_back([=] { return ended(*graph, {graph->results(), graph->next()}, {state}); });
  }
  return edits;
}

/// Replaces nodes by inputs, last nodes first: their operands are then pruned.
Edits beginnings(const GraphPtr& graph) {
  Edits edits;
  for (size_t id = graph->nodes().size(); id-- > 0;) {
    const Node* node = &graph->nodes()[id];
    if (is_leaf(*node) || node->is(ops::grad)) continue;
    edits.push_back([=] {
      return with_node(graph, node, [node](const Values&, Graph& to) {
        Values made;
        for (const Type& type : node->types) made.push_back(to.input(type, "x"));
        return made;
      });
    });
  }
  return edits;
}

/// Replaces nodes by operands, inputs of the same region and constants; in regions too.
Edits replacements(const GraphPtr& graph) {
  Edits edits;
  for (size_t id = graph->nodes().size(); id-- > 0;) {
    const Node* node = &graph->nodes()[id];
    for (size_t r = 0; r < node->regions.size(); ++r) {
      for (const Edit& edit : replacements(node->regions[r])) {
        edits.push_back([=] {
          return with_node(graph, node, [&](const Values& operands, Graph& to) {
            std::vector<GraphPtr> regions = node->regions;
            regions[r] = edit();
            const Node& copy = copy_node(*node, operands, to, regions);
            Values made;
            for (int i = 0; i < copy.results(); ++i) made.push_back(copy.result(i));
            return made;
          });
        });
      }
    }
    if (is_leaf(*node) || node->results() != 1 || node->is(ops::grad)) continue;
    const auto by = [&](const std::function<Value(const Values&, Graph&)>& make) {
      edits.push_back([=] {
        return with_node(graph, node, [&](const Values& operands, Graph& to) -> Values {
          return {make(operands, to)};
        });
      });
    };
    for (size_t i = 0; i < node->operands.size(); ++i) {
      if (node->operands[i].type() == node->types[0])
        by([i](const Values& operands, Graph&) { return operands[i]; });
    }
    for (size_t i = 0; i < graph->inputs().size(); ++i) {
      if (graph->inputs()[i].type() == node->types[0])
        by([i](const Values&, Graph& to) { return to.inputs()[i]; });
    }
    for (size_t i = 0; i < graph->states().size(); ++i) {
      if (graph->states()[i].type() == node->types[0])
        by([i](const Values&, Graph& to) { return to.states()[i]; });
    }
    by([node](const Values&, Graph& to) { return splat(to, 1, node->types[0]); });
  }
  return edits;
}

/// Makes carries constant, and turns emits and streams into inputs.
Edits scan_parts(const GraphPtr& graph) {
  Edits edits;
  const auto change = [&](const Node* node,
                          const std::function<Values(const Scan&, ScanChange, Graph&)>& make) {
    edits.push_back([=] {
      return with_node(graph, node, [&](const Values& operands, Graph& to) {
        const Scan scan(*node);
        return make(scan, all_of(scan, operands), to);
      });
    });
  };
  for (const Node& node : graph->nodes()) {
    if (!node.is(ops::scan)) continue;
    const Scan scan(node);
    const size_t emits = scan.emits().size();
    for (size_t i = 0; i < emits; ++i) {
      change(&node, [i](const Scan& old, ScanChange parts, Graph& to) {
        parts.emits.erase(parts.emits.begin() + int64_t(i));
        const Node& made = add_changed(old, parts, to);
        Values values;
        for (int r = 0; r < made.results(); ++r) values.push_back(made.result(r));
        values.insert(values.begin() + int64_t(i), to.input(old.emitted(i).type(), "x"));
        return values;
      });
    }
    for (size_t i = 0; i < scan.initial().size(); ++i) {
      change(&node, [i, emits](const Scan& old, ScanChange parts, Graph& to) {
        const BodyInput carry = parts.carries[i];
        parts.captures.push_back(carry);
        parts.carries.erase(parts.carries.begin() + int64_t(i));
        parts.next.erase(parts.next.begin() + int64_t(i));
        const Node& made = add_changed(old, parts, to);
        Values values;
        for (int r = 0; r < made.results(); ++r) values.push_back(made.result(r));
        values.insert(values.begin() + int64_t(emits + i), carry.operand);
        return values;
      });
    }
    for (size_t i = 0; i < scan.streams().size(); ++i) {
      change(&node, [i](const Scan& old, ScanChange parts, Graph& to) {
        const BodyInput stream = parts.streams[i];
        const Type step = old.body().inputs()[stream.index].type();
        parts.captures.push_back({stream.index, to.input(step, "x")});
        parts.streams.erase(parts.streams.begin() + int64_t(i));
        const Node& made = add_changed(old, parts, to);
        Values values;
        for (int r = 0; r < made.results(); ++r) values.push_back(made.result(r));
        return values;
      });
    }
  }
  return edits;
}

/// Switches attributes off.
Edits switches(const GraphPtr& graph) {
  Edits edits;
  for (const Node& node : graph->nodes()) {
    for (const auto& [name, value] : node.attributes) {
      const bool* flag = std::get_if<bool>(&value);
      if (flag == nullptr || !*flag) continue;
      edits.push_back([graph, node = &node, name = name] {
        return with_node(graph, node, [&](const Values& operands, Graph& to) {
          Attributes attributes = node->attributes;
          attributes.set(name, false);
          const Node& made = to.add(node->op, operands, attributes, node->regions, node->where);
          Values values;
          for (int i = 0; i < made.results(); ++i) values.push_back(made.result(i));
          return values;
        });
      });
    }
  }
  return edits;
}

Edits extents(const GraphPtr& graph) {
  Edits edits;
  for (int64_t from : extents_of(*graph)) {
    std::set<int64_t> tried;
    for (int64_t to : {int64_t{1}, int64_t{2}, from / 2, from - 1}) {
      if (to >= from || to < 1 || !tried.insert(to).second) continue;
      edits.push_back([=] { return with_extent(*graph, from, to); });
      edits.push_back([=] { return with_extent(*graph, from, to, true); });
    }
  }
  return edits;
}

class Reducer {
 public:
  Reducer(GraphPtr graph, const std::function<bool(const GraphPtr&)>& fails, int calls)
      : graph_(std::move(graph)), fails_(fails), calls_(calls) {}

  GraphPtr run() {
    attempt([this] { return graph_; });  // prunes only
    for (bool more = true; more;) {
      more = false;
      for (const auto& family :
           {endings, states_read, beginnings, scan_parts, replacements, switches, extents})
        more |= go_through(family);
    }
    return graph_;
  }

 private:
  bool go_through(Edits (*family)(const GraphPtr&)) {
    bool any = false;
    // A successful step changes the list; the next one to try is at about the same position.
    for (size_t i = 0;;) {
      const Edits edits = family(graph_);
      bool taken = false;
      for (; i < edits.size() && !taken; i += !taken) taken = attempt(edits[i]);
      if (!taken) return any;
      any = true;
    }
  }

  bool attempt(const Edit& edit) {
    try {
      const GraphPtr smaller = pruned(edit());
      if (!(size_of(*smaller) < size_of(*graph_)) || calls_ == 0) return false;
      verify(*smaller);
      --calls_;
      if (!fails_(smaller)) return false;
      graph_ = smaller;
      return true;
    } catch (const Error& error) {
      // Most steps do not fit: an op rejects its new operands.
      if (error.kind() == ErrorKind::internal) throw;
      return false;
    }
  }

  GraphPtr graph_;
  const std::function<bool(const GraphPtr&)>& fails_;
  int calls_;
};

}  // namespace

int applications(const Graph& graph) {
  int sum = 0;
  for (const Node& node : graph.nodes()) {
    sum += !is_leaf(node);
    for (const GraphPtr& region : node.regions) sum += applications(*region);
  }
  return sum;
}

GraphPtr reduce_graph(const GraphPtr& graph, const std::function<bool(const GraphPtr&)>& fails,
                      int most_calls) {
  return Reducer(graph, fails, most_calls).run();
}

}  // namespace graphc::core::testing
