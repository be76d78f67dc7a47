// SPDX-License-Identifier: Apache-2.0
#include "frontend/session.h"

#include <algorithm>
#include <set>

#include "frontend/finite.h"
#include "frontend/initial_draw.h"
#include "frontend/initializers.h"
#include "frontend/rank_options.h"
#include "frontend/remarks.h"
#include "frontend/session_compiled.h"
#include "frontend/timeline.h"
#include "frontend/trace.h"
#include "ir/denormals.h"
#include "ir/evaluate.h"
#include "ir/spelling.h"
#include "runtime/arena.h"
#include "runtime/clock.h"
#include "runtime/streams.h"

namespace graphc::core {
namespace {

/// Call shapes per graph whose rounding is cached.
constexpr size_t kCallsKept = 256;

/// Pauses the trace's profiling of executables during its lifetime.
class Profiling {
 public:
  explicit Profiling(bool& profiling) : profiling_(profiling) { profiling_ = true; }
  Profiling(const Profiling&) = delete;
  ~Profiling() { profiling_ = false; }

 private:
  bool& profiling_;
};

}  // namespace

Session::Session(Model& model, SessionOptions options)
    : model_(model),
      model_lives_(model.alive()),
      options_(std::move(options)),
      target_(&graphc::core::target(options_.target, options_.compile)),
      arena_(options_.compile.cpu.arena ? options_.compile.cpu.arena : std::make_shared<Arena>()) {
  for (const auto& [dim, round] : options_.round_up) unmet_.insert(dim);
  if (options_.kept < 1)
    throw input_error({}, "SessionOptions: kept is at least 1: found {}", options_.kept);
  if (options_.traced_runs < 0) {
    throw input_error({}, "SessionOptions: traced_runs is at least 0: found {}",
                      options_.traced_runs);
  }
  const bool first = options_.ranks == nullptr || options_.ranks->rank() == 0;
  if (!options_.announce) {
    options_.announce = [first](const std::string& line) {
      if (first) write_message(line);
    };
  }
  check_ranks(options_);
}

Session::~Session() {
  // Handles of runs may outlive the session, what is compiled may not.
  for (const auto& run : {prepared_.lock(), started_}) {
    if (run) run->end();
  }
}

Model& Session::model() const {
  if (model_lives_.expired())
    throw input_error({}, "the model of this session is gone: it must live as long as the session");
  return model_;
}

OneThread::Inside Session::inside() const {
  return {thread_, fmt::format("the session of model '{}'", model().name())};
}

Outputs Session::run(std::string_view graph, const std::vector<Data>& inputs) {
  const Call here(*this);
  return run_here(graph, inputs);
}

Outputs Session::run_named(std::string_view graph, const NamedData& inputs) {
  const Call here(*this);
  return run_here(graph, ordered(graph, inputs));
}

std::vector<Data> Session::ordered(std::string_view graph, const NamedData& inputs) {
  check_not_traced(graph);
  std::set<std::string> given;
  for (const auto& [name, data] : inputs) given.insert(name);
  const auto known = input_names_.find(graph);
  const bool fits = known != input_names_.end() && inputs.size() == known->second.size() &&
                    given == std::set(known->second.begin(), known->second.end());
  if (fits) return in_order(inputs, known->second, graph);
  NamedTypes types;
  for (const auto& [name, data] : inputs) {
    if (!types.emplace(name, traced_types({GivenType(data)})[0]).second)
      throw input_error({}, "graph '{}': input '{}' is given twice", graph, name);
  }
  const std::vector<std::string> names = model_.trace_for(graph, types).inputs;
  input_names_.insert_or_assign(std::string(graph), names);
  return in_order(inputs, names, graph);
}

/// A compiled graph could run inside the function of another one, but an uncompiled one could not.
/// Both are refused, so that a program does not depend on what ran before.
void Session::check_not_traced(std::string_view graph) const {
  Trace* const trace = Trace::current();
  if (trace == nullptr) return;
  throw input_error({},
                    "the session of model '{}' is asked for graph '{}' while graph '{}' is traced: "
                    "its function says what is computed at every call; for a constant, call the "
                    "session before, and give the function the result",
                    model_.name(), graph, trace->root().name());
}

Session::Arranged Session::arranged(std::string_view graph, const std::vector<Data>& inputs) {
  check_not_traced(graph);
  GivenTypes types;
  std::vector<Tensor> tensors;
  for (const Data& input : inputs) {
    types.emplace_back(input);
    if (const auto* const there = std::get_if<DeviceTensor>(&input.any())) {
      throw input_error({},
                        "graph '{}': input {} is in the memory of GPU {}: wanted the host's, or "
                        "run_on_device()",
                        graph, tensors.size(), there->device());
    }
    tensors.push_back(input.tensor());
  }
  const RoundedCall* call = options_.round_up.empty() ? nullptr : &rounded(graph, types);
  Arranged run{.graph = compiled(graph, call == nullptr ? types : call->inputs), .inputs = {}};
  run.inputs = arguments_of(run.graph->executable->signature(),
                            call == nullptr ? run.graph->rules : call->rules, tensors);
  if (call != nullptr) run.results = call->results;
  return run;
}

Outputs Session::Compiled::outputs_of(const std::vector<Tensor>& found,
                                      const std::vector<Type>& shown) const {
  if (shown.empty()) return {found, result_names};
  std::vector<Tensor> cut;
  for (size_t i = 0; i < found.size(); ++i) cut.push_back(fitted(found[i], shown[i].shape));
  return {std::move(cut), result_names};
}

Outputs Session::run_here(std::string_view graph, const std::vector<Data>& inputs) {
  const Arranged run = arranged(graph, inputs);
  const std::vector<Tensor>& results = run.graph->outputs.next();
  execute(*run.graph, run.inputs, run.results);
  return run.graph->outputs_of(results, run.results);
}

void Session::run_traced(Compiled& graph, const std::vector<Tensor>& inputs) {
  Executable& executable = *graph.executable;
  TraceFile* const trace = options_.trace.get();
  const bool by_kernel = trace != nullptr && !profiling_ && executable.has_profile() &&
                         graph.traced_runs < options_.traced_runs;
  if (by_kernel) executable.begin_profile(Profiled::spans);
  const double begun = steady_seconds();
  executable.run(inputs, graph.states, graph.outputs.last());
  enqueue_s_ = executable.enqueue_s();
  if (trace == nullptr) return;
  const double ended = steady_seconds();
  if (!by_kernel) return trace->span(TraceTrack::runs, graph.graph, begun, ended);
  ++graph.traced_runs;
  const RunProfile profile = executable.end_profile();
  trace->span(
      TraceTrack::runs, graph.graph, begun, ended,
      profile.dropped > 0 ? TraceFacts{{"spans without room", profile.dropped}} : TraceFacts{});
  trace_run(*trace, profile);
  if (profile.dropped > 0)
    options_.announce(
        fmt::format("trace: no room for {} spans of a run of {}", profile.dropped, graph.graph));
}

void Session::execute(Compiled& found, const std::vector<Tensor>& inputs,
                      const std::vector<Type>& shown) {
  if (!options_.check_finite) return run_traced(found, inputs);
  FiniteCheck check(*found.executable, found.states);
  try {
    run_traced(found, inputs);
    const std::string fault = check.fault(found.outputs.last(), shown);
    if (fault.empty()) return;
    options_.announce(
        fmt::format("{}: {}: evaluating it again to find where that begins", found.graph, fault));
    check.restore();
    throw check.error(found.traced, inputs, shown, fault, options_.compile.precision);
  } catch (...) {
    check.restore();
    throw;
  }
}

const RoundedCall& Session::rounded(std::string_view graph, const GivenTypes& called) {
  auto known = calls_.find(graph);
  if (known == calls_.end()) known = calls_.emplace(std::string(graph), 0).first;
  std::list<RoundedCall>& calls = known->second;
  const auto same = std::ranges::find(calls, called, &RoundedCall::called);
  if (same != calls.end()) {
    calls.splice(calls.begin(), calls, same);
  } else {
    calls.push_front(round_call(model_, graph, called, traced_types(called), options_.round_up));
    if (calls.size() > kCallsKept) calls.pop_back();
  }
  return calls.front();
}

CompileReport Session::compile(std::string_view graph, const std::vector<Type>& inputs) {
  const OneThread::Inside here = inside();
  check_not_traced(graph);
  const GivenTypes types(inputs.begin(), inputs.end());
  return compiled(graph, options_.round_up.empty() ? types : rounded(graph, types).inputs)->report;
}

std::vector<KernelTime> Session::profile_run(std::string_view graph,
                                             const std::vector<Data>& inputs) {
  const Call here(*this);
  run_here(graph, inputs);
  GivenTypes types;
  for (const Data& input : inputs) types.emplace_back(input);
  const GivenTypes& run = options_.round_up.empty() ? types : rounded(graph, types).inputs;
  Executable& executable = *compiled(graph, run)->executable;
  executable.begin_profile(Profiled::kernels);
  const Profiling until_end(profiling_);
  run_here(graph, inputs);
  return executable.end_profile().kernels;
}

GivenTypes Session::traced_types(GivenTypes types) const {
  // A session in f64 accepts f64 for the f32 of the graph.
  for (GivenType& given : types) {
    DType& dtype = given.type.dtype;
    if (options_.compile.precision == Precision::f64 && dtype == DType::f64) dtype = DType::f32;
  }
  return types;
}

std::unique_ptr<Executable> Session::made(const GraphPtr& graph, CompileReport& report,
                                          RankOptions ranks) const {
  CompileOptions options = options_.compile;
  options.ranks = std::move(ranks);
  options.cpu.arena = arena_;
  options.cuda.check_finite = options_.check_finite;
  return graphc::core::compile(graph, *target_, options, report);
}

RankOptions Session::ranks_for(const TracedGraph& traced) {
  if (batch_is_odd(options_, traced) &&
      not_shared_.emplace(traced.graph->name(), traced.extents.at(options_.batch)).second) {
    options_.announce(
        fmt::format("remark: every rank computes graph {} whole: {} {} is not "
                    "divided by {}",
                    traced.graph->name(), options_.batch, traced.extents.at(options_.batch),
                    shards_text(options_)));
  }
  return rank_options(options_, traced);
}

const Session::CompiledPtr& Session::compiled(std::string_view graph, const GivenTypes& inputs) {
  auto known = graphs_.find(graph);
  if (known == graphs_.end()) known = graphs_.emplace(std::string(graph), 0).first;
  std::list<CompiledPtr>& kept = known->second;
  for (auto entry = kept.begin(); entry != kept.end(); ++entry) {
    if (!(*entry)->takes(inputs)) continue;
    kept.splice(kept.begin(), kept, entry);
    return kept.front();
  }
  Compiled now{.graph = std::string(graph), .inputs = inputs};
  TracedGraph traced = model_.trace_for(graph, traced_types(inputs));
  now.rules = rules_of(traced);
  announce_unmet(traced);
  for (Value input : traced.graph->inputs()) {
    if (!traced.lengths.contains(input.name())) now.declared.push_back(input.dtype());
  }
  now.result_names = std::make_shared<std::vector<std::string>>(std::move(traced.result_names));
  now.report.lap(&CompileReport::trace_s);
  if (trained_from_ && (kept.empty() || trained_from_->exact)) {
    std::vector<std::string> used;
    for (const Value state : traced.graph->states()) used.push_back(state.name());
    const Values& results = traced.graph->results();
    compare(*trained_from_, now.graph, used, results.empty() ? Where() : results[0].node->where);
  }
  if (options_.check_finite) now.traced = traced.graph;
  DrawsBeside draws(plain_draws(*traced.graph));
  now.executable = made(traced.graph, now.report, ranks_for(traced));
  draws.finish();
  const Signature& signature = now.executable->signature();
  for (const Argument& state : signature.states) now.states.push_back(&stored(state.name, &draws));
  now.outputs = OutputBuffers(signature.outputs);
  now.report.lap(&CompileReport::allocate_s);
  if (options_.trace) {
    trace_compilation(*options_.trace, now.graph, now.report);
    if (graphs_.size() == 1 && kept.empty() && !now.executable->has_profile()) {
      options_.announce(fmt::format(
          "trace: the target {} does not say what its kernels take: it has none", target_->name));
    }
  }
  if (kept.empty()) {
    for (const Remark& remark : traced.remarks) options_.announce(to_string(remark));
    announce_notices(now.report);
  } else {
    announce(*kept.front(), now);
  }
  kept.push_front(std::make_shared<Compiled>(std::move(now)));
  if (int(kept.size()) > std::max(1, options_.kept)) kept.pop_back();
  return kept.front();
}

std::multimap<std::string, std::vector<std::string>> Session::used_states() const {
  std::multimap<std::string, std::vector<std::string>> used;
  for (const auto& [graph, kept] : graphs_) {
    for (const CompiledPtr& compiled : kept) {
      std::vector<std::string>& names = used.emplace(graph, 0)->second;
      for (const Argument& state : compiled->executable->signature().states)
        names.push_back(state.name);
    }
  }
  return used;
}

void Session::announce_unmet(const TracedGraph& traced) {
  for (const std::vector<Dim>& dims : traced.dims) {
    for (const Dim& dim : dims) unmet_.erase(dim.name);
  }
  if (unmet_.empty() || graphs_.size() < model_.graphs().size()) return;
  options_.announce(fmt::format("remark: round_up: no graph of model '{}' has a dim '{}'",
                                model_.name(), fmt::join(std::exchange(unmet_, {}), "', '")));
}

void Session::announce_notices(const CompileReport& report) const {
  // Other variants are compiled only for comparison.
  if (options_.compile.variant != CompileOptions{}.variant) return;
  for (const Remark& notice : notices(report)) options_.announce(to_string(notice));
}

void Session::announce(const Compiled& before, const Compiled& now) const {
  std::string changes;
  for (const auto& [name, extent] : now.rules.extents) {
    const auto old = before.rules.extents.find(name);
    if (old == before.rules.extents.end() || old->second == extent) continue;
    changes += fmt::format("{}{} {} -> {}", changes.empty() ? "" : ", ", name, old->second, extent);
  }
  if (changes.empty()) changes = "inputs of other types";
  options_.announce(fmt::format("compiled again: {}: {}", now.graph, changes));
}

}  // namespace graphc::core
