// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/replay_plan.h"

#include <algorithm>
#include <optional>

#include "codegen/lower/lower.h"
#include "codegen/machine.h"
#include "codegen/plan/memory.h"
#include "codegen/plan/schedule.h"
#include "codegen/step/barriers.h"
#include "codegen/step/position.h"
#include "codegen/step/rows_apart.h"
#include "codegen/step/visit.h"
#include "ir/cases.h"
#include "tests/codegen/replay_calls.h"
#include "tests/codegen/replay_collectives.h"
#include "tests/codegen/replay_memory.h"

namespace graphc::core::testing {
namespace {

class Replay {
 public:
  Replay(const Plan& lowered, const Plan& planned, const Machine& machine)
      : lowered_(lowered),
        planned_(planned),
        machine_(machine),
        memory_(lowered, planned),
        collectives_(lowered),
        position_(size_t(planned.loop_depth)) {}

  std::string run() {
    make_forms();
    each_pair(lowered_.records, planned_.records,
              [&](const Record* a, const Record* b) { phase(a, b); });
    collectives_.check_end(memory_);
    memory_.expect_results();
    return memory_.fault();
  }

 private:
  // --- who does what when ---

  void make_forms() {
    for (worker_ = 0; worker_ < planned_.workers; ++worker_) {
      memory_.set_thread(worker_);
      for (size_t i = 0; i < planned_.forms.size(); ++i) {
        const PlanForm &a = lowered_.forms[i], &b = planned_.forms[i];
        memory_.set_call(b.panels()->name);
        panels(*a.panels(), *b.panels(), share_of(b.make[0].share, worker_, planned_.workers));
      }
    }
    memory_.next_phase();
  }

  /// Records with the same id, in their order; null for a copy that is in one of the plans alone.
  template <typename Body>
  void each_pair(const std::vector<Record>& a, const std::vector<Record>& b, const Body& body) {
    size_t i = 0;
    for (const Record& planned : b) {
      while (planned.id >= 0 && i < a.size() && a[i].id < planned.id) body(&a[i++], nullptr);
      if (planned.id < 0) {
        body(nullptr, &planned);
      } else if (i == a.size() || a[i].id != planned.id) {
        memory_.fail("a record that was never lowered");
      } else {
        body(&a[i++], &planned);
      }
    }
    while (i < a.size()) body(&a[i++], nullptr);
  }

  void phase(const Record* a, const Record* b) {
    const auto* loop = b == nullptr ? nullptr : std::get_if<LoopCall>(&b->call);
    if (loop != nullptr && !loop->private_rows) {
      const auto& before = std::get<LoopCall>(a->call);
      const auto step = [&](const Record* x, const Record* y) { phase(x, y); };
      loop->rows_apart > 0 ? rows_apart(before, *loop) : all_steps(before, *loop, step);
      if (b->barrier) memory_.next_phase();
      return;
    }
    if (a != nullptr) collectives_.check(memory_, *a);
    for (worker_ = 0; worker_ < planned_.workers; ++worker_) {
      memory_.set_thread(worker_);
      own_rows_ = {};
      call(a, b);
    }
    if (b != nullptr && b->barrier) memory_.next_phase();
  }

  template <typename Body>
  void all_steps(const LoopCall& before, const LoopCall& loop, const Body& body) {
    each_step(before, [&] {
      const bool last = position_[size_t(depth_ - 1)].iteration + 1 == loop.steps;
      each_pair(before.body, loop.body, [&](const Record* x, const Record* y) {
        if (!(last && y != nullptr && y->idle_at_last)) body(x, y);
      });
    });
  }

  /// Each worker its rows, one through all steps after another.
  void rows_apart(const LoopCall& before, const LoopCall& loop) {
    for (worker_ = 0; worker_ < planned_.workers; ++worker_) {
      memory_.set_thread(worker_);
      const Range own = share_of({Along::rows, loop.rows_apart, 1}, worker_, planned_.workers);
      for (int64_t row = own.begin; row < own.end; ++row) {
        row_ = Range{row, row + 1};
        steps_of_row(before, loop);
      }
    }
    row_.reset();
  }

