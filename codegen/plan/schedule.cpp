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
    bool by_columns = call.split == Split::columns;
    if (call.split == Split::any) {
      by_columns =
          program.kind == NestKind::tiles ? of_tiles(call, program) : call.rows < machine_.workers;
    }
    if (mutated(Mutant::sums_of_columns_shared_by_rows) && call.split == Split::columns)
      by_columns = false;
    return by_columns ? Share{Along::columns, call.unit, width} : Share{Along::rows, call.rows, 1};
  }

  /// Whether workers share out the columns of a nest with products.
  bool of_tiles(const NestCall& call, const NestProgram& program) const {
    if (fills_less_by_rows(call, program)) return false;
    const bool packs = !std::ranges::all_of(call.products, &CallProduct::in_panels);
    if (packs && !program.tile.matrix_tiles)
      return time_of(call, program, {Along::columns, call.unit, program.tile.width()}) <=
             time_of(call, program, {Along::rows, call.rows, 1});
    // Sharing by columns reads each panel once; sharing by rows walks long rows whole.
    const int64_t blocks = (call.unit + program.tile.width() - 1) / program.tile.width();
    return blocks >= 4 * machine_.workers || blocks * 6 > call.rows;
  }

  /// What the worker with the largest part of a nest takes, in multiply-adds of one element. It
  /// packs the columns that it has, reads the rows that it has, and packs them too where they lie
  /// across (codegen/walk/blocked_product.h): all of what is not shared out.
  double time_of(const NestCall& call, const NestProgram& program, const Share& share) const {
    constexpr double kPacked = 24, kRead = 8;  // of an element, Emerald Rapids
    double longest = 0;
    for (int worker = 0; worker < machine_.workers; ++worker) {
      const auto own = double(share_of(share, worker, machine_.workers).size());
      const double rows = share.along == Along::rows ? own : double(call.rows);
      const double columns = share.along == Along::columns ? own : double(call.unit);
      double time = 0;
      for (size_t p = 0; p < call.products.size(); ++p) {
        const CallProduct& product = call.products[p];
        const double k = double(product.panels.k), parts = program.products[p].parts;
        const bool across = product.a_row < product.a_k;
        time += k * rows * (columns * parts + (across ? kPacked : kRead));
        if (!product.in_panels) time += k * columns * parts * kPacked;
      }
      longest = std::max(longest, time);
    }
    return longest;
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
