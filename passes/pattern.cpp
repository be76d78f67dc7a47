// SPDX-License-Identifier: Apache-2.0
#include "passes/pattern.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>

#include "ir/composite.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "passes/outline.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "passes/region.h"
#include "passes/simplify.h"

namespace graphc::core {
namespace {

/// Stands for a numeric attribute: no body contains it.
constexpr double kStandIn = 0.12345678;

/// The attributes used in a body: `$name` and `$name:default`, but not `$parameter.fact`.
std::vector<Variable> variables_of(std::string_view body) {
  std::vector<Variable> found;
  for (size_t at = body.find('$'); at != body.npos; at = body.find('$', at + 1)) {
    const size_t end = std::min(body.find_first_of(" ,})]\n", at), body.size());
    const std::string_view text = body.substr(at + 1, end - at - 1);
    const size_t colon = text.find(':');
    const std::string name(text.substr(0, colon));
    const bool known =
        std::ranges::any_of(found, [&](const Variable& old) { return old.name == name; });
    if (known || name.find('.') != name.npos) continue;
    found.push_back({name, colon == text.npos ? "" : std::string(text.substr(colon + 1))});
  }
  return found;
}

/// A graph with only the composite.
GraphPtr graph_of(const Op& op, const std::vector<Type>& operands, const Attributes& attributes) {
  auto graph = std::make_unique<Graph>(std::string(op.name));
  Values values;
  for (size_t i = 0; i < operands.size(); ++i)
    values.push_back(graph->input(operands[i], fmt::format("p{}", i)));
  graph->set_results(results_of(graph->add(op, values, attributes)));
  return freeze(std::move(graph));
}

GraphPtr expanded(const GraphPtr& graph) {
  Remarks remarks;
  return passes::expand.run(graph, {}, remarks);
}

/// The passes before `outline` in the standard pipeline. Those that only change loops, with the
/// clean-up after them, are dropped if there is no loop.
Pipeline passes_before_outline(bool has_loop) {
  Pipeline pipeline = before_outline(standard_pipeline("fused"));
  const auto first = std::ranges::find_if(pipeline, [](const PassUse& use) {
    return use.pass == &passes::pack_matmuls || use.pass == &passes::hoist;
  });
  if (!has_loop) pipeline.erase(first, pipeline.end());
  return pipeline;
}

/// The form in which those passes leave equations.
GraphPtr normal_form(const GraphPtr& body, bool expand) {
  static const Pipeline straight = passes_before_outline(false),
                        loops = passes_before_outline(true);
  GraphPtr graph = expand ? expanded(body) : body;
  Remarks remarks;
  for (const PassUse& use : contains(*graph, ops::scan) ? loops : straight)
    graph = use.pass->run(graph, use.options, remarks);
  return graph;
}

GraphPtr body_for(const Op& op, const std::vector<Type>& operands, const Attributes& attributes) {
  const GraphPtr graph = graph_of(op, operands, attributes);
  return body_of(*graph->results()[0].node);
}

bool has_composites(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return is_composite(node.op); });
}

/// The first sample, with markers for numeric attributes.
Sample sample_of(const Op& op, Pattern& pattern) {
  Sample sample = op.samples()[0];
  for (const Variable& variable : variables_of(op.body)) {
    pattern.variables.push_back(variable);
    if (variable.otherwise.find_first_of(".e") == std::string::npos) continue;
    char* end = nullptr;
    std::strtod(variable.otherwise.c_str(), &end);
    if (*end != '\0') continue;
    sample.attributes.set(variable.name, kStandIn);
    pattern.constants.emplace_back(variable.name, kStandIn);
  }
  return sample;
}

/// The types with power-of-two extents, for which divisions by counts are multiplications.
std::vector<Type> powers_of_two(std::vector<Type> types) {
  for (Type& type : types) {
    for (int axis = 0; axis < type.shape.rank(); ++axis) {
      const auto extent = uint64_t(type.shape[axis]);
      type.shape = type.shape.with(axis, int64_t(std::bit_ceil(extent)));
    }
  }
  return types;
}

bool has_one_root(const Graph& body) {
  return std::ranges::all_of(body.results(), [&](Value result) {
    return result.node == body.results()[0].node && !result.node->is(ops::input);
  });
}

std::vector<Pattern> make_patterns(const Op& op) {
  std::vector<Pattern> patterns;
  Pattern pattern{.op = &op};
  const Sample sample = sample_of(op, pattern);
  const auto add = [&](const std::vector<Type>& types) {
    const GraphPtr body = body_for(op, types, sample.attributes);
    for (const bool expand : {false, true}) {
      if (expand && !has_composites(*body)) continue;
      pattern.body = normal_form(body, expand);
      pattern.expanded = expand;
      if (has_one_root(*pattern.body)) patterns.push_back(pattern);
    }
  };
  add(sample.operands);
  if (patterns.empty() || !patterns[0].is_loop()) add(powers_of_two(sample.operands));
  return patterns;
}

/// Whether simplify never removes nodes of this op.
bool always_stays(const Op& op) {
  const Op* lasting[] = {&ops::exp, &ops::log,  &ops::tanh, &ops::sigmoid, &ops::sqrt,
                         &ops::sum, &ops::max,  &ops::scan, &ops::matmul,  &ops::rsqrt,
                         &ops::cos, &ops::less, &ops::relu};
  return std::ranges::find(lasting, &op) != std::end(lasting) || is_composite(op);
}

void note_facts(const Graph& graph, PatternFacts& facts) {
  for (const Node& node : graph.nodes()) {
    if (always_stays(node.op)) facts.ops.insert(&node.op);
    if (node.is(ops::scan)) facts.carries = Scan(node).initial().size();
    for (const GraphPtr& region : node.regions) note_facts(*region, facts);
  }
}

int count_nodes(const Graph& graph) {
  int nodes = 0;
  for (const Node& node : graph.nodes()) {
    const bool counts = !node.is(ops::input) && !node.is(ops::constant) && !node.is(ops::scan);
    nodes += counts ? 1 : 0;
    for (const GraphPtr& region : node.regions) nodes += count_nodes(*region);
  }
  return nodes;
}

}  // namespace

bool Pattern::is_loop() const { return root().is(ops::scan); }

int Pattern::nodes() const { return count_nodes(*body); }

bool has_pattern(const Op& op) {
  if (!is_composite(op) || op.samples == nullptr) return false;
  const Sample sample = op.samples()[0];
  return has_one_root(*body_for(op, sample.operands, sample.attributes));
}

const std::vector<PatternFacts>& facts_of(const Op& op) {
  thread_local std::map<const Op*, std::vector<PatternFacts>> known;
  std::vector<PatternFacts>& facts = known[&op];
  if (!facts.empty()) return facts;
  const Sample sample = op.samples()[0];
  const GraphPtr body = body_for(op, sample.operands, sample.attributes);
  note_facts(*body, facts.emplace_back());
  if (has_composites(*body)) note_facts(*expanded(body), facts.emplace_back());
  return facts;
}

const std::vector<Pattern>& patterns_of(const Op& op) {
  thread_local std::map<const Op*, std::vector<Pattern>> known;
  const auto found = known.find(&op);
  if (found != known.end()) return found->second;
  return known[&op] = make_patterns(op);
}

Pattern pattern_for(const Pattern& pattern, const std::vector<Type>& operands,
                    const Attributes& attributes) {
  Pattern result = pattern;
  result.body = normal_form(body_for(*pattern.op, operands, attributes), pattern.expanded);
  result.constants.clear();
  return result;
}

}  // namespace graphc::core
