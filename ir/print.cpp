// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ir/lexer.h"
#include "ir/scan.h"
#include "ir/text.h"

namespace graphc::core {
namespace {

std::string spelled(const Value& value) {
  return value ? "%" + spelled_name(value.name()) : "(absent)";
}

std::string spelled(const Values& values) {
  std::string text;
  for (Value value : values) text += (text.empty() ? "" : ", ") + spelled(value);
  return text;
}

std::string spelled(const Attributes& attributes, std::initializer_list<std::string_view> hidden) {
  std::string text;
  for (const auto& [name, value] : attributes) {
    if (std::find(hidden.begin(), hidden.end(), name) != hidden.end()) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ",
                        is_word(name) ? name : to_string(Attribute(name)), to_string(value));
  }
  return text.empty() ? "" : " {" + text + "}";
}

std::string spelled(const std::vector<Type>& types) {
  std::string text;
  for (size_t i = 0; i < types.size();) {
    size_t end = i + 1;
    while (end < types.size() && types[end] == types[i]) ++end;
    text += (i > 0 ? ", " : "") + to_string(types[i]);
    if (end - i > 1) text += fmt::format(" x {}", end - i);
    i = end;
  }
  return text;
}

std::string parameters(const Values& values) {
  std::string text;
  for (Value value : values)
    text +=
        fmt::format("{}{}: {}", text.empty() ? "" : ", ", spelled(value), to_string(value.type()));
  return "(" + text + ")";
}

/// A scalar constant without other information than its number.
bool is_number(const Node& node) {
  if (!node.is(ops::constant) || node.types[0].shape.rank() != 0) return false;
  const Attribute* value = node.attributes.find("value");
  const bool single = value != nullptr && (std::holds_alternative<bool>(*value) ||
                                           std::holds_alternative<int64_t>(*value) ||
                                           std::holds_alternative<double>(*value));
  return single && node.attributes.find("dtype") != nullptr;
}

/// Whether the constants among the operands can be printed as numbers and parsed back: some operand
/// that is not a number must have their dtype.
bool shows_numbers(const Node& node) {
  if (!node.regions.empty()) return false;
  const Value* source = nullptr;
  for (size_t i = 0; i < node.operands.size() && source == nullptr; ++i) {
    if (takes_number(node.op, i) && !is_number(*node.operands[i].node)) source = &node.operands[i];
  }
  if (source == nullptr) return false;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Value operand = node.operands[i];
    if (!is_number(*operand.node)) continue;
    if (!takes_number(node.op, i) || operand.dtype() != source->dtype()) return false;
  }
  return true;
}

