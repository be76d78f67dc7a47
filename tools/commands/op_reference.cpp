// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/op_reference.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/op.h"
#include "ir/op_attributes.h"
#include "ir/text.h"

namespace graphc::core::commands {
namespace {

constexpr std::string_view kHeading = R"(# Operations

Written by `graphc ops --markdown` from the records of operations; a test compares the two. Shapes
are examples: where it says nothing else, an operation takes any. Elementwise operations broadcast
as NumPy does. `{name}` is an attribute. A cotangent may have the shape that was broadcast to;
autodiff sums it to the operand's. A composite without a derivative of its own has that of its body.

)";

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Names for the operands: a composite's parameter names, otherwise x, y, z, ...
std::vector<std::string> operand_names(const Op& op, size_t count) {
  std::vector<std::string> names;
  const std::string_view header = op.body.substr(0, op.body.find(')'));
  for (size_t i = header.find('%'); i != header.npos; i = header.find('%', i + 1)) {
    size_t end = i + 1;
    while (end < header.size() && is_name(header[end])) ++end;
    names.emplace_back(header.substr(i + 1, end - i - 1));
  }
  if (names.size() == count) return names;
  names.clear();
  for (size_t i = 0; i < count; ++i)
    names.push_back(count <= 3 ? std::string(1, char('x' + i)) : fmt::format("x{}", i));
  return names;
}

/// The op applied to its first sample, in a graph of its own.
struct Applied {
  std::unique_ptr<Graph> graph;
  const Node* node = nullptr;
};

Applied apply_sample(const Op& op, const Sample& sample) {
  Applied applied{std::make_unique<Graph>(std::string(op.name))};
  const std::vector<std::string> names = operand_names(op, sample.operands.size());
  Values operands;
  for (size_t i = 0; i < sample.operands.size(); ++i)
    operands.push_back(applied.graph->input(sample.operands[i], names[i]));
  applied.node = &applied.graph->add(op, operands, sample.attributes);
  return applied;
}

std::string application(const Op& op, const Sample& sample) {
  Applied applied = apply_sample(op, sample);
  Values results;
  for (int i = 0; i < applied.node->results(); ++i) results.push_back(applied.node->result(i));
  applied.graph->set_results(results);
  return fmt::format("```graph\n{}```\n", print(*freeze(std::move(applied.graph))));
}

/// Copies a value into a graph under construction, after its operands; `made` maps copied nodes.
Value add_after_operands(Value value, Graph& to, std::map<const Node*, const Node*>& made) {
  const Node& node = *value.node;
  if (!made.contains(&node)) {
    Values operands;
    for (Value operand : node.operands) operands.push_back(add_after_operands(operand, to, made));
    made[&node] = &to.add(node.op, operands, node.attributes, node.regions);
  }
  return made[&node]->result(value.index);
}

/// The graph with its nodes in the order of its equations, from the results down. The C++ compiler
/// chooses the order in which a record's operands are evaluated.
GraphPtr in_order(const Graph& from) {
  auto to = std::make_unique<Graph>(from.name());
  std::map<const Node*, const Node*> made;
  for (Value input : from.inputs()) made[input.node] = to->input(input.type(), input.name()).node;
  Values results;
  for (Value result : from.results()) results.push_back(add_after_operands(result, *to, made));
  to->set_results(results);
  return freeze(std::move(to));
}

/// The derivative in the record, as a graph from operands and cotangents of the results; empty if
/// there is none.
std::string derivative(const Op& op, const Sample& sample) {
  Applied applied = apply_sample(op, sample);
  Values cotangents, results;
  for (int i = 0; i < applied.node->results(); ++i) {
    const Value result = applied.node->result(i);
    cotangents.push_back(is_floating(result.dtype())
                             ? applied.graph->input(result.type(), "d." + result.name())
                             : Value{});
  }
  if (std::ranges::none_of(cotangents, [](Value value) { return bool(value); })) return "";
  std::string of;
  const Values products = op.vjp(*applied.node, cotangents);
  for (size_t i = 0; i < products.size(); ++i) {
    if (!products[i]) continue;
    results.push_back(products[i]);
    of += fmt::format("{}`%{}`", of.empty() ? "" : ", ", applied.node->operands[i].name());
  }
  if (results.empty()) return "";
  applied.graph->set_results(results);
  return fmt::format("Cotangent of {}:\n\n```graph\n{}```\n", of,
                     print(*in_order(*freeze(std::move(applied.graph)))));
}

/// The body, unindented by the indentation of its last line.
std::string body_text(std::string_view body) {
  const size_t last = body.rfind('\n');
  const size_t margin = last == body.npos ? 0 : body.size() - last - 2;
  std::string text;
  for (size_t begin = 0; begin < body.size();) {
    const size_t end = std::min(body.find('\n', begin), body.size());
    std::string_view line = body.substr(begin, end - begin);
    if (begin > 0) line.remove_prefix(std::min(margin, line.find_first_not_of(' ')));
    text += fmt::format("{}\n", line);
    begin = end + 1;
  }
  return fmt::format("Defined as\n\n```\n{}```\n", text);
}

std::string section(const Op& op) {
  std::string text = fmt::format("### {}\n\n{}\n", op.name, op.doc);
  const std::set<std::string> attributes = attribute_names(op);
  if (!attributes.empty())
    text += fmt::format("\nAttributes: `{}`.\n", fmt::join(attributes, "`, `"));
  const Samples samples = op.samples == nullptr ? Samples{} : op.samples();
  if (!samples.empty()) text += "\n" + application(op, samples[0]);
  if (is_composite(op)) text += "\n" + body_text(op.body);
  if (op.vjp == nullptr || samples.empty()) return text + "\n";
  const std::string gradient = derivative(op, samples[0]);
  return text + "\n" + (gradient.empty() ? "Its derivative is zero.\n" : gradient) + "\n";
}

}  // namespace

std::string op_reference() {
  std::string text(kHeading);
  struct Kind {
    std::string_view title;
    bool (*holds)(const Op& op);
  };
  const Kind kinds[] = {
      {"Elementwise", [](const Op& op) { return is_elementwise(op); }},
      {"Primitives", [](const Op& op) { return !is_elementwise(op) && !is_composite(op); }},
      {"Composites", [](const Op& op) { return !is_elementwise(op) && is_composite(op); }},
  };
  for (const Kind& kind : kinds) {
    text += fmt::format("## {}\n\n", kind.title);
    for (const Op* op : all_ops()) {
      if (kind.holds(*op)) text += section(*op);
    }
  }
  text.pop_back();
  return text;
}

}  // namespace graphc::core::commands
