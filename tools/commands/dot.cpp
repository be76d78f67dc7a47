// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/dot.h"

#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/unfolded.h"

namespace graphc::core::commands {
namespace {

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

class Writer {
 public:
  std::string write(const Graph& graph) {
    text_ = fmt::format("digraph {} {{\n  node [shape=box, fontname=\"monospace\"];\n",
                        in_quotes(graph.name()));
    nodes(graph, "n", "  ");
    for (const Next& next : graph.next()) {
      text_ += fmt::format("  n{} -> n{} [style=dashed, label=\"next\"];\n", next.value.node->id,
                           next.state.node->id);
    }
    int index = 0;
    for (Value result : graph.results()) {
      text_ += fmt::format("  result{0} [label=\"result {0}\", shape=plaintext];\n", index);
      text_ += fmt::format("  n{} -> result{};\n", result.node->id, index++);
    }
    return text_ + "}\n";
  }

 private:
  void nodes(const Graph& graph, const std::string& prefix, const std::string& indent) {
    const std::vector<bool> live = live_nodes(graph);
    for (const Node& node : graph.nodes()) {
      if (!live[size_t(node.id)]) continue;
      const std::string id = fmt::format("{}{}", prefix, node.id);
      std::string label(node.op.name);
      for (int i = 0; i < node.results(); ++i) {
        label += fmt::format("\\n%{}: {}", node.names[size_t(i)], to_string(node.types[size_t(i)]));
      }
      text_ += fmt::format("{}{} [label=\"{}\"{}];\n", indent, id, label,
                           node.is(ops::state) || node.is(ops::input) ? ", style=rounded" : "");
      for (Value operand : node.operands)
        text_ += fmt::format("{}{}{} -> {};\n", indent, prefix, operand.node->id, id);
      for (size_t i = 0; i < node.regions.size(); ++i) {
        const std::string inner = fmt::format("{}_{}_", id, i);
        text_ += fmt::format("{}subgraph cluster_{} {{\n{}  label={};\n", indent, inner, indent,
                             in_quotes(node.names[0]));
        nodes(*node.regions[i], inner, indent + "  ");
        text_ += indent + "}\n";
      }
    }
  }

  std::string text_;
};

}  // namespace

std::string to_dot(const Graph& graph) {
  check_unfolded(graph);
  return Writer().write(graph);
}

}  // namespace graphc::core::commands
