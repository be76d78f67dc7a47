// SPDX-License-Identifier: Apache-2.0
// Checks a target against the evaluator: all variants, several thread counts, several runs.
#pragma once

#include <optional>
#include <string>

#include "codegen/target.h"
#include "tools/commands/arguments.h"
#include "tools/commands/rank_arguments.h"

namespace graphc::core::commands {

/// Options of the check.
struct TargetCheck {
  /// An empty variant means every variant, if the target has any. 0 threads means 1 and the number
  /// of cores, at least 2.
  CompileOptions compile{.variant = {}};
  int64_t runs = 2;  ///< of one executable, each with other inputs
  /// The largest difference, relative to the largest element of a result; default: 1e-4, or four
  /// roundings of a coarser precision.
  std::optional<double> tolerance;
  uint64_t seed = 1;  ///< for drawing arguments
  ArgumentOptions arguments;
  RankArguments ranks;  ///< several: each is a thread, and all must have the same bits
};

/// The outcome of a check, from best to worst; the worst of several counts.
enum class Verdict {
  agrees,
  undecided,  ///< ill-conditioned: rounding alone explains any difference
  differs,
};

/// The exit code of a verdict: 0, kUndecided, or that of ErrorKind::check.
inline constexpr int kUndecided = 6;
int exit_code_of(Verdict verdict);

struct Agreement {
  Verdict verdict = Verdict::agrees;
  std::string text;  ///< one line; if something disagrees, one per variant

  bool agrees() const { return verdict == Verdict::agrees; }
};

/// Compiles the graph in every requested way and runs each executable `runs` times, continuing with
/// the states of the previous run, alongside the evaluator. Results and states must match the
/// evaluator's (compare.h); inputs and states that are not assigned must stay unchanged; every
/// element of a result must be written; and the bits must be the same for every number of threads.
/// An undecided result does not hide a difference in another one. Throws what compile(), run() and
/// evaluate() throw.
Agreement check_target(const GraphPtr& graph, const Target& on, const TargetCheck& how);

}  // namespace graphc::core::commands
