// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/launches/branches.h"

#include <algorithm>

#include "codegen/step/order.h"

namespace graphc::core::cuda {
namespace {

/// Above this number of launches there is one branch: the reachability sets grow with the square.
constexpr size_t kMostInBranches = 4096;

/// Assigns launches to streams, one after the other.
class Placing {
 public:
  Placing(std::span<const Launch> step, int most_streams)
      : most_streams_(size_t(most_streams)), longest_(step.size()) {
    std::vector<std::vector<MemoryAccess>> accesses;
    for (const Launch& launch : step) accesses.push_back(launch.accesses);
    before_ = dependencies(accesses);
    reached_ = transitive_reduction(before_);
    branches_.launches.resize(step.size());
  }

  Branches place() {
    for (int i = 0; i < int(before_.size()); ++i) place(i);
    for (size_t stream = 1; stream < last_.size(); ++stream) {
      BranchPlace& last = branches_.launches[size_t(last_[stream])];
      if (!last.is_awaited) branches_.ends.push_back(last_[stream]);
      last.is_awaited = true;
    }
    branches_.streams = std::max<int>(int(last_.size()), 1);
    return std::move(branches_);
  }

 private:
  void place(int i) {
    BranchPlace& place = branches_.launches[size_t(i)];
    place.stream = stream_for(i);
    if (size_t(place.stream) == last_.size()) last_.push_back(i);
    last_[size_t(place.stream)] = i;
    for (const int each : before_[size_t(i)]) {
      longest_[size_t(i)] = std::max(longest_[size_t(i)], longest_[size_t(each)]);
      BranchPlace& other = branches_.launches[size_t(each)];
      if (other.stream == place.stream) continue;
      place.waits.push_back(each);
      other.is_awaited = true;
    }
    branches_.longest = std::max(branches_.longest, ++longest_[size_t(i)]);
  }

  /// The stream of the latest launch that it waits for and that has no successor yet; else a stream
  /// whose last launch it waits for anyway; else a new one.
  int stream_for(int i) const {
    const auto is_last = [&](int each) {
      return last_[size_t(branches_.launches[size_t(each)].stream)] == each;
    };
    const std::vector<int>& before = before_[size_t(i)];
    const auto follows = std::find_if(before.rbegin(), before.rend(), is_last);
    if (follows != before.rend()) return branches_.launches[size_t(*follows)].stream;
    const auto reaches = std::ranges::find_if(
        last_, [&](int each) { return reached_[size_t(i)].has(size_t(each)); });
    if (reaches != last_.end()) return int(reaches - last_.begin());
    if (last_.size() < most_streams_) return int(last_.size());
    // The stream whose last launch is earliest is likely to finish first.
    return int(std::ranges::min_element(last_) - last_.begin());
  }

  const size_t most_streams_;
  std::vector<std::vector<int>> before_;
  std::vector<BitSet> reached_;
  std::vector<int> longest_;
  std::vector<int> last_;  ///< last launch of each stream
  Branches branches_;
};

}  // namespace

Branches branches_of(std::span<const Launch> step, int most_streams) {
  if (step.size() <= kMostInBranches) return Placing(step, most_streams).place();
  Branches one;
  one.launches.resize(step.size());
  one.longest = int(step.size());
  return one;
}

std::string branches_text(const Branches& branches) {
  return fmt::format("{} launches in {} branch{}, {} of them one after the other",
                     branches.launches.size(), branches.streams, branches.streams == 1 ? "" : "es",
                     branches.longest);
}

BranchStreams::BranchStreams(const Branches& branches, const Stream& first)
    : branches_(branches), first_(first) {
  const auto event = [&] { return Event(first.device(), Event::Timing::none); };
  for (int i = 1; i < branches.streams; ++i) others_.emplace_back(first.device());
  if (branches.streams > 1) begin_.push_back(event());
  for (const BranchPlace& place : branches.launches) {
    event_of_.push_back(place.is_awaited ? int(reached_.size()) : -1);
    if (place.is_awaited) reached_.push_back(event());
  }
}

void BranchStreams::run(
    const std::function<void(size_t launch, const Stream& stream)>& launch) const {
  const auto reached = [&](int i) -> const Event& {
    return reached_[size_t(event_of_[size_t(i)])];
  };
  if (!begin_.empty()) begin_[0].record(first_);
  std::vector<bool> has_begun(size_t(branches_.streams));
  has_begun[0] = true;
  for (size_t i = 0; i < branches_.launches.size(); ++i) {
    const BranchPlace& place = branches_.launches[i];
    const Stream& own = stream(place.stream);
    // A stream joins the capture with the first event that it waits for.
    if (!has_begun[size_t(place.stream)] && place.waits.empty()) own.wait(begin_[0]);
    has_begun[size_t(place.stream)] = true;
    for (const int each : place.waits) own.wait(reached(each));
    launch(i, own);
    if (place.is_awaited) reached(int(i)).record(own);
  }
  for (const int end : branches_.ends) first_.wait(reached(end));
}

}  // namespace graphc::core::cuda
