// SPDX-License-Identifier: Apache-2.0
// The uses of a buffer and their phases, as the rules of codegen/plan/sharing.h need them.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/step/access.h"
#include "codegen/step/plan.h"

namespace graphc::core {

/// One use of a buffer, as seen from the scope in which the buffer lives (Buffer::scope). A use in
/// the steps of a loop nested deeper counts, conservatively, as a use in every phase of that loop.
struct Use {
  int first = 0, last = 0;         ///< phases
  const Record* record = nullptr;  ///< of the phase, or the loop nested deeper
  int depth = 0;                   ///< number of loops around the record
  AccessMode mode = AccessMode::read;

  bool before(const Use& other) const { return last < other.first; }
};

/// The uses of every buffer of a plan, each list in program order. Valid while the plan's records
/// are not moved.
class Uses {
 public:
  explicit Uses(const Plan& plan);

  const std::vector<Use>& of(int buffer) const { return uses_[size_t(buffer)]; }
  /// Adds the uses of `from` to those of `into`: the two share one place from now on.
  void merge(int from, int into);

 private:
  void find_loops(const std::vector<Record>& records);
  void visit(const std::vector<Record>& records);
  void add(const Address& address, AccessMode mode, const Record& record);

  const Plan& plan_;
  int phase_ = 0;
  std::unordered_map<const Record*, std::pair<int, int>> loops_;  ///< first and last phase
  std::vector<const Record*> around_;  ///< the loops around the current record, outermost first
  std::vector<std::vector<Use>> uses_;
};

}  // namespace graphc::core
