// SPDX-License-Identifier: Apache-2.0
// What the mock driver has beside the driver's functions, for tests: its counters and its faults.
//
// A test finds these by dlsym() in the library that the loader has opened.
#pragma once

#include <cstddef>

namespace graphc::cuda_mock {

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

}  // namespace graphc::cuda_mock
