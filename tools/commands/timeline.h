// SPDX-License-Identifier: Apache-2.0
// The steps of a training and the time between them, as trace events.
#pragma once

#include <functional>

#include "models/program.h"
#include "runtime/files/trace_file.h"

namespace graphc::core::commands {

class Timeline {
 public:
  /// Writes nothing if `trace` is null.
  explicit Timeline(TraceFile* trace);

  /// Writes a step; the preparation of its inputs ("read", on a track of its own) and the wait for
  /// them ("wait"); the work at the end of an epoch ("evaluation"), and the drawing of a text
  /// ("sample"). Each includes the compilations that it caused.
  void write(const TrainEvent& event);
  /// Adds the saving of checkpoints to the trace, if there is one.
  void watch(std::function<void(const TrainPosition&, const Notes&)>& save);

 private:
  /// A span from the end of the previous one.
  void span(std::string_view name, double end, const TraceFacts& facts = {});

  TraceFile* trace_;
  double ended_ = 0;  ///< the end of the previous span
};

}  // namespace graphc::core::commands
