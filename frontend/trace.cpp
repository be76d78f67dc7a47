// SPDX-License-Identifier: Apache-2.0
#include "frontend/trace.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <unordered_set>

#include "ir/mutant.h"
#include "ir/rewrite.h"

namespace graphc::core {
namespace {

thread_local Trace* current_trace = nullptr;
std::atomic<int64_t> next_trace = 1;

std::shared_ptr<StateCell> counter_cell(std::string name, Initializer initializer) {
  auto cell = std::make_shared<StateCell>();
  cell->name = std::move(name);
  cell->type = {DType::i64, {}};
  cell->initializer = std::move(initializer);
  cell->of_model = cell->transient = true;
  cell->graph = "any that draws";
  cell->order = std::numeric_limits<int>::max();
  return cell;
}

}  // namespace

std::shared_ptr<StateCell> random_seed_cell() {
  static const auto cell = counter_cell("random.seed", [](Value key, const Type&) { return key; });
  return cell;
}

std::shared_ptr<StateCell> random_step_cell() {
  static const auto cell = counter_cell(
      "random.step", [](Value key, const Type& type) { return splat(*key.node->graph, 0, type); });
  return cell;
}

Scope::Seen* Scope::find(const StateCell& cell) {
  const auto found = places.find(&cell);
  return found == places.end() ? nullptr : &seen[found->second];
}

void Scope::add(Seen state) {
  places.emplace(state.cell.get(), seen.size());
  seen.push_back(std::move(state));
}

Trace::Trace(std::string graph_name, Mode mode)
    : mode_(mode), id_(next_trace++), graph_(std::make_unique<Graph>(std::move(graph_name))) {
  if (current_trace != nullptr) {
    throw input_error({},
                      "graph '{}' is traced while graph '{}' is: call the C++ function that both "
                      "use, not a session or Model::trace",
                      graph_->name(), current_trace->root().name());
  }
  scopes_.push_back({.graph = graph_.get()});
  graph_->set_trace(value_number());
  current_trace = this;
  current_trace_number() = value_number();
}

Trace::~Trace() {
  current_trace = nullptr;
  current_trace_number() = 0;
}

uint32_t Trace::value_number() const {
  return uint32_t(id_ % std::numeric_limits<uint32_t>::max()) + 1;
}

Trace* Trace::current() { return current_trace; }

Trace& Trace::require(std::string_view what, Where where) {
  if (current_trace != nullptr) return *current_trace;
  throw input_error(where,
                    "{} is used where no graph is being traced: use it in a function given to "
                    "Model::graph",
                    what);
}

Value Trace::here(Value value, Where where) {
  value.expect_usable(where);
  for (const Scope& scope : scopes_) {
    if (scope.graph == value.node->graph) return graph().capture(value);
  }
  throw input_error(value.node->where,
                    "%{} is a value of a scan's body and used outside the loop: return it from the "
                    "body, or assign it to a state",
                    value.name());
}

void Trace::add_register(const std::shared_ptr<StateCell>& cell, Value initial) {
  cell->trace = id_;
  registers_.emplace_back(cell, false);
  const Value value = here(initial);
  scopes_.back().add({cell, {}, value, value});
}

void Trace::expect_own(const StateCell& cell, Where where) const {
  if (cell.model == 0 || cell.model == model_) return;
  throw input_error(where,
                    "{} '{}' belongs to model '{}': graph '{}' is of model '{}', and a graph "
                    "uses the states of its own model: declare both in one model",
                    cell.parameter ? "parameter" : "state", cell.name, cell.model_name,
                    graph_->name(), model_name_);
}

Value Trace::read(const std::shared_ptr<StateCell>& cell, Where where) {
  return read(scopes_.size() - 1, cell, where);
}

Value Trace::read(size_t level, const std::shared_ptr<StateCell>& cell, Where where) {
  Scope& scope = scopes_[level];
  if (const Scope::Seen* seen = scope.find(*cell)) {
    if (cell->parameter && seen->assigned) new_values_.emplace(seen->current.node, cell);
    return seen->current;
  }
  if (level > 0) {
    const Value outer = read(level - 1, cell, where);
    if (cell->parameter) return outer;
    const Value entry = scope.graph->input(cell->type, cell->name, cell->where);
    scope.add({cell, scopes_[level - 1].graph->capture(outer), entry, entry});
    return entry;
  }
  if (!cell->of_model) {
    throw input_error(where, "state '{}' is used outside the {} that made it", cell->name,
                      cell->trace == id_ ? "loop" : "graph");
  }
  expect_own(*cell, where);
  // An input for now, so that node names cannot collide with a state; finish() makes it a state.
  const Value entry = graph_->input(cell->type, cell->name, cell->where);
  scope.add({cell, {}, entry, entry});
  return entry;
}

void Trace::assign(const std::shared_ptr<StateCell>& cell, Value value, Where where) {
  if (cell->parameter && in_loop()) {
    throw input_error(where,
                      "parameter '{}' is assigned inside a scan: a state can be, a parameter "
                      "only after the loop",
                      cell->name);
  }
  if (value.type() != cell->type) {
    throw input_error(where, "state '{}' is {}: it is assigned {}", cell->name,
                      to_string(cell->type), to_string(value.type()));
  }
  read(cell, where);
  Scope::Seen& seen = *scopes_.back().find(*cell);
  seen.current = here(value);
  seen.assigned = true;
  seen.assigned_at = where;
  if (cell->of_model) return;
  for (auto& [known, assigned] : registers_) assigned |= known == cell;
}

Value Trace::leaf(const std::shared_ptr<StateCell>& cell) {
  read(0, cell, cell->where);
  return scopes_.front().find(*cell)->entry;
}

const Scope::Seen* Trace::assigned(const StateCell& cell) {
  const Scope::Seen* seen = scopes_.front().find(cell);
  return seen != nullptr && seen->assigned ? seen : nullptr;
}

std::vector<std::shared_ptr<StateCell>> Trace::states_of_model() const {
  std::vector<std::shared_ptr<StateCell>> cells;
  for (const Scope::Seen& seen : scopes_.front().seen) {
    if (seen.cell->of_model) cells.push_back(seen.cell);
  }
  return cells;
}

bool Trace::writes_states() const {
  return std::ranges::any_of(scopes_.front().seen, [](const Scope::Seen& state) {
    return state.cell->of_model && state.assigned && state.cell != random_step_cell();
  });
}

void Trace::remark(Where where, std::string text) {
  remarks_.push_back({.pass = "trace", .node = {}, .where = where, .text = std::move(text)});
}

void Trace::note_dropped(const std::shared_ptr<StateCell>& cell,
                         const std::string& taker) noexcept {
  try {
    remark(cell->where,
           fmt::format("state '{}' was moved to '{}' by assignment, which assigns its value, and "
                       "has no handle any more: elements of a list of states are not erased so",
                       cell->name, taker));
    for (auto& [known, settled] : registers_) settled |= known == cell;
  } catch (...) {  // out of memory: the remark is lost, the trace is not
  }
}

std::vector<Remark> Trace::remarks() const {
  std::vector<Remark> all = remarks_;
  for (const auto& [cell, assigned] : registers_) {
    if (assigned) continue;
    all.push_back({.pass = "trace",
                   .node = {},
                   .where = cell->where,
                   .text = fmt::format("state '{}' is never assigned: it keeps its first value, as "
                                       "a Value does; assigned in the body of a scan it is a carry",
                                       cell->name)});
  }
  return all;
}

void Trace::bound(Value lengths, int64_t steps, Where where) {
  const Values& inputs = root().inputs();
  if (std::ranges::find(inputs, lengths) == inputs.end()) return;
  const bool known = std::ranges::any_of(bounds_, [&](const InputBound& bound) {
    return bound.input == lengths.name() && bound.most <= steps;
  });
  if (!known) bounds_.push_back({lengths.name(), steps, where});
}

Scope& Trace::open(std::string name) {
  bodies_.push_back(std::make_unique<Graph>(std::move(name)));
  bodies_.back()->set_parent(scopes_.back().graph);
  bodies_.back()->set_trace(value_number());
  scopes_.push_back({.graph = bodies_.back().get()});
  return scopes_.back();
}

Scope Trace::close() {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  return scope;
}

Value Trace::index_of(Scope& scope) {
  if (!scope.index) scope.index = scope.graph->input({DType::i32, {}}, "step");
  return scope.index;
}

Value Trace::step_index(Where where) {
  if (!in_loop()) throw input_error(where, "step_index: there is no step outside a scan");
  return index_of(scopes_.back());
}

Value Trace::root_key() {
  if (!root_key_) {
    const Value step = read(0, random_step_cell(), {});
    root_key_ = apply1(ops::fold_in, {read(0, random_seed_cell(), {}), step});
    Scope::Seen& seen = *scopes_.front().find(*random_step_cell());
    seen.current = mutated(Mutant::draws_of_every_call_the_same) ? step : step + 1;
    seen.assigned = true;
  }
  return root_key_;
}

Value Trace::random_key() {
  Value key = apply1(ops::fold_in, {root_key(), keys_++});
  if (mutated(Mutant::draws_of_every_step_the_same)) return key;
  for (size_t level = 1; level < scopes_.size(); ++level) {
    key = apply1(ops::fold_in, {key, cast(index_of(scopes_[level]), DType::i64)});
  }
  return key;
}

GraphPtr Trace::finish(const Values& results, const Values& inputs) {
  GRAPHC_CHECK(!in_loop(), "graph '{}' ends inside a loop", graph_->name());
  Values roots;
  for (Value result : results) roots.push_back(here(result));
  // States are in the order of declaration: the order of first use depends on the C++ compiler,
  // which may evaluate the operands of an expression in any order.
  std::vector<Scope::Seen> seen(scopes_.front().seen.begin(), scopes_.front().seen.end());
  std::ranges::stable_sort(seen, {}, [](const Scope::Seen& state) { return state.cell->order; });
  for (const Scope::Seen& state : seen) {
    if (state.cell->of_model && state.assigned) roots.push_back(state.current);
  }
  graph_->set_results(roots);

  // Copying drops unused nodes and states that the function only looked up.
  const std::vector<int> uses = use_counts(*graph_);
  auto graph = std::make_unique<Graph>(graph_->name());
  std::unordered_map<const Node*, Value> leaves;
  std::unordered_set<const Node*> entries;
  for (const Scope::Seen& state : seen) {
    const StateCell& cell = *state.cell;
    if (cell.of_model) entries.insert(state.entry.node);
    if (!cell.of_model || (!state.assigned && uses[size_t(state.entry.node->id)] == 0)) continue;
    leaves[state.entry.node] = graph->state(cell.type, cell.name, cell.where);
  }
  Values ordered = graph_->inputs();
  std::ranges::stable_sort(
      ordered, {}, [&](Value input) { return std::ranges::find(inputs, input) - inputs.begin(); });
  for (Value input : ordered) {
    if (!entries.contains(input.node))
      leaves[input.node] = graph->input(input.type(), input.name(), input.node->where);
  }
  Values arguments;
  for (Value input : graph_->inputs()) arguments.push_back(leaves[input.node]);
  Values copies = inline_graph(*graph_, arguments, *graph);
  size_t next = results.size();
  for (const Scope::Seen& state : seen) {
    if (state.cell->of_model && state.assigned)
      graph->set_next(leaves[state.entry.node], copies[next++]);
  }
  copies.resize(results.size());
  graph->set_results(std::move(copies));
  return freeze(std::move(graph));
}

}  // namespace graphc::core
