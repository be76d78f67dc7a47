// SPDX-License-Identifier: Apache-2.0
#include "frontend/model_file.h"

#include <algorithm>

#include "ir/rewrite.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "runtime/files/files.h"

namespace graphc {
namespace {

constexpr const char* kForm = "graphc model 1";

/// Lines without the newline at their ends; no line for nothing.
std::vector<std::string> split(std::string_view text, std::string_view by) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(by), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + by.size(), text.size()));
  }
  return parts;
}

std::string with_results(const std::string& graph, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.find_first_of(",\n") != name.npos)
      throw input_error({}, "a result's name in a file has no comma and no newline: found '{}'",
                        name);
  }
  return fmt::format("{}: {}\n", graph, fmt::join(names, ", "));
}

/// The value under a key; throws where there is none.
const std::string& entry(const Safetensors& content, const std::string& key,
                         const std::string& file) {
  const auto found = content.metadata.find(key);
  if (found != content.metadata.end()) return found->second;
  throw input_error({}, "{}: a model file has '{}' in its metadata: found none", file, key);
}

void read_results(const std::string& text, const std::string& file, ModelFile& model) {
  for (const std::string& line : split(text, "\n")) {
    const size_t colon = line.find(": ");
    const std::string graph = line.substr(0, colon);
    std::vector<std::string> names =
        colon == line.npos ? std::vector<std::string>() : split(line.substr(colon + 2), ", ");
    const auto found = std::ranges::find(model.module.graphs, graph, &Graph::name);
    if (found == model.module.graphs.end() || (*found)->results().size() != names.size())
      throw input_error({}, "{}: no graph has these results: '{}'", file, line);
    model.results.emplace(graph, std::move(names));
  }
}

/// Every state of the module has its array.
void take_states(const Safetensors& content, const std::string& file, ModelFile& model) {
  for (const auto& [name, type] : model.module.states) {
    const auto found = content.arrays.find(name);
    if (found == content.arrays.end())
      throw input_error({}, "{}: state '{}' of its graphs is {}: found no such array", file, name,
                        to_string(type));
    if (found->second.type() != type) {
      throw input_error({}, "{}: state '{}' of its graphs is {}: found {}", file, name,
                        to_string(type), to_string(found->second.type()));
    }
    model.states.emplace(name, found->second);
  }
}

/// A function that writes a graph again, its states those of the model, which outlives it.
GraphFunction function_of(const GraphPtr& graph, const ModelFile& file, const Model& model) {
  const auto found = file.results.find(graph->name());
  std::vector<std::string> names =
      found == file.results.end() ? std::vector<std::string>() : found->second;
  return [graph, names, &model](Inputs& in) {
    std::vector<Values> values(graph->nodes().size());
    for (Value input : graph->inputs()) {
      const Shape& shape = input.shape();
      const std::vector<Dim> dims(shape.begin(), shape.end());
      values[size_t(input.node->id)] = {in(input.name(), input.dtype(), dims, input.node->where)};
    }
    for (Value state : graph->states())
      values[size_t(state.node->id)] = {Value(State(model.state_cell(state.name())))};
    const auto mapped = [&](Value value) {
      return values[size_t(value.node->id)].at(size_t(value.index));
    };
    Graph& to = Trace::require("a model file", {}).root();
    for (const Node& node : graph->nodes()) {
      if (node.is(ops::input) || node.is(ops::state)) continue;
      Values operands;
      for (Value operand : node.operands) operands.push_back(mapped(operand));
      const Node& copy = copy_node(node, std::move(operands), to);
      for (int i = 0; i < copy.results(); ++i) values[size_t(node.id)].push_back(copy.result(i));
    }
    for (const Next& next : graph->next())
      State(model.state_cell(next.state.name())) = mapped(next.value);
    Results results;
    for (Value result : graph->results()) results.values.push_back(mapped(result));
    results.names = names;
    return results;
  };
}

}  // namespace

void save(Session& session, const std::vector<std::string>& graphs, const Extents& extents,
          const std::string& path) {
  Safetensors content;
  Module module{.name = session.model().name()};
  std::string results;
  for (const std::string& name : graphs) {
    const TracedGraph traced = session.model().trace(name, extents);
    for (Value state : traced.graph->states()) module.declare(state.name(), state.type());
    if (!traced.result_names.empty()) results += with_results(name, traced.result_names);
    module.graphs.push_back(traced.graph);
  }
  std::string parameters;
  for (const auto& [name, type] : module.states) {
    content.arrays.emplace(name, session.state(name).converted(type.dtype));
    if (session.model().state_cell(name)->parameter) parameters += name + "\n";
  }
  content.metadata = {{"format", kForm},
                      {"graphs", print(module)},
                      {"parameters", parameters},
                      {"results", results}};
  write_safetensors(path, content);
}

ModelFile parse_model_file(std::string_view bytes, const std::string& file) {
  const Safetensors content = parse_safetensors(bytes, file);
  const auto form = content.metadata.find("format");
  if (form == content.metadata.end() || !form->second.starts_with("graphc model ")) {
    throw input_error({},
                      "{}: arrays without graphs: wanted a file that save(session, graphs, "
                      "extents, path) wrote",
                      file);
  }
  if (form->second != kForm)
    throw input_error({}, "{}: a model file is '{}': found '{}'", file, kForm, form->second);
  ModelFile model{.module = parse(entry(content, "graphs", file), file),
                  .states = {},
                  .parameters = split(entry(content, "parameters", file), "\n"),
                  .results = {}};
  verify(model.module);
  if (model.module.graphs.empty()) throw input_error({}, "{}: the file has no graph", file);
  read_results(entry(content, "results", file), file, model);
  take_states(content, file, model);
  return model;
}

ModelFile read_model_file(const std::string& path) {
  return parse_model_file(read_file(path), path);
}

LoadedModel::LoadedModel(const std::string& path, SessionOptions options) {
  const ModelFile file = read_model_file(path);
  model_ = std::make_unique<Model>(file.module.name);
  for (const auto& [name, type] : file.module.states) {
    const bool parameter = type.dtype == DType::f32 &&
                           std::ranges::find(file.parameters, name) != file.parameters.end();
    if (parameter) {
      model_->param(name, type.shape, zeros());
    } else {
      model_->state(name, type);
    }
  }
  for (const GraphPtr& graph : file.module.graphs)
    model_->graph(graph->name(), function_of(graph, file, *model_));
  session_ = std::make_unique<Session>(*model_, std::move(options));
  for (const auto& [name, value] : file.states) session_->set_state(name, value);
}

}  // namespace graphc
