// SPDX-License-Identifier: Apache-2.0
// In which phases a plan uses its buffers: what lifetimes are made of, and verified by.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "codegen/step/plan.h"

namespace graphc::core {

/// Goes through the phases of a plan and tells which buffers they use. What a step of a loop finds
/// from before it is used by the loop as a whole. Each address is looked at once, however deep the
/// loops around it.
class BufferPhases {
 public:
  /// What is told: a buffer used in a phase; a buffer used by a loop of phases first to last.
  std::function<void(int buffer, int phase)> in_phase;
  std::function<void(int buffer, const LoopCall& loop, int first, int last)> in_loop;

  /// Returns the number of phases.
  int run(const Plan& plan);

 private:
  struct Around {
    int id;
    std::set<int> buffers;  ///< that live for the whole loop, but not for all of one around it
  };

  void visit(const Plan& plan, const Record& record);
  void note(int buffer, int scope);

  int phase_ = 0;
  std::vector<Around> around_;  // the loops around the present phase, outermost first
};

}  // namespace graphc::core
