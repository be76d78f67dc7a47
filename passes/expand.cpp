// SPDX-License-Identifier: Apache-2.0
// Replaces composites by their bodies, except for those in option `except` and, with option
// `library`, those that a library implements. Runs after autodiff, which uses composites' own
// derivatives.
#include <algorithm>

#include "ir/composite.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/composites.h"
#include "passes/library_layers.h"
#include "passes/passes.h"

namespace graphc::core {

Values inline_composite(const Node& node, const Values& operands, Graph& to,
                        const std::function<bool(const Node&)>& choose) {
  const GraphPtr body = body_of(node);
  const auto copy = [&](const Node& inner, const Values& values,
                        Graph& graph) -> std::optional<Values> {
    if (is_composite(inner.op) && choose(inner))
      return inline_composite(inner, values, graph, choose);
    std::vector<std::string> names = inner.names;
    for (size_t i = 0; i < names.size(); ++i) {
      for (size_t k = 0; k < body->results().size(); ++k) {
        if (body->results()[k] == inner.result(int(i))) names[i] = node.names[k];
      }
    }
    const Node& added =
        graph.add(inner.op, values, inner.attributes, inner.regions, node.where, std::move(names));
    Values results;
    for (int i = 0; i < added.results(); ++i) results.push_back(added.result(i));
    return results;
  };
  return inline_graph(*body, operands, to, copy);
}

bool has_no_derivative(const Node& node) { return node.op.vjp == nullptr; }

namespace {

GraphPtr run_expand(const GraphPtr& graph, const PassOptions& options, Remarks&) {
  const std::vector<std::string> except = options.get_list("except");
  for (const std::string& name : except) {
    const Op* op = find_op(name);
    if (op == nullptr || !is_composite(*op))
      throw Error(ErrorKind::usage, {}, fmt::format("expand: '{}' is not a composite", name));
  }
  const bool library = options.get_bool("library", false);
  const auto choose = [&](const Node& node) {
    if (library && is_done_by_library(node)) return false;
    return std::find(except.begin(), except.end(), node.op.name) == except.end();
  };
  const auto expand_graph = [&](const GraphPtr& from) -> GraphPtr {
    const auto expanded = [&](const Node& node) { return is_composite(node.op) && choose(node); };
    if (std::none_of(from->nodes().begin(), from->nodes().end(), expanded)) return from;
    return rewrite(*from, [&](const Node& node, const Values& operands, Graph& to) {
      return expanded(node) ? std::optional(inline_composite(node, operands, to, choose))
                            : std::nullopt;
    });
  };
  // The body of a composite may have a loop that contains composites.
  GraphPtr result = graph;
  for (GraphPtr before; result != before;) {
    before = result;
    result = expand_graph(rewrite_regions(before, expand_graph));
  }
  return result;
}

}  // namespace

constinit const Pass passes::expand{
    .name = "expand",
    .summary = "replaces composites by their bodies",
    .options = "except,library",
    .run = run_expand,
};

}  // namespace graphc::core
