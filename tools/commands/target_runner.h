// SPDX-License-Identifier: Apache-2.0
// An executable with its states and results, or one for each of several ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "tools/commands/wanted_runs.h"

namespace graphc::core::commands {

/// Nothing else writes the states, so derived forms are kept from run to run, as in a session. With
/// several ranks in the options, each has an executable and a thread of its own.
class TargetRunner {
 public:
  /// Throws what compile() throws.
  TargetRunner(const GraphPtr& graph, const Target& on, const CompileOptions& options,
               const WantedRuns& wanted);
  ~TargetRunner();

  const Signature& signature() const;
  /// Those of the first rank.
  const std::vector<Tensor>& outputs() const;
  const std::vector<StoredState*>& states() const;

  /// Runs with these inputs. Returns a sentence if the inputs were changed, or if a rank has other
  /// bits than the first; otherwise empty. Throws what Executable::run() throws on the first rank
  /// that throws.
  std::string run(const std::vector<Literal>& arguments);

  /// Every bit of the results and states.
  std::vector<Literal> bits() const { return bits_of(0); }

 private:
  struct One;
  std::vector<Literal> bits_of(size_t rank) const;
  /// Does the work of each rank, on a thread of its own where there are several.
  void on_every_rank(const std::function<void(size_t rank)>& work) const;

  std::vector<std::shared_ptr<Ranks>> engines_;
  std::vector<std::unique_ptr<One>> ranks_;
};

}  // namespace graphc::core::commands
