// SPDX-License-Identifier: Apache-2.0
#include "frontend/model.h"

#include <algorithm>
#include <set>

#include "ir/spelling.h"
#include "runtime/clock.h"

namespace graphc::core {
namespace {

std::string dims_text(DType dtype, const std::vector<Dim>& dims) {
  std::string text;
  for (const Dim& dim : dims) {
    text += text.empty() ? "" : ",";
    text += dim.name.empty() ? std::to_string(dim.extent) : dim.name;
  }
  return fmt::format("{}[{}]", name_of(dtype), text);
}

}  // namespace

Results::Results(std::initializer_list<std::pair<std::string, Value>> named) {
  for (const auto& [name, value] : named) {
    names.push_back(name);
    values.push_back(value);
  }
}

int64_t Inputs::extent_of(const Dim& dim, int axis, const Type* found, const std::string& input,
                          Where where) {
  if (dim.name.empty()) {
    if (found == nullptr || found->shape[axis] == dim.extent) return dim.extent;
    throw input_error(where, "input '{}' has extent {} along axis {}: found {}", input, dim.extent,
                      axis, to_string(*found));
  }
  if (found == nullptr) {
    const auto given = given_.find(dim.name);
    if (given == given_.end()) {
      throw input_error(where, "input '{}': no extent is given for '{}'", input, dim.name);
    }
    extents_[dim.name] = given->second;
    return given->second;
  }
  const auto [known, added] = extents_.emplace(dim.name, found->shape[axis]);
  if (!added && known->second != found->shape[axis]) {
    throw input_error(where, "input '{}': '{}' is {} in an input before: found {}", input, dim.name,
                      known->second, to_string(*found));
  }
  return known->second;
}

Value Inputs::operator()(const std::string& name, DType dtype, const std::vector<Dim>& dims,
                         Where where) {
  if (const auto [known, added] = declared_.emplace(name, where); !added) {
    throw input_error(where, "graph '{}' has an input '{}' already: use its value, or another name",
                      trace_.root().name(), name)
        .note(fmt::format("'{}' was declared at {}:{}", name, known->second.file,
                          known->second.line));
  }
  const Type* found = nullptr;
  if (types_ != nullptr) {
    if (count_ >= types_->size()) {
      throw input_error(where, "graph '{}': input '{}' is missing: found {} input{}",
                        trace_.root().name(), name, types_->size(), types_->size() == 1 ? "" : "s");
    }
    const GivenType& given = (*types_)[count_];
    found = &given.type;
    if (!Data::fits(found->dtype, dtype, given.converts) ||
        found->shape.rank() != int(dims.size())) {
      throw input_error(where, "input '{}' is {}: found {}", name, dims_text(dtype, dims),
                        to_string(*found));
    }
  }
  ++count_;
  std::vector<int64_t> extents;
  for (const Dim& dim : dims) {
    extents.push_back(extent_of(dim, int(extents.size()), found, name, where));
  }
  dims_.push_back(dims);
  return trace_.root().input({dtype, Shape(extents)}, name, where);
}

Value Inputs::length(std::string_view dim, Where where) {
  extent(dim, where);
  const auto [known, added] = lengths_.emplace(dim, Value());
  if (added)
    known->second = trace_.root().input({DType::i32, {}}, fmt::format("{}.length", dim), where);
  return known->second;
}

int64_t Inputs::extent(std::string_view dim, Where where) const {
  const auto found = extents_.find(dim);
  if (found == extents_.end()) throw input_error(where, "no input before has a dim '{}'", dim);
  return found->second;
}

State Inputs::state(const std::string& name, const Shape& shape, Initializer initializer,
                    Where where) {
  return state(name, Type{DType::f32, shape}, std::move(initializer), where);
}

State Inputs::state(const std::string& name, const Type& type, Initializer initializer,
                    Where where) {
  return model_.state(name, type, std::move(initializer), where);
}

std::shared_ptr<StateCell> Model::declare(StateCell cell) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_name_.find(cell.name); found != by_name_.end()) {
    const std::shared_ptr<StateCell>& known = found->second;
    if (known->type == cell.type && known->parameter == cell.parameter) return known;
    throw input_error(cell.where, "{} '{}' is {}: declared as {} of {} before",
                      cell.parameter ? "parameter" : "state", cell.name, to_string(cell.type),
                      known->parameter ? "parameter" : "state", to_string(known->type))
        .note(fmt::format("'{}' was declared at {}:{}", cell.name, known->where.file,
                          known->where.line));
  }
  cell.order = int(cells_.size());
  add(std::make_shared<StateCell>(std::move(cell)));
  return cells_.back();
}

