// SPDX-License-Identifier: Apache-2.0
// The mock driver's devices, which share their memory: what is allocated, loaded and captured, and
// what calls it got.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ir/error.h"
#include "runtime/cuda/driver_types.h"
#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/emulator/module.h"

#define GRAPHC_MOCK_EXPORT extern "C" __attribute__((visibility("default")))

namespace graphc::core::cuda_mock {

using namespace graphc::core::cuda;

constexpr int kMostDevices = 16;
constexpr int kMostThreads = 1024;
constexpr int kWarp = 32;
constexpr int kThreadsOfMultiprocessor = 2048;
constexpr int kBlocksOfMultiprocessor = 32;
/// Blocks of a cluster: that every device has, and that this one has if it is asked to.
constexpr unsigned kPortableCluster = 8, kMostCluster = 16;
constexpr size_t kStaticShared = 48 * 1024;
constexpr size_t kSharedOfMultiprocessor = 228 * 1024;
/// Of shared memory, what a block takes beside its own.
constexpr size_t kReservedShared = 1024;

/// Work of a stream: done at once, or kept in a graph.
using Work = std::function<CUresult()>;

/// Work that comes after other work of its graph, by number.
struct Node {
  Work work;
  std::vector<size_t> after;
};
using Graph = std::vector<Node>;

/// What one or several streams put into a graph.
struct Capture {
  const void* origin = nullptr;  ///< the stream that it began in
  CUstreamCaptureMode mode{};
  std::thread::id thread;    ///< that began it
  bool invalidated = false;  ///< it has met what cannot be captured
  bool ended = false;
  Graph nodes;
};

struct Stream {
  std::shared_ptr<Capture> capture;  ///< null: work is done at once, or late
  std::vector<size_t> last;          ///< what further work comes after
  std::deque<Work> late;             ///< work that is not done yet, with GRAPHC_MOCK_LATE
  uint64_t done = 0;                 ///< how much work is
};

struct Event {
  bool timed = true;
  const void* stream = nullptr;      ///< that it was last recorded in, outside of captures
  uint64_t after = 0;                ///< how much work of that stream it comes after
  std::shared_ptr<Capture> capture;  ///< that it was last recorded in
  std::vector<size_t> last;          ///< behind what
  std::optional<std::chrono::steady_clock::time_point> reached;
};

struct Function {
  const cuda_emulator::Kernel* kernel = nullptr;
  size_t most_dynamic_shared = 0;
  bool large_clusters = false;     ///< of more than kPortableCluster blocks
  std::optional<size_t> key = {};  ///< of its module
};

struct Module {
  Module(const std::string& text, bool is_other)
      : module(text, "image"),
        key(is_other ? std::nullopt : std::optional(std::hash<std::string>()(text))) {}

  cuda_emulator::Module module;
  std::optional<size_t> key;  ///< of the text, unless it stands for another
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct GraphExec {
  Graph nodes;
};

/// A part of an allocation that the emulator takes for one.
struct Piece {
  size_t offset = 0, bytes = 0;
};
struct Memory {
  size_t bytes = 0;
  std::vector<Piece> pieces;
};

/// Objects by their handles.
template <typename Object>
using Objects = std::map<const void*, std::unique_ptr<Object>>;

struct State {
  std::mutex mutex;
  bool initialised = false;
  int retained = 0;  ///< the primary context, how often
  Objects<Memory> device_memory, host_memory;
  Objects<Stream> streams;
  Stream default_stream;
  Objects<Event> events;
  Objects<Module> modules;
  Objects<Graph> graphs;
  Objects<GraphExec> executables;
  cuda_emulator::DeviceMemory memory;
  std::map<std::string, int> library_objects;  ///< of other libraries' mocks, by kind
  size_t allocated = 0;                        ///< bytes of the device
  uint64_t launches = 0, graph_launches = 0;
  std::set<size_t> kernels_run;  ///< keys of the modules whose kernels were launched
  /// Waits of captured streams since graphc_mock_forget(), and the one that orders nothing.
  uint64_t waits = 0, forgotten = 0;

