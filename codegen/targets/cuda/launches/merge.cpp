// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/launches/merge.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <span>
#include <utility>

#include "codegen/step/order.h"
#include "codegen/targets/cuda/libraries/library_product.h"
#include "codegen/targets/cuda/text/merged_kernel.h"
#include "codegen/targets/cuda/text/text_shape.h"

namespace graphc::core::cuda {
namespace {

/// Number of launches considered together: the work grows with the square.
constexpr size_t kWindow = 512;
/// Limits for a launch: nests, and bodies in its text. NVRTC's time grows with the latter.
constexpr size_t kMostNests = 64, kMostBodies = 16;
/// Limit of a launch's shared memory. With more, fewer blocks would fit than with its threads
/// alone.
constexpr int64_t kMostSharedBytes = 24 << 10;
/// Blocks per multiprocessor: twice as many as its thread limit allows at a time.
constexpr int64_t kBlocksOfMultiprocessor = 16;

/// Launches of a window that become one.
struct Group {
  std::vector<size_t> members;  ///< ascending
  size_t parameter_bytes = 0;
  int64_t shared_bytes = 0;
  std::set<std::string> bodies;
};

/// Finds the groups of a window.
class Grouping {
 public:
  Grouping(const Plan& plan, std::span<const Launch> launches)
      : plan_(plan),
        launches_(launches),
        fixed_(launches.size()),
        earlier_(launches.size(), BitSet(launches.size())),
        later_(earlier_) {
    std::vector<std::vector<MemoryAccess>> accesses;
    for (const Launch& launch : launches) accesses.push_back(launch.accesses);
    before_ = dependencies(accesses);
    for (size_t i = 0; i < launches.size(); ++i) {
      for (const int each : before_[i]) {
        earlier_[i] |= earlier_[size_t(each)];
        earlier_[i].add(size_t(each));
      }
      earlier_[i].each([&](size_t each) { later_[each].add(i); });
      if (launches[i].nests.empty()) fixed_.add(i);
    }
  }

  /// The groups of the window, each launch in one, in an order that respects the dependencies.
  std::vector<Group> find() {
    for (size_t i = 0; i < launches_.size(); ++i) place(i);
    return in_order();
  }

 private:
  const NestProgram& program(const NestCall& call) const {
    return plan_.programs[size_t(call.program)];
  }

  void place(size_t i) {
    const Launch& launch = launches_[i];
    Group alone;
    alone.members = {i};
    if (fixed_.has(i)) {
      groups_.push_back(std::move(alone));
      return;
    }
    const NestCall& call = *launch.nests[0].call;
    alone.parameter_bytes = merged_parameter_bytes(launch.arguments.size());
    alone.shared_bytes = merged_shared_bytes(program(call), call);
    alone.bodies = {merging_key(call)};
    for (Group& group : groups_) {
      if (!fits(group, alone) || !may_join(group, i)) continue;
      return join(group, alone);
    }
    groups_.push_back(std::move(alone));
  }

  static bool fits(const Group& group, const Group& alone) {
    if (group.bodies.empty() || group.members.size() >= kMostNests) return false;
    if (group.parameter_bytes + alone.parameter_bytes > kMostParameterBytes) return false;
    const bool has_body = group.bodies.contains(*alone.bodies.begin());
    if (has_body) return true;
    return group.bodies.size() < kMostBodies &&
           group.shared_bytes + alone.shared_bytes <= kMostSharedBytes;
  }

  /// Whether neither has to wait for the other, and merging makes no separate launch wait for
  /// another one that it did not wait for before.
  bool may_join(const Group& group, size_t i) const {
    const size_t one = group.members[0];
    for (const size_t member : group.members) {
      if (earlier_[i].has(member) || later_[i].has(member)) return false;
    }
    return are_ordered(earlier_[i], later_[one]) && are_ordered(earlier_[one], later_[i]);
  }

  /// Whether each separate launch in `after` waits for all separate launches in `before`.
  bool are_ordered(const BitSet& before, const BitSet& after) const {
    return after.all_of(fixed_,
                        [&](size_t each) { return before.is_within(earlier_[each], fixed_); });
  }

  void join(Group& group, const Group& alone) {
    const size_t one = group.members[0], i = alone.members[0];
    BitSet earlier = earlier_[one], later = later_[one];
    earlier |= earlier_[i];
    later |= later_[i];
    group.members.push_back(i);
    group.parameter_bytes += alone.parameter_bytes;
    if (group.bodies.insert(*alone.bodies.begin()).second) group.shared_bytes += alone.shared_bytes;
    BitSet members(launches_.size());
    for (const size_t member : group.members) {
      members.add(member);
      earlier_[member] = earlier;
      later_[member] = later;
    }
    BitSet from = earlier, to = later;
    from |= members;
    to |= members;
    earlier.each([&](size_t each) { later_[each] |= to; });
    later.each([&](size_t each) { earlier_[each] |= from; });
  }

