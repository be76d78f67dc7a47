// SPDX-License-Identifier: Apache-2.0
// A graph of kernels, planned and compiled to machine code for the CPU target.
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
#include "runtime/ranks/ranks.h"
#include "runtime/state_store.h"
#include "runtime/thread_team.h"

namespace graphc::core::cpu {

/// Times of the construction of a CompiledPlan. The rest of it creates threads, the arena and the
/// walker.
struct CompiledPlanTimes {
  double plan_s = 0;
  NestCodeTimes nests;
};

/// How the code of a plan is generated.
struct CodeOptions {
  Factors factors = Factors::as_stored;  ///< what factors of products are rounded to
  FileCache files;                       ///< cache of objects compiled by other processes
  /// Shared by plans that never run at the same time; null: the plan has an arena of its own.
  std::shared_ptr<Arena> arena = nullptr;
  /// Whoever the collectives of the plan are with.
  std::shared_ptr<Ranks> ranks = nullptr;
};

/// Owns the plan and its memory. Machine code is kept in a cache of the process (nest_code.h).
class CompiledPlan {
 public:
  /// `kernels` is a graph of kernels (passes/kernels/fuse.h). Throws ErrorKind::input for a node
  /// that the CPU target has no kernel for, ErrorKind::resource when there is no memory for the
  /// plan. `team` walks the plan; `compilers` generate its code.
  CompiledPlan(const Graph& kernels, const CpuFeatures& cpu, std::shared_ptr<ThreadTeam> team,
               ThreadTeam& compilers, const CodeOptions& options);
  CompiledPlan(const Graph& kernels, const CpuFeatures& cpu, std::shared_ptr<ThreadTeam> team)
      : CompiledPlan(kernels, cpu, team, *team, {}) {}
  ~CompiledPlan();

  /// Runs the step on the memory of inputs, states and outputs, in the graph's order. First
  /// rebuilds stale derived forms of states.
  void run(const std::vector<void*>& inputs, std::span<StoredState* const> states,
           const std::vector<void*>& outputs);

  /// Rebuilds stale derived forms of states and obtains the arena's memory from the system.
  void prepare(std::span<StoredState* const> states);

  /// As those of Executable.
  void begin_profile(Profiled what);
  RunProfile end_profile();

  const Plan& plan() const { return plan_; }
  const CompiledPlanTimes& times() const { return times_; }

 private:
  /// A derived form that the plan reads, and its state: each form is the panels of one state.
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
  const std::byte* placed_in_ = nullptr;  ///< address of the arena when `bases_` were set
  std::vector<char*> bases_;
  std::vector<HeldForm> forms_;  ///< of plan().forms
  Lines lines_;
  std::optional<PlanProfile> profile_;
  struct Code;
  std::unique_ptr<Code> code_;
};

/// The tile of a nest as text: "tiles of 6 rows x 16 columns x 4 parts".
std::string describe_tile(const NestProgram& program);

/// The code of a plan's nests at `stage`, LLVM IR or assembly, each after its program as a comment.
enum class CodeText { llvm, assembly };
std::string code_text(const Plan& plan, const CpuFeatures& cpu, CodeText stage);

}  // namespace graphc::core::cpu
