// SPDX-License-Identifier: Apache-2.0
// The mock driver's streams, which do their work at once or capture it, its graphs and its events.
#include <algorithm>
#include <cstddef>
#include <random>

#include "tests/cuda/mock/state.h"

namespace graphc::core::cuda_mock {
namespace {

CUresult no_stream() { return fail(CUDA_ERROR_INVALID_HANDLE, "no such stream"); }

/// Whether all work that the streams of a capture have put into it comes before the end of the
/// stream that it began in.
bool is_joined(const State& all, const Capture& capture, const Stream& origin) {
  std::vector<bool> reached(capture.nodes.size());
  for (const size_t node : origin.last) reached[node] = true;
  for (size_t node = capture.nodes.size(); node-- > 0;) {
    if (!reached[node]) continue;
    for (const size_t before : capture.nodes[node].after) reached[before] = true;
  }
  for (const auto& [handle, stream] : all.streams) {
    if (stream->capture.get() != &capture) continue;
    for (const size_t node : stream->last) {
      if (!reached[node]) return false;
    }
  }
  return true;
}

void leave_capture(State& all, Capture& capture) {
  capture.ended = true;
  for (const auto& [handle, stream] : all.streams) {
    if (stream->capture.get() == &capture) *stream = Stream{};
  }
}

/// What a captured event adds to a stream's capture, or brings it into.
CUresult wait_in_capture(State& all, Stream& stream, const Event& event) {
  if (event.capture->ended) return fail(CUDA_ERROR_CAPTURED_EVENT, "of a capture that has ended");
  if (stream.capture != nullptr && stream.capture != event.capture) {
    stream.capture->invalidated = event.capture->invalidated = true;
    return fail(CUDA_ERROR_STREAM_CAPTURE_MERGE, "an event of another capture");
  }
  stream.capture = event.capture;
  if (++all.waits != all.forgotten)
    stream.last.insert(stream.last.end(), event.last.begin(), event.last.end());
  return CUDA_SUCCESS;
}

}  // namespace

CUresult run_graph(State& all, const Graph& nodes) {
  std::vector<std::vector<size_t>> later(nodes.size());
  std::vector<size_t> waits(nodes.size()), ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const size_t before : nodes[i].after) later[before].push_back(i);
    waits[i] = nodes[i].after.size();
    if (waits[i] == 0) ready.push_back(i);
  }
  std::mt19937_64 random(setting("GRAPHC_MOCK_SEED", 1) + all.graph_launches++);
  const bool as_captured = setting("GRAPHC_MOCK_AS_CAPTURED", 0) != 0;
  // Now and then what could have come last comes first, which is furthest from the capture.
  const bool newest_first = random() % 3 == 0;
  while (!ready.empty()) {
    auto next = std::ranges::min_element(ready);
    if (!as_captured)
      next = newest_first ? std::ranges::max_element(ready)
                          : ready.begin() + std::ptrdiff_t(random() % ready.size());
    const size_t node = *next;
    ready.erase(next);
    if (const CUresult error = nodes[node].work()) return error;
    for (const size_t each : later[node]) {
      if (--waits[each] == 0) ready.push_back(each);
    }
  }
  return CUDA_SUCCESS;
}

GRAPHC_MOCK_EXPORT CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int) {
  return called("cuStreamCreateWithPriority", Needs::context, [&](State& all) {
    if (stream == nullptr || flags > CU_STREAM_NON_BLOCKING) {
      return fail(CUDA_ERROR_INVALID_VALUE, "flags that there are not");
    }
    *stream = keep<CUstream>(all.streams, std::make_unique<Stream>());
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  return called(
      "cuStreamDestroy_v2", Needs::context,
      [&](State& all) {
        const Stream* gone = find(all.streams, stream);
        if (gone != nullptr && gone->capture != nullptr) gone->capture->invalidated = true;
        if (gone != nullptr) do_until(all, stream, ~uint64_t{0});
        return destroy(all.streams, stream, "stream");
      },
      Fails::after);
}

GRAPHC_MOCK_EXPORT CUresult cuStreamSynchronize(CUstream handle) {
  return called("cuStreamSynchronize", Needs::context, [&](State& all) {
    Stream* stream = stream_of(all, handle);
    if (stream == nullptr) return no_stream();
    if (stream->capture == nullptr) return do_until(all, handle, ~uint64_t{0});
    stream->capture->invalidated = true;
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "waiting for what is not run");
  });
}

GRAPHC_MOCK_EXPORT CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  return called("cuStreamBeginCapture_v2", Needs::context, [&](State& all) {
    if (handle == nullptr) {
      return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the default stream");
    }
    Stream* stream = stream_of(all, handle);
    if (stream == nullptr) return no_stream();
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
      return fail(CUDA_ERROR_INVALID_VALUE, "a mode that there is not");
    }
    if (stream->capture != nullptr)
      return fail(CUDA_ERROR_ILLEGAL_STATE, "a capture within a capture");
    stream->capture = std::make_shared<Capture>(Capture{handle, mode, std::this_thread::get_id()});
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return called(
      "cuStreamEndCapture", Needs::context,
      [&](State& all) {
        Stream* stream = stream_of(all, handle);
        if (stream == nullptr) return no_stream();
        if (graph == nullptr) return fail(CUDA_ERROR_INVALID_VALUE, "no place for the graph");
        if (stream->capture == nullptr)
          return fail(CUDA_ERROR_ILLEGAL_STATE, "nothing is captured");
        const std::shared_ptr<Capture> capture = stream->capture;
        if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
            capture->thread != std::this_thread::get_id()) {
          return fail(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "");
        }
        if (capture->origin != handle) {
          capture->invalidated = true;
          return fail(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "it began in another stream");
        }
        const bool joined = is_joined(all, *capture, *stream);
        leave_capture(all, *capture);
        *graph = nullptr;
        if (capture->invalidated) return fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "");
        if (!joined) return fail(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "work of another stream");
        *graph = keep<CUgraph>(all.graphs, std::make_unique<Graph>(std::move(capture->nodes)));
        return CUDA_SUCCESS;
      },
      Fails::after);
}