/// The constants of a graph that print inline: all their uses accept a number.
std::unordered_set<const Node*> numbers_in_place(const Graph& graph) {
  std::unordered_set<const Node*> used, named;
  for (const Node& node : graph.nodes()) {
    const bool shown = shows_numbers(node);
    for (Value operand : node.operands) {
      if (is_number(*operand.node)) (shown ? used : named).insert(operand.node);
    }
  }
  for (Value root : graph.roots()) named.insert(root.node);
  for (const Node* node : named) used.erase(node);
  return used;
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  /// Must be called for every graph before any is printed.
  void announce(const Graph& graph) {
    taken_.insert(graph.name());
    count_regions(graph);
  }

  void graph(const Graph& graph) {
    shared_regions(graph);
    separate();
    text_ += "graph";
    if (!graph.name().empty()) text_ += " @" + spelled_name(graph.name());
    text_ += " " + parameters(graph.inputs());
    if (!graph.states().empty()) text_ += " state " + parameters(graph.states());
    text_ += " {\n";
    lines(graph, "  ");
    std::vector<std::string> next;
    for (const Next& n : graph.next()) next.push_back(spelled(n.state) + " = " + spelled(n.value));
    if (!next.empty()) text_ += fmt::format("  next {}\n", fmt::join(next, ", "));
    if (!graph.results().empty()) text_ += "  return " + spelled(graph.results()) + "\n";
    text_ += "}\n";
  }

  void node(const Node& node, const std::string& indent) {
    const Values results = results_of(node);
    if (!results.empty()) text_ += spelled(results) + " = ";
    text_ += node.op.name;
    if (node.is(ops::scan)) {
      scan(Scan(node), indent);
    } else if (node.is(ops::kernel)) {
      text_ += spelled(node.attributes, {});
      text_ += " (" + binds(node.operands, node.region().inputs(), true) + ") ";
      region(node.regions[0], indent, [&] { result_line(node.region().results(), indent); });
    } else {
      for (size_t i = 0; i < node.operands.size(); ++i)
        text_ += (i == 0 ? " " : ", ") + operand(node.operands[i]);
      text_ += spelled(node.attributes, {});
    }
    if (!node.types.empty()) text_ += " : " + spelled(node.types);
    if (options_.locations && node.where)
      text_ += fmt::format("  # {}:{}", node.where.file, node.where.line);
  }

  void only_headers() { only_headers_ = true; }
  void append(const std::string& text) { text_ += text; }
  std::string take() { return std::move(text_); }

 private:
  void count_regions(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      for (const GraphPtr& region : node.regions) {
        if (++uses_[region.get()] == 1) count_regions(*region);
      }
    }
  }

  static Values results_of(const Node& node) {
    Values results;
    for (int i = 0; i < int(node.names.size()); ++i) results.push_back(node.result(i));
    return results;
  }

  void separate() {
    if (!text_.empty()) text_ += "\n";
  }

  /// Prints the shared regions of the graph that are not printed yet, inner ones first.
  void shared_regions(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      for (const GraphPtr& region : node.regions) {
        if (names_.contains(region.get())) continue;
        shared_regions(*region);
        if (uses_[region.get()] < 2) continue;
        const std::string name = fresh_name(region->name().empty() ? "body" : region->name());
        names_.emplace(region.get(), name);
        separate();
        text_ +=
            fmt::format("region @{} {} {{\n", spelled_name(name), parameters(region->inputs()));
        lines(*region, "  ");
        result_line(region->results(), "");
        text_ += "}\n";
      }
    }
  }

  std::string fresh_name(const std::string& hint) {
    std::string name = hint;
    for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}.{}", hint, i);
    return name;
  }

  void lines(const Graph& graph, const std::string& indent) {
    auto outer = std::move(in_place_);
    in_place_ = numbers_in_place(graph);
    for (const Node& node : graph.nodes()) {
      if (node.is(ops::input) || node.is(ops::state) || in_place_.contains(&node)) continue;
      text_ += indent;
      this->node(node, indent);
      text_ += "\n";
    }
    in_place_ = std::move(outer);
  }

  std::string operand(Value value) const {
    return in_place_.contains(value.node) ? to_string(*value.node->attributes.find("value"))
                                          : spelled(value);
  }

  std::string binds(std::span<const Value> outer, std::span<const Value> inner, bool short_form) {
    std::string text;
    for (size_t i = 0; i < outer.size() && i < inner.size(); ++i) {
      text += (text.empty() ? "" : ", ") + spelled(inner[i]);
      if (!short_form || inner[i].name() != outer[i].name()) text += " = " + spelled(outer[i]);
    }
    return text;
  }

  void scan(const Scan& scan, const std::string& indent) {
    const Attributes& attributes = scan.node().attributes;
    text_ += scan.streams().empty() ? spelled(attributes, {"streams", "carries"})
                                    : spelled(attributes, {"streams", "carries", "steps"});
    for (size_t i = 0; i < scan.streams().size(); ++i)
      text_ += fmt::format("{}{} in {}", i == 0 ? " " : ", ", spelled(scan.body_streams()[i]),
                           spelled(scan.streams()[i]));
    if (!scan.initial().empty())
      text_ += " carry " + binds(scan.initial(), scan.body_carries(), false);
    if (!scan.captures().empty())
      text_ += " with " + binds(scan.captures(), scan.body_captures(), true);
    text_ += " ";
    region(scan.node().regions[0], indent, [&] {
      const std::string next = binds(scan.next(), scan.body_carries(), false);
      if (!next.empty()) text_ += indent + "  next " + next + "\n";
      if (!scan.emits().empty())
        text_ +=
            indent + "  emit " + spelled(Values(scan.emits().begin(), scan.emits().end())) + "\n";
    });
  }

  /// The name of a shared region, or its lines followed by the output of `end`.
  template <typename End>
  void region(const GraphPtr& region, const std::string& indent, const End& end) {
    const auto named = names_.find(region.get());
    if (named != names_.end()) {
      text_ += "@" + spelled_name(named->second);
    } else if (only_headers_) {
      text_ += "{ ... }";
    } else {
      text_ += "{\n";
      lines(*region, indent + "  ");
      end();
      text_ += indent + "}";
    }
  }

  void result_line(const Values& results, const std::string& indent) {
    if (!results.empty()) text_ += indent + "  return " + spelled(results) + "\n";
  }

  PrintOptions options_;
  std::string text_;
  std::unordered_map<const Graph*, int> uses_;
  std::unordered_map<const Graph*, std::string> names_;
  std::set<std::string> taken_;
  std::unordered_set<const Node*> in_place_;
  bool only_headers_ = false;
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  Printer printer(options);
  printer.announce(graph);
  printer.graph(graph);
  return printer.take();
}

std::string print(const Module& module, const PrintOptions& options) {
  Printer printer(options);
  Module derived;
  for (const GraphPtr& graph : module.graphs) {
    printer.announce(*graph);
    for (Value state : graph->states()) derived.declare(state.name(), state.type());
  }
  if (!module.name.empty()) printer.append("module @" + spelled_name(module.name) + "\n");
  if (derived.states != module.states) {
    for (const auto& [name, type] : module.states)
      printer.append(fmt::format("state %{}: {}\n", spelled_name(name), to_string(type)));
  }
  for (const GraphPtr& graph : module.graphs) printer.graph(*graph);
  return printer.take();
}

std::string print(const Node& node) {
  Printer printer({});
  printer.only_headers();
  printer.node(node, "");
  return printer.take();
}

}  // namespace graphc::core