  struct Fault {
    std::string symbol;
    CUresult error;
    size_t call;
  };
  std::map<std::string, size_t, std::less<>> calls;
  std::vector<Fault> faults;

  /// What graphc_mock_exchange() and graphc_mock_divide() asked for.
  struct {
    std::string text, other;
    uint64_t most_instructions = 0;
  } exchange;
  std::vector<Memory> divided;

  size_t live() const;
  std::string live_text() const;
};

/// The state; it outlives whatever the process destroys at its end.
State& state();

/// A number of the environment.
uint64_t setting(const char* name, uint64_t otherwise);
/// Devices: GRAPHC_MOCK_DEVICES, 1.
int devices();
int multiprocessors();
/// The most shared memory of a block, in bytes.
size_t most_shared();
/// The compute capability: 90.
int capability();
size_t memory_bytes();

/// Keeps what cuGetErrorString() says of this error to this thread beside its usual words.
CUresult fail(CUresult error, std::string detail);
const std::string& last_detail(CUresult error);

/// The device whose context the calling thread has; -1: none.
int& current_device();
inline bool has_context() { return current_device() >= 0; }

/// What a function needs before anything else.
enum class Needs { nothing, initialised, context };
/// When an error that was asked for is returned.
enum class Fails { before, after };

/// Counts a call of `symbol`, and returns the error that it shall return, if any.
CUresult count_call(State& state, std::string_view symbol);
CUresult check_needs(const State& state, Needs needs);

/// One call: counted, made to fail if that was asked for, refused without its context, under the
/// lock. What the emulator throws becomes the failure of a launch.
template <typename Body>
CUresult called(std::string_view symbol, Needs needs, Body&& body, Fails fails = Fails::before) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const CUresult asked = count_call(all, symbol);
  if (asked != CUDA_SUCCESS && fails == Fails::before) return fail(asked, "");
  if (const CUresult lacking = check_needs(all, needs)) return fail(lacking, "");
  CUresult result = CUDA_SUCCESS;
  try {
    result = body(all);
  } catch (const Error& error) {
    result = fail(CUDA_ERROR_LAUNCH_FAILED, error.message());
  } catch (const std::bad_alloc&) {
    result = fail(CUDA_ERROR_OUT_OF_MEMORY, "");
  }
  return asked != CUDA_SUCCESS ? fail(asked, "") : result;
}

/// The object of a handle; null if there is none.
template <typename Object>
Object* find(const Objects<Object>& objects, const void* handle) {
  const auto found = objects.find(handle);
  return found == objects.end() ? nullptr : found->second.get();
}

/// Keeps an object; its address is the handle.
template <typename Handle, typename Object>
Handle keep(Objects<Object>& objects, std::unique_ptr<Object> object) {
  void* address = object.get();
  objects[address] = std::move(object);
  return reinterpret_cast<Handle>(address);
}

/// Destroys the object of a handle.
template <typename Object>
CUresult destroy(Objects<Object>& objects, const void* handle, const char* kind) {
  if (objects.erase(handle) == 1) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_HANDLE, fmt::format("no such {}", kind));
}

/// Does the work of a graph in an order that its nodes and the seed leave: on a GPU they run beside
/// each other.
CUresult run_graph(State& state, const Graph& nodes);
/// Does work in a stream, captures it, or keeps it for later. The default stream is null.
CUresult enqueue(State& state, CUstream stream, Work work);
/// Whether work is done only when somebody waits for it: GRAPHC_MOCK_LATE.
inline bool is_late() { return setting("GRAPHC_MOCK_LATE", 0) != 0; }
/// The stream of a handle; 0, 1 and 2 are the default stream. Null if there is none.
Stream* stream_of(State& state, CUstream handle);
/// Does work of a stream that is late until `done` of it is done; of a stream that is gone, none.
CUresult do_until(State& state, const void* stream, uint64_t done);
/// Does all work that is late.
CUresult do_all(State& state);
/// Refuses what must not happen while this thread captures, and spoils the capture.
CUresult refuse_in_capture(State& state, const char* what);

}  // namespace graphc::core::cuda_mock
