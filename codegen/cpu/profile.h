// SPDX-License-Identifier: Apache-2.0
// What each phase of a plan takes, measured by one of the threads that walk it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/plan/plan.h"
#include "runtime/executable.h"

namespace graphc::cpu {

/// The user's line of every value of a graph, regions included, by name.
using Lines = std::map<std::string, Where>;
Lines lines_of(const Graph& graph);

/// For each program of the plan the kernel that calls it first: "gemm %y".
std::vector<std::string> callers_of(const Plan& plan);

/// Times from the beginning of a phase to that of the next: all threads' waiting is in it.
class PlanProfile {
 public:
  void begin(const Record& record);
  /// Ends the last phase of a run.
  void end();

  /// The phases of the plan that ran, in its order.
  std::vector<KernelTime> times(const Plan& plan, const Lines& lines) const;

 private:
  struct Sum {
    int64_t calls = 0;
    double seconds = 0;
  };
  std::map<const Record*, Sum> sums_;
  Sum* open_ = nullptr;
  double begun_ = 0;
};

}  // namespace graphc::cpu