GRAPHC_MOCK_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph handle,
                                                        unsigned long long flags) {
  return called("cuGraphInstantiateWithFlags", Needs::context, [&](State& all) {
    const Graph* graph = find(all.graphs, handle);
    if (executable == nullptr || graph == nullptr || flags != 0) {
      return fail(CUDA_ERROR_INVALID_VALUE, "no such graph, or flags");
    }
    *executable =
        keep<CUgraphExec>(all.executables, std::make_unique<GraphExec>(GraphExec{*graph}));
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  return called("cuGraphLaunch", Needs::context, [&](State& all) {
    const GraphExec* executable = find(all.executables, handle);
    if (executable == nullptr) return fail(CUDA_ERROR_INVALID_HANDLE, "no such graph");
    return enqueue(all, stream,
                   [&all, nodes = executable->nodes] { return run_graph(all, nodes); });
  });
}

GRAPHC_MOCK_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  return called(
      "cuGraphDestroy", Needs::context,
      [&](State& all) { return destroy(all.graphs, graph, "graph"); }, Fails::after);
}

GRAPHC_MOCK_EXPORT CUresult cuGraphExecDestroy(CUgraphExec executable) {
  return called(
      "cuGraphExecDestroy", Needs::context,
      [&](State& all) { return destroy(all.executables, executable, "graph"); }, Fails::after);
}

GRAPHC_MOCK_EXPORT CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return called("cuEventCreate", Needs::context, [&](State& all) {
    if (event == nullptr || flags > 3) return fail(CUDA_ERROR_INVALID_VALUE, "unknown flags");
    auto made = std::make_unique<Event>();
    made->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    *event = keep<CUevent>(all.events, std::move(made));
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuEventRecord(CUevent handle, CUstream stream_handle) {
  return called("cuEventRecord", Needs::context, [&](State& all) {
    Event* event = find(all.events, handle);
    if (event == nullptr) return fail(CUDA_ERROR_INVALID_HANDLE, "no such event");
    Stream* stream = stream_of(all, stream_handle);
    if (stream == nullptr) return no_stream();
    event->capture = stream->capture;
    if (event->capture != nullptr) {
      event->last = stream->last;
      return CUDA_SUCCESS;
    }
    event->stream = stream_handle;
    event->after = stream->done + stream->late.size();
    return enqueue(all, stream_handle, [&all, handle] {
      if (Event* now = find(all.events, handle)) now->reached = std::chrono::steady_clock::now();
      return CUDA_SUCCESS;
    });
  });
}

GRAPHC_MOCK_EXPORT CUresult cuEventSynchronize(CUevent handle) {
  return called("cuEventSynchronize", Needs::context, [&](State& all) {
    const Event* event = find(all.events, handle);
    if (event == nullptr) return fail(CUDA_ERROR_INVALID_HANDLE, "no such event");
    if (event->capture != nullptr) return fail(CUDA_ERROR_CAPTURED_EVENT, "");
    return do_until(all, event->stream, event->after + 1);
  });
}

GRAPHC_MOCK_EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle,
                                              unsigned flags) {
  return called("cuStreamWaitEvent", Needs::context, [&](State& all) {
    const Event* event = find(all.events, event_handle);
    if (event == nullptr) return fail(CUDA_ERROR_INVALID_HANDLE, "no such event");
    if (flags != CU_EVENT_WAIT_DEFAULT) return fail(CUDA_ERROR_INVALID_VALUE, "unknown flags");
    Stream* stream = stream_of(all, handle);
    if (stream == nullptr) return no_stream();
    if (event->capture != nullptr) {
      if (stream == &all.default_stream)
        return fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the default stream in a capture");
      return wait_in_capture(all, *stream, *event);
    }
    if (stream->capture == nullptr) {
      return enqueue(all, handle, [&all, of = event->stream, after = event->after] {
        return do_until(all, of, after);
      });
    }
    stream->capture->invalidated = true;
    return fail(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "an event from outside of the capture");
  });
}

GRAPHC_MOCK_EXPORT CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return called("cuStreamIsCapturing", Needs::context, [&](State& all) {
    const Stream* stream = stream_of(all, handle);
    if (stream == nullptr) return no_stream();
    if (status == nullptr) return fail(CUDA_ERROR_INVALID_VALUE, "no place for the status");
    *status = stream->capture == nullptr     ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream->capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                             : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  return called("cuEventElapsedTime", Needs::context, [&](State& all) {
    const Event *first = find(all.events, begin), *last = find(all.events, end);
    if (milliseconds == nullptr) return fail(CUDA_ERROR_INVALID_VALUE, "no place for the time");
    for (const Event* event : {first, last}) {
      if (event == nullptr || !event->timed || !event->reached) {
        return fail(CUDA_ERROR_INVALID_HANDLE, "an event that has no time");
      }
    }
    *milliseconds =
        std::chrono::duration<float, std::milli>(*last->reached - *first->reached).count();
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  return called(
      "cuEventDestroy_v2", Needs::context,
      [&](State& all) { return destroy(all.events, event, "event"); }, Fails::after);
}

}  // namespace graphc::core::cuda_mock
