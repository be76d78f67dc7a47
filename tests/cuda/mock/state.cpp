// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/mock/state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <sstream>
#include <utility>

#include "tests/cuda/mock/control.h"
#include "tests/testing/counts.h"

namespace graphc::core::cuda_mock {
namespace {

struct Detail {
  CUresult error = CUDA_SUCCESS;
  std::string text;
};

Detail& detail() {
  thread_local Detail kept;
  return kept;
}

/// "SYMBOL:ERROR:CALL" between ','; without CALL every call.
std::vector<State::Fault> faults_of(const char* text) {
  std::vector<State::Fault> faults;
  std::istringstream rows(text == nullptr ? "" : text);
  for (std::string row; std::getline(rows, row, ',');) {
    std::istringstream fields(row);
    std::string symbol, error, call = "0";
    std::getline(fields, symbol, ':');
    std::getline(fields, error, ':');
    std::getline(fields, call, ':');
    faults.push_back({symbol, static_cast<CUresult>(std::atoi(error.c_str())),
                      size_t(std::strtoull(call.c_str(), nullptr, 10))});
  }
  return faults;
}

/// What the process ran in the emulator, when it ends.
void count_launches() {
  if (state().launches == 0) return;
  graphc::core::testing::count("launches in the emulator", int64_t(state().launches));
  std::vector<std::string> keys;
  for (const size_t key : state().kernels_run) keys.push_back(fmt::format("{:x}", key));
  graphc::core::testing::distinct("CUDA kernels run in the emulator", keys);
}

}  // namespace

State& state() {
  static State* const kept = [] {
    auto made = std::make_unique<State>();
    made->faults = faults_of(std::getenv("GRAPHC_MOCK_FAIL"));
    std::atexit(count_launches);
    return made.release();
  }();
  return *kept;
}

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

int devices() { return int(setting("GRAPHC_MOCK_DEVICES", 1)); }
int multiprocessors() { return int(setting("GRAPHC_MOCK_MULTIPROCESSORS", 132)); }
size_t most_shared() { return setting("GRAPHC_MOCK_SHARED", 227 * 1024); }
int capability() { return int(setting("GRAPHC_MOCK_CAPABILITY", 90)); }

size_t memory_bytes() {
  static const size_t bytes = setting("GRAPHC_MOCK_MEMORY", uint64_t(4) << 30);
  return bytes;
}

size_t State::live() const {
  size_t of_libraries = 0;
  for (const auto& [kind, count] : library_objects) of_libraries += size_t(count);
  return of_libraries + device_memory.size() + host_memory.size() + streams.size() + events.size() +
         modules.size() + graphs.size() + executables.size() + size_t(retained);
}

std::string State::live_text() const {
  std::vector<std::string> parts;
  const auto add = [&](size_t count, const char* kind) {
    if (count > 0) parts.push_back(fmt::format("{} {}{}", count, kind, count == 1 ? "" : "s"));
  };
  add(device_memory.size(), "allocation");
  add(host_memory.size(), "host allocation");
  add(streams.size(), "stream");
  add(events.size(), "event");
  add(modules.size(), "module");
  add(graphs.size(), "graph");
  add(executables.size(), "executable graph");
  add(size_t(retained), "context");
  for (const auto& [kind, count] : library_objects) add(size_t(count), kind.c_str());
  return fmt::format("{}", fmt::join(parts, ", "));
}

CUresult fail(CUresult error, std::string text) {
  detail() = {error, std::move(text)};
  return error;
}

const std::string& last_detail(CUresult error) {
  static const std::string none;
  return detail().error == error ? detail().text : none;
}

int& current_device() {
  thread_local int device = -1;
  return device;
}

CUresult count_call(State& all, std::string_view symbol) {
  auto found = all.calls.find(symbol);
  if (found == all.calls.end()) found = all.calls.emplace(symbol, 0).first;
  ++found->second;
  for (const State::Fault& fault : all.faults) {
    if (fault.symbol == symbol && (fault.call == 0 || fault.call == found->second)) {
      return fault.error;
    }
  }
  return CUDA_SUCCESS;
}

CUresult check_needs(const State& all, Needs needs) {
  if (needs == Needs::nothing) return CUDA_SUCCESS;
  if (!all.initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (needs == Needs::context && (!has_context() || all.retained == 0)) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  return CUDA_SUCCESS;
}

CUresult enqueue(State& all, CUstream handle, Work work) {
  Stream* stream = stream_of(all, handle);
  if (stream == nullptr) return fail(CUDA_ERROR_INVALID_HANDLE, "no such stream");
  if (stream->capture == nullptr) {
    if (!is_late()) {
      const CUresult before = do_until(all, handle, ~uint64_t{0});
      return before == CUDA_SUCCESS ? work() : before;
    }
    stream->late.push_back(std::move(work));
    return CUDA_SUCCESS;
  }
  Capture& capture = *stream->capture;
  if (capture.invalidated) return fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "");
  capture.nodes.push_back({std::move(work), std::move(stream->last)});
  stream->last = {capture.nodes.size() - 1};
  return CUDA_SUCCESS;
}

Stream* stream_of(State& all, CUstream handle) {
  return reinterpret_cast<uintptr_t>(handle) <= 2 ? &all.default_stream : find(all.streams, handle);
}

CUresult do_until(State& all, const void* handle, uint64_t done) {
  Stream* stream = nullptr;
  while ((stream = stream_of(all, static_cast<CUstream>(const_cast<void*>(handle)))) != nullptr) {
    if (stream->done >= done || stream->late.empty()) break;
    // Counted before: work may wait for what came before it in the same stream.
    const Work work = std::move(stream->late.front());
    stream->late.pop_front();
    ++stream->done;
    if (const CUresult error = work()) return error;
  }
  return CUDA_SUCCESS;
}

CUresult do_all(State& all) {
  constexpr uint64_t kAll = ~uint64_t{0};
  if (const CUresult error = do_until(all, nullptr, kAll)) return error;
  for (const auto& [handle, stream] : all.streams) {
    if (const CUresult error = do_until(all, handle, kAll)) return error;
  }
  return CUDA_SUCCESS;
}

CUresult refuse_in_capture(State& all, const char* what) {
  for (const auto& [handle, stream] : all.streams) {
    if (stream->capture == nullptr) continue;
    Capture& capture = *stream->capture;
    const bool sees = capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
                      (capture.mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL &&
                       capture.thread == std::this_thread::get_id());
    if (!sees) continue;
    capture.invalidated = true;
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, what);
  }
  return CUDA_SUCCESS;
}

