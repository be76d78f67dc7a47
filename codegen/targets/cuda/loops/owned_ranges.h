// SPDX-License-Identifier: Apache-2.0
// The rows and columns of each nest that a block owns in the kernel of a placed loop, as text.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "codegen/targets/cuda/loops/loop_placement.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda {

/// A block's ranges of a nest are computed before the steps, once for all nests that are divided in
/// the same way. Each set takes eight registers, so more than a few are kept in shared memory: nine
/// sets in registers caused 150 bytes of spills.
class OwnedRanges {
 public:
  /// Adds a parameter with that name and value to the kernel.
  using AddNumber = std::function<void(const std::string& name, int64_t number)>;

  /// Writes the computation of all nests' ranges into `before`, which precedes the steps.
  OwnedRanges(const LoopNests& nests, const LoopPlacement& placement, AddNumber add_number,
              TextWriter& before);

  /// Brings the block's ranges of the nest into scope.
  void bring(TextWriter& text, size_t nest) const;
  /// The same without the rows.
  void bring_columns(TextWriter& text, size_t nest) const;

  /// Static shared memory that the ranges take.
  static int64_t shared_bytes(const LoopNests& nests, const LoopPlacement& placement);

 private:
  /// The values that determine a block's rows and columns of a nest.
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
  std::map<Key, int> ranges_;  ///< numbers of the distinct ranges
  std::vector<int> range_of_;  ///< of each nest
  /// Whether what depends on a nest's range is computed in each step (renewed()): of all nests it
  /// would take more registers than there are. Not in counted loops, where peers wait for a step.
  bool is_renewed_;
};

}  // namespace graphc::core::cuda
