// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan/streaming_stores.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "codegen/step/access.h"
#include "codegen/step/visit.h"
#include "ir/cases.h"

namespace graphc::core {
namespace {

class Marker {
 public:
  Marker(Plan& plan, int64_t least_bytes) : plan_(plan), least_bytes_(least_bytes) {
    for (size_t i = 0; i < plan.programs.size(); ++i)
      index_.emplace(plan.programs[i].text(), int(i));
  }

  void run() {
    for (Record& record : plan_.records) {
      read_.clear();
      visit_accesses(plan_, record, [&](const Access& access) {
        if (access.writes()) return;
        visit_reads(*access.address, [&](const Address& at) { read_.insert(at.buffer); });
      });
      const bool in_loop = std::holds_alternative<LoopCall>(record.call);
      each_nest(record, [&](NestCall& call) { mark(call, in_loop); });
    }
    drop_unused();
  }

 private:
  static void each_nest(Record& record, const std::function<void(NestCall&)>& visit) {
    const auto body = [&](std::vector<Record>& records) {
      for (Record& inner : records) each_nest(inner, visit);
    };
    std::visit(Cases{[&](NestCall& call) { visit(call); }, [&](LoopCall& loop) { body(loop.body); },
                     [&](BlockCall& block) { body(block.body); }, [](auto&) {}},
               record.call);
  }

  /// Calls that differ in this mark alone get separate programs.
  void mark(NestCall& call, bool in_loop) {
    NestProgram program = plan_.programs[size_t(call.program)];
    if (program.kind == NestKind::column_wise || (program.kind == NestKind::tiles && !in_loop))
      return;
    bool any = false;
    for (size_t i = 0; i < program.operands.size(); ++i) {
      NestOperand& operand = program.operands[i];
      if (operand.kind != OperandKind::store || operand.column != ColumnStep::contiguous) continue;
      const int buffer = call.operands[i].address.buffer;
      operand.streaming = size_of(operand.dtype) >= size_of(DType::f32) &&
                          plan_.buffers[size_t(buffer)].bytes >= least_bytes_ &&
                          !read_.contains(buffer);
      any |= operand.streaming;
    }
    if (!any) return;
    const auto [found, added] = index_.emplace(program.text(), int(plan_.programs.size()));
    if (added) plan_.programs.push_back(std::move(program));
    call.program = found->second;
  }

  /// Removes programs that no call uses any longer, so that they are not compiled.
  void drop_unused() {
    std::vector<int> now(plan_.programs.size(), -1);
    const auto each = [&](const std::function<void(NestCall&)>& visit) {
      for (Record& record : plan_.records) each_nest(record, visit);
      for (PlanForm& form : plan_.forms) {
        for (Record& record : form.make) each_nest(record, visit);
      }
    };
    each([&](NestCall& call) { now[size_t(call.program)] = 0; });
    std::vector<NestProgram> programs;
    for (size_t i = 0; i < now.size(); ++i) {
      if (now[i] < 0) continue;
      now[i] = int(programs.size());
      programs.push_back(std::move(plan_.programs[i]));
    }
    plan_.programs = std::move(programs);
    each([&](NestCall& call) { call.program = now[size_t(call.program)]; });
  }

  Plan& plan_;
  const int64_t least_bytes_;
  std::map<std::string, int> index_;  // of programs, by their text
  std::set<int> read_;                // buffers read by the current record of the plan
};

}  // namespace

void mark_streaming_stores(Plan& plan, const Machine& machine) {
  const int64_t least = machine.uncached_bytes;
  const bool any = least > 0 && std::ranges::any_of(plan.buffers, [&](const Buffer& buffer) {
                     return buffer.bytes >= least;
                   });
  if (any) Marker(plan, least).run();
}

}  // namespace graphc::core
