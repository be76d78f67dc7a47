// SPDX-License-Identifier: Apache-2.0
// Recognises composites that a user wrote as equations: the body of a composite is the pattern.
//
// Before autodiff a composite is useful only if it has its own derivative, or if a library has it
// forward and backward: otherwise differentiation would expand its body again. So without names the
// pass replaces composites with a derivative and reports layers that a library may have. Names in
// the braces are always replaced; names in option `report` are only reported. With option
// `library`, layers are replaced in the library's form: a layer in reverse direction becomes one
// over the reversed sequence.
#include "passes/outline.h"

#include <algorithm>
#include <map>

#include "ir/build.h"
#include "ir/spelling.h"
#include "passes/library_layers.h"
#include "passes/passes.h"
#include "passes/recognise.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

struct Request {
  std::vector<const Op*> replace, report;
  bool library = false;  ///< replaces layers in the library's form
};

bool is_layer(const Op& op) { return op.gradients != nullptr; }

Request request_of(const PassOptions& options) {
  Request request;
  for (const std::string& name : options.get_list("report"))
    request.report.push_back(&find_pattern(name));
  request.library = options.get_bool("library", false);
  for (const auto& [name, value] : options.entries()) {
    if (name != "report" && name != "library" && options.get_bool(name, false))
      request.replace.push_back(&find_pattern(name));
  }
  if (!options.entries().empty() && !request.library) return request;
  for (const Op* op : all_ops()) {
    if (!is_composite(*op)) continue;
    if (op->vjp != nullptr || (request.library && is_layer(*op))) request.replace.push_back(op);
    if (!request.library && is_layer(*op)) request.report.push_back(op);
  }
  return request;
}

/// Whether a library has the recognised layer.
bool fits_library(const Recognition& found) {
  std::vector<Type> types;
  // An operand is a sum, which may be larger than each of its terms.
  for (const Values& terms : found.match.operands) {
    Shape shape = terms[0].shape();
    for (const Value term : terms) shape = broadcast(shape, term.shape()).value_or(shape);
    types.push_back({terms[0].dtype(), shape});
  }
  return has_library_form(*found.op, types);
}

/// The composites among the nodes of a graph, each node part of at most one: later nodes choose
/// first, and the largest composite wins.
std::vector<Recognition> recognitions(const Graph& graph, std::vector<const Op*> composites,
                                      bool library = false) {
  std::vector<Recognition> found;
  const std::set<const Op*> present = ops_in(graph);
  std::erase_if(composites, [&](const Op* op) { return !may_contain(present, *op); });
  if (composites.empty()) return found;
  const Users users(graph);
  std::set<const Node*> taken;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    if (taken.contains(&*node) || node->is(ops::input) || node->is(ops::state)) continue;
    Recognition best;
    for (const Op* op : composites) {
      Recognition recognition = recognise(*op, *node, users, false);
      if (recognition.is_whole() && library && is_layer(*op) && !fits_library(recognition))
        continue;
      const bool larger = !best.is_whole() || recognition.nodes > best.nodes;
      if (recognition.is_whole() && larger) best = std::move(recognition);
    }
    if (!best.is_whole()) continue;
    taken.insert(best.match.covered.begin(), best.match.covered.end());
    found.push_back(std::move(best));
  }
  return found;
}

/// Adds the composite in place of its root; returns the values for the root's results.
Values add_composite(const Recognition& found, const ValueMap& known, Graph& to) {
  const Node& root = *found.root;
  const WhereScope scope(root.where);
  Values operands;
  for (const Values& terms : found.match.operands) {
    Value sum = known(terms[0]);
    for (size_t i = 1; i < terms.size(); ++i) sum = sum + known(terms[i]);
    operands.push_back(sum);
  }
  const Values& defined = patterns_of(*found.op)[0].body->results();
  std::vector<std::string> names;
  for (size_t i = 0; i < found.match.results.size(); ++i) {
    const Value result = found.match.results[i];
    names.push_back(result ? result.name() : defined[i].name());
  }
  const Node& node =
      to.add(*found.op, operands, found.match.attributes, {}, root.where, std::move(names));
  Values values(root.types.size());
  for (size_t i = 0; i < found.match.results.size(); ++i) {
    if (found.match.results[i]) values[size_t(found.match.results[i].index)] = node.result(int(i));
  }
  return values;
}

GraphPtr with_composites(const GraphPtr& graph, const std::vector<Recognition>& found,
                         Remarks& remarks) {
  std::map<const Node*, const Recognition*> roots;
  for (const Recognition& recognition : found) roots[recognition.root] = &recognition;
  ValueMap known(*graph);
  bool first = true;
  const GraphPtr result = rewrite(
      *graph, [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
        if (first) {
          for (size_t i = 0; i < graph->inputs().size(); ++i)
            known.set(graph->inputs()[i], to.inputs()[i]);
          for (size_t i = 0; i < graph->states().size(); ++i)
            known.set(graph->states()[i], to.states()[i]);
          first = false;
        }
        const auto root = roots.find(&node);
        const Values values = root != roots.end() ? add_composite(*root->second, known, to)
                                                  : results_of(copy_node(node, operands, to));
        for (size_t i = 0; i < values.size(); ++i) known.set(node.result(int(i)), values[i]);
        if (root != roots.end())
          remarks.add(node, fmt::format("became one {}", root->second->op->name));
        return values;
      });
  return rewrite(*result, nullptr);
}