  /// The groups in dependency order; among those that are ready, the one with the earliest launch
  /// first.
  std::vector<Group> in_order() {
    std::vector<size_t> group_of(launches_.size());
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (const size_t member : groups_[g].members) group_of[member] = g;
    }
    std::vector<std::set<size_t>> after(groups_.size()), waits_for(groups_.size());
    for (size_t i = 0; i < launches_.size(); ++i) {
      for (const int each : before_[i]) {
        after[group_of[size_t(each)]].insert(group_of[i]);
        waits_for[group_of[i]].insert(group_of[size_t(each)]);
      }
    }
    std::priority_queue<std::pair<size_t, size_t>, std::vector<std::pair<size_t, size_t>>,
                        std::greater<>>
        ready;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (waits_for[g].empty()) ready.emplace(groups_[g].members[0], g);
    }
    std::vector<Group> ordered;
    while (!ready.empty()) {
      const size_t now = ready.top().second;
      ready.pop();
      for (const size_t each : after[now]) {
        waits_for[each].erase(now);
        if (waits_for[each].empty()) ready.emplace(groups_[each].members[0], each);
      }
      ordered.push_back(std::move(groups_[now]));
    }
    GRAPHC_CHECK(ordered.size() == groups_.size(), "merged launches wait for each other: {} of {}",
                 ordered.size(), groups_.size());
    return ordered;
  }

  const Plan& plan_;
  const std::span<const Launch> launches_;
  std::vector<std::vector<int>> before_;
  BitSet fixed_;  ///< launches that remain separate
  std::vector<BitSet> earlier_, later_;
  std::vector<Group> groups_;
};

/// Creates launches from groups.
class MergedStep {
 public:
  MergedStep(const Plan& plan, const Gpu& gpu, Launches& launches)
      : plan_(plan), most_blocks_(gpu.multiprocessors * kBlocksOfMultiprocessor), all_(launches) {
    for (size_t i = 0; i < all_.kernels.size(); ++i) kernels_.emplace(shape_of(all_.kernels[i]), i);
  }

  void run() {
    std::vector<Launch> step;
    for (size_t begin = 0; begin < all_.step.size(); begin += kWindow) {
      const size_t count = std::min(kWindow, all_.step.size() - begin);
      const std::span<Launch> window(all_.step.data() + begin, count);
      for (const Group& group : Grouping(plan_, window).find())
        step.push_back(group.members.size() == 1 ? std::move(window[group.members[0]])
                                                 : merged(window, group));
    }
    all_.step = std::move(step);
    drop_unused();
  }

 private:
  Launch merged(std::span<Launch> window, const Group& group) {
    std::vector<MergedNest> nests;
    std::vector<const NestCall*> calls;
    Launch launch;
    for (const size_t member : group.members) {
      Launch& one = window[member];
      const LaunchedNest& nest = one.nests[0];
      nests.push_back({nest.call, one.grid, std::move(one.arguments)});
      calls.push_back(nest.call);
      launch.nests.push_back(nest);
      launch.accesses.insert(launch.accesses.end(), one.accesses.begin(), one.accesses.end());
    }
    launch.record = launch.nests[0].record;
    // One name, and so one text, for the same nests in every step of a loop.
    std::string& name = names_of_[calls];
    if (name.empty())
      name = names_.make(fmt::format("{}_and_{}_more", calls[0]->name, calls.size() - 1));
    MergedKernel merged = merged_kernel(plan_, nests, name, most_blocks_);
    launch.grid = merged.grid;
    launch.arguments = std::move(merged.arguments);
    const auto [found, is_new] = kernels_.emplace(shape_of(merged.kernel), all_.kernels.size());
    if (is_new) all_.kernels.push_back(std::move(merged.kernel));
    launch.kernel = int(found->second);
    return launch;
  }

  /// Removes kernels that no launch uses any more.
  void drop_unused() {
    std::vector<int> now(all_.kernels.size(), -1);
    std::vector<KernelText> kept;
    const auto keep = [&](Launch& launch) {
      if (launch.kernel < 0) return;  // a call of a library
      int& kernel = now[size_t(launch.kernel)];
      if (kernel < 0) {
        kernel = int(kept.size());
        kept.push_back(std::move(all_.kernels[size_t(launch.kernel)]));
      }
      launch.kernel = kernel;
    };
    const auto keep_all = [&](std::vector<Launch>& list) {
      for (Launch& launch : list) {
        keep(launch);
        for (Launch& other : launch.others) keep(other);
        if (launch.rest != nullptr) keep(*launch.rest);
        if (launch.by_library != nullptr && launch.by_library->rest) keep(*launch.by_library->rest);
      }
    };
    for (std::vector<Launch>& form : all_.forms) keep_all(form);
    keep_all(all_.step);
    all_.kernels = std::move(kept);
  }

  const Plan& plan_;
  const int64_t most_blocks_;
  Launches& all_;
  Names names_;
  std::map<std::vector<const NestCall*>, std::string> names_of_;
  std::map<std::string, size_t> kernels_;  ///< by shape
};

}  // namespace

void merge_launches(const Plan& plan, const Gpu& gpu, Launches& launches) {
  MergedStep(plan, gpu, launches).run();
}

std::string nests_text(const Launch& launch) {
  std::vector<std::string_view> names;
  for (const LaunchedNest& nest : launch.nests) names.push_back(nest.call->name);
  return fmt::format("{} nests in one launch: {}", names.size(), fmt::join(names, ", "));
}

}  // namespace graphc::core::cuda
