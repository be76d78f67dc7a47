// SPDX-License-Identifier: Apache-2.0
#include "ir/graph.h"

#include <algorithm>
#include <unordered_set>

#include "ir/called.h"
#include "ir/op.h"

namespace graphc::core {

uint32_t& current_trace_number() {
  thread_local uint32_t number = 0;
  return number;
}

void Value::expect_usable(Where where) const {
  if (node == nullptr) {
    throw input_error(where,
                      "a value is used that was never given one: `Value x;` is absent until "
                      "it is assigned");
  }
  if (trace == 0 || trace == current_trace_number()) return;
  throw input_error(where,
                    "a value is used outside of the trace that made it: that has ended, or is of "
                    "another thread. What another graph needs is a result and an input, or a state "
                    "of the model");
}

const Type& Value::type() const {
  if (trace != 0 || node == nullptr) expect_usable({});
  return node->types[size_t(index)];
}
const Shape& Value::shape() const { return type().shape; }
DType Value::dtype() const { return type().dtype; }
const std::string& Value::name() const {
  if (trace != 0 || node == nullptr) expect_usable({});
  return node->names[size_t(index)];
}

Graph::Graph(std::string name) : name_(std::move(name)) {}

Value Graph::input(const Type& type, std::string name, Where where) {
  const Node& node =
      add(ops::input, {},
          {{"dtype", type.dtype}, {"shape", std::vector(type.shape.begin(), type.shape.end())}}, {},
          where, {std::move(name)});
  inputs_.push_back(node.result());
  return node.result();
}

Value Graph::state(const Type& type, const std::string& name, Where where) {
  if (const Value known = find(name)) {
    if (known.node->is(ops::state)) {
      if (known.type() == type) return known;
      throw input_error(where, "state %{} is {} here and {} before", name, to_string(type),
                        to_string(known.type()));
    }
    throw input_error(where, "state %{}: the name is taken by another value of the graph", name);
  }
  const Node& node =
      add(ops::state, {},
          {{"dtype", type.dtype}, {"shape", std::vector(type.shape.begin(), type.shape.end())}}, {},
          where, {name});
  states_.push_back(node.result());
  return node.result();
}

const Node& Graph::add(const Op& op, Values operands, Attributes attributes,
                       std::vector<GraphPtr> regions, Where where, std::vector<std::string> names) {
  Node& node = append(op, std::move(operands), std::move(attributes), std::move(regions), where);
  infer_types(node);
  name_results(node, std::move(names));
  return node;
}

const Node& Graph::add_copy(const Node& node, Values operands, std::vector<GraphPtr> regions) {
  Node& copy =
      append(node.op, std::move(operands), node.attributes, std::move(regions), node.where);
  const auto of_type = [](Value a, Value b) { return a.type() == b.type(); };
  const bool same_types =
      std::ranges::equal(copy.operands, node.operands, of_type) && copy.regions == node.regions;
  if (same_types) {
    copy.types = node.types;
  } else {
    infer_types(copy);
  }
  name_results(copy, node.names);
  return copy;
}

Node& Graph::append(const Op& op, Values operands, Attributes attributes,
                    std::vector<GraphPtr> regions, Where where) {
  GRAPHC_CHECK(!frozen_, "a node '{}' is added to the frozen graph '{}'", op.name, name_);
  for (Value operand : operands) {
    GRAPHC_CHECK(operand && operand.node->graph == this,
                 "an operand of '{}' is not a value of graph '{}'", op.name, name_);
  }
  return nodes_.emplace_back(Node{op,
                                  std::move(operands),
                                  std::move(attributes),
                                  std::move(regions),
                                  {},
                                  {},
                                  where,
                                  this,
                                  int(nodes_.size()),
                                  trace_});
}

void Graph::infer_types(Node& node) {
  const Where where = node.where;
  try {
    node.types = node.op.infer(node);
    for (const Type& type : node.types) Shape(type.shape.extents());  // throws if out of bounds
  } catch (const Error& error) {
    nodes_.pop_back();
    throw Called::in_its_words(error).at(where);
  }
}

void Graph::name_results(Node& node, std::vector<std::string> hints) {
  hints.resize(node.types.size());
  node.names = std::move(hints);
  for (size_t i = 0; i < node.names.size(); ++i) {
    std::string& name = node.names[i];
    if (name.empty()) name = std::string(node.op.name);
    const Value value = node.result(int(i));
    if (names_.insert(value)) continue;
    name = unique_name(name);
    names_.insert(value);
  }
}

std::string Graph::unique_name(const std::string& taken) {
  // `x.1` suggests a copy of `x`: continue its numbering rather than make `x.1.1`.
  std::string base = taken;
  const size_t dot = base.rfind('.');
  if (dot != std::string::npos && dot > 0 && dot + 1 < base.size() &&
      std::all_of(base.begin() + long(dot) + 1, base.end(),
                  [](char c) { return c >= '0' && c <= '9'; })) {
    base.resize(dot);
  }
  int& suffix = suffixes_[base];
  std::string name;
  do {
    name = fmt::format("{}.{}", base, ++suffix);
  } while (names_.contains(name));
  return name;
}

void Graph::reserve(size_t nodes) { names_.reserve(nodes_.size() + nodes); }

void Graph::set_results(Values results) {
  GRAPHC_CHECK(!frozen_, "results are set on the frozen graph '{}'", name_);
  for (Value value : results) {
    GRAPHC_CHECK(value && value.node->graph == this, "a result is not a value of graph '{}'",
                 name_);
  }
  results_ = std::move(results);
}

void Graph::set_next(Value state, Value value) {
  GRAPHC_CHECK(!frozen_, "`next` is set on the frozen graph '{}'", name_);
  GRAPHC_CHECK(state.node->graph == this && value.node->graph == this,
               "a value of `next` is not of graph '{}'", name_);
  if (!state.node->is(ops::state))
    throw input_error(value.node->where, "next %{}: it is not a state", state.name());
  if (state.type() != value.type()) {
    throw input_error(value.node->where, "next %{}: the state is {}: the value %{} is {}",
                      state.name(), to_string(state.type()), value.name(), to_string(value.type()));
  }
  for (Next& next : next_) {
    if (next.state == state) {
      next.value = value;
      return;
    }
  }
  next_.push_back({state, value});
}

Value Graph::find(const std::string& name) const { return names_.find(name); }

Values Graph::roots() const {
  Values roots = results_;
  for (const Next& next : next_) roots.push_back(next.value);
  return roots;
}

Value Graph::capture(Value outer) {
  if (outer.node->graph == this) return outer;
  GRAPHC_CHECK(parent_ != nullptr, "%{} is not a value of graph '{}' or of a graph around it",
               outer.name(), name_);
  const Value in_parent = parent_->capture(outer);
  for (const auto& [captured, inner] : captures_) {
    if (captured == in_parent) return inner;
  }
  const Value inner = input(outer.type(), outer.name(), outer.node->where);
  captures_.emplace_back(in_parent, inner);
  return inner;
}

GraphPtr freeze(std::unique_ptr<Graph> graph) {
  graph->frozen_ = true;
  graph->parent_ = nullptr;
  graph->captures_.clear();
  return GraphPtr(std::move(graph));
}

namespace {

/// Compares from the roots down; remembers nodes found equal.
class Comparison {
 public:
  bool graphs(const Graph& a, const Graph& b) {
    if (a.inputs().size() != b.inputs().size() || a.next().size() != b.next().size()) return false;
    if (a.results().size() != b.results().size()) return false;
    for (size_t i = 0; i < a.inputs().size(); ++i) {
      if (a.inputs()[i].type() != b.inputs()[i].type()) return false;
      pairs_[a.inputs()[i].node] = b.inputs()[i].node;
    }
    for (Value state : a.states()) {
      const Value other = b.find(state.name());
      if (!other || !other.node->is(ops::state) || other.type() != state.type()) return false;
      pairs_[state.node] = other.node;
    }
    if (a.states().size() != b.states().size()) return false;
    for (size_t i = 0; i < a.results().size(); ++i) {
      if (!values(a.results()[i], b.results()[i])) return false;
    }
    std::unordered_map<std::string, Value> other;
    for (const Next& next : b.next()) other.emplace(next.state.name(), next.value);
    for (const Next& next : a.next()) {
      const auto found = other.find(next.state.name());
      if (found == other.end() || !values(next.value, found->second)) return false;
    }
    return true;
  }

