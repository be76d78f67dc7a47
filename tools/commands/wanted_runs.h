// SPDX-License-Identifier: Apache-2.0
// The evaluator's results for several runs of a graph, each continuing with the states of the
// previous one.
#pragma once

#include "ir/evaluate.h"
#include "tools/commands/arguments.h"

namespace graphc::core::commands {

/// The state after a run: the results, and every state, assigned or not.
struct AfterRun {
  std::vector<Literal> results;
  std::map<std::string, Literal> states;
};

class WantedRuns {
 public:
  /// Draws arguments for `runs` runs and evaluates them. `graph` has no `grad` and must live as
  /// long as this. `rounding` is the target's relative rounding error. Throws ErrorKind::input for
  /// a graph that the evaluator rejects.
  WantedRuns(const Graph& graph, Drawing drawing, int64_t runs, uint64_t seed, Precision precision,
             double rounding);

  double rounding() const { return rounding_; }
  int64_t runs() const { return int64_t(inputs_.size()); }
  const std::vector<Literal>& inputs(int64_t run) const { return inputs_[size_t(run)]; }
  const std::map<std::string, Literal>& first_states() const { return states_; }
  const AfterRun& wanted(int64_t run) const { return wanted_[size_t(run)]; }
  /// The same in f64, from the same arguments and from arguments perturbed by one rounding: their
  /// spread shows how many digits of a result are significant. Also with denormals flushed, as a
  /// target may do. Evaluated on first use.
  const std::vector<AfterRun>& forms(int64_t run);
  /// An upper bound on the number of terms of every sum in the graph.
  double terms() const { return terms_; }

 private:
  using Inputs = std::vector<std::vector<Literal>>;

  void draw_runs(int64_t runs, uint64_t seed, const Drawing& drawing);
  std::vector<AfterRun> evaluate_runs(const Inputs& inputs, std::map<std::string, Literal> states,
                                      Precision precision) const;

  const Graph& graph_;
  Precision precision_;
  double rounding_, terms_;
  Inputs inputs_;
  std::map<std::string, Literal> states_;
  std::vector<AfterRun> wanted_;
  std::vector<std::vector<AfterRun>> forms_;  ///< by run
};

}  // namespace graphc::core::commands
