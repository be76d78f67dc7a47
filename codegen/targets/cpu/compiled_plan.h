// SPDX-License-Identifier: Apache-2.0
// A planned graph as machine code: what the CPU target makes of a graph of kernels.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/step/plan.h"
#include "codegen/targets/cpu/cpu_features.h"
#include "codegen/targets/cpu/nest_code.h"
#include "codegen/walk/profile.h"
#include "runtime/arena.h"
#include "runtime/state_store.h"
#include "runtime/thread_team.h"

namespace graphc::core::cpu {

/// What making a program took; what is left of the time made threads, the arena and the walker.
struct CompiledPlanTimes {
  double plan_s = 0;
  NestCodeTimes nests;
};

/// How the code of a plan is made.
struct CodeOptions {
  Factors factors = Factors::as_stored;  ///< what those of products are rounded to
  FileCache files;                       ///< of the objects that other processes have compiled
  /// Shared with plans that never run at the same time; null: one for this plan alone.
  std::shared_ptr<Arena> arena = nullptr;
};

/// Owns plan and memory; machine code lives in a cache of the process (nest_code.h).
class CompiledPlan {
 public:
  /// `kernels` is a graph of kernels (passes/kernels/fuse.h). Throws ErrorKind::input for what the
  /// CPU target has no kernel for, ErrorKind::resource when there is no memory for the plan. `team`
  /// walks the plan, and `compilers` make its code.
  CompiledPlan(const Graph& kernels, const CpuFeatures& cpu, std::shared_ptr<ThreadTeam> team,
               ThreadTeam& compilers, const CodeOptions& options);
  CompiledPlan(const Graph& kernels, const CpuFeatures& cpu, std::shared_ptr<ThreadTeam> team)
      : CompiledPlan(kernels, cpu, team, *team, {}) {}
  ~CompiledPlan();

  /// Runs the step over the memory of inputs, states and outputs, in the graph's order. Makes the
  /// derived forms of states that are stale first.
  void run(const std::vector<void*>& inputs, std::span<StoredState* const> states,
           const std::vector<void*>& outputs);

  /// Makes the derived forms of states that are stale, and takes the arena's memory from the
  /// system.
  void prepare(std::span<StoredState* const> states);

  /// As Executable's.
  void begin_profile(Profiled what);
  RunProfile end_profile();

  const Plan& plan() const { return plan_; }
  const CompiledPlanTimes& times() const { return times_; }

 private:
  /// A derived form that the plan reads, and of which state it is: panels of one, all of them.
  struct HeldForm {
    const StoredState* state = nullptr;
    std::shared_ptr<DerivedForm> form;
  };

  void place_in_arena();
  void place_states(std::span<StoredState* const> states);
  void refresh_forms(std::span<StoredState* const> states);

  Plan plan_;
  CompiledPlanTimes times_;
  std::shared_ptr<ThreadTeam> team_;
  std::shared_ptr<Arena> arena_;
  const std::byte* placed_in_ = nullptr;  ///< where the arena was when `bases_` were set
  std::vector<char*> bases_;
  std::vector<HeldForm> forms_;  ///< of plan().forms
  Lines lines_;
  std::optional<PlanProfile> profile_;
  struct Code;
  std::unique_ptr<Code> code_;
};

/// The tile of a nest in words: "tiles of 6 rows x 16 columns x 4 parts".
std::string describe_tile(const NestProgram& program);

/// The text of a plan's nests at `stage`, each under its program as a comment: LLVM IR or assembly.
enum class CodeText { llvm, assembly };
std::string code_text(const Plan& plan, const CpuFeatures& cpu, CodeText stage);

}  // namespace graphc::core::cpu
