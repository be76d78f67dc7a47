// SPDX-License-Identifier: Apache-2.0
// Which rows and columns of each nest a block owns in the kernel of a placed loop, as text.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "codegen/targets/cuda/loops/loop_placement.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda {

/// What of a nest a block does is known before the steps, and is the same for nests that are shared
/// out alike. Each of these takes eight registers, so that more than a few lie in shared memory:
/// nine, in registers, were 150 bytes of spills.
class OwnedRanges {
 public:
  /// Gives the kernel a parameter of that name.
  using AddNumber = std::function<void(const std::string& name, int64_t number)>;

  /// Writes the ranges of all nests into `before`, which comes before the steps.
  OwnedRanges(const LoopNests& nests, const LoopPlacement& placement, AddNumber add_number,
              TextWriter& before);

  /// Brings what of the nest the block does into scope.
  void bring(TextWriter& text, size_t nest) const;
  /// The same, but for the rows.
  void bring_columns(TextWriter& text, size_t nest) const;

  /// Static shared memory that these take.
  static int64_t shared_bytes(const LoopNests& nests, const LoopPlacement& placement);

 private:
  /// What decides which rows and columns of a nest a block owns.
  using Key = std::tuple<int64_t, int64_t, Owner, int64_t>;

  static Key key_of(const LoopNests& nests, const LoopPlacement& placement, size_t nest);
  void write_shared();
  void bring(TextWriter& text, int range, std::string_view what) const;
  void write(const NestCall& call, const NestShare& share, int range);
  void write_bounds(std::string_view what, int range, const std::string& begin,
                    const std::string& count, const std::string& limit);

  const LoopPlacement& placement_;
  const AddNumber add_number_;
  TextWriter& before_;
  std::map<Key, int> ranges_;  ///< which are shared out alike, by number
  std::vector<int> range_of_;  ///< each nest
};

}  // namespace graphc::core::cuda
