// SPDX-License-Identifier: Apache-2.0
// Which rows and columns of each nest a block owns in the kernel of a placed loop, as text.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "codegen/cuda/loop_placement.h"
#include "codegen/cuda/text.h"

namespace graphc::cuda {

/// What of a nest a block does is known before the steps, and is the same for nests that are shared
/// out alike: registers for each nest of a long body would not be enough.
class OwnedRanges {
 public:
  /// Gives the kernel a parameter of that name.
  using AddNumber = std::function<void(const std::string& name, int64_t number)>;

  /// Writes the ranges of all nests into `before`, which comes before the steps.
  OwnedRanges(const LoopNests& nests, const LoopPlacement& placement, AddNumber add_number,
              TextWriter& before);

  /// Brings what of the nest the block does into scope.
  void bring(TextWriter& text, size_t nest) const;

 private:
  void write(const NestCall& call, const NestShare& share, int range);
  void write_bounds(std::string_view what, int range, const std::string& begin,
                    const std::string& count, const std::string& limit);

  const LoopPlacement& placement_;
  const AddNumber add_number_;
  TextWriter& before_;
  /// Which are shared out alike, by number, and the number of each nest.
  std::map<std::tuple<int64_t, int64_t, Owner, int64_t>, int> ranges_;
  std::vector<int> range_of_;
};

}  // namespace graphc::cuda