GRAPHC_MOCK_EXPORT size_t graphc_mock_calls(const char* symbol) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().calls.find(std::string_view(symbol));
  return found == state().calls.end() ? 0 : found->second;
}

GRAPHC_MOCK_EXPORT size_t graphc_mock_live() {
  const std::lock_guard lock(state().mutex);
  return state().live();
}

GRAPHC_MOCK_EXPORT const char* graphc_mock_live_text() {
  thread_local std::string text;
  const std::lock_guard lock(state().mutex);
  text = state().live_text();
  return text.c_str();
}

GRAPHC_MOCK_EXPORT void graphc_mock_fail(const char* symbol, int error, size_t call) {
  const std::lock_guard lock(state().mutex);
  if (symbol == nullptr) {
    state().faults.clear();
    state().calls.clear();
    return;
  }
  state().faults.push_back({symbol, static_cast<CUresult>(error), call});
}

GRAPHC_MOCK_EXPORT void graphc_mock_exchange(const char* text, const char* other,
                                             uint64_t most_instructions) {
  const std::lock_guard lock(state().mutex);
  state().exchange = {};
  if (text != nullptr) state().exchange = {text, other, most_instructions};
}

GRAPHC_MOCK_EXPORT size_t graphc_mock_forget(size_t wait) {
  const std::lock_guard lock(state().mutex);
  state().forgotten = wait;
  return std::exchange(state().waits, 0);
}

GRAPHC_MOCK_EXPORT void graphc_mock_divide(size_t bytes, const size_t* offsets, const size_t* sizes,
                                           size_t count) {
  const std::lock_guard lock(state().mutex);
  if (count == 0) return state().divided.clear();
  Memory& made = state().divided.emplace_back(Memory{bytes, {}});
  for (size_t i = 0; i < count; ++i) made.pieces.push_back({offsets[i], sizes[i]});
}

}  // namespace graphc::core::cuda_mock
