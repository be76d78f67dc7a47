// SPDX-License-Identifier: Apache-2.0
// The steps of a training, and what is between them, in a trace.
#pragma once

#include <functional>

#include "models/program.h"
#include "runtime/files/trace_file.h"

namespace graphc::core::commands {

class Timeline {
 public:
  /// Writes nothing where there is no trace.
  explicit Timeline(TraceFile* trace);

  /// A step; the making of its inputs, as "read", on a line of its own, and the waiting for them,
  /// as "wait"; what an epoch ends with, as "evaluation", and the drawing of a text, as "sample".
  /// Each has in it what it had compiled.
  void write(const TrainEvent& event);
  /// Has the saving of checkpoints in the trace, if there is any.
  void watch(std::function<void(const TrainPosition&, const Notes&)>& save);

 private:
  /// From the end of what was before.
  void span(std::string_view name, double end, const TraceFacts& facts = {});

  TraceFile* trace_;
  double ended_ = 0;  ///< what was before
};

}  // namespace graphc::core::commands
