// SPDX-License-Identifier: Apache-2.0
#include "frontend/model_file.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "frontend/arguments.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/spelling.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "runtime/files/files.h"

namespace graphc::core {
namespace {

constexpr const char* kForm = "graphc model 1";
constexpr const char* kChecksum = "checksum";
const std::string kNoteBegins = "note.";

/// Splits text into lines without their newlines; empty text has no lines.
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

/// The value of a key; throws if it is missing.
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
    if (!model.results.emplace(graph, std::move(names)).second)
      throw input_error({}, "{}: graph '{}' has its results named twice", file, graph);
  }
}

/// "graph: input most" in each line; old files have none.
void read_bounds(const Safetensors& content, const std::string& file, ModelFile& model) {
  const auto found = content.metadata.find("bounds");
  if (found == content.metadata.end()) return;
  for (const std::string& line : split(found->second, "\n")) {
    const size_t colon = std::min(line.find(": "), line.size());
    const size_t space = std::min(line.rfind(' '), line.size());
    const auto graph = std::ranges::find(model.module.graphs, line.substr(0, colon), &Graph::name);
    const std::string input = space > colon + 1 ? line.substr(colon + 2, space - colon - 2) : "";
    int64_t most = -1;
    const char* const end = line.data() + line.size();
    const auto [stop, error] =
        std::from_chars(line.data() + std::min(space + 1, line.size()), end, most);
    const bool known =
        graph != model.module.graphs.end() &&
        std::ranges::any_of((*graph)->inputs(), [&](Value each) { return each.name() == input; });
    if (!known || error != std::errc() || stop != end || most < 0)
      throw input_error({}, "{}: no graph has these lengths: '{}'", file, line);
    model.bounds[(*graph)->name()].push_back({input, most, Where{}});
  }
}

/// Copies a graph into another one; maps nodes to values.
class Rewritten {
 public:
  explicit Rewritten(const Graph& from) : from_(from), values_(from.nodes().size()) {}

  void set(Value input_or_state, Value to) { values_[size_t(input_or_state.node->id)] = {to}; }
  /// Copies all nodes but inputs and states, which must be mapped before.
  void copy_nodes(Graph& to) {
    for (const Node& node : from_.nodes()) {
      if (node.is(ops::input) || node.is(ops::state)) continue;
      const Node& copy = copy_node(node, (*this)(node.operands), to);
      for (int i = 0; i < copy.results(); ++i) values_[size_t(node.id)].push_back(copy.result(i));
    }
  }
  Value operator()(Value old) const { return values_[size_t(old.node->id)].at(size_t(old.index)); }
  Values operator()(const Values& old) const {
    Values result;
    for (Value value : old) result.push_back((*this)(value));
    return result;
  }

 private:
  const Graph& from_;
  std::vector<Values> values_;
};

/// Requires an array for every state of the module.
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
  std::set<std::string> kinds;
  const auto check = [&](const std::string& name, const char* kind) {
    if (!model.states.contains(name))
      throw input_error({}, "{}: its graphs have no state '{}', which it calls {}", file, name,
                        kind);
    if (!kinds.insert(name).second)
      throw input_error({}, "{}: it calls '{}' {} twice", file, name, kind);
  };
  for (const std::string& name : model.parameters) check(name, "a parameter");
  for (const std::string& name : model.transient) check(name, "transient");
}

/// A function that rebuilds the graph with the states of the model, which outlives it.
GraphFunction function_of(const GraphPtr& graph, const ModelFile& file, const Model& model) {
  const auto found = file.results.find(graph->name());
  std::vector<std::string> names =
      found == file.results.end() ? std::vector<std::string>() : found->second;
  const auto bounded = file.bounds.find(graph->name());
  const std::vector<InputBound> bounds =
      bounded == file.bounds.end() ? std::vector<InputBound>() : bounded->second;
  return [graph, names, bounds, &model](Inputs& in) {
    Rewritten rewritten(*graph);
    for (Value input : graph->inputs()) {
      const Shape& shape = input.shape();
      const std::vector<Dim> dims(shape.begin(), shape.end());
      const Value given = in(input.name(), input.dtype(), dims, input.node->where);
      rewritten.set(input, given);
      for (const InputBound& bound : bounds) {
        if (bound.input == input.name())
          Trace::require("lengths", {}).bound(given, bound.most, bound.where);
      }
    }
    for (Value state : graph->states()) rewritten.set(state, State(model.state_cell(state.name())));
    rewritten.copy_nodes(Trace::require("a model file", {}).root());
    for (const Next& next : graph->next())
      State(model.state_cell(next.state.name())) = rewritten(next.value);
    Results results;
    results.values = rewritten(graph->results());
    results.names = names;
    return results;
  };
}

}  // namespace

GraphPtr with_extents(const TracedGraph& traced) {
  if (traced.lengths.empty()) return traced.graph;
  const Graph& from = *traced.graph;
  auto to = std::make_unique<Graph>(from.name());
  Rewritten rewritten(from);
  for (Value input : from.inputs()) {
    const auto length = traced.lengths.find(input.name());
    rewritten.set(input,
                  length == traced.lengths.end()
                      ? to->input(input.type(), input.name(), input.node->where)
                      : scalar_constant(*to, traced.extents.at(length->second), input.dtype()));
  }
  for (Value state : from.states())
    rewritten.set(state, to->state(state.type(), state.name(), state.node->where));
  rewritten.copy_nodes(*to);
  to->set_results(rewritten(from.results()));
  for (const Next& next : from.next()) to->set_next(rewritten(next.state), rewritten(next.value));
  return freeze(std::move(to));
}

