// SPDX-License-Identifier: Apache-2.0
// A target against the evaluator: every variant, on several numbers of threads, run after run.
#pragma once

#include <optional>
#include <string>

#include "codegen/target.h"
#include "tools/commands/arguments.h"

namespace graphc::core::commands {

/// How a target is checked.
struct TargetCheck {
  /// An empty variant: every one of a target that has any. 0 threads: 1, and the
  /// cores there are, 2 at least.
  CompileOptions compile{.variant = {}};
  int64_t runs = 2;  ///< of one executable, each with other inputs
  /// Largest difference, relative to the largest element of a result; if not given 1e-4, or four
  /// roundings of a coarser precision.
  std::optional<double> tolerance;
  uint64_t seed = 1;  ///< of what is drawn
  ArgumentOptions arguments;
};

/// What a check found, the worse the later: of several the last counts.
enum class Verdict {
  agrees,
  undecided,  ///< ill-conditioned: rounding alone moves it so far that no difference tells anything
  differs,
};

/// The exit code of a verdict: 0, kUndecided, or that of ErrorKind::check.
inline constexpr int kUndecided = 6;
int exit_code_of(Verdict verdict);

struct Agreement {
  Verdict verdict = Verdict::agrees;
  std::string text;  ///< a line; where something does not agree, a line for each variant

  bool agrees() const { return verdict == Verdict::agrees; }
};

/// Compiles the graph in every way asked for and runs each executable `runs` times, with the states
/// that the run before left, beside the evaluator doing the same. Results and states must be the
/// evaluator's (compare.h), inputs and states that nothing assigns stay as they were, every element
/// of a result is written, and the bits are the same for every number of threads. What cannot be
/// told of one result hides no difference of another. Throws what
/// compile(), run() and evaluate() throw.
Agreement check_target(const GraphPtr& graph, const Target& on, const TargetCheck& how);

}  // namespace graphc::core::commands