 private:
  bool values(Value a, Value b) {
    if (a.index != b.index) return false;
    // An explicit stack: an unrolled loop of a thousand steps must not recurse.
    std::vector<std::pair<const Node*, const Node*>> stack{{a.node, b.node}};
    while (!stack.empty()) {
      const auto [x, y] = stack.back();
      stack.pop_back();
      const auto known = pairs_.find(x);
      if (known != pairs_.end()) {
        const bool constants = x->is(ops::constant) && y->is(ops::constant) && same_node(*x, *y);
        if (known->second != y && !constants) return false;
        continue;
      }
      if (!same_node(*x, *y)) return false;
      pairs_[x] = y;
      for (size_t i = 0; i < x->operands.size(); ++i) {
        if (x->operands[i].index != y->operands[i].index) return false;
        stack.emplace_back(x->operands[i].node, y->operands[i].node);
      }
    }
    return true;
  }

  static bool same_node(const Node& a, const Node& b) {
    if (!a.is(b.op) || a.is(ops::input) || a.is(ops::state)) return false;
    if (a.operands.size() != b.operands.size() || a.types != b.types) return false;
    if (!(a.attributes == b.attributes) || a.regions.size() != b.regions.size()) return false;
    for (size_t i = 0; i < a.regions.size(); ++i) {
      if (a.regions[i] != b.regions[i] && !equal(*a.regions[i], *b.regions[i])) return false;
    }
    return true;
  }

  std::unordered_map<const Node*, const Node*> pairs_;
};

}  // namespace

bool equal(const Graph& a, const Graph& b) { return Comparison().graphs(a, b); }

const GraphPtr& Module::graph(const std::string& wanted) const {
  std::string found;
  for (const GraphPtr& graph : graphs) {
    if (graph->name() == wanted) return graph;
    found += fmt::format("{}@{}", found.empty() ? "" : ", ", graph->name());
  }
  throw input_error({}, "there is no graph @{} in the module: found {}", wanted,
                    found.empty() ? "none" : found);
}

void Module::declare(const std::string& state, const Type& type, Where where) {
  for (const auto& [known, known_type] : states) {
    if (known != state) continue;
    if (known_type == type) return;
    throw input_error(where, "state %{} is {} here and {} before", state, to_string(type),
                      to_string(known_type));
  }
  states.emplace_back(state, type);
}

}  // namespace graphc::core
