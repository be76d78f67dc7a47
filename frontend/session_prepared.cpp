// SPDX-License-Identifier: Apache-2.0
// Runs in parts: inputs that are brought while the device works on another run.
#include "frontend/session_compiled.h"
#include "runtime/clock.h"

namespace graphc::core {

using Parts = PreparedRun::Parts;

namespace {

Session& session_of(const std::shared_ptr<Parts>& run) {
  if (run == nullptr)
    throw input_error({}, "a PreparedRun without a run: wanted one that prepare() has given");
  if (!run->lives.expired()) return *run->session;
  throw input_error({},
                    "graph '{}': the session of this prepared run is gone: it must live until the "
                    "run has ended",
                    run->graph);
}

}  // namespace

void PreparedRun::start() { session_of(parts_).start(parts_); }

const Outputs& PreparedRun::wait() & {
  if (parts_ == nullptr || (!parts_->outputs && !parts_->error)) session_of(parts_).wait(parts_);
  if (parts_->error) std::rethrow_exception(parts_->error);
  return *parts_->outputs;
}

PreparedRun Session::prepare(std::string_view graph, const std::vector<Data>& inputs) {
  const OneThread::Inside here = inside();
  return prepare_here(graph, inputs);
}

PreparedRun Session::prepare_named(std::string_view graph, const NamedData& inputs) {
  const OneThread::Inside here = inside();
  return prepare_here(graph, ordered(graph, inputs));
}

PreparedRun Session::prepare_here(std::string_view graph, const std::vector<Data>& inputs) {
  auto run = std::make_shared<Parts>();
  run->session = this;
  run->lives = alive_;
  run->graph = graph;
  run->run = arranged(graph, inputs);
  Executable& executable = *run->run.graph->executable;
  if (const auto before = prepared_.lock()) before->end(Parts::At::replaced);
  prepared_.reset();
  if (executable.device() >= 0 && !options_.check_finite) {
    executable.bring(run->run.inputs);
    run->run.inputs.clear();
  } else {
    // `inputs` holds them too, so this copies what the caller could change.
    for (Tensor& input : run->run.inputs) input.make_unique();
  }
  prepared_ = run;
  return PreparedRun(run);
}

void Session::start(const std::shared_ptr<Parts>& run) {
  const OneThread::Inside here = inside();
  check_not_traced(run->graph);
  if (run->at == Parts::At::replaced) {
    throw input_error({},
                      "graph '{}': another run has been prepared since this one was, and a session "
                      "keeps the inputs of one: start a run before the next is prepared",
                      run->graph);
  }
  if (run->at != Parts::At::prepared)
    throw input_error({}, "graph '{}': this prepared run has started before", run->graph);
  end_started();
  prepared_.reset();
  run->at = Parts::At::started;
  Compiled& graph = *run->run.graph;
  try {
    run->found = graph.outputs.next();
    if (graph.executable->device() >= 0 && !options_.check_finite) {
      run->begun = steady_seconds();
      graph.executable->launch(graph.states);
      enqueue_s_ = graph.executable->enqueue_s();
      started_ = run;
      return;
    }
    execute(graph, run->run.inputs, run->run.results);
    run->outputs = graph.outputs_of(run->found, run->run.results);
  } catch (...) {
    run->error = std::current_exception();
  }
  run->end();
  if (run->error) std::rethrow_exception(run->error);
}

void Session::wait(const std::shared_ptr<Parts>& run) {
  if (run->at == Parts::At::started) {
    const OneThread::Inside here = inside();
    return end_started();
  }
  start(run);
  if (started_ == run) wait(run);
}

void Session::end_started() {
  const std::shared_ptr<Parts> run = std::exchange(started_, nullptr);
  if (run == nullptr) return;
  Compiled& graph = *run->run.graph;
  try {
    graph.executable->finish(run->found);
    if (options_.trace)
      options_.trace->span(TraceTrack::runs, graph.graph, run->begun, steady_seconds());
    run->outputs = graph.outputs_of(run->found, run->run.results);
  } catch (...) {
    run->error = std::current_exception();
  }
  run->end();
  if (run->error) std::rethrow_exception(run->error);
}

}  // namespace graphc::core