/// Rewrites layers in reverse direction as layers over the reversed sequence.
GraphPtr with_turned_layers(const GraphPtr& graph) {
  const auto turned = [](const Node& node, const Values& operands,
                         Graph& to) -> std::optional<Values> {
    if (!is_layer(node.op) || !node.attributes.get_bool("reverse", false)) return std::nullopt;
    const WhereScope scope(node.where);
    Values forward = operands;
    forward[0] = reverse(forward[0], {0});
    Values results = results_of(to.add(node.op, std::move(forward), {}, {}, node.where));
    results[0] = reverse(results[0], {0});
    return results;
  };
  return rewrite(*graph, turned);
}

GraphPtr outline_graph(GraphPtr graph, const Request& request, Remarks& remarks) {
  // A composite may be part of a larger one.
  while (true) {
    const std::vector<Recognition> found = recognitions(*graph, request.replace, request.library);
    if (found.empty()) break;
    graph = with_composites(graph, found, remarks);
  }
  if (request.library) graph = with_turned_layers(graph);
  for (const Recognition& found : recognitions(*graph, request.report)) {
    remarks.add(*found.root, fmt::format("is {}, and stays a loop: the variant cudnn would have a "
                                         "library's call for it, forward and backward",
                                         found.op->name));
  }
  return graph;
}

GraphPtr run_outline(const GraphPtr& graph, const PassOptions& options, Remarks& remarks) {
  const Request request = request_of(options);
  const auto outline = [&](const GraphPtr& from) { return outline_graph(from, request, remarks); };
  // A body with gradients is left alone until autodiff has run.
  const auto outline_body = [&](const GraphPtr& body) {
    return contains(*body, ops::grad) ? body : outline(body);
  };
  return outline(rewrite_regions(graph, outline_body));
}

// --- why not

std::string at(Where where) {
  return where ? fmt::format(" at {}:{}", where.file, where.line) : "";
}

std::string line_of(const Graph& graph, const Recognition& near) {
  const Node& root = *near.root;
  std::string text =
      fmt::format("@{}: %{} = {}{}: ", graph.name(), root.names[0], root.op.name, at(root.where));
  if (near.is_whole())
    return text + fmt::format("is {}, in all {} nodes\n", near.op->name, near.nodes);
  const auto& [found, wanted] = *near.match.difference;
  const std::string where =
      found.node == &root ? "" : fmt::format("{}{}: ", describe(found), at(found.node->where));
  return text + fmt::format("matches {} in {} of {} nodes; {}{}\n", near.op->name,
                            near.match.matched, near.nodes, where, wanted);
}

void add_nearest(const Graph& graph, const Op& composite, std::vector<std::string>& lines) {
  const std::set<const Op*> roots = root_ops(composite);
  const Users users(graph);
  const std::vector<bool> live = live_nodes(graph);
  std::vector<Recognition> near;
  for (const Node& node : graph.nodes()) {
    if (!live[size_t(node.id)] || !roots.contains(&node.op)) continue;
    Recognition found = recognise(composite, node, users, true);
    if (found.op != nullptr) near.push_back(std::move(found));
  }
  const auto is_less = [](const Recognition& a, const Recognition& b) {
    return a.match.matched * b.nodes < b.match.matched * a.nodes;
  };
  const auto nearest = std::ranges::max_element(near, is_less);
  for (const Recognition& found : near) {
    const bool shown = found.root->is(ops::scan) || found.is_whole() || &found == &*nearest ||
                       2 * found.match.matched >= found.nodes;
    if (shown) lines.push_back(line_of(graph, found));
  }
  for (const Node& node : graph.nodes()) {
    for (const GraphPtr& region : node.regions) add_nearest(*region, composite, lines);
  }
}

}  // namespace

const Op& find_pattern(std::string_view name) {
  const Op* op = find_op(name);
  if (op != nullptr && has_pattern(*op)) return *op;
  std::vector<std::string> names;
  for (const Op* known : all_ops()) {
    if (is_composite(*known)) names.emplace_back(known->name);
  }
  const std::string_view what = op == nullptr       ? "there is no composite"
                                : is_composite(*op) ? "no pattern can be made of"
                                                    : "not a composite:";
  throw Error(ErrorKind::usage, {},
              fmt::format("{} '{}'{}", what, name, op == nullptr ? did_you_mean(name, names) : ""));
}

std::string why_not(const Graph& graph, const Op& composite) {
  std::vector<std::string> lines;
  add_nearest(graph, composite, lines);
  if (!lines.empty()) return fmt::format("{}", fmt::join(lines, ""));
  std::vector<std::string_view> roots;
  for (const Op* op : root_ops(composite)) roots.push_back(op->name);
  return fmt::format("@{}: nothing can be {}: there is no {}\n", graph.name(), composite.name,
                     fmt::join(roots, " and no "));
}

Pipeline before_outline(const Pipeline& pipeline) {
  const auto is_outline = [](const PassUse& use) { return use.pass == &passes::outline; };
  return {pipeline.begin(), std::ranges::find_if(pipeline, is_outline)};
}

constinit const Pass passes::outline{
    .name = "outline",
    .summary = "recognises composites by their bodies: names to replace, or to report",
    .options = "report,library,COMPOSITE",
    .run = run_outline,
};

}  // namespace graphc::core
