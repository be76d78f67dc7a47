// SPDX-License-Identifier: Apache-2.0
// The log of a training: a JSON object a line for every event.
#pragma once

#include <cstdio>
#include <string>

#include "models/program.h"

namespace graphc::core::commands {

/// Writes events as they happen. Throws ErrorKind::resource, with the path and the system's reason.
class Log {
 public:
  /// At `path`: "-" is stdout, and without a path nothing is written. A file that is there begins
  /// anew with the first event, so that a training which does not begin leaves it as it is; or it
  /// is gone on with: of a line that was cut short when a process ended nothing stays.
  Log(const std::string& path, bool goes_on);
  Log(const Log&) = delete;
  ~Log();

  void write(const TrainEvent& event);

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
  bool begins_anew_ = false;
};

}  // namespace graphc::core::commands
