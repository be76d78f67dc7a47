// SPDX-License-Identifier: Apache-2.0
// The log of a training: one JSON object per line and event.
#pragma once

#include <cstdio>
#include <string>

#include "models/program.h"

namespace graphc::core::commands {

/// Writes events as they happen. Throws ErrorKind::resource, with the path and the system's reason.
class Log {
 public:
  /// Logs to `path`: "-" is stdout, and an empty path disables the log. An existing file is
  /// truncated at the first event, so that a training that fails to start leaves it unchanged. With
  /// `goes_on` it is appended to; an incomplete last line of a killed process is removed.
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
