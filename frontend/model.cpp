// SPDX-License-Identifier: Apache-2.0
#include "frontend/model.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "ir/called.h"
#include "ir/spelling.h"
#include "runtime/clock.h"

namespace graphc::core {
namespace {

std::atomic<int64_t> next_model = 1;

/// Adds the line of the first declaration to the error; states of a file have none.
Error with_first(Error error, const StateCell& known) {
  if (known.where && !is_of_the_library(known.where)) {
    error.note(
        fmt::format("'{}' was declared at {}:{}", known.name, known.where.file, known.where.line));
  }
  return error;
}

/// Throws if a state is declared both as transient and not: the contents of files would depend on
/// which graph was traced first.
void check_kept_alike(const StateCell& known, const StateCell& again) {
  if (known.transient == again.transient) return;
  const auto said = [](const StateCell& cell) { return cell.transient ? "transient" : "a buffer"; };
  throw with_first(input_error(again.where, "state '{}' is {}: declared as {} before", again.name,
                               said(again), said(known)),
                   known);
}

}  // namespace

Model::Model(std::string name)
    : name_(std::move(name)), id_(next_model++), alive_(std::make_shared<int>()) {}

/// The noun for a state in messages.
static std::string_view noun_for(const StateCell& cell) {
  return cell.parameter ? "parameter" : cell.kept_by_optimizer ? "an optimizer's state" : "state";
}

bool Model::retyped(StateCell& known, const StateCell& cell) {
  if (known.type == cell.type) return true;
  const bool may_change = known.type.dtype == cell.type.dtype && !known.parameter;
  if (sounding_ && may_change) {
    types_before_.try_emplace(&known, known.type);
  } else if (!may_change || !provisional_.contains(known.name)) {
    return false;
  }
  known.type = cell.type;
  return true;
}

void Model::expect_same(StateCell& known, const StateCell& cell) {
  const auto refused = [&](const std::string& text) {
    return with_first(input_error(cell.where, "{} '{}' {}", noun_for(cell), cell.name, text),
                      known);
  };
  if (known.parameter != cell.parameter || known.kept_by_optimizer != cell.kept_by_optimizer) {
    throw refused(fmt::format("has the name of {} '{}' of model '{}': it needs another",
                              noun_for(known), known.name, name_));
  }
  if (!retyped(known, cell)) {
    throw refused(fmt::format("is {}: declared as {} of {} before", to_string(cell.type),
                              noun_for(known), to_string(known.type)));
  }
  check_kept_alike(known, cell);
  if (cell.kept_by_optimizer) return;  // claim() decides who may share it
  const bool same_line = known.where.line == cell.where.line && known.where.file != nullptr &&
                         cell.where.file != nullptr &&
                         std::string_view(known.where.file) == cell.where.file;
  const Trace* trace = Trace::current();
  if (trace != nullptr && same_line &&
      std::exchange(declared_in_[cell.name], trace->id()) != trace->id()) {
    return;
  }
  throw refused(fmt::format(
      "is declared already in model '{}': to share it use the first one twice, else it needs "
      "another name",
      name_));
}

std::shared_ptr<StateCell> Model::declare(StateCell cell) {
  const std::lock_guard lock(mutex_);
  if (cell.name.empty())
    throw input_error(cell.where, "a {} of model '{}' has an empty name", noun_for(cell), name_);
  if (const auto found = by_name_.find(cell.name); found != by_name_.end()) {
    expect_same(*found->second, cell);
    if (!sounding_) provisional_.erase(cell.name);
    return found->second;
  }
  if (sounding_) provisional_.insert(cell.name);
  cell.order = int(cells_.size());
  cell.model = id_;
  cell.model_name = name_;
  if (const Trace* trace = Trace::current()) {
    cell.graph = trace->name();
    declared_in_[cell.name] = trace->id();
  }
  add(std::make_shared<StateCell>(std::move(cell)));
  return cells_.back();
}

void Model::add(const std::shared_ptr<StateCell>& cell) {
  cells_.push_back(cell);
  by_name_.emplace(cell->name, cell);
}

/// The states of random draws belong to the model itself; see random_seed_cell().
static void expect_not_random(const std::string& name, Where where) {
  for (const auto& random : {random_seed_cell(), random_step_cell()}) {
    if (name != random->name) continue;
    throw input_error(where,
                      "'{}' is the state of every model that draws random numbers: a state "
                      "or parameter needs another name",
                      name);
  }
}

static void expect_initializer(const std::string& name, const Initializer& initializer,
                               Where where) {
  if (initializer) return;
  throw input_error(where, "'{}' has no initializer: wanted zeros(), uniform(-0.1, 0.1) or another",
                    name);
}

Param Model::param(const std::string& name, const Shape& shape, Initializer initializer,
                   Where where) {
  expect_not_random(name, where);
  expect_initializer(name, initializer, where);
  return Param(declare({.name = name,
                        .type = {DType::f32, shape},
                        .initializer = std::move(initializer),
                        .where = where,
                        .of_model = true,
                        .parameter = true}));
}

State Model::state(const std::string& name, const Type& type, Initializer initializer,
                   StateOptions options, Where where) {
  expect_not_random(name, where);
  expect_initializer(name, initializer, where);
  return State(declare({.name = name,
                        .type = type,
                        .initializer = std::move(initializer),
                        .where = where,
                        .of_model = true,
                        .transient = options.transient}));
}

void Model::graph(const std::string& name, Mode mode, GraphFunction function, Where where) {
  const std::lock_guard lock(mutex_);
  if (const Trace* trace = Trace::current()) {
    throw input_error(where,
                      "graph '{}' is declared in the function of graph '{}': declare each where "
                      "none is being traced; what both compute is a C++ function",
                      name, trace->name());
  }
  if (name.empty()) throw input_error(where, "a graph of model '{}' has an empty name", name_);
  if (!function) throw input_error(where, "graph '{}' has no function", name);
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
    if (cell->parameter) params.push_back(Param(cell));
  }
  const Trace* trace = Trace::current();
  params.taken_ = Params::Taken{int(cells_.size()), trace == nullptr ? 0 : trace->id(), {}};
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

std::set<std::string> Model::traced_graphs() const {
  const std::lock_guard lock(mutex_);
  return traced_;
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

/// The function of a graph; the caller holds the lock.
const Model::Function& Model::find(std::string_view graph) const {
  for (const Function& function : functions_) {
    if (function.name == graph) return function;
  }
  throw input_error({}, "model '{}' has no graph '{}': it has {}", name_, graph,
                    fmt::join(graphs(), ", "));
}

Model::Sounding::Sounding(Model& model, bool sounding) : model_(model) {
  model_.sounding_ = sounding;
}

Model::Sounding::~Sounding() {
  model_.sounding_ = false;
  for (const auto& [cell, type] : model_.types_before_) cell->type = type;
  model_.types_before_.clear();
}

TracedGraph Model::trace(std::string_view graph, const std::vector<Type>& inputs) {
  return trace_for(graph, GivenTypes(inputs.begin(), inputs.end()));
}

TracedGraph Model::trace(std::string_view graph, const Extents& extents) {
  return trace(graph, TraceFor{.extents = &extents});
}

TracedGraph Model::trace(std::string_view graph, const TraceFor& wanted) {
  const std::lock_guard lock(mutex_);
  const double start = steady_seconds();
  const Function& function = find(graph);
  std::vector<std::string> order;
  TracedGraph traced;
  const Sounding sounding(*this, wanted.sounding);
  while (traced.graph == nullptr) traced = trace_once(function, wanted, order);
  traced_.insert(function.name);
  traced.seconds = steady_seconds() - start;
  return traced;
}

TracedGraph Model::trace_once(const Function& function, const TraceFor& wanted,
                              std::vector<std::string>& order) {
  Trace trace(function.name, function.mode);
  trace.set_model(id_, name_, [this](StateCell cell) { return declare(std::move(cell)); });
  Inputs inputs(*this, trace, wanted, order);
  Results results;
  try {
    results = function.function(inputs);
    inputs.expect_all_declared(function.where);
  } catch (const Inputs::InAnotherOrder&) {
    // traced again below
  } catch (Error& error) {
    if (!inputs.reordered_) throw(inputs.pending_ ? *inputs.pending_ : error).at(function.where);
  }
  order = inputs.order_;
  if (inputs.reordered_) return {};
  if (function.mode == Mode::training && !trace.writes_states()) {
    trace.remark(function.where,
                 fmt::format("graph '{}' is of Mode::training and gives no state a value: what it "
                             "computes is not kept",
                             function.name));
  }
  TracedGraph traced{
      .result_names = results.names, .bounds = trace.bounds(), .remarks = trace.remarks()};
  Values declared;
  inputs.describe(traced, declared);
  const std::set<std::shared_ptr<StateCell>> known(cells_.begin(), cells_.end());
  for (const auto& cell : trace.states_of_model()) {
    if (!known.contains(cell)) add(cell);
  }
  const WhereScope scope(function.where);
  traced.graph = trace.finish(results.values, declared);
  return traced;
}

}  // namespace graphc::core
