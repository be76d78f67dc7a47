// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/walk.h"

#include <algorithm>
#include <cstring>

#include "codegen/cpu/blocked_product.h"
#include "codegen/cpu/panels.h"
#include "codegen/cpu/share.h"
#include "codegen/cpu/tables.h"
#include "ir/error.h"
#include "ir/mutant.h"

namespace graphc::cpu {
namespace {}  // namespace

class Walker::Thread {
 public:
  Thread(Walker& walker, int index) : walker_(walker), index_(index), count_(walker.team_.size()) {
    iteration_.assign(size_t(walker.plan_.loop_depth), 0);
    step_.assign(size_t(walker.plan_.loop_depth), 0);
  }

  void run(const std::vector<char*>& bases) {
    bases_ = bases.data();
    depth_ = 0;
    for (const Record& record : walker_.plan_.records) {
      execute(record);
      walker_.team_.barrier(index_);
    }
  }

 private:
  char* resolve(const Address& address) const {
    if (address.at_first && iteration_[size_t(address.first_loop)] == 0)
      return resolve(*address.at_first);
    char* pointer = bases_[address.buffer] + address.offset;
    for (const Address::Term& term : address.terms) {
      pointer += term.step * step_[size_t(term.loop)];
      if (term.parity != 0 && iteration_[size_t(term.loop)] % 2 == 1) pointer += term.parity;
    }
    return pointer;
  }

  void execute(const Record& record) {
    if (auto nest = std::get_if<NestCall>(&record.call)) return run_nest(*nest);
    if (auto loop = std::get_if<LoopCall>(&record.call)) return run_loop(*loop);
    if (auto pack = std::get_if<PanelCall>(&record.call)) return run_panels(*pack);
    if (auto block = std::get_if<BlockCall>(&record.call)) return run_blocks(*block);
    const TableCall& rows = std::get<TableCall>(record.call);
    const TablePlaces places{resolve(rows.table), resolve(rows.indices), resolve(rows.rows),
                             rows.distinct.buffer < 0 ? nullptr : resolve(rows.distinct)};
    run_table(rows, places, index_, count_);
  }

  // --- loops ---

  void run_loop(const LoopCall& loop) {
    const size_t depth = size_t(depth_++);
    const Range before = own_rows_;
    const bool private_before = private_rows_;
    if (loop.private_rows) {
      private_rows_ = true;
      own_rows_ = share(loop.rows, 1, index_, count_);
    }
    if (!loop.private_rows || !own_rows_.empty()) {
      for (int64_t i = 0; i < loop.steps; ++i) {
        iteration_[depth] = i;
        step_[depth] = loop.reverse ? loop.steps - 1 - i : i;
        for (const Record& record : loop.body) {
          execute(record);
          if (!private_rows_) walker_.team_.barrier(index_);
        }
      }
    }
    private_rows_ = private_before;
    own_rows_ = before;
    --depth_;
  }

  void run_blocks(const BlockCall& call) {
    const Range before = own_rows_;
    const bool private_before = private_rows_;
    const Range own = share(call.rows, 1, index_, count_);
    private_rows_ = true;
    for (int64_t row = own.begin; row < own.end; row += call.block_rows) {
      own_rows_ = {row, std::min(row + call.block_rows, own.end)};
      for (const Record& record : call.body) execute(record);
    }
    private_rows_ = private_before;
    own_rows_ = before;
  }

  // --- nests ---

  /// Rows and columns of a call that are this thread's.
  void shares(const NestCall& call, const CompiledNest& nest, NestKind kind, Range& rows,
              Range& columns) const {
    rows = {0, call.rows};
    columns = {0, call.unit};
    if (private_rows_) {
      rows = own_rows_;
      return;
    }
    const int64_t width = kind == NestKind::row_wise ? nest.shape.lanes : nest.shape.width();
    const int64_t blocks = (call.unit + width - 1) / width;
    bool by_columns = call.split == Split::columns;
    if (call.split == Split::any) {
      // Panels are made once if columns are shared out; long rows are walked whole if rows are.
      by_columns = kind == NestKind::tiles ? blocks >= 4 * count_ || blocks * 6 > call.rows
                                           : call.rows < count_;
    }
    if (by_columns) {
      columns = share(call.unit, width, index_, count_);
    } else {
      rows = share(call.rows, 1, index_, count_);
    }
  }

  void run_nest(const NestCall& call) {
    const CompiledNest& nest = walker_.nests_[size_t(call.program)];
    const NestProgram& program = walker_.plan_.programs[size_t(call.program)];
    Range rows, columns;
    shares(call, nest, program.kind, rows, columns);
    if (rows.empty() && call.rows > 0) return;
    // With no columns at all a sum along the row is still to be written: 0.
    if (columns.empty() && call.unit > 0) return;
    bind(call, program);
    NestArguments arguments;
    arguments.operands = operands_.data();
    arguments.products = products_.data();
    arguments.row_begin = rows.begin;
    arguments.row_end = rows.end;
    arguments.column_begin = columns.begin;
    arguments.column_end = columns.end;
    std::vector<int64_t>& index = outer_index_;
    index.assign(call.outer.size(), 0);
    for (int64_t extent : call.outer) {
      if (extent == 0) return;
    }
    do {
      call_nest(call, nest, arguments);
    } while (next_outer(call, program, index));
  }

