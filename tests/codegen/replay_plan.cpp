// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/replay_plan.h"

#include <algorithm>
#include <tuple>

#include "codegen/cpu/share.h"
#include "tests/codegen/replay_memory.h"

namespace graphc::testing {
namespace {

using cpu::Range;
using cpu::share;

class Replay {
 public:
  Replay(const Plan& lowered, const Plan& planned, const VectorShape& vectors, int threads)
      : lowered_(lowered),
        planned_(planned),
        vectors_(vectors),
        threads_(threads),
        memory_(lowered, planned),
        iteration_(size_t(planned.loop_depth)),
        step_(size_t(planned.loop_depth)) {}

  std::string run() {
    each_pair(lowered_.records, planned_.records,
              [&](const Record* a, const Record* b) { phase(a, b); });
    memory_.expect_results();
    return memory_.fault();
  }

 private:
  // --- who does what when ---

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
      each_step(before, [&] {
        each_pair(before.body, loop->body, [&](const Record* x, const Record* y) { phase(x, y); });
      });
      return;
    }
    if (b != nullptr) memory_.next_phase();
    for (thread_ = 0; thread_ < threads_; ++thread_) {
      memory_.set_thread(thread_);
      own_rows_ = {};
      private_rows_ = false;
      call(a, b);
    }
  }

  /// `loop` is as lowered: it says how `now` follows `next`.
  template <typename Body>
  void each_step(const LoopCall& loop, const Body& body) {
    const size_t depth = size_t(depth_++);
    for (int64_t i = 0; i < loop.steps; ++i) {
      iteration_[depth] = i;
      step_[depth] = loop.reverse ? loop.steps - 1 - i : i;
      for (const Carry& carry : loop.carries) begin_step(carry, i == 0);
      body();
    }
    --depth_;
  }

