// SPDX-License-Identifier: Apache-2.0
#include "frontend/scan.h"

#include <algorithm>

#include "frontend/lengths.h"
#include "frontend/trace.h"
#include "ir/mutant.h"
#include "ir/rewrite.h"
#include "ir/scan.h"

namespace graphc::core {

Value step_index(Where where) { return Trace::require("step_index", where).step_index(where); }

namespace detail {
namespace {

int64_t steps_of(const Values& streams, Where where) {
  if (streams.empty())
    throw input_error(where, "scan: takes at least one stream or a number of Steps");
  for (Value stream : streams) {
    stream.expect_usable(where);
    if (stream.shape().rank() == 0) {
      throw input_error(where, "scan: a stream has its steps along axis 0: found %{} of {}",
                        stream.name(), to_string(stream.type()));
    }
    if (stream.shape()[0] != streams[0].shape()[0]) {
      throw input_error(where, "scan: streams differ in steps: %{} is {} and %{} is {}",
                        streams[0].name(), to_string(streams[0].type()), stream.name(),
                        to_string(stream.type()));
    }
  }
  return streams[0].shape()[0];
}

/// Puts a traced body into the order of a scan: streams, carries, captures. Merges captures of the
/// same value and drops unused ones.
class OrderedBody {
 public:
  OrderedBody(const Graph& traced)
      : traced_(traced),
        uses_(use_counts(traced)),
        body_(std::make_unique<Graph>(traced.name())),
        arguments_(traced.inputs().size()) {}

  void add_input(Value input) { argument(input) = copy(input); }

  void add_capture(Value outer, Value input) {
    if (uses_[size_t(input.node->id)] == 0) return;
    const auto known = std::ranges::find(captures_, outer);
    if (known != captures_.end()) {
      argument(input) = inner_[size_t(known - captures_.begin())];
      return;
    }
    captures_.push_back(outer);
    inner_.push_back(argument(input) = copy(input));
  }

  const Values& captures() const { return captures_; }

  GraphPtr finish() {
    body_->set_results(inline_graph(traced_, arguments_, *body_));
    return freeze(std::move(body_));
  }

 private:
  Value copy(Value input) { return body_->input(input.type(), input.name(), input.node->where); }
  Value& argument(Value input) {
    return arguments_[size_t(std::ranges::find(traced_.inputs(), input) -
                             traced_.inputs().begin())];
  }

