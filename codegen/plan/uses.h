// SPDX-License-Identifier: Apache-2.0
// Who uses a buffer, and when: what the rules of codegen/plan/sharing.h ask.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/step/access.h"
#include "codegen/step/plan.h"

namespace graphc::core {

/// One use of a buffer, seen from where the buffer lives (Buffer::scope): what happens in the steps
/// of a loop further inside happens, for all one knows, in each phase of that loop.
struct Use {
  int first = 0, last = 0;         ///< phases
  const Record* record = nullptr;  ///< of the phase; or the loop further inside
  int depth = 0;                   ///< how many loops are around the record
  AccessMode mode = AccessMode::read;

  bool before(const Use& other) const { return last < other.first; }
};

/// The uses of every buffer of a plan, each list in the order of the text. Valid while the plan's
/// records stay where they are.
class Uses {
 public:
  explicit Uses(const Plan& plan);

  const std::vector<Use>& of(int buffer) const { return uses_[size_t(buffer)]; }
  /// The uses of `from` join those of `into`: they have one place from now on.
  void merge(int from, int into);

 private:
  void find_loops(const std::vector<Record>& records);
  void visit(const std::vector<Record>& records);
  void add(const Address& address, AccessMode mode, const Record& record);

  const Plan& plan_;
  int phase_ = 0;
  std::unordered_map<const Record*, std::pair<int, int>> loops_;  ///< first and last phase
  std::vector<const Record*> around_;  ///< the loops around the present record, outermost first
  std::vector<std::vector<Use>> uses_;
};

}  // namespace graphc::core
