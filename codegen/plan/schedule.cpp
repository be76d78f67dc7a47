// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan/schedule.h"

#include <algorithm>

#include "codegen/machine.h"
#include "codegen/step/plan.h"
#include "ir/cases.h"
#include "ir/mutant.h"

namespace graphc::core {
namespace {

Share of_panels(const PanelCall& call) { return {Along::panels, call.blocks(), 1}; }

class Scheduler {
 public:
  Scheduler(Plan& plan, const Machine& machine) : plan_(plan), machine_(machine) {}

  void run(std::vector<Record>& records) {
    for (Record& record : records) {
      record.share = std::visit(Cases{[&](const NestCall& call) { return of_nest(call); },
                                      [](const PanelCall& call) { return of_panels(call); },
                                      [](const TableCall& call) { return of_table(call); },
                                      [](const ExternCall&) { return Share{}; },
                                      [&](LoopCall& loop) { return of_loop(loop); },
                                      [&](BlockCall& block) {
                                        around(block.body);
                                        return Share{Along::rows, block.rows, 1};
                                      }},
                                record.call);
    }
  }

 private:
  Share of_nest(const NestCall& call) const {
    if (shares_outer(call)) return {Along::outer, call.outer[0], 1};
    const NestProgram& program = plan_.programs[size_t(call.program)];
    const int64_t width = program.tile.width();
    const int64_t blocks = (call.unit + width - 1) / width;
    bool by_columns = call.split == Split::columns;
    if (call.split == Split::any) {
      // Sharing by columns builds each panel once; sharing by rows walks long rows whole.
      by_columns = program.kind == NestKind::tiles
                       ? blocks >= 4 * machine_.workers || blocks * 6 > call.rows
                       : call.rows < machine_.workers;
      by_columns &= !fills_less_by_rows(call, program);
    }
    if (mutated(Mutant::sums_of_columns_shared_by_rows) && call.split == Split::columns)
      by_columns = false;
    return by_columns ? Share{Along::columns, call.unit, width} : Share{Along::rows, call.rows, 1};
  }

  /// Whether workers share out the matrices of a nest: where their numbers are about equal. Of a
  /// product that reads one right operand for all of them, rows or columns are shared out.
  bool shares_outer(const NestCall& call) const {
    const auto moves = [](const CallProduct& product) { return product.right_outer[0] != 0; };
    if (call.outer.empty() || !std::ranges::all_of(call.products, moves)) return false;
    constexpr int64_t kMany = 8;
    return call.outer[0] % machine_.workers == 0 || call.outer[0] >= kMany * machine_.workers;
  }

  /// Every worker packs into matrix tiles all of the operand that is not shared out, unless that is
  /// already in panels. Rows are shared out where there are more rows than columns and many tiles
  /// of rows.
  bool fills_less_by_rows(const NestCall& call, const NestProgram& program) const {
    if (program.kind != NestKind::tiles || !program.tile.matrix_tiles) return false;
    constexpr int64_t kTiles = 16;  // one tile less is 6 % less work for a worker
    if (call.rows < kTiles * machine_.workers * machine_.matrix_tile.rows) return false;
    const auto fills = [](const CallProduct& product) { return !product.in_panels; };
    return call.rows > (std::ranges::any_of(call.products, fills) ? call.unit : 0);
  }

  static Share of_table(const TableCall& call) {
    const bool by_index = call.op == TableOp::gather || call.op == TableOp::merge_rows ||
                          call.op == TableOp::check_labels;
    return by_index ? Share{Along::indices, call.count, 1}
                    : Share{Along::table, call.table_rows, 1};
  }

  Share of_loop(LoopCall& loop) {
    if (!loop.private_rows) {
      run(loop.body);
      return {};
    }
    around(loop.body);
    return {Along::rows, loop.rows, 1};
  }

  /// Records in a loop or block work on the rows that the worker has of that loop or block.
  static void around(std::vector<Record>& body) {
    for (Record& record : body) record.share = {Along::around, 0, 1};
  }

  Plan& plan_;
  const Machine& machine_;
};

}  // namespace

void schedule(Plan& plan, const Machine& machine) {
  plan.workers = machine.workers;
  // Programs of copies that memory planning added have no tile yet.
  for (NestProgram& program : plan.programs) {
    if (program.tile.lanes == 0) program.tile = machine.tile(program);
  }
  Scheduler scheduler(plan, machine);
  for (PlanForm& form : plan.forms) scheduler.run(form.make);
  scheduler.run(plan.records);
}

}  // namespace graphc::core
