// SPDX-License-Identifier: Apache-2.0
// The union of a phase's accesses is exact, so that slices of one buffer, and a history that is
// read one step behind where it is written, count once.
#include "codegen/step/traffic.h"

#include <algorithm>
#include <utility>

#include "codegen/step/footprint.h"
#include "codegen/step/visit.h"

namespace graphc::core {
namespace {

constexpr size_t kMostRanges = size_t{1} << 22;

/// Bytes of buffers.
class Ranges {
 public:
  /// Adds `size` bytes at every place that the axes lead to.
  void add(BufferPlace place, int64_t size, std::vector<AccessAxis> axes) {
    for (AccessAxis& axis : axes) {
      if (axis.count <= 0) return;
      if (axis.stride >= 0) continue;
      place.offset += axis.stride * (axis.count - 1);
      axis.stride = -axis.stride;
    }
    std::erase_if(axes, [](const AccessAxis& axis) { return axis.count == 1 || axis.stride == 0; });
    std::ranges::sort(axes, {}, &AccessAxis::stride);
    // Places without gaps between them are one range.
    size_t joined = 0;
    for (; joined < axes.size() && axes[joined].stride <= size; ++joined)
      size += axes[joined].stride * (axes[joined].count - 1);
    each(place.buffer, place.offset, size, axes, joined);
  }

  /// How many there are in the union of all that was added.
  double bytes() {
    double sum = 0;
    for (auto& [buffer, ranges] : ranges_) {
      std::ranges::sort(ranges);
      int64_t end = ranges[0].first;
      for (const auto& [from, to] : ranges) {
        if (to > end) sum += double(to - std::max(from, end));
        end = std::max(end, to);
      }
    }
    return sum;
  }

 private:
  void each(int buffer, int64_t offset, int64_t size, const std::vector<AccessAxis>& axes,
            size_t at) {
    if (at == axes.size()) {
      if (count_++ < kMostRanges) ranges_[buffer].emplace_back(offset, offset + size);
      return;
    }
    for (int64_t i = 0; i < axes[at].count && count_ < kMostRanges; ++i)
      each(buffer, offset + i * axes[at].stride, size, axes, at + 1);
  }

  std::map<int, std::vector<std::pair<int64_t, int64_t>>> ranges_;  ///< begin and end, by buffer
  size_t count_ = 0;
};

/// What one call of a phase accesses, where the loops around it stand.
double bytes_of_call(const Plan& plan, const Record& phase, const Position& around) {
  Ranges ranges;
  for (const PlacedAccess& access : footprint_of(plan, phase, around, int(around.size()))) {
    if (access.selected >= 0) {
      ranges.add(access.place, access.selected, {});
    } else {
      ranges.add(access.place, access.bytes, access.axes);
    }
  }
  return ranges.bytes();
}

/// Of a phase in loops: its first call in the innermost one, where products may have no terms and
/// carries lie elsewhere, and as often as it is called again, another.
double bytes_of(const Plan& plan, const Record& phase, const std::vector<const LoopCall*>& around) {
  Position position;
  double others = 1;
  for (const LoopCall* loop : around) {
    position.push_back(position_in(*loop, std::min<int64_t>(loop->steps - 1, 1)));
    others *= double(loop->steps);
  }
  if (around.empty()) return bytes_of_call(plan, phase, position);
  const LoopCall& innermost = *around.back();
  if (others == 0) return 0;
  others /= double(innermost.steps);
  const int64_t calls = innermost.steps - (phase.idle_at_last ? 1 : 0);
  double bytes = 0;
  for (int64_t i = 0; i < std::min<int64_t>(calls, 2); ++i) {
    position.back() = position_in(innermost, i);
    bytes += bytes_of_call(plan, phase, position) * double(i == 0 ? 1 : calls - 1);
  }
  return others * bytes;
}

void add_phases(const Plan& plan, const std::vector<Record>& records,
                std::vector<const LoopCall*>& around, std::map<const Record*, double>& bytes) {
  for (const Record& record : records) {
    if (const LoopCall* loop = loop_of_phases(record)) {
      around.push_back(loop);
      add_phases(plan, loop->body, around, bytes);
      around.pop_back();
    } else {
      bytes[&record] = bytes_of(plan, record, around);
    }
  }
}

}  // namespace

std::map<const Record*, double> bytes_of_phases(const Plan& plan) {
  std::map<const Record*, double> bytes;
  std::vector<const LoopCall*> around;
  add_phases(plan, plan.records, around, bytes);
  return bytes;
}

}  // namespace graphc::core