void write_model_file(const ModelFile& model, const std::string& path) {
  const auto lines = [](const std::vector<std::string>& names) {
    return names.empty() ? "" : fmt::format("{}\n", fmt::join(names, "\n"));
  };
  std::string results, bounds;
  for (const auto& [graph, names] : model.results) results += with_results(graph, names);
  for (const auto& [graph, of_graph] : model.bounds) {
    for (const InputBound& bound : of_graph)
      bounds += fmt::format("{}: {} {}\n", graph, bound.input, bound.most);
  }
  Safetensors content;
  content.arrays.insert(model.states.begin(), model.states.end());
  content.metadata = {{"format", kForm},
                      {"graphs", print(model.module)},
                      {"parameters", lines(model.parameters)},
                      {"results", results},
                      {"bounds", bounds}};
  if (!model.transient.empty()) content.metadata.emplace("transient", lines(model.transient));
  for (const auto& [name, text] : model.notes) content.metadata.emplace(kNoteBegins + name, text);
  content.metadata.emplace(kChecksum, checksum(content));
  write_safetensors(path, content);
}

void save(Session& session, const std::vector<std::string>& graphs, const Extents& extents,
          const std::string& path, const std::map<std::string, std::string>& notes) {
  ModelFile file{.module = {.name = session.model().name(), .states = {}, .graphs = {}},
                 .states = {},
                 .parameters = {},
                 .transient = {},
                 .results = {},
                 .bounds = {},
                 .notes = notes};
  Module& module = file.module;
  if (graphs.empty()) throw input_error({}, "save: no graphs are given: a file has at least one");
  std::set<std::string> saved, dims;
  for (const std::string& name : graphs) {
    if (!saved.insert(name).second) throw input_error({}, "save: graph '{}' is given twice", name);
    const TracedGraph traced = session.model().trace(name, extents);
    for (const auto& [dim, extent] : traced.extents) dims.insert(dim);
    for (Value state : traced.graph->states()) module.declare(state.name(), state.type());
    if (!traced.result_names.empty()) file.results.emplace(name, traced.result_names);
    if (!traced.bounds.empty()) file.bounds.emplace(name, traced.bounds);
    module.graphs.push_back(with_extents(traced));
  }
  for (const auto& [dim, extent] : extents) {
    if (dims.contains(dim)) continue;
    throw input_error({}, "save: no graph that is saved has a dim '{}'{}", dim,
                      did_you_mean(dim, std::vector<std::string>(dims.begin(), dims.end())));
  }
  for (const auto& [name, type] : module.states) {
    file.states.emplace(name, session.state(name).converted(type.dtype));
    const StateCell& cell = *session.model().state_cell(name);
    if (cell.parameter) file.parameters.push_back(name);
    if (cell.transient) file.transient.push_back(name);
  }
  write_model_file(file, path);
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
  // Absent in old files.
  const auto sum = content.metadata.find(kChecksum);
  if (sum != content.metadata.end() && sum->second != checksum(content, kChecksum))
    throw input_error({}, "{}: it is damaged: its checksum is not that of what it holds", file);
  ModelFile model{.module = parse(entry(content, "graphs", file), file),
                  .states = {},
                  .parameters = split(entry(content, "parameters", file), "\n"),
                  .transient = {},
                  .results = {},
                  .bounds = {}};
  verify(model.module);
  if (model.module.graphs.empty()) throw input_error({}, "{}: the file has no graph", file);
  read_results(entry(content, "results", file), file, model);
  read_bounds(content, file, model);
  // Absent in old files.
  if (const auto found = content.metadata.find("transient"); found != content.metadata.end())
    model.transient = split(found->second, "\n");
  for (const auto& [key, text] : content.metadata) {
    if (key.starts_with(kNoteBegins)) model.notes.emplace(key.substr(kNoteBegins.size()), text);
  }
  take_states(content, file, model);
  return model;
}

void ModelFile::check(const Graph& graph, const std::vector<Tensor>& inputs) const {
  check(graph, {inputs.begin(), inputs.end()}, 0);
}

void ModelFile::check(const Graph& graph, const std::vector<AnyTensor>& inputs,
                      DeviceStream stream) const {
  const auto found = bounds.find(graph.name());
  if (found == bounds.end()) return;
  for (const InputBound& bound : found->second) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (graph.inputs()[i].name() == bound.input) check_lengths(inputs[i], bound, stream);
    }
  }
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
    const bool transient = std::ranges::find(file.transient, name) != file.transient.end();
    model_->declare({.name = name,
                     .type = type,
                     .initializer = zeros(),
                     .of_model = true,
                     .parameter = parameter,
                     .transient = !parameter && transient});
  }
  for (const GraphPtr& graph : file.module.graphs)
    model_->graph(graph->name(), function_of(graph, file, *model_));
  session_ = std::make_unique<Session>(*model_, std::move(options));
  for (const auto& [name, value] : file.states) session_->set_state(name, value);
}

}  // namespace graphc::core
