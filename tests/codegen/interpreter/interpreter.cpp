// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/interpreter/interpreter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "codegen/machine.h"
#include "codegen/step/plan_walk.h"
#include "codegen/step/run_table.h"
#include "tests/codegen/interpreter/nest.h"

namespace graphc::core::testing {
namespace {

/// What plan/walk.h asks for.
class Interpreter {
 public:
  Interpreter(const Plan& plan, const Machine& machine, const std::vector<int>& workers,
              const std::vector<char*>& bases)
      : plan_(plan),
        machine_(machine),
        workers_(workers),
        bases_(bases),
        walk_(plan, workers, *this) {}

  void run() {
    for (const PlanForm& form : plan_.forms) {
      for (const int worker : workers_)
        panels(*form.panels(), share_of(form.make[0].share, worker, plan_.workers));
    }
    walk_.run();
  }

  /// All workers are here.
  void barrier() {}

  void nest(const NestCall& call, const NestPart& part) {
    const NestProgram& program = plan_.programs[size_t(call.program)];
    NestPlaces places;
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const OperandKind kind = program.operands[i].kind;
      const bool placed = kind != OperandKind::iota && kind != OperandKind::literal;
      places.operands.push_back(placed ? resolved(call.operands[i].address) : CheckedPlace{});
    }
    for (const CallProduct& product : call.products) {
      places.left.push_back(resolved(product.a));
      places.right.push_back(resolved(product.b));
    }
    interpret_nest(program, call, places, part, machine_.lanes);
  }

  void panels(const PanelCall& call, const Range& blocks) {
    const PanelForm& form = call.panels;
    for (int64_t each = blocks.begin; each < blocks.end; ++each) {
      const int64_t matrix = each / form.blocks(), block = each % form.blocks();
      const CheckedPlace from = resolved(call.from).moved(matrix * call.from_matrix);
      const CheckedPlace to = resolved(call.to).moved(matrix * form.bytes());
      const int64_t bytes = form.block_bytes();
      std::memset(to.moved(block * bytes).at(bytes), 0, size_t(bytes));
      const int64_t first = block * form.width, end = std::min(first + form.width, form.unit);
      for (int64_t c = first; c < end; ++c) {
        for (int64_t k = 0; k < form.k; ++k) {
          for (int64_t part = 0; part < form.parts; ++part)
            put_in_panels(call, from, to, {k, part, c});
        }
      }
    }
  }

  /// Every worker looks at the whole table.
  void table(const TableCall& call, const Range& own) {
    const int64_t rows = call.count * call.row_bytes;
    TablePlaces places;
    if (call.has_table()) places.table = resolved(call.table).at(call.table_rows * call.row_bytes);
    places.indices = resolved(call.indices).at(call.count * size_of(call.index_dtype));
    places.rows = resolved(call.rows).at(rows);
    if (call.distinct.buffer >= 0)
      places.distinct = resolved(call.distinct).at(call.count * size_of(call.distinct_dtype));
    run_table(call, places, own);
  }

 private:
  void put_in_panels(const PanelCall& call, const CheckedPlace& from, const CheckedPlace& to,
                     const std::array<int64_t, 3>& at) {
    const auto& [k, part, column] = at;
    const int64_t size = size_of(call.panels.dtype);
    const MatrixStrides& lies = call.from_strides;
    std::memcpy(to.moved(offset_in_panels(call.panels, k, part, column)).at(size),
                from.moved(k * lies.k + part * lies.part + column * lies.column).at(size),
                size_t(size));
  }

  CheckedPlace resolved(const Address& address) const {
    const BufferPlace place = resolve(address, walk_.position());
    return {bases_[size_t(place.buffer)], plan_.buffers[size_t(place.buffer)].bytes, place.offset};
  }

  const Plan& plan_;
  const Machine& machine_;
  const std::vector<int>& workers_;
  const std::vector<char*>& bases_;
  PlanWalk<Interpreter> walk_;
};

}  // namespace

void interpret(const Plan& plan, const Machine& machine, const std::vector<int>& workers,
               const std::vector<char*>& bases) {
  Interpreter(plan, machine, workers, bases).run();
}

}  // namespace graphc::core::testing
