// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/timeline.h"

#include "runtime/clock.h"

namespace graphc::core::commands {

Timeline::Timeline(TraceFile* trace) : trace_(trace), ended_(steady_seconds()) {}

void Timeline::span(std::string_view name, double end, const TraceFacts& facts) {
  trace_->span(TraceTrack::training, name, ended_, end, facts);
  ended_ = end;
}

void Timeline::write(const TrainEvent& event) {
  if (trace_ == nullptr) return;
  const double now = steady_seconds();
  if (event.event == "step") {
    TraceFacts facts{{"epoch", event.epoch + 1}, {"step", event.step}};
    trace_->span(TraceTrack::reading, "read", event.read.began, event.read.ended, facts);
    ended_ = event.waited.began;
    span("wait", event.waited.ended);
    if (event.loss) facts.push_back({"loss", *event.loss});
    span("step", now, facts);
  } else if (event.event == "epoch") {
    // The event is reported after the evaluation.
    span("evaluation", now, {{"epoch", event.epoch + 1}});
  } else if (event.event == "sample") {
    span("sample", now, {{"epoch", event.epoch + 1}});
  } else {
    ended_ = now;
  }
  trace_->flush();
}

void Timeline::watch(std::function<void(const TrainPosition&, const Notes&)>& save) {
  if (trace_ == nullptr || !save) return;
  save = [this, saved = std::move(save)](const TrainPosition& position, const Notes& notes) {
    ended_ = steady_seconds();
    saved(position, notes);
    span("checkpoint", steady_seconds(), {{"step", position.step}});
  };
}

}  // namespace graphc::core::commands
