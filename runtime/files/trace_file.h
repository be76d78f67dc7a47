// SPDX-License-Identifier: Apache-2.0
// A trace of what happened when, as chrome://tracing and Perfetto (ui.perfetto.dev) read it: a JSON
// array of the Trace Event Format, written as it goes. One that was cut short can be read too.
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

/// What a span belongs to: a line of the picture.
enum class TraceTrack : uint8_t {
  training,     ///< steps, and what is between them
  reading,      ///< inputs of coming steps, made while steps run
  runs,         ///< graphs that were run
  compilation,  ///< graphs that were compiled, and the phases of it
  worker,       ///< and those behind it, by the worker's number
};

/// Facts about a span, by name.
using TraceFacts = std::vector<std::pair<std::string, std::variant<int64_t, double, std::string>>>;

/// One thread writes at a time. Throws ErrorKind::resource, with the path and the system's reason,
/// when it cannot write.
class TraceFile {
 public:
  /// Begins the file anew; time 0 is now.
  explicit TraceFile(std::string path);
  TraceFile(const TraceFile&) = delete;
  /// Ends the array; says on stderr if it cannot.
  ~TraceFile();

  /// What took place from `begin` to `end`, both of steady_seconds().
  void span(TraceTrack track, std::string_view name, double begin, double end,
            const TraceFacts& facts = {}, int worker = 0);
  /// Hands what is written so far to the system.
  void flush();

 private:
  void name_track(int track, std::string_view name);
  void write(const std::string& event);

  std::string path_;
  std::FILE* file_ = nullptr;
  double zero_;  ///< what time stamps count from
  bool empty_ = true;
  int named_workers_ = 0;  ///< that have been given a name
};

}  // namespace graphc::core