  void bind(const NestCall& call, const NestProgram& program) {
    operands_.resize(call.operands.size());
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const CallOperand& from = call.operands[i];
      NestOperandArguments& to = operands_[i];
      to.row = from.row;
      to.part = from.part;
      to.column = from.column;
      switch (program.operands[i].kind) {
        case OperandKind::literal:
          to.base = const_cast<char*>(from.literal.data());
          break;
        case OperandKind::iota:
          to.base = reinterpret_cast<void*>(from.base);
          break;
        default:
          to.base = resolve(from.address);
          break;
      }
    }
    products_.resize(call.products.size());
    const int64_t width = walker_.nests_[size_t(call.program)].shape.width();
    const bool dropped = mutated(Mutant::first_recurrent_product_dropped) && depth_ > 0 &&
                         iteration_[size_t(depth_ - 1)] == 0;
    for (size_t i = 0; i < call.products.size(); ++i) {
      const CallProduct& from = call.products[i];
      products_[i] = {resolve(from.a),
                      from.a_row,
                      from.a_k,
                      from.in_panels ? resolve(from.b) : nullptr,
                      from.k * from.parts * width * 4,
                      dropped ? 0 : from.k};
    }
  }

  /// Moves the operands to the next index of the axes around the rows; false after the last.
  bool next_outer(const NestCall& call, const NestProgram& program, std::vector<int64_t>& index) {
    for (size_t axis = call.outer.size(); axis-- > 0;) {
      const bool more = ++index[axis] < call.outer[axis];
      const int64_t steps = more ? 1 : 1 - call.outer[axis];
      for (size_t i = 0; i < operands_.size(); ++i) {
        const OperandKind kind = program.operands[i].kind;
        if (kind == OperandKind::literal) continue;
        auto base = reinterpret_cast<intptr_t>(operands_[i].base);
        operands_[i].base = reinterpret_cast<void*>(base + steps * call.operands[i].outer[axis]);
      }
      for (size_t i = 0; i < products_.size(); ++i) {
        products_[i].a =
            static_cast<const char*>(products_[i].a) + steps * call.products[i].outer[axis];
      }
      if (more) return true;
      index[axis] = 0;
    }
    return false;
  }

  void call_nest(const NestCall& call, const CompiledNest& nest, NestArguments& arguments) {
    const bool in_panels = std::all_of(call.products.begin(), call.products.end(),
                                       [](const CallProduct& p) { return p.in_panels; });
    if (in_panels) {
      nest.function(&arguments);
    } else if (call.products.size() == 1) {
      product_.run(nest.function, matrix(call, call.products[0], nest), arguments);
    } else {
      call_whole(call, nest, arguments);
    }
  }

  PanelSource matrix(const NestCall& call, const CallProduct& product,
                     const CompiledNest& nest) const {
    PanelSource s;
    s.width = nest.shape.width();
    s.base = resolve(product.b);
    s.k_stride = product.b_k;
    s.column_stride = product.b_column;
    s.part_stride = product.b_part;
    s.k = product.k;
    s.parts = product.parts;
    s.columns = call.unit;
    return s;
  }

  /// Several products: whole panels of each, block by block.
  void call_whole(const NestCall& call, const CompiledNest& nest, NestArguments& arguments) {
    const int64_t width = nest.shape.width();
    int64_t floats = 0;
    for (const CallProduct& product : call.products)
      floats += (product.k * product.parts * width + 15) / 16 * 16;
    float* panels = panels_.get(floats);
    const Range columns{arguments.column_begin, arguments.column_end};
    for (int64_t column = columns.begin; column < columns.end; column += width) {
      float* panel = panels;
      for (size_t i = 0; i < call.products.size(); ++i) {
        const CallProduct& product = call.products[i];
        PanelSource block = matrix(call, product, nest);
        block.base += column * product.b_column;
        block.columns = std::min(width, call.unit - column);
        make_panel(block, panel);
        products_[i].panels = panel;
        products_[i].block = 0;
        panel += (product.k * product.parts * width + 15) / 16 * 16;
      }
      arguments.column_begin = column;
      arguments.column_end = std::min(column + width, columns.end);
      nest.function(&arguments);
    }
    arguments.column_begin = columns.begin;
    arguments.column_end = columns.end;
  }

  // --- the rest ---

  void run_panels(const PanelCall& call) {
    const int64_t width = walker_.nests_[size_t(call.program)].shape.width();
    const int64_t blocks = (call.unit + width - 1) / width;
    const Range own = private_rows_ ? Range{0, blocks} : share(blocks, 1, index_, count_);
    PanelSource s;
    s.k_stride = call.from_k;
    s.column_stride = call.from_column;
    s.part_stride = call.from_part;
    s.k = call.k;
    s.parts = int(call.parts);
    s.width = width;
    for (int64_t block = own.begin; block < own.end; ++block) {
      s.base = resolve(call.from) + block * width * call.from_column;
      s.columns = std::min(width, call.unit - block * width);
      make_panel(s,
                 reinterpret_cast<float*>(resolve(call.to)) + block * call.k * call.parts * width);
    }
  }

  Walker& walker_;
  const int index_, count_;
  char* const* bases_ = nullptr;
  int depth_ = 0;
  std::vector<int64_t> iteration_, step_;
  bool private_rows_ = false;
  Range own_rows_;
  std::vector<NestOperandArguments> operands_;
  std::vector<NestProductArguments> products_;
  std::vector<int64_t> outer_index_;
  Scratch panels_;
  BlockedProduct product_;
};

Walker::Walker(const Plan& plan, std::vector<CompiledNest> nests, ThreadTeam& team)
    : plan_(plan), nests_(std::move(nests)), team_(team) {
  for (int i = 0; i < team.size(); ++i) threads_.push_back(std::make_unique<Thread>(*this, i));
}
Walker::~Walker() = default;

void Walker::run(const std::vector<char*>& bases) {
  team_.run([&](int thread) { threads_[size_t(thread)]->run(bases); });
}

}  // namespace graphc::cpu