  void steps_of_row(const LoopCall& before, const LoopCall& loop) {
    all_steps(before, loop, [&](const Record* x, const Record* y) {
      const LoopCall* inside = y == nullptr ? nullptr : loop_of_phases(*y);
      inside == nullptr ? call(x, y) : steps_of_row(std::get<LoopCall>(x->call), *inside);
    });
  }

  /// `loop` is as lowered: it says how `now` follows `next`.
  template <typename Body>
  void each_step(const LoopCall& loop, const Body& body) {
    const size_t depth = size_t(depth_++);
    for (int64_t i = 0; i < loop.steps; ++i) {
      position_[depth] = position_in(loop, i);
      for (const Carry& carry : loop.carries) begin_step(carry, i == 0);
      body();
    }
    --depth_;
  }

  void begin_step(const Carry& carry, bool first) {
    const int64_t bytes = carry.elements * size_of(carry.dtype);
    if (first) {
      const auto [buffer, offset] = resolve(carry.initial, position_);
      memory_.copy_lowered({buffer, -1, offset}, {carry.now}, bytes);
    } else {
      memory_.copy_lowered({carry.next}, {carry.now}, bytes);
    }
  }

  void call(const Record* a, const Record* b) {
    if (a == nullptr || b == nullptr) {
      const Record& copy = a == nullptr ? *b : *a;
      const auto* nest = std::get_if<NestCall>(&copy.call);
      if (nest == nullptr || !is_copy(program_of(*nest, b == nullptr)))
        return memory_.fail("a record that is not a copy is in one plan alone");
      memory_.set_call(nest->name);
      return nest_call(a == nullptr ? nullptr : nest, b == nullptr ? nullptr : nest, copy.share);
    }
    const Range own = share_of(b->share, worker_, planned_.workers);
    std::visit(Cases{[&](const NestCall& nest) {
                       memory_.set_call(nest.name);
                       nest_call(&std::get<NestCall>(a->call), &nest, b->share);
                     },
                     [&](const PanelCall& call) {
                       memory_.set_call(call.name);
                       panels(std::get<PanelCall>(a->call), call, own);
                     },
                     [&](const TableCall& table) {
                       memory_.set_call(table.name);
                       replay_table(memory_, table, places_of(std::get<TableCall>(a->call), table),
                                    own);
                     },
                     [&](const ExternCall& call) {
                       memory_.set_call(call.name);
                       if (worker_ == 0) external(std::get<ExternCall>(a->call), call);
                     },
                     [&](const BlockCall& block) {
                       for (int64_t row = own.begin; row < own.end; row += block.block_rows) {
                         own_rows_ = {row, std::min(row + block.block_rows, own.end)};
                         bodies(std::get<BlockCall>(a->call).body, block.body);
                       }
                     },
                     [&](const LoopCall& loop) {
                       const auto& before = std::get<LoopCall>(a->call);
                       own_rows_ = own;
                       if (own.empty()) return;
                       each_step(before, [&] { bodies(before.body, loop.body); });
                     }},
               b->call);
  }

  void bodies(const std::vector<Record>& a, const std::vector<Record>& b) {
    for (size_t i = 0; i < b.size(); ++i) call(&a[i], &b[i]);
  }

  const NestProgram& program_of(const NestCall& call, bool lowered) const {
    return (lowered ? lowered_ : planned_).programs[size_t(call.program)];
  }

  static bool is_copy(const NestProgram& program) {
    return program.body.size() == 2 && program.body[0].kind == NestOp::load &&
           program.body[1].kind == NestOp::store &&
           program.operands[size_t(program.body[0].operand)].kind == OperandKind::load;
  }

  // --- where ---

  ReplayPlace place(const Address& a, const Address& b) const { return place(&a, &b); }

