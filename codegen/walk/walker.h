// SPDX-License-Identifier: Apache-2.0
// Walks a plan: every thread visits all records and does its share of each.
#pragma once

#include <vector>

#include "codegen/step/plan.h"
#include "codegen/walk/collectives.h"
#include "codegen/walk/nest_abi.h"
#include "codegen/walk/profile.h"
#include "codegen/walk/row_steps.h"
#include "runtime/matrix_tiles.h"
#include "runtime/thread_team.h"

namespace graphc::core::cpu {

class Walker {
 public:
  /// `plan` and `team` must outlive the walker. `nests` are those of the plan's programs, in order.
  /// `tiles` and `panel_group` (NestArguments) depend on the processor. The team has as many
  /// threads as the plan has workers. `ranks` communicate where the plan has collectives; throws
  /// ErrorKind::input if it has, and `ranks` is null or they are not as many as the plan's.
  Walker(const Plan& plan, std::vector<CompiledNest> nests, ThreadTeam& team,
         MatrixTiles tiles = MatrixTiles::none, int64_t panel_group = NestArguments{}.panel_group,
         const std::shared_ptr<Ranks>& ranks = nullptr);
  ~Walker();

  /// Packs the given forms of the plan. `bases` has the address of every buffer of the plan.
  void make_forms(const std::vector<char*>& bases, const std::vector<size_t>& forms);
  /// Runs the step.
  void run(const std::vector<char*>& bases);
  /// Starts measuring the phases of subsequent runs, or stops (null).
  void measure(PlanProfile* profile) { profile_ = profile; }

 private:
  class Thread;

  const Plan& plan_;
  const std::vector<CompiledNest> nests_;
  ThreadTeam& team_;
  MatrixTiles tiles_;  ///< none unless a nest uses them
  const int64_t panel_group_;
  std::unique_ptr<Collectives> collectives_;  ///< null where the plan has none
  std::vector<std::unique_ptr<Thread>> threads_;
  PlanProfile* profile_ = nullptr;
};

}  // namespace graphc::core::cpu
