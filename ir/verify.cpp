// SPDX-License-Identifier: Apache-2.0
#include "ir/verify.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "ir/op.h"
#include "ir/text.h"

namespace graphc::core {
namespace {

template <typename... Args>
Error invalid(const Graph& graph, fmt::format_string<Args...> format, Args&&... args) {
  return Error(
      ErrorKind::internal, {},
      fmt::format("graph @{}: {}", graph.name(), fmt::format(format, std::forward<Args>(args)...)));
}

/// The same, followed by the node's line.
template <typename... Args>
Error invalid(const Node& node, fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::internal, node.where,
               fmt::format("graph @{}: {}\n  in: {}", node.graph->name(),
                           fmt::format(format, std::forward<Args>(args)...), print(node)));
}

std::string to_string(const std::vector<Type>& types) {
  std::string text;
  for (const Type& type : types) text += (text.empty() ? "" : ", ") + to_string(type);
  return text;
}

class Verifier {
 public:
  /// `is_region` says that the graph is inside a node.
  void graph(const Graph& graph, bool is_region) {
    if (!graph.frozen()) throw invalid(graph, "it is not frozen");
    if (is_region && !(graph.states().empty() && graph.next().empty()))
      throw invalid(graph, "a region has no states");
    int id = 0;
    size_t inputs = 0, states = 0;
    for (const Node& node : graph.nodes()) {
      GRAPHC_CHECK(node.graph == &graph && node.id == id, "node {} of graph @{} says it is node {}",
                   id, graph.name(), node.id);
      ++id;
      inputs += node.is(ops::input);
      states += node.is(ops::state);
      for (Value operand : node.operands) defined(graph, operand, node.id, &node);
      names_of(node);
      for (const GraphPtr& region : node.regions) {
        if (!region) throw invalid(graph, "'{}' lacks its region", node.op.name);
        if (seen_.insert(region.get()).second) this->graph(*region, true);
      }
      inferred(node);
    }
    listed(graph, graph.inputs(), ops::input, inputs);
    listed(graph, graph.states(), ops::state, states);
    for (Value root : graph.roots()) defined(graph, root, id, nullptr);
    next(graph);
  }

 private:
  /// `before` is the id of the node that the value must precede.
  static void defined(const Graph& graph, Value value, int before, const Node* user) {
    std::string fault;
    if (!value) {
      fault = "an absent value is used";
    } else if (value.node->graph != &graph) {
      fault = fmt::format("%{} is a value of another graph", value.name());
    } else if (value.node->id >= before) {
      fault = fmt::format("%{} is used before it is defined", value.name());
    } else if (value.index < 0 || value.index >= value.node->results()) {
      fault = fmt::format("result {} of '{}' is used: it has {}", value.index, value.node->op.name,
                          value.node->results());
    }
    if (fault.empty()) return;
    // A value that does not exist has no name with which to print the user's line.
    const bool printable = user != nullptr && fault[0] == '%';
    throw printable ? invalid(*user, "{}", fault) : invalid(graph, "{}", fault);
  }

  /// Looking up a name must find its own value.
  static void names_of(const Node& node) {
    if (node.names.size() != node.types.size())
      throw invalid(*node.graph, "'{}' has {} names and {} types", node.op.name, node.names.size(),
                    node.types.size());
    for (size_t i = 0; i < node.names.size(); ++i) {
      if (node.graph->find(node.names[i]) != node.result(int(i)))
        throw invalid(node, "looking up %{} finds another value", node.names[i]);
    }
  }

  static void inferred(const Node& node) {
    std::vector<Type> types;
    try {
      types = node.op.infer(node);
    } catch (const Error& error) {
      throw invalid(node, "{}", error.message());
    }
    if (types != node.types)
      throw invalid(node, "{} gives {}: found {}", node.op.name, to_string(types),
                    to_string(node.types));
  }

  /// `values` are exactly the graph's nodes of that op, each once.
  static void listed(const Graph& graph, const Values& values, const Op& op, size_t nodes) {
    std::unordered_set<const Node*> distinct;
    for (Value value : values) {
      defined(graph, value, int(graph.nodes().size()), nullptr);
      if (!value.node->is(op)) throw invalid(graph, "%{} is listed as {}", value.name(), op.name);
      distinct.insert(value.node);
    }
    if (distinct.size() != values.size() || nodes != values.size())
      throw invalid(graph, "{} nodes '{}' for {} listed values", nodes, op.name, values.size());
  }

  static void next(const Graph& graph) {
    std::unordered_set<const Node*> assigned;
    for (const Next& next : graph.next()) {
      defined(graph, next.state, int(graph.nodes().size()), nullptr);
      if (!next.state.node->is(ops::state))
        throw invalid(graph, "next %{}: it is not a state", next.state.name());
      if (next.state.type() != next.value.type())
        throw invalid(graph, "next %{}: the state is {}: the value %{} is {}", next.state.name(),
                      graphc::core::to_string(next.state.type()), next.value.name(),
                      graphc::core::to_string(next.value.type()));
      if (!assigned.insert(next.state.node).second)
        throw invalid(graph, "next %{} is assigned twice", next.state.name());
    }
  }

  std::unordered_set<const Graph*> seen_;
};

}  // namespace

void verify(const Graph& graph) { Verifier().graph(graph, false); }

void verify(const Module& module) {
  std::set<std::string> graphs, states;
  for (const auto& [name, type] : module.states) {
    if (!states.insert(name).second)
      throw Error(ErrorKind::internal, {}, fmt::format("state %{} is declared twice", name));
  }
  for (const GraphPtr& graph : module.graphs) {
    if (!graphs.insert(graph->name()).second)
      throw Error(ErrorKind::internal, {}, fmt::format("there are two graphs @{}", graph->name()));
    verify(*graph);
    for (Value state : graph->states()) {
      const std::pair<std::string, Type> wanted{state.name(), state.type()};
      if (std::find(module.states.begin(), module.states.end(), wanted) != module.states.end())
        continue;
      throw invalid(*graph, "state %{} of {} is not declared by the module", state.name(),
                    to_string(state.type()));
    }
  }
}

}  // namespace graphc::core