  /// Of an address that one plan alone has, the other half stays absent.
  ReplayPlace place(const Address* a, const Address* b) const {
    ReplayPlace made;
    if (a != nullptr) {
      const BufferPlace place = resolve(*a, position_);
      made.lowered = place.buffer;
      made.offset = place.offset;
    }
    if (b != nullptr) {
      const BufferPlace place = resolve(*b, position_);
      made.planned = place.buffer;
      made.planned_offset = place.offset;
    }
    return made;
  }

  // --- nests ---

  struct Operand {
    ReplayPlace place;
    int64_t row = 0, part = 0, column = 0, bytes = 0;
  };

  /// A call in both plans, or in one alone (the other is null). The memory of the lowered plan
  /// knows no threads: what is there alone the first worker does.
  void nest_call(const NestCall* a, const NestCall* b, const Share& share) {
    const NestCall& call = b == nullptr ? *a : *b;
    const NestProgram& program = program_of(call, b == nullptr);
    if (b == nullptr && worker_ > 0 && !row_) return;
    NestPart part = part_of(call, Along::inside, {});
    if (b != nullptr) {
      const bool around = share.along == Along::around;
      part = part_of(call, share.along,
                     row_     ? *row_
                     : around ? own_rows_
                              : share_of(share, worker_, planned_.workers));
    }
    if (part.is_empty(call) || std::ranges::count(call.outer, 0) > 0) return;
    const auto& [outer, rows, columns] = part;
    std::vector<int64_t> index(call.outer.size(), 0);
    do {
      if (!index.empty() && !outer.contains(index[0])) continue;
      std::vector<Operand> operands;
      for (size_t i = 0; i < call.operands.size(); ++i)
        operands.push_back(operand(a, b, i, program.operands[i], index));
      if (is_copy(program)) {
        copy(program, operands, rows, columns);
      } else {
        one_nest(*a, *b, program, operands, index, rows, columns);
      }
    } while (next(call.outer, index));
  }

  /// A copy hands on who wrote what it copies: it may be in one of the plans alone.
  void copy(const NestProgram& program, const std::vector<Operand>& operands, const Range& rows,
            const Range& columns) {
    const Operand& from = operands[size_t(program.body[0].operand)];
    const Operand& to = operands[size_t(program.body[1].operand)];
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t c = columns.begin; c < columns.end; ++c) {
        memory_.copy(from.place.moved(row * from.row + c * from.column),
                     to.place.moved(row * to.row + c * to.column), to.bytes);
      }
    }
  }

  Operand operand(const NestCall* lowered, const NestCall* planned, size_t i,
                  const NestOperand& form, const std::vector<int64_t>& index) const {
    Operand made;
    if (form.kind == OperandKind::iota || form.kind == OperandKind::literal) return made;
    const CallOperand* a = lowered == nullptr ? nullptr : &lowered->operands[i];
    const CallOperand& b = planned == nullptr ? *a : planned->operands[i];
    made.place =
        place(a == nullptr ? nullptr : &a->address, planned == nullptr ? nullptr : &b.address)
            .moved(along(b.outer, index));
    made.bytes = size_of(form.dtype);
    made.row = form.by_row ? b.row : 0;
    made.part = b.part;
    made.column = form.column == ColumnStep::contiguous ? made.bytes
                  : form.column == ColumnStep::none     ? 0
                                                        : b.column;
    return made;
  }

