// SPDX-License-Identifier: Apache-2.0
#include "frontend/summary.h"

#include <algorithm>
#include <cstdio>

#include "frontend/remarks.h"
#include "passes/kernels/kernel.h"

namespace graphc::core {
namespace {

using NamedTypes = std::vector<std::pair<std::string, Type>>;

void count_kernels(const Graph& graph, GraphSummary& summary) {
  for (const Node& node : graph.nodes()) {
    if (!node.is(ops::kernel)) {
      for (const GraphPtr& region : node.regions) count_kernels(*region, summary);
      continue;
    }
    ++summary.kernels;
    if (is_kernel_of(node, Family::recurrent)) ++summary.recurrent;
  }
}

int64_t nodes_of(const Graph& graph) {
  int64_t count = 0;
  for (const Node& node : graph.nodes()) {
    if (!node.is(ops::input) && !node.is(ops::state)) ++count;
    for (const GraphPtr& region : node.regions) count += nodes_of(*region);
  }
  return count;
}

/// "4.6 MB", in powers of 1000.
std::string bytes_text(int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", double(bytes) / 1e3);
  return fmt::format("{:.1f} MB", double(bytes) / 1e6);
}

int64_t bytes_of(const NamedTypes& states) {
  int64_t bytes = 0;
  for (const auto& [name, type] : states) bytes += type.bytes();
  return bytes;
}

std::string counted(int64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string types_text(const NamedTypes& values) {
  std::vector<std::string> texts;
  for (const auto& [name, type] : values)
    texts.push_back(fmt::format("{} {}", name, to_string(type)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// The parameters of one layer: those with the same name up to the last dot.
struct Layer {
  std::string name;
  NamedTypes parameters;
  int64_t count = 0;
};

std::vector<Layer> layers_of(const NamedTypes& parameters) {
  std::vector<Layer> layers;
  for (const auto& [name, type] : parameters) {
    const size_t dot = name.rfind('.');
    const std::string layer = dot == name.npos ? name : name.substr(0, dot);
    auto found = std::ranges::find(layers, layer, &Layer::name);
    if (found == layers.end()) found = layers.insert(found, Layer{.name = layer});
    found->parameters.emplace_back(dot == name.npos ? "" : name.substr(dot + 1), type);
    found->count += type.shape.elements();
  }
  return layers;
}

std::string text_of(const GraphSummary& graph) {
  std::string text = fmt::format("@{} ({}) -> {}: {}", graph.name, types_text(graph.inputs),
                                 types_text(graph.results), counted(graph.nodes, "node"));
  if (graph.kernels > 0) text += ", " + counted(graph.kernels, "kernel");
  if (graph.recurrent > 0) text += fmt::format(", of these {} a whole loop", graph.recurrent);
  if (graph.arena_bytes > 0)
    text += fmt::format("; {} planned for values between", bytes_text(graph.arena_bytes));
  text += "\n";
  for (const Remark& loop : graph.loops) text += "  " + to_string(loop) + "\n";
  return text;
}

}  // namespace

int64_t Summary::parameter_count() const {
  int64_t count = 0;
  for (const auto& [name, type] : parameters) count += type.shape.elements();
  return count;
}

void Summary::take_states(const Model& from) {
  for (const auto& cell : from.states())
    (cell->parameter ? parameters : others).emplace_back(cell->name, cell->type);
}

std::string Summary::text() const {
  std::string text =
      fmt::format("{}{}, {}\n", model.empty() ? "" : model + ": ",
                  counted(parameter_count(), "parameter"), bytes_text(bytes_of(parameters)));
  size_t width = 0, digits = 0;
  const std::vector<Layer> layers = layers_of(parameters);
  for (const Layer& layer : layers) {
    width = std::max(width, layer.name.size());
    digits = std::max(digits, std::to_string(layer.count).size());
  }
  for (const Layer& layer : layers) {
    std::string types = types_text(layer.parameters);
    if (types.starts_with(' ')) types.erase(0, 1);
    text += fmt::format("  {:<{}}  {:>{}}  {}\n", layer.name, width, layer.count, digits, types);
  }
  if (!others.empty()) {
    text += fmt::format("{} beside them, {}\n", counted(int64_t(others.size()), "state"),
                        bytes_text(bytes_of(others)));
  }
  for (const GraphSummary& graph : graphs) text += text_of(graph);
  return text;
}

GraphSummary summarize(const GraphPtr& graph, const std::vector<std::string>& result_names,
                       const Target& target, const CompileOptions& options) {
  GraphSummary summary{.name = graph->name(), .inputs = {}, .results = {}};
  for (Value input : graph->inputs()) summary.inputs.emplace_back(input.name(), input.type());
  for (size_t i = 0; i < graph->results().size(); ++i) {
    const Value result = graph->results()[i];
    summary.results.emplace_back(result_names.empty() ? result.name() : result_names[i],
                                 result.type());
  }
  summary.nodes = nodes_of(*graph);
  CompileReport report;
  compile(graph, target, options, report);
  summary.arena_bytes = report.peak_bytes;
  summary.loops = loops_in_pieces(report);
  // The evaluator has no kernels and plans no memory.
  if (report.kernels + report.cache_hits > 0) {
    CompileReport unused;
    count_kernels(*form_kernels_for(graph, options, unused, kernel_traits(target, options)),
                  summary);
  }
  return summary;
}

Summary summarize(Model& model, const Extents& extents, const std::string& target) {
  CompileOptions options;
  const Target& on = graphc::core::target(target, options);
  Summary summary{.model = model.name()};
  for (const std::string& name : model.graphs()) {
    const TracedGraph traced = model.trace(name, extents);
    summary.graphs.push_back(summarize(traced.graph, traced.result_names, on, options));
  }
  summary.take_states(model);
  return summary;
}

void print(const Summary& summary) { std::fputs(summary.text().c_str(), stdout); }

}  // namespace graphc::core
