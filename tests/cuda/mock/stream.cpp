// SPDX-License-Identifier: Apache-2.0
// The mock driver's streams, which do their work at once or capture it, its graphs and its events.
#include "tests/cuda/mock/state.h"

namespace graphc::cuda_mock {
namespace {

Stream* stream_of(const State& all, CUstream handle) { return find(all.streams, handle); }

CUresult no_stream() { return fail(CUDA_ERROR_INVALID_HANDLE, "no such stream"); }

CUresult run_all(const std::vector<Work>& work) {
  for (const Work& one : work) {
    if (const CUresult error = one()) return error;
  }
  return CUDA_SUCCESS;
}

}  // namespace

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
      [&](State& all) { return destroy(all.streams, stream, "stream"); }, Fails::after);
}

GRAPHC_MOCK_EXPORT CUresult cuStreamSynchronize(CUstream handle) {
  return called("cuStreamSynchronize", Needs::context, [&](State& all) {
    if (handle == nullptr) return CUDA_SUCCESS;
    Stream* stream = stream_of(all, handle);
    if (stream == nullptr) return no_stream();
    if (!stream->capturing) return CUDA_SUCCESS;
    stream->invalidated = true;
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
    if (stream->capturing) return fail(CUDA_ERROR_ILLEGAL_STATE, "a capture within a capture");
    *stream = {true, false, mode, std::this_thread::get_id(), {}};
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
        if (!stream->capturing) return fail(CUDA_ERROR_ILLEGAL_STATE, "nothing is captured");
        if (stream->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
            stream->thread != std::this_thread::get_id()) {
          return fail(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "");
        }
        const bool invalidated = stream->invalidated;
        auto captured = std::make_unique<Graph>(std::move(stream->captured));
        *stream = Stream{};
        *graph = nullptr;
        if (invalidated) return fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "");
        *graph = keep<CUgraph>(all.graphs, std::move(captured));
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
    return enqueue(all, stream, [work = executable->work] { return run_all(work); });
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
    const Stream* stream = stream_of(all, stream_handle);
    if (stream == nullptr && stream_handle != nullptr) return no_stream();
    event->captured = stream != nullptr && stream->capturing;
    if (!event->captured) event->reached = std::chrono::steady_clock::now();
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuEventSynchronize(CUevent handle) {
  return called("cuEventSynchronize", Needs::context, [&](State& all) {
    const Event* event = find(all.events, handle);
    if (event == nullptr) return fail(CUDA_ERROR_INVALID_HANDLE, "no such event");
    return event->captured ? fail(CUDA_ERROR_CAPTURED_EVENT, "") : CUDA_SUCCESS;
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

}  // namespace graphc::cuda_mock