  void one_nest(const NestCall& a, const NestCall& b, const NestProgram& program,
                const std::vector<Operand>& operands, const std::vector<int64_t>& index,
                const Range& rows, const Range& columns) {
    const int64_t width = machine_.lanes;
    const auto step = [&](int64_t row, int64_t column) {
      const Range vector{column, std::min(column + width, columns.end)};
      if (program.kind == NestKind::tiles) products(a, b, index, row, rows, vector, columns);
      for (const NestInstruction& in : program.body) {
        if (in.kind != NestOp::load && in.kind != NestOp::store) continue;
        const Operand& x = operands[size_t(in.operand)];
        if (x.bytes == 0) continue;  // an iota or a literal
        for (int64_t c = vector.begin; c < vector.end; ++c) {
          const ReplayPlace at = x.place.moved(row * x.row + in.part * x.part + c * x.column);
          in.kind == NestOp::load ? memory_.read(at, x.bytes) : memory_.write(at, x.bytes);
        }
      }
    };
    const auto reduce = [&](int64_t row, const Range& reduced) {
      for (const NestInstruction& in : program.body) {
        if (in.kind != NestOp::reduce) continue;
        const Operand& x = operands[size_t(in.operand)];
        for (int64_t c = reduced.begin; c < reduced.end; ++c)
          memory_.write(x.place.moved(row * x.row + in.part * x.part + c * x.column), x.bytes);
      }
    };
    if (program.kind == NestKind::column_wise) {
      for (int64_t c = columns.begin; c < columns.end; c += width) {
        for (int64_t row = rows.begin; row < rows.end; ++row) step(row, c);
        reduce(0, {c, std::min(c + width, columns.end)});
      }
      return;
    }
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t c = columns.begin; c < columns.end; c += width) step(row, c);
      reduce(row, {0, 1});
    }
  }

  /// What a row of a tile reads of its products. The left operand is read before the first and the
  /// last columns, the right one before the first and the last row: if it changes in between, one
  /// of the two reads finds it.
  void products(const NestCall& a, const NestCall& b, const std::vector<int64_t>& index,
                int64_t row, const Range& rows, const Range& vector, const Range& columns) {
    for (size_t i = 0; i < b.products.size(); ++i) {
      const CallProduct &p = a.products[i], &q = b.products[i];
      const PanelForm& form = q.panels;
      const ReplayPlace left = place(p.a, q.a).moved(along(q.outer, index) + row * q.a_row);
      const ReplayPlace right = place(p.b, q.b).moved(along(q.right_outer, index));
      const bool read_left = vector.begin == columns.begin || vector.end == columns.end;
      const bool read_right = row == rows.begin || row + 1 == rows.end;
      for (int64_t k = 0; k < form.k; ++k) {
        if (read_left) memory_.read(left.moved(k * q.a_k), 4);
        for (int64_t c = vector.begin; read_right && c < vector.end; ++c) {
          for (int64_t part = 0; part < form.parts; ++part) {
            const int64_t panel = c / form.width * form.block_bytes() +
                                  ((k * form.parts + part) * form.width + c % form.width) * 4;
            const MatrixStrides& lies = q.b_strides;
            const int64_t plain = k * lies.k + c * lies.column + part * lies.part;
            memory_.read(right.moved(q.in_panels ? panel : plain), 4);
          }
        }
      }
    }
  }

  // --- the rest ---

  void external(const ExternCall& a, const ExternCall& b) {
    collectives_.run(memory_, a,
                     [&](size_t i) { return place(a.operands[i].address, b.operands[i].address); });
  }

  void panels(const PanelCall& a, const PanelCall& b, const Range& own) {
    replay_panels(memory_, b, place(a.from, b.from), place(a.to, b.to), own);
  }

  ReplayedTable places_of(const TableCall& a, const TableCall& b) const {
    ReplayedTable places{place(a.indices, b.indices), place(a.rows, b.rows), {}, {}};
    if (b.has_table()) places.table = place(a.table, b.table);
    if (b.op == TableOp::merge_rows) places.distinct = place(a.distinct, b.distinct);
    return places;
  }

  const Plan& lowered_;
  const Plan& planned_;
  const Machine& machine_;
  ReplayMemory memory_;
  ReplayedCollectives collectives_;
  int depth_ = 0, worker_ = 0;
  Position position_;
  std::optional<Range> row_;  ///< of a loop whose rows are apart
  Range own_rows_;
};

}  // namespace

std::string replay(const Plan& lowered, const Plan& planned, const Machine& machine) {
  return Replay(lowered, planned, machine).run();
}

std::string replay(const Graph& kernels, const Machine& machine) {
  const Plan lowered = lower(kernels, machine);
  Plan planned = lowered;
  plan_memory(planned);
  schedule(planned, machine);
  place_barriers(planned);
  keep_rows_apart(planned);
  return replay(lowered, planned, machine);
}

}  // namespace graphc::core::testing
