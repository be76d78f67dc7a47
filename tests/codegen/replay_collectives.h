// SPDX-License-Identifier: Apache-2.0
// Collectives of a replayed plan: what runs beside them must leave alone what they read and write.
#pragma once

#include <map>
#include <string>

#include "codegen/step/collectives.h"
#include "tests/codegen/replay_memory.h"

namespace graphc::core::testing {

class ReplayedCollectives {
 public:
  /// The plan as lowered: every value has a buffer of its own.
  explicit ReplayedCollectives(const Plan& lowered) : lowered_(lowered) {}

  /// Fails if the record must not run now: it touches what an operation under way does.
  void check(ReplayMemory& memory, const Record& record) const;

  /// A call or a wait, on the first worker. `place` gives the place of operand i.
  template <typename PlaceOf>
  void run(ReplayMemory& memory, const ExternCall& call, const PlaceOf& place) {
    const bool wait = is_wait(call);
    const size_t reads = reads_of(call);
    // An operation may read until the wait, and write from the call on.
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const int64_t bytes = call.operands[i].bytes;
      if (i < reads || wait) memory.read(place(i), bytes);
      if (i >= reads) memory.write(place(i), bytes);
    }
    if (wait) {
      if (open_.erase(call.parameter("call")) == 0) memory.fail("a wait for nothing");
    } else {
      open_[call.parameter("call")] = &call;
    }
  }

  /// Fails if nobody has waited for an operation.
  void check_end(ReplayMemory& memory) const;

 private:
  const Plan& lowered_;
  std::map<int64_t, const ExternCall*> open_;
};

}  // namespace graphc::core::testing
