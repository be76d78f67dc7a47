// SPDX-License-Identifier: Apache-2.0
// The phases in which a plan uses its buffers: the basis of lifetimes and of their verification.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "codegen/step/plan.h"

namespace graphc::core {

/// Visits the phases of a plan and reports the buffers they use. A buffer that a step of a loop
/// does not create anew is used by the loop as a whole. Each address is visited once, however
/// deeply its loops are nested.
class BufferPhases {
 public:
  /// Callbacks: a buffer used in a phase; a buffer used by a loop of phases first to last.
  std::function<void(int buffer, int phase)> in_phase;
  std::function<void(int buffer, const LoopCall& loop, int first, int last)> in_loop;

  /// Returns the number of phases.
  int run(const Plan& plan);

 private:
  struct Around {
    int id;
    bool matrices;
    std::set<int> scopes;   ///< of itself; inside a loop with matrices, of the loops in it as well
    std::set<int> seen;     ///< that the phases of these use
    std::set<int> buffers;  ///< live for the whole loop, but not for all of one around it
  };

  void visit(const Plan& plan, const Record& record);
  void note(int buffer, int scope);

  int phase_ = 0;
  std::vector<Around> around_;  // the loops around the current phase, outermost first
};

}  // namespace graphc::core