void Model::add(const std::shared_ptr<StateCell>& cell) {
  cells_.push_back(cell);
  by_name_.emplace(cell->name, cell);
}

Param Model::param(const std::string& name, const Shape& shape, Initializer initializer,
                   Where where) {
  return Param(declare({.name = name,
                        .type = {DType::f32, shape},
                        .initializer = std::move(initializer),
                        .where = where,
                        .of_model = true,
                        .parameter = true}));
}

State Model::state(const std::string& name, const Type& type, Initializer initializer,
                   Where where) {
  return State(declare({.name = name,
                        .type = type,
                        .initializer = std::move(initializer),
                        .where = where,
                        .of_model = true}));
}

void Model::graph(const std::string& name, Mode mode, GraphFunction function, Where where) {
  const std::lock_guard lock(mutex_);
  for (const Function& known : functions_) {
    if (known.name == name)
      throw input_error(where, "model '{}' has a graph '{}' already", name_, name);
  }
  functions_.push_back({name, mode, std::move(function), where});
}

Params Model::params() const {
  const std::lock_guard lock(mutex_);
  Params params;
  for (const auto& cell : cells_) {
    if (cell->parameter) params.emplace_back(cell);
  }
  return params;
}

int64_t Model::parameter_count() const {
  int64_t count = 0;
  for (const Param& param : params()) count += param.shape().elements();
  return count;
}

std::vector<std::shared_ptr<StateCell>> Model::states() const {
  const std::lock_guard lock(mutex_);
  return cells_;
}

std::vector<std::string> Model::graphs() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const Function& function : functions_) names.push_back(function.name);
  return names;
}

const std::shared_ptr<StateCell>& Model::state_cell(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& cell : cells_) names.push_back(cell->name);
  throw input_error({}, "model '{}' has no state '{}'{}", name_, name, did_you_mean(name, names));
}

/// The function of a graph; the caller has the lock.
const Model::Function& Model::find(std::string_view graph) const {
  for (const Function& function : functions_) {
    if (function.name == graph) return function;
  }
  throw input_error({}, "model '{}' has no graph '{}': it has {}", name_, graph,
                    fmt::join(graphs(), ", "));
}

TracedGraph Model::trace(std::string_view graph, const std::vector<Type>& inputs) {
  return trace_for(graph, GivenTypes(inputs.begin(), inputs.end()));
}

TracedGraph Model::trace(std::string_view graph, const Extents& extents) {
  return trace(graph, nullptr, &extents);
}

TracedGraph Model::trace(std::string_view graph, const GivenTypes* types, const Extents* extents) {
  const std::lock_guard lock(mutex_);
  const double start = steady_seconds();
  const Function& function = find(graph);
  Trace trace(function.name, function.mode);
  trace.set_declare([this](StateCell cell) { return declare(std::move(cell)); });
  Inputs inputs(*this, trace, types, extents);
  Results results;
  try {
    results = function.function(inputs);
    if (types != nullptr && inputs.count_ != types->size()) {
      throw input_error(function.where, "graph '{}' has {} input{}: found {}", function.name,
                        inputs.count_, inputs.count_ == 1 ? "" : "s", types->size());
    }
  } catch (Error& error) {
    throw error.at(function.where);
  }
  TracedGraph traced{.extents = inputs.extents_,
                     .result_names = results.names,
                     .bounds = trace.bounds(),
                     .dims = inputs.dims_};
  for (const auto& [dim, length] : inputs.lengths_) traced.lengths.emplace(length.name(), dim);
  const std::set<std::shared_ptr<StateCell>> known(cells_.begin(), cells_.end());
  for (const auto& cell : trace.states_of_model()) {
    if (!known.contains(cell)) add(cell);
  }
  traced.graph = trace.finish(results.values);
  traced.seconds = steady_seconds() - start;
  return traced;
}

}  // namespace graphc::core