  const Graph& traced_;
  std::vector<int> uses_;
  std::unique_ptr<Graph> body_;
  Values arguments_, captures_, inner_;
};

}  // namespace

ScanTrace::ScanTrace(const Values& streams, ScanOptions options, Where where)
    : ScanTrace(streams, steps_of(streams, where), options, where) {}

ScanTrace::ScanTrace(const Values& streams, int64_t steps, ScanOptions options, Where where)
    : steps_(steps), options_(options), where_(where) {
  if (steps < 0) throw input_error(where, "scan: the number of steps is negative: {}", steps);
  Trace& trace = Trace::require("scan", where);
  for (Value stream : streams) streams_.push_back(trace.here(stream, where));
  if (options_.save_every < 0) {
    throw input_error(where, "scan: save_every is a number of steps, or 0: found {}",
                      options_.save_every);
  }
  if (options_.lengths) {
    const WhereScope scope(where);
    options_.lengths = trace.here(options_.lengths, where);
    check_lengths();
    ended_.emplace(options_.lengths, steps_, options_.reverse);
    for (Value& stream : streams_) stream = ended_->stream(stream);
  }
  Scope& scope = trace.open("");
  for (Value stream : streams_) {
    slices_.push_back(scope.graph->input({stream.dtype(), stream.shape().without(0)},
                                         stream.name() + ".t", stream.node->where));
  }
}

ScanTrace::~ScanTrace() {
  if (open_) Trace::current()->abandon();
}

void ScanTrace::check_lengths() {
  const Value lengths = options_.lengths;
  check_row_lengths("scan", lengths, where_);
  Trace::require("scan", where_).bound(lengths, steps_, where_);
  if (lengths.shape().rank() == 0) return;
  for (Value stream : streams_) {
    if (stream.shape().rank() >= 2 && stream.shape()[1] == lengths.shape()[0]) continue;
    throw input_error(where_, "scan: lengths are {}: a stream is [steps, {}, ...], found %{} of {}",
                      to_string(lengths.type()), lengths.shape()[0], stream.name(),
                      to_string(stream.type()));
  }
}

void ScanTrace::check_rows(Value value, const char* what, const std::string& name) const {
  const Shape& rows = options_.lengths.shape();
  if (rows.rank() == 0 || (value.shape().rank() > 0 && value.shape()[0] == rows[0])) return;
  throw input_error(where_, "scan: lengths are {}: {} is [{}, ...], found %{} of {}",
                    to_string(options_.lengths.type()), what, rows[0], name,
                    to_string(value.type()));
}

Value ScanTrace::has_step(Graph& body, int rank, bool next) {
  if (options_.lengths.shape().rank() == 0) rank = 0;
  Mask& mask = masks_[{rank, next}];
  if (!mask.stream) {
    mask.stream = next ? ended_->has_next_step(rank) : ended_->has_step(rank);
    mask.slice = body.input({DType::boolean, mask.stream.shape().without(0)},
                            next ? "valid.next" : "valid.t", where_);
  }
  return mask.slice;
}

Values ScanTrace::next_states(Graph& body, const Scope::Seen& state) {
  check_rows(state.current, "a state", state.cell->name);
  const int rank = state.current.shape().rank();
  const Value has_step = this->has_step(body, rank, false);
  const Value first = ended_->first_state(state.outer);
  // In reverse, the missing steps of a row come first: its state keeps the initial value.
  if (options_.reverse) return {select(has_step, state.current, state.entry)};
  const Value has_next = this->has_step(body, rank, true);
  const Value entry = body.input(state.cell->type, state.cell->name + ".held", where_);
  held_.push_back({state.outer, entry});
  return {select(has_next, state.current, splat_value(first) ? first : stop_gradient(first)),
          select(has_step, state.current, entry)};
}

Values ScanTrace::results_of_body(Graph& body, const std::vector<const Scope::Seen*>& carried,
                                  const Values& emitted) {
  Values results, held;
  for (const Scope::Seen* state : carried) {
    if (!ended_) {
      results.push_back(state->current);
      continue;
    }
    const Values next = next_states(body, *state);
    results.push_back(next[0]);
    held.insert(held.end(), next.begin() + 1, next.end());
  }
  results.insert(results.end(), held.begin(), held.end());
  for (Value emit : emitted) {
    if (ended_) {
      check_rows(emit, "a result", emit.name());
      emit = value_or_zero(has_step(body, emit.shape().rank(), false), emit);
    }
    results.push_back(emit);
  }
  return results;
}

Values ScanTrace::finish(const Values& emits) {
  const WhereScope at(where_);
  Trace& trace = Trace::require("scan", where_);
  Graph& traced = trace.graph();
  Values emitted;
  for (Value emit : emits) emitted.push_back(trace.here(emit, where_));
  Scope scope = trace.close();
  open_ = false;
  Graph& outer = trace.graph();
  std::vector<const Scope::Seen*> carried;
  for (const Scope::Seen& seen : scope.seen) {
    if (seen.assigned && seen.outer) carried.push_back(&seen);
  }
  traced.set_results(results_of_body(traced, carried, emitted));

  ScanParts parts{.streams = streams_,
                  .steps = steps_,
                  .reverse = options_.reverse && !mutated(Mutant::reverse_ignored),
                  .save_every = options_.save_every};
  if (std::ranges::none_of(scope.seen, &Scope::Seen::assigned)) {
    trace.remark(where_,
                 "scan: the loop carries nothing from step to step: no State is assigned in its "
                 "body (a Value that is assigned there is another value, not a carry)");
  }

  OrderedBody body(traced);
  for (Value slice : slices_) body.add_input(slice);
  for (const auto& [key, mask] : masks_) {
    body.add_input(mask.slice);
    parts.streams.push_back(mask.stream);
  }
  if (scope.index) {
    body.add_input(scope.index);
    parts.streams.push_back(iota(outer, {steps_}));
  }
  for (const Scope::Seen* state : carried) {
    body.add_input(state->entry);
    parts.initial.push_back(ended_ ? ended_->first_state(state->outer) : state->outer);
  }
  for (const Held& held : held_) {
    body.add_input(held.entry);
    parts.initial.push_back(held.initial);
  }
  for (const Scope::Seen& seen : scope.seen) {
    if (!seen.assigned && seen.outer) body.add_capture(seen.outer, seen.entry);
  }
  for (const auto& [value, input] : traced.captures()) body.add_capture(value, input);
  parts.captures = body.captures();
  parts.body = body.finish();

  const Scan loop(add_scan(outer, std::move(parts), where_));
  for (size_t i = 0; i < carried.size(); ++i) {
    Value final = loop.final(held_.empty() ? i : carried.size() + i);
    if (ended_ && held_.empty()) final = ended_->last_state(final, carried[i]->outer);
    trace.assign(carried[i]->cell, final, where_);
  }
  Values stacked;
  for (size_t i = 0; i < emits.size(); ++i) stacked.push_back(loop.emitted(i));
  return stacked;
}

}  // namespace detail
}  // namespace graphc::core
