// SPDX-License-Identifier: Apache-2.0
// Which launches of a step run beside each other: streams that fork and join, of which a capture
// makes branches of the step's graph.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "codegen/targets/cuda/launches/launches.h"
#include "runtime/cuda/stream.h"

namespace graphc::core::cuda {

/// Where a launch stands.
struct BranchPlace {
  int stream = 0;
  std::vector<int> waits;   ///< launches of other streams that it comes after
  bool is_awaited = false;  ///< whether one of another stream waits for it, or the end does
};

/// The launches of a step in streams: each after what it conflicts with, and after nothing else as
/// far as there are streams enough. Launches whose blocks wait for each other are ordered among
/// themselves: together they might not fit the GPU. So are those that use the same memory beside
/// the plan's. A step of one branch is as it was without.
struct Branches {
  std::vector<BranchPlace> launches;
  std::vector<int> ends;  ///< launches of other streams than the first that nobody waits for
  int streams = 1;
  int longest = 0;  ///< launches of which each waits for the one before
};

/// `most_streams`: at least 1; more would not run beside each other.
Branches branches_of(std::span<const Launch> step, int most_streams = 16);

/// "31 launches in 4 branches, 25 of them one after the other".
std::string branches_text(const Branches& branches);

/// The streams and the points that they wait for, while a step is captured.
class BranchStreams {
 public:
  /// `branches` and `first`, the stream that is captured, outlive it.
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
  std::vector<Event> reached_;  ///< of the launches that are awaited
  std::vector<int> event_of_;   ///< of each launch, in `reached_`
};

}  // namespace graphc::core::cuda
