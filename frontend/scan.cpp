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

/// A traced body put in the order a scan has: streams, carries, captures; captures of one value
/// joined, those that nothing uses dropped.
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
  for (Value stream : streams) streams_.push_back(trace.here(stream));
  if (options_.lengths) {
    const WhereScope scope(where);
    options_.lengths = trace.here(options_.lengths);
    check_lengths();
    // What the body makes of a padded step goes nowhere, but its derivative is multiplied by 0:
    // the padding itself, which may be NaN, must not come in.
    for (Value& stream : streams_) stream = mask_steps(stream, options_.lengths, where);
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

Value ScanTrace::unless_ended(Graph& body, Value value, Value held, const char* what,
                              const std::string& name) {
  const Shape& rows = options_.lengths.shape();
  if (rows.rank() == 1 && (value.shape().rank() == 0 || value.shape()[0] != rows[0])) {
    throw input_error(where_, "scan: lengths are {}: {} is [{}, ...], found %{} of {}",
                      to_string(options_.lengths.type()), what, rows[0], name,
                      to_string(value.type()));
  }
  const size_t rank = rows.rank() == 0 ? 0 : size_t(value.shape().rank());
  masks_.resize(std::max(masks_.size(), rank + 1));
  masks_in_body_.resize(masks_.size());
  if (!masks_[rank]) {
    const Value mask = valid_steps(options_.lengths, steps_, where_);
    Shape shape = mask.shape();
    while (shape.rank() <= int(rank)) shape = shape.insert(shape.rank(), 1);
    masks_[rank] = reshape(mask, shape, where_);
    masks_in_body_[rank] = body.input({DType::boolean, shape.without(0)}, "valid.t", where_);
  }
  const Value mask = masks_in_body_[rank];
  return held ? select(mask, value, held) : value_or_zero(mask, value);
}

Values ScanTrace::finish(const Values& emits) {
  Trace& trace = Trace::require("scan", where_);
  Graph& traced = trace.graph();
  Values emitted;
  for (Value emit : emits) emitted.push_back(trace.here(emit));
  Scope scope = trace.close();
  open_ = false;
  Graph& outer = trace.graph();

  Values results;
  ScanParts parts{.streams = streams_,
                  .steps = steps_,
                  .reverse = options_.reverse && !mutated(Mutant::reverse_ignored)};
  for (const Scope::Seen& seen : scope.seen) {
    if (!seen.assigned || !seen.outer) continue;
    results.push_back(options_.lengths ? unless_ended(traced, seen.current, seen.entry, "a state",
                                                      seen.cell->name)
                                       : seen.current);
  }
  for (Value emit : emitted) {
    results.push_back(options_.lengths ? unless_ended(traced, emit, {}, "a result", emit.name())
                                       : emit);
  }
  traced.set_results(std::move(results));
  if (std::ranges::none_of(scope.seen, &Scope::Seen::assigned)) {
    trace.remark(where_,
                 "scan: the loop carries nothing from step to step: no State is assigned in its "
                 "body (a Value that is assigned there is another value, not a carry)");
  }

  OrderedBody body(traced);
  for (Value slice : slices_) body.add_input(slice);
  for (size_t rank = 0; rank < masks_.size(); ++rank) {
    if (!masks_[rank]) continue;
    body.add_input(masks_in_body_[rank]);
    parts.streams.push_back(masks_[rank]);
  }
  if (scope.index) {
    body.add_input(scope.index);
    parts.streams.push_back(iota(outer, {steps_}));
  }
  for (const Scope::Seen& seen : scope.seen) {
    if (!seen.assigned || !seen.outer) continue;
    body.add_input(seen.entry);
    parts.initial.push_back(seen.outer);
  }
  for (const Scope::Seen& seen : scope.seen) {
    if (!seen.assigned && seen.outer) body.add_capture(seen.outer, seen.entry);
  }
  for (const auto& [value, input] : traced.captures()) body.add_capture(value, input);
  parts.captures = body.captures();
  parts.body = body.finish();

  const Node& node = add_scan(outer, std::move(parts), where_);
  const Scan loop(node);
  size_t carry = 0;
  for (const Scope::Seen& seen : scope.seen) {
    if (seen.assigned && seen.outer) trace.assign(seen.cell, loop.final(carry++), where_);
  }
  Values stacked;
  for (size_t i = 0; i < emits.size(); ++i) stacked.push_back(loop.emitted(i));
  return stacked;
}

}  // namespace detail
}  // namespace graphc::core
