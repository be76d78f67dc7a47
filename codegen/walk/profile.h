// SPDX-License-Identifier: Apache-2.0
// The time of each phase of a plan, measured by the threads that walk it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/step/plan.h"
#include "runtime/executable.h"

namespace graphc::core::cpu {

/// The user's line of every value of a graph, including its regions, by name.
using Lines = std::map<std::string, Where>;
Lines lines_of(const Graph& graph);

/// For each program of the plan, the kernel that calls it first: "gemm %y".
std::vector<std::string> callers_of(const Plan& plan);

/// Sums the time of each phase, from its beginning to that of the next, which includes all threads'
/// waiting; and logs what each worker did when. A worker writes only to its own log.
class PlanProfile {
 public:
  /// Keeps a log for each of `logged_workers` workers.
  explicit PlanProfile(int logged_workers) : logs_(size_t(logged_workers)) {}

  /// A worker begins a phase, in this step of the innermost loop around it (-1: there is none); has
  /// done its share of the phase; has passed the barrier after it.
  void begin(int worker, const Record& record, int64_t step);
  void done(int worker);
  void met(int worker);
  /// The communication thread has run a collective of the plan.
  void exchanged(const ExternCall& call, double begin, double end);
  /// Ends the last phase of a run.
  void end();

  /// The phases of the plan that ran, in plan order, as one run.
  RunProfile result(const Plan& plan, const Lines& lines) const;

 private:
  struct Entry {
    const Record* record = nullptr;
    int64_t step = -1;
    double begin = 0, done = 0, met = 0;
  };
  /// The log of one worker, on cache lines of its own.
  struct alignas(64) Log {
    std::vector<Entry> entries;
    bool open = false;  ///< whether the last entry still needs its end times
    int64_t dropped = 0;
  };
  struct Sum {
    int64_t calls = 0;
    double seconds = 0;
  };
  struct Exchange {
    const ExternCall* call = nullptr;
    double begin = 0, end = 0;
  };
  std::vector<Log> logs_;
  std::vector<Exchange> exchanges_;  ///< of the communication thread, logged as workers are
  int64_t dropped_exchanges_ = 0;
  std::map<const Record*, Sum> sums_;
  Sum* open_ = nullptr;
  double begun_ = 0;
};

}  // namespace graphc::core::cpu
