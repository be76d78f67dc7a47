// SPDX-License-Identifier: Apache-2.0
// A body is drawn once, in a frame, and its captures come directly from the enclosing graph: a
// weight is one node, however many loops read it. Edges are written after all nodes, because
// graphviz puts a node into the frame of the first edge that names it.
#include "ir/dot.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "ir/unfolded.h"

namespace graphc::core {
namespace {

/// Longer numbers and attributes do not help in a drawing.
constexpr size_t kLongestWord = 32;

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string shortened(std::string text) {
  if (text.size() > kLongestWord) text.replace(kLongestWord, text.npos, "...");
  return text;
}

/// The number that a constant is, or empty for another node.
std::string number_of(const Node& node) {
  if (!node.is(ops::constant)) return "";
  const Attribute* value = node.attributes.find("value");
  return value == nullptr ? "" : shortened(to_string(*value));
}

/// Whether the number is written inside the box of its user.
bool is_in_place(Value value) {
  return value.shape().rank() == 0 && !number_of(*value.node).empty();
}

/// "f32[8,32]", or "f32[8,32] x 4".
std::string types_of(const Node& node) {
  const std::string first = to_string(node.types[0]);
  if (node.results() == 1) return first;
  if (std::ranges::count(node.types, node.types[0]) == node.results())
    return fmt::format("{} x {}", first, node.results());
  std::vector<std::string> all;
  for (const Type& type : node.types) all.push_back(to_string(type));
  return fmt::format("{}", fmt::join(all, ", "));
}

/// Names given by the user; names derived from the op carry no information.
std::string names_of(const Node& node) {
  if (node.names[0].starts_with(node.op.name)) return "";
  return fmt::format("{} = ", fmt::join(node.names, ", "));
}

/// The label of an edge from one of several results; empty if there is only one.
std::string result_name(const Node& node, int index) {
  if (node.results() == 1) return "";
  return names_of(node).empty() ? fmt::format("[{}]", index) : node.names[size_t(index)];
}

std::string label_of(const Node& node) {
  if (const std::string number = number_of(node); !number.empty())
    return fmt::format("{}\n{}", number, types_of(node));
  if (node.is(ops::input) || node.is(ops::state))
    return fmt::format("{}\n{}", node.names[0], types_of(node));
  std::string text = names_of(node) + std::string(node.op.name);
  bool numbers = false;
  for (Value operand : node.operands) numbers |= is_in_place(operand);
  if (numbers) {
    std::vector<std::string> operands;
    for (Value operand : node.operands)
      operands.push_back(is_in_place(operand) ? number_of(*operand.node) : "_");
    text += fmt::format(" {}", fmt::join(operands, ", "));
  }
  for (const auto& [name, value] : node.attributes)
    text += fmt::format("\n{} = {}", name, shortened(to_string(value)));
  return text + "\n" + types_of(node);
}

/// The origin of a value's edges.
struct Source {
  std::string node;
  std::string result;     ///< which one, if the node has several
  bool constant = false;  ///< a weight: its edges are not part of the data flow
};

class Writer {
 public:
  std::string write(const Graph& graph) {
    text_ = fmt::format(
        "digraph {} {{\n"
        "  graph [fontname=\"Helvetica\", ranksep=0.35, nodesep=0.2];\n"
        "  node [shape=box, fontname=\"Helvetica\", fontsize=11, height=0.3, "
        "margin=\"0.1,0.05\"];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9, arrowsize=0.6];\n",
        in_quotes(graph.name()));
    Frame frame{.prefix = "n", .indent = "  "};
    write_nodes(graph, frame);
    for (const Next& next : graph.next())
      recur(frame, next.value, frame.sources.at(next.state.node)[0].node, "next call");
    int index = 0;
    for (Value result : graph.results()) {
      const std::string id = fmt::format("result{}", index++);
      add_node("  ", id, "return " + result.name(), ", shape=plaintext");
      add_edge(source(frame, result), id);
    }
    return text_ + edges_ + "}\n";
  }

 private:
  /// A region at one of its uses.
  struct Frame {
    std::string prefix, indent;
    std::unordered_map<const Node*, std::vector<Source>> sources{};
    /// Results that are used, by node; and numbers with a box of their own: results of a graph or
    /// body, and initial values of a loop.
    std::set<std::pair<const Node*, int>> used{};
    std::unordered_set<const Node*> boxed{};
  };

  void add_node(const std::string& indent, const std::string& id, const std::string& label,
                std::string_view more = "") {
    text_ += fmt::format("{}{} [label={}{}];\n", indent, id, in_quotes(label), more);
  }

  void add_edge(const Source& from, const std::string& to, std::string_view what = "",
                std::string_view more = "") {
    std::string label = from.result;
    if (!what.empty()) label += (label.empty() ? "" : ", ") + std::string(what);
    edges_ += fmt::format("  {} -> {} [{}{}{}];\n", from.node, to,
                          label.empty() ? "" : "label=" + in_quotes(label) + ", ",
                          from.constant ? "color=gray60" : "color=black", more);
  }

  /// The edge for a value passed from one step, or call, to the next.
  void recur(Frame& frame, Value next, const std::string& to, std::string_view what) {
    add_edge(source(frame, next), to, what,
             ", style=dashed, color=firebrick, fontcolor=firebrick, constraint=false");
  }

  Source& source(Frame& frame, Value value) {
    return frame.sources.at(value.node).at(size_t(value.index));
  }

