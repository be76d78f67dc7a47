// SPDX-License-Identifier: Apache-2.0
// An event trace for chrome://tracing and Perfetto (ui.perfetto.dev): a JSON array in the Trace
// Event Format, written incrementally. A truncated file can still be read.
#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace graphc::core {

/// The track of a span, shown as one line.
enum class TraceTrack : uint8_t {
  training,     ///< steps, and the time between them
  reading,      ///< inputs of coming steps, prepared while steps run
  runs,         ///< graphs that were run
  compilation,  ///< graphs that were compiled, with their phases
  exchanges,    ///< with other ranks, beside the workers
  worker,       ///< the first of the workers' tracks, indexed by worker
};

/// Facts about a span, by name.
using TraceFacts = std::vector<std::pair<std::string, std::variant<int64_t, double, std::string>>>;

/// Written by one thread at a time. Throws ErrorKind::resource, with the path and the system's
/// reason, if it cannot write.
class TraceFile {
 public:
  /// Starts a new file; time 0 is now.
  explicit TraceFile(std::string path);
  TraceFile(const TraceFile&) = delete;
  /// Ends the array; reports a failure on stderr.
  ~TraceFile();

  /// Records an event from `begin` to `end`, both from steady_seconds().
  void span(TraceTrack track, std::string_view name, double begin, double end,
            const TraceFacts& facts = {}, int worker = 0);
  /// Flushes the events so far to the system.
  void flush();

 private:
  void name_track(int track, std::string_view name);
  void write(const std::string& event);

  std::string path_;
  std::FILE* file_ = nullptr;
  double zero_;  ///< the origin of time stamps
  bool empty_ = true;
  bool named_exchanges_ = false;
  int named_workers_ = 0;  ///< workers whose tracks have been named
};

}  // namespace graphc::core
