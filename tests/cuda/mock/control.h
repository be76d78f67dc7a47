// SPDX-License-Identifier: Apache-2.0
// What the mock driver has beside the driver's functions, for tests: its counters and its faults.
//
// A test finds these by dlsym() in the library that the loader has opened.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphc::core::cuda_mock {

/// "graphc_mock_calls": how often a function was called, by its symbol ("cuMemAlloc_v2"); the calls
/// that were made to fail are among them.
using Calls = size_t (*)(const char* symbol);
/// "graphc_mock_live": how many objects there are that were made and not destroyed: allocations of
/// either memory, streams, events, modules, graphs of both kinds, contexts retained.
using Live = size_t (*)();
/// "graphc_mock_live_text": the same in words, "2 allocations, 1 stream"; "" for none. Valid until
/// the next call.
using LiveText = const char* (*)();
/// "graphc_mock_fail": from now on the call number `call` (from 1; 0 is every one) of a function
/// returns `error`. A null symbol ends all of that, and sets the counts to 0. What destroys
/// something, or ends a capture, does so before it fails, as a driver does that speaks of earlier
/// work.
using Fail = void (*)(const char* symbol, int error, size_t call);
/// "graphc_mock_exchange": from now on a module whose text ends in `text` is loaded as if that were
/// `other`, and a launch of more than `most_instructions` of warps counts as endless. A null text
/// ends that.
using Exchange = void (*)(const char* text, const char* other, uint64_t most_instructions);
/// "graphc_mock_divide": the next allocation of `bytes` bytes, of those that this was not said of
/// yet, is `count` allocations, which begin at these offsets and have these sizes; what lies
/// between them is nobody's, and copies of the host pass over it. Counted and freed as one. No
/// count ends that.
using Divide = void (*)(size_t bytes, const size_t* offsets, const size_t* sizes, size_t count);
/// "graphc_mock_forget": of the waits of captured streams for events from now on, number `wait`
/// (from 1; 0: none) orders nothing. Returns how many there were since it was called last.
using Forget = size_t (*)(size_t wait);

}  // namespace graphc::core::cuda_mock