  static void note_uses(const Graph& graph, Frame& frame) {
    const auto note = [&](Value value, bool boxed) {
      frame.used.emplace(value.node, value.index);
      if (boxed) frame.boxed.insert(value.node);
    };
    for (Value root : graph.roots()) note(root, true);
    for (const Node& node : graph.nodes())
      for (Value operand : node.operands) note(operand, !node.regions.empty());
  }

  void write_nodes(const Graph& graph, Frame& frame) {
    const std::vector<bool> live = live_nodes(graph);
    note_uses(graph, frame);
    for (const Node& node : graph.nodes()) {
      if (!live[size_t(node.id)] || frame.sources.contains(&node)) continue;
      if (node.is(ops::scan)) {
        write_loop(Scan(node), frame);
      } else if (!node.regions.empty()) {
        write_regions(node, frame);
      } else {
        write_node(node, frame);
      }
    }
  }

  void write_node(const Node& node, Frame& frame) {
    const std::string id = fmt::format("{}{}", frame.prefix, node.id);
    std::vector<Source>& sources = frame.sources[&node];
    for (int i = 0; i < node.results(); ++i)
      sources.push_back({id, result_name(node, i), node.is(ops::state)});
    if (node.results() == 1 && is_in_place(node.result()) && !frame.boxed.contains(&node)) return;
    std::string_view look = "";
    if (node.is(ops::input)) look = ", style=\"rounded,filled\", fillcolor=\"#dce9f7\"";
    if (node.is(ops::state)) look = ", style=\"rounded,filled\", fillcolor=\"#fdf0c4\"";
    add_node(frame.indent, id, label_of(node), look);
    for (Value operand : node.operands)
      if (!is_in_place(operand)) add_edge(source(frame, operand), id);
  }

  void write_loop(const Scan& loop, Frame& frame) {
    const Node& node = loop.node();
    Frame inner = open_frame(node, 0, frame,
                             fmt::format("scan: {} steps{}", loop.steps(),
                                         loop.reverse() ? ", from the last to the first" : ""));
    const auto argument = [&](Value input, std::string_view fill) {
      const std::string id = fmt::format("{}{}", inner.prefix, input.node->id);
      add_node(inner.indent, id, label_of(*input.node),
               fmt::format(", style=\"rounded,filled\", fillcolor=\"{}\"", fill));
      inner.sources[input.node] = {{id, ""}};
      return id;
    };
    for (size_t i = 0; i < loop.streams().size(); ++i) {
      const std::string id = argument(loop.body_streams()[i], "#e4f2dc");
      add_edge(source(frame, loop.streams()[i]), id, "each step");
    }
    for (size_t i = 0; i < loop.initial().size(); ++i) {
      const std::string id = argument(loop.body_carries()[i], "#f9d9c0");
      add_edge(source(frame, loop.initial()[i]), id, "first step");
    }
    for (size_t i = 0; i < loop.captures().size(); ++i)
      inner.sources[loop.body_captures()[i].node] = {source(frame, loop.captures()[i])};
    write_nodes(loop.body(), inner);
    close_frame(frame);
    for (size_t i = 0; i < loop.next().size(); ++i) {
      const Value carry = loop.body_carries()[i];
      recur(inner, loop.next()[i], inner.sources.at(carry.node)[0].node, "next step");
    }
    std::vector<Source>& results = frame.sources[&node];
    for (int i = 0; i < node.results(); ++i) {
      const bool emit = size_t(i) < loop.emits().size();
      const std::string id = fmt::format("{}{}_result{}", frame.prefix, node.id, i);
      results.push_back({id, ""});
      if (!frame.used.contains({&node, i})) continue;
      add_node(frame.indent, id,
               fmt::format("{}: {}\n{}", node.names[size_t(i)],
                           emit ? "of all steps" : "after the last step",
                           to_string(node.types[size_t(i)])),
               ", style=rounded");
      add_edge(source(inner, emit ? loop.emits()[size_t(i)]
                                  : loop.next()[size_t(i) - loop.emits().size()]),
               id);
    }
  }

  /// A node whose region is computed once, from operands to results: a kernel.
  void write_regions(const Node& node, Frame& frame) {
    std::vector<Source> results;
    for (size_t i = 0; i < node.regions.size(); ++i) {
      const Graph& region = *node.regions[i];
      Frame inner = open_frame(node, i, frame, std::string(node.op.name) + " " + node.names[0]);
      for (size_t k = 0; k < region.inputs().size(); ++k)
        inner.sources[region.inputs()[k].node] = {source(frame, node.operands.at(k))};
      write_nodes(region, inner);
      close_frame(frame);
      for (Value result : region.results()) results.push_back(source(inner, result));
    }
    frame.sources[&node] = std::move(results);
  }

  Frame open_frame(const Node& node, size_t region, const Frame& around, const std::string& label) {
    Frame frame{.prefix = fmt::format("{}{}_{}_", around.prefix, node.id, region),
                .indent = around.indent + "  "};
    text_ += fmt::format(
        "{0}subgraph cluster_{1} {{\n{0}  label={2}; labeljust=l; style=rounded; color=gray40;\n",
        around.indent, frame.prefix, in_quotes(label));
    return frame;
  }
  void close_frame(const Frame& around) { text_ += around.indent + "}\n"; }

  std::string text_, edges_;
};

}  // namespace

std::string to_dot(const Graph& graph) {
  check_unfolded(graph);
  return Writer().write(graph);
}

}  // namespace graphc::core
