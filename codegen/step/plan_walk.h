// SPDX-License-Identifier: Apache-2.0
// A worker's way through a plan: every record in order, of each its share.
#pragma once

#include <utility>
#include <vector>

#include "codegen/step/plan.h"
#include "codegen/step/position.h"
#include "codegen/step/visit.h"
#include "ir/cases.h"

namespace graphc::core {

/// Goes through a plan for one worker, or for several, one after the other in each phase. `Work`
/// does the work:
///
///     void nest(const NestCall&, const NestPart&);
///     void panels(const PanelCall&, Range blocks);
///     void table(const TableCall&, Range indices_or_rows);
///     void barrier();  // a barrier of the workers who walk elsewhere
///     bool rows_apart(const LoopCall&, Range rows);  // all steps of rows; need not be there
///     void begin(const Record&);  // a phase that is no loop of phases; need not be there
///     void external(const ExternCall&, int worker);  // need not be there
template <typename Work>
class PlanWalk {
 public:
  /// `plan` and `work` outlive the walk.
  PlanWalk(const Plan& plan, int worker, Work& work)
      : PlanWalk(plan, std::vector<int>{worker}, work) {}
  /// For `workers`, in this order.
  PlanWalk(const Plan& plan, std::vector<int> workers, Work& work)
      : plan_(plan),
        workers_(std::move(workers)),
        work_(work),
        position_(size_t(plan.loop_depth)) {}

  void run() {
    depth_ = 0;
    own_rows_ = {};
    for (const Record& record : plan_.records) phase(record);
  }

  /// Where the walk is: for resolve().
  const Position& position() const { return position_; }
  /// How many loops are around the present record.
  int depth() const { return depth_; }

 private:
  void phase(const Record& record) {
    if (const LoopCall* loop = loop_of_phases(record); loop != nullptr && loop->rows_apart > 0) {
      rows_apart(*loop);
    } else if (loop != nullptr) {
      each_step(*loop, [&](const Record& inner) { phase(inner); });
    } else {
      if constexpr (requires { work_.begin(record); }) work_.begin(record);
      for (const int worker : workers_) {
        worker_ = worker;
        execute(record);
      }
    }
    if (record.barrier) work_.barrier();
  }

  Range own(const Record& record) const { return share_of(record.share, worker_, plan_.workers); }

  void execute(const Record& record) {
    std::visit(Cases{[&](const NestCall& call) { nest(record, call); },
                     [&](const PanelCall& call) { work_.panels(call, own(record)); },
                     [&](const TableCall& call) { work_.table(call, own(record)); },
                     [&](const ExternCall& call) { external(call); },
                     [&](const LoopCall& loop) { run_loop(record, loop); },
                     [&](const BlockCall& block) { run_block(record, block); }},
               record.call);
  }

  void external(const ExternCall& call) {
    if constexpr (requires { work_.external(call, worker_); }) {
      work_.external(call, worker_);
    } else {
      GRAPHC_CHECK(false, "%{}: a walk of a plan has no function {}", call.name, call.function);
    }
  }

  void nest(const Record& record, const NestCall& call) {
    const Along along = record.share.along;
    const NestPart part = part_of(call, along, along == Along::around ? own_rows_ : own(record));
    if (!part.is_empty(call)) work_.nest(call, part);
  }

  /// One row after another, each through all steps.
  void rows_apart(const LoopCall& loop) {
    for (const int worker : workers_) {
      worker_ = worker;
      const Range all = share_of({Along::rows, loop.rows_apart, 1}, worker, plan_.workers);
      if constexpr (requires { work_.rows_apart(loop, all); }) {
        if (work_.rows_apart(loop, all)) continue;
      }
      for (int64_t row = all.begin; row < all.end; ++row) steps_of_row(loop, {row, row + 1});
    }
  }

  void steps_of_row(const LoopCall& loop, const Range& row) {
    each_step(loop, [&](const Record& inner) {
      if (const LoopCall* inside = loop_of_phases(inner)) return steps_of_row(*inside, row);
      if constexpr (requires { work_.begin(inner); }) work_.begin(inner);
      const auto& call = std::get<NestCall>(inner.call);
      const NestPart part = part_of(call, inner.share.along, row);
      if (!part.is_empty(call)) work_.nest(call, part);
    });
  }

  /// All steps of a loop whose rows are the worker's own.
  void run_loop(const Record& record, const LoopCall& loop) {
    own_rows_ = own(record);
    if (own_rows_.empty()) return;
    each_step(loop, [&](const Record& inner) { execute(inner); });
  }

  template <typename Visit>
  void each_step(const LoopCall& loop, const Visit& visit) {
    const size_t depth = size_t(depth_++);
    for (int64_t i = 0; i < loop.steps; ++i) {
      position_[depth] = position_in(loop, i);
      const bool last = i + 1 == loop.steps;
      for (const Record& inner : loop.body) {
        if (!(last && inner.idle_at_last)) visit(inner);
      }
    }
    --depth_;
  }

  void run_block(const Record& record, const BlockCall& block) {
    const Range all = own(record);
    for (int64_t row = all.begin; row < all.end; row += block.block_rows) {
      own_rows_ = {row, std::min(row + block.block_rows, all.end)};
      for (const Record& inner : block.body) execute(inner);
    }
  }

  const Plan& plan_;
  const std::vector<int> workers_;
  Work& work_;
  Position position_;
  int worker_ = 0;
  int depth_ = 0;
  Range own_rows_;
};

}  // namespace graphc::core
