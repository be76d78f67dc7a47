// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/trace_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "ir/error.h"
#include "runtime/clock.h"
#include "runtime/streams.h"

namespace graphc::core {
namespace {

/// All events belong to one process.
constexpr int kProcess = 1;

std::string text_of(const nlohmann::ordered_json& event) {
  return event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

TraceFile::TraceFile(std::string path) : path_(std::move(path)), zero_(steady_seconds()) {
  file_ = std::fopen(path_.c_str(), "we");
  if (file_ == nullptr) throw resource_error("{}: {}", path_, std::strerror(errno));
  write(text_of(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", kProcess}, {"args", {{"name", "graphc"}}}}));
  name_track(int(TraceTrack::training), "training");
  name_track(int(TraceTrack::reading), "reading");
  name_track(int(TraceTrack::runs), "graphs run");
  name_track(int(TraceTrack::compilation), "compilation");
  flush();
}

TraceFile::~TraceFile() {
  const bool ended = std::fputs("\n]\n", file_) >= 0;
  if (std::fclose(file_) != 0 || !ended)
    write_message(fmt::format("{}: {}: the trace has no end", path_, std::strerror(errno)));
}

void TraceFile::name_track(int track, std::string_view name) {
  write(text_of({{"name", "thread_name"},
                 {"ph", "M"},
                 {"pid", kProcess},
                 {"tid", track},
                 {"args", {{"name", name}}}}));
  // Shows tracks in this order instead of by name.
  write(text_of({{"name", "thread_sort_index"},
                 {"ph", "M"},
                 {"pid", kProcess},
                 {"tid", track},
                 {"args", {{"sort_index", track}}}}));
}

void TraceFile::span(TraceTrack track, std::string_view name, double begin, double end,
                     const TraceFacts& facts, int worker) {
  if (track == TraceTrack::exchanges && !std::exchange(named_exchanges_, true))
    name_track(int(track), "exchanges with other ranks");
  if (track == TraceTrack::worker) {
    for (; named_workers_ <= worker; ++named_workers_)
      name_track(int(track) + named_workers_, fmt::format("worker {}", named_workers_));
  }
  nlohmann::ordered_json args = nlohmann::ordered_json::object();
  for (const auto& [key, value] : facts)
    std::visit([&args, &key](const auto& fact) { args[key] = fact; }, value);
  // Microseconds, rounded to nanoseconds.
  const auto microseconds = [](double seconds) { return std::round(seconds * 1e9) / 1e3; };
  const double from = microseconds(begin - zero_);
  const double length = std::round((microseconds(end - zero_) - from) * 1e3) / 1e3;
  write(text_of({{"name", name},
                 {"ph", "X"},
                 {"pid", kProcess},
                 {"tid", int(track) + (track == TraceTrack::worker ? worker : 0)},
                 {"ts", from},
                 {"dur", std::max(0.0, length)},
                 {"args", args}}));
}

void TraceFile::write(const std::string& event) {
  const std::string text = (empty_ ? "[\n" : ",\n") + event;
  empty_ = false;
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size())
    throw resource_error("{}: {}", path_, std::strerror(errno));
}

void TraceFile::flush() {
  if (std::fflush(file_) != 0) throw resource_error("{}: {}", path_, std::strerror(errno));
}

}  // namespace graphc::core