  void begin_step(const Carry& carry, bool first) {
    const int64_t bytes = carry.elements * size_of(carry.dtype);
    if (first) {
      const auto [buffer, offset] = resolve(carry.initial);
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
      return nest_call(a == nullptr ? nullptr : nest, b == nullptr ? nullptr : nest);
    }
    if (auto nest = std::get_if<NestCall>(&b->call)) {
      memory_.set_call(nest->name);
      nest_call(&std::get<NestCall>(a->call), nest);
    } else if (auto pack = std::get_if<PanelCall>(&b->call)) {
      memory_.set_call(pack->name);
      panel_call(std::get<PanelCall>(a->call), *pack);
    } else if (auto rows = std::get_if<TableCall>(&b->call)) {
      memory_.set_call(rows->name);
      rows_call(std::get<TableCall>(a->call), *rows);
    } else if (auto block = std::get_if<BlockCall>(&b->call)) {
      const Range own = share(block->rows, 1, thread_, threads_);
      private_rows_ = true;
      for (int64_t row = own.begin; row < own.end; row += block->block_rows) {
        own_rows_ = {row, std::min(row + block->block_rows, own.end)};
        bodies(std::get<BlockCall>(a->call).body, block->body);
      }
    } else {
      const auto& loop = std::get<LoopCall>(b->call);
      const auto& before = std::get<LoopCall>(a->call);
      private_rows_ = true;
      own_rows_ = share(loop.rows, 1, thread_, threads_);
      if (own_rows_.empty()) return;
      each_step(before, [&] { bodies(before.body, loop.body); });
    }
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

  std::pair<int, int64_t> resolve(const Address& address) const {
    if (address.at_first && iteration_[size_t(address.first_loop)] == 0)
      return resolve(*address.at_first);
    int64_t offset = address.offset;
    for (const Address::Term& term : address.terms) {
      offset += term.step * step_[size_t(term.loop)];
      if (iteration_[size_t(term.loop)] % 2 == 1) offset += term.parity;
    }
    return {address.buffer, offset};
  }

  ReplayPlace place(const Address& a, const Address& b) const { return place(&a, &b); }

  /// Of an address that one plan alone has, the other half stays absent.
  ReplayPlace place(const Address* a, const Address* b) const {
    ReplayPlace made;
    if (a != nullptr) std::tie(made.lowered, made.offset) = resolve(*a);
    if (b != nullptr) std::tie(made.planned, made.planned_offset) = resolve(*b);
    return made;
  }

  // --- nests ---

  struct Operand {
    ReplayPlace place;
    int64_t row = 0, part = 0, column = 0, bytes = 0;
  };

  /// As Walker shares a call out.
  void shares(const NestCall& call, const NestProgram& program, Range& rows, Range& columns) const {
    rows = {0, call.rows};
    columns = {0, call.unit};
    if (private_rows_) {
      rows = own_rows_;
      return;
    }
    const TileShape shape = tile_shape(program, vectors_.lanes, vectors_.registers);
    const int64_t width = program.kind == NestKind::row_wise ? shape.lanes : shape.width();
    const int64_t blocks = (call.unit + width - 1) / width;
    bool by_columns = call.split == Split::columns;
    if (call.split == Split::any) {
      by_columns = program.kind == NestKind::tiles
                       ? blocks >= 4 * threads_ || blocks * 6 > call.rows
                       : call.rows < threads_;
    }
    (by_columns ? columns : rows) = by_columns ? share(call.unit, width, thread_, threads_)
                                               : share(call.rows, 1, thread_, threads_);
  }

  /// A call in both plans, or in one alone (the other is null).
  void nest_call(const NestCall* a, const NestCall* b) {
    const NestCall& call = b == nullptr ? *a : *b;
    const NestProgram& program = program_of(call, b == nullptr);
    Range rows, columns;
    shares(call, program, rows, columns);
    if (rows.empty() && call.rows > 0) return;
    if (columns.empty() && call.unit > 0) return;
    if (std::ranges::count(call.outer, 0) > 0) return;
    std::vector<int64_t> index(call.outer.size(), 0);
    do {
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

  static bool next(const std::vector<int64_t>& extents, std::vector<int64_t>& index) {
    for (size_t axis = extents.size(); axis-- > 0;) {
      if (++index[axis] < extents[axis]) return true;
      index[axis] = 0;
    }
    return false;
  }

  static int64_t along(const std::vector<int64_t>& strides, const std::vector<int64_t>& index) {
    int64_t offset = 0;
    for (size_t i = 0; i < strides.size() && i < index.size(); ++i) offset += strides[i] * index[i];
    return offset;
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
    const int64_t width = vectors_.lanes;
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
    const NestProgram& program = planned_.programs[size_t(b.program)];
    const int64_t width = tile_shape(program, vectors_.lanes, vectors_.registers).width();
    for (size_t i = 0; i < b.products.size(); ++i) {
      const CallProduct &p = a.products[i], &q = b.products[i];
      const ReplayPlace left = place(p.a, q.a).moved(along(q.outer, index) + row * q.a_row);
      const ReplayPlace right = place(p.b, q.b);
      const bool read_left = vector.begin == columns.begin || vector.end == columns.end;
      const bool read_right = row == rows.begin || row + 1 == rows.end;
      for (int64_t k = 0; k < q.k; ++k) {
        if (read_left) memory_.read(left.moved(k * q.a_k), 4);
        for (int64_t c = vector.begin; read_right && c < vector.end; ++c) {
          for (int64_t part = 0; part < q.parts; ++part) {
            const int64_t panel =
                ((c / width * q.k + k) * q.parts + part) * width * 4 + c % width * 4;
            memory_.read(
                right.moved(q.in_panels ? panel : k * q.b_k + c * q.b_column + part * q.b_part), 4);
          }
        }
      }
    }
  }

  // --- the rest ---

  void panel_call(const PanelCall& a, const PanelCall& b) {
    const NestProgram& program = planned_.programs[size_t(b.program)];
    const int64_t width = tile_shape(program, vectors_.lanes, vectors_.registers).width();
    const ReplayPlace from = place(a.from, b.from), to = place(a.to, b.to);
    const Range own = share((b.unit + width - 1) / width, 1, thread_, threads_);
    for (int64_t c = own.begin * width; c < std::min(own.end * width, b.unit); ++c) {
      for (int64_t k = 0; k < b.k; ++k) {
        for (int64_t part = 0; part < b.parts; ++part)
          memory_.read(from.moved(k * b.from_k + c * b.from_column + part * b.from_part), 4);
      }
    }
    const int64_t block = b.k * b.parts * width * 4;
    for (int64_t i = own.begin; i < own.end; ++i) memory_.write(to.moved(i * block), block);
  }

  void rows_call(const TableCall& a, const TableCall& b) {
    const ReplayPlace table = place(a.table, b.table), rows = place(a.rows, b.rows);
    memory_.read(place(a.indices, b.indices), b.count * size_of(b.index_dtype));
    if (b.op == TableOp::gather) {
      const Range own = share(b.count, 1, thread_, threads_);
      if (!own.empty()) memory_.read(table, b.table_rows * b.row_bytes);
      for (int64_t i = own.begin; i < own.end; ++i)
        memory_.write(rows.moved(i * b.row_bytes), b.row_bytes);
      return;
    }
    memory_.read(rows, b.count * b.row_bytes);
    if (b.op == TableOp::merge_rows) {
      if (thread_ > 0) return;
      memory_.write(table, b.table_rows * b.row_bytes);
      memory_.write(place(a.distinct, b.distinct), b.table_rows * size_of(b.distinct_dtype));
      return;
    }
    const Range own = share(b.table_rows, 1, thread_, threads_);
    for (int64_t i = own.begin; i < own.end; ++i) {
      memory_.read(table.moved(i * b.row_bytes), b.row_bytes);
      memory_.write(table.moved(i * b.row_bytes), b.row_bytes);
    }
  }

  const Plan& lowered_;
  const Plan& planned_;
  const VectorShape vectors_;
  const int threads_;
  ReplayMemory memory_;
  int depth_ = 0, thread_ = 0;
  std::vector<int64_t> iteration_, step_;
  bool private_rows_ = false;
  Range own_rows_;
};

}  // namespace

std::string replay(const Plan& lowered, const Plan& planned, const VectorShape& vectors,
                   int threads) {
  return Replay(lowered, planned, vectors, threads).run();
}

std::string replay(const Graph& kernels, const VectorShape& vectors, int threads) {
  const Plan lowered = lower(kernels, vectors);
  Plan planned = lowered;
  plan_memory(planned);
  return replay(lowered, planned, vectors, threads);
}

}  // namespace graphc::testing
