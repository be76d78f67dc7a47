// SPDX-License-Identifier: Apache-2.0
// Concurrency of the launches of a step: streams that fork and join, which a capture turns into
// branches of the step's graph.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "codegen/targets/cuda/launches/launches.h"
#include "runtime/cuda/stream.h"

namespace graphc::core::cuda {

/// The place of a launch in the streams.
struct BranchPlace {
  int stream = 0;
  std::vector<int> waits;   ///< launches of other streams that must precede it
  bool is_awaited = false;  ///< whether a launch of another stream, or the end, waits for it
};

/// The launches of a step, assigned to streams. Each follows the launches that it conflicts with
/// and no others, as far as there are enough streams. Launches with barriers between blocks are
/// ordered among themselves, because together they might not fit on the GPU. So are launches that
/// use the same memory outside the plan. A step with one branch is unchanged.
struct Branches {
  std::vector<BranchPlace> launches;
  std::vector<int> ends;  ///< launches of other streams that only the end waits for
  int streams = 1;
  int longest = 0;  ///< length of the longest chain of launches
};

/// `most_streams`: at least 1. Further branches do not run concurrently.
Branches branches_of(std::span<const Launch> step, int most_streams = 16);

/// "31 launches in 4 branches, 25 of them one after the other".
std::string branches_text(const Branches& branches);

/// The streams, and the events that they wait for, during the capture of a step.
class BranchStreams {
 public:
  /// `branches` and `first`, the captured stream, must outlive it.
  BranchStreams(const Branches& branches, const Stream& first);

  /// Calls `launch` for each launch with its stream, in order.
  void run(const std::function<void(size_t launch, const Stream& stream)>& launch) const;

 private:
  const Stream& stream(int number) const {
    return number == 0 ? first_ : others_[size_t(number) - 1];
  }

  const Branches& branches_;
  const Stream& first_;
  std::vector<Stream> others_;
  std::vector<Event> begin_;    ///< none or one
  std::vector<Event> reached_;  ///< recorded after launches that are awaited
  std::vector<int> event_of_;   ///< of each launch, index into `reached_`
};

}  // namespace graphc::core::cuda
