// SPDX-License-Identifier: Apache-2.0
#include "codegen/walk/walker.h"

#include <algorithm>
#include <optional>

#include "codegen/step/collectives.h"
#include "codegen/step/plan_walk.h"
#include "codegen/step/run_table.h"
#include "codegen/walk/blocked_product.h"
#include "codegen/walk/panels.h"
#include "codegen/walk/tiled_product.h"
#include "ir/denormals.h"
#include "ir/mutant.h"

namespace graphc::core::cpu {

/// One thread's work on each record.
class Walker::Thread {
 public:
  Thread(Walker& walker, int index)
      : walker_(walker),
        index_(index),
        walk_(walker.plan_, index, *this),
        row_steps_(walker.plan_, walker.nests_, walker.panel_group_) {}

  void run(const std::vector<char*>& bases) {
    const auto flushed = flushing();
    const MatrixTileScope tiles(walker_.tiles_);
    bases_ = bases.data();
    walk_.run();
  }

  void make_forms(const std::vector<char*>& bases, const std::vector<size_t>& forms) {
    bases_ = bases.data();
    for (size_t i : forms) {
      const PlanForm& form = walker_.plan_.forms[i];
      panels(*form.panels(), share_of(form.make[0].share, index_, walker_.plan_.workers));
    }
  }

  // --- the work of step/plan_walk.h ---

  void barrier() {
    PlanProfile* const profile = walker_.profile_;
    if (profile != nullptr) profile->done(index_);
    walker_.team_.barrier(index_);
    if (profile != nullptr) profile->met(index_);
  }

  void begin(const Record& record) {
    if (walker_.profile_ == nullptr) return;
    const int depth = walk_.depth();
    const int64_t step = depth > 0 ? walk_.position()[size_t(depth - 1)].step : -1;
    walker_.profile_->begin(index_, record, step);
  }

  /// False while the nests are measured: then the walk calls them one by one.
  bool rows_apart(const LoopCall& loop, const Range& rows) {
    return walker_.profile_ == nullptr &&
           row_steps_.run(loop, rows, walk_.position(), walk_.depth(), bases_);
  }

  void nest(const NestCall& call, const NestPart& part) {
    if (std::ranges::count(call.outer, 0) > 0) return;
    const CompiledNest& nest = walker_.nests_[size_t(call.program)];
    const NestProgram& program = walker_.plan_.programs[size_t(call.program)];
    bind(call, program);
    outer_extents_ = call.outer;
    if (!outer_extents_.empty()) {
      outer_extents_[0] = part.outer.size();
      move_outer(call, program, 0, part.outer.begin);
    }
    NestArguments arguments;
    arguments.operands = operands_.data();
    arguments.products = products_.data();
    arguments.row_begin = part.rows.begin;
    arguments.row_end = part.rows.end;
    arguments.column_begin = part.columns.begin;
    arguments.column_end = part.columns.end;
    arguments.panel_group = walker_.panel_group_;
    outer_index_.assign(call.outer.size(), 0);
    do {
      call_nest(call, nest, arguments);
    } while (next_outer(call, program, outer_index_));
  }

  void panels(const PanelCall& call, const Range& blocks) {
    const PanelForm& form = call.panels;
    for (int64_t first = blocks.begin; first < blocks.end;) {
      const int64_t matrix = first / form.blocks(), before = matrix * form.blocks();
      const int64_t end = std::min(blocks.end, before + form.blocks());
      panels_of_matrix(call, matrix, {first - before, end - before});
      first = end;
    }
  }

  void table(const TableCall& call, const Range& own) {
    const TablePlaces places{call.has_table() ? resolved(call.table) : nullptr,
                             resolved(call.indices), resolved(call.rows),
                             call.distinct.buffer < 0 ? nullptr : resolved(call.distinct)};
    run_table(call, places, own);
  }

  /// The first worker begins collectives, and waits for them; barriers are where others need them.
  void external(const ExternCall& call, int) {
    if (index_ > 0) return;
    if (is_wait(call)) return walker_.collectives_->wait(call);
    operands_of_call_.clear();
    for (const ExternOperand& operand : call.operands)
      operands_of_call_.push_back(resolved(operand.address));
    walker_.collectives_->begin(call, operands_of_call_, walker_.profile_);
  }

 private:
  /// Flushes denormals during a run, until it returns or throws.
  std::optional<DenormalsFlushed> flushing() const {
    if (mutated(Mutant::workers_keep_denormals) && index_ > 0) return std::nullopt;
    return std::optional<DenormalsFlushed>(std::in_place);
  }

  char* resolved(const Address& address) const {
    const BufferPlace place = resolve(address, walk_.position());
    return bases_[place.buffer] + place.offset;
  }

  void panels_of_matrix(const PanelCall& call, int64_t matrix, const Range& blocks) {
    const PanelForm& form = call.panels;
    char* const to = resolved(call.to) + matrix * form.bytes();
    PanelSource source =
        panel_source(resolved(call.from) + matrix * call.from_matrix, call.from_strides, form);
    if (form.k_tile > 1) {
      source.base += blocks.begin * form.width * source.column_stride;
      make_tile_panels(source, blocks, to + blocks.begin * form.block_bytes());
      return;
    }
    for (int64_t block = blocks.begin; block < blocks.end; ++block) {
      PanelSource part = source;
      part.base += block * form.width * source.column_stride;
      part.columns = std::min(form.width, form.unit - block * form.width);
      make_panel(part, reinterpret_cast<float*>(to + block * form.block_bytes()));
    }
  }

  // --- nests ---

  void bind(const NestCall& call, const NestProgram& program) {
    operands_.resize(call.operands.size());
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const CallOperand& from = call.operands[i];
      NestOperandArguments& to = operands_[i];
      to.row = from.row;
      to.part = from.part;
      to.column = from.column;
      to.base = base_of(from, program.operands[i].kind);
    }
    products_.resize(call.products.size());
    rights_.resize(call.products.size());
    const int depth = walk_.depth();
    const bool first = depth > 0 && walk_.position()[size_t(depth - 1)].iteration == 0;
    for (size_t i = 0; i < call.products.size(); ++i) {
      const CallProduct& from = call.products[i];
      rights_[i] = resolved(from.b);
      products_[i] = {resolved(from.a),
                      from.a_row,
                      from.a_k,
                      from.in_panels ? rights_[i] : nullptr,
                      from.panels.block_bytes(),
                      first && from.zeros_at_first ? 0 : from.panels.k};
    }
  }

  void* base_of(const CallOperand& operand, OperandKind kind) const {
    switch (kind) {
      case OperandKind::literal:
        return const_cast<char*>(operand.literal.data());
      case OperandKind::iota:
        return reinterpret_cast<void*>(operand.base);
      case OperandKind::load:
      case OperandKind::store:
      case OperandKind::reduce_sum:
      case OperandKind::reduce_max:
        return resolved(operand.address);
    }
    return nullptr;
  }

  /// Moves the operands to the next index of the outer axes; false after the last.
  bool next_outer(const NestCall& call, const NestProgram& program, std::vector<int64_t>& index) {
    for (size_t axis = call.outer.size(); axis-- > 0;) {
      const bool more = ++index[axis] < outer_extents_[axis];
      move_outer(call, program, axis, more ? 1 : 1 - outer_extents_[axis]);
      if (more) return true;
      index[axis] = 0;
    }
    return false;
  }

  void move_outer(const NestCall& call, const NestProgram& program, size_t axis, int64_t steps) {
    for (size_t i = 0; i < operands_.size(); ++i) {
      const OperandKind kind = program.operands[i].kind;
      if (kind == OperandKind::literal) continue;
      auto base = reinterpret_cast<intptr_t>(operands_[i].base);
      operands_[i].base = reinterpret_cast<void*>(base + steps * call.operands[i].outer[axis]);
    }
    for (size_t i = 0; i < products_.size(); ++i) {
      products_[i].a =
          static_cast<const char*>(products_[i].a) + steps * call.products[i].outer[axis];
      rights_[i] += steps * call.products[i].right_outer[axis];
      if (call.products[i].in_panels) products_[i].panels = rights_[i];
    }
  }

  void call_nest(const NestCall& call, const CompiledNest& nest, NestArguments& arguments) {
    if (nest.by_matrix_tiles) return call_tiled(call, nest, arguments);
    const bool in_panels = std::ranges::all_of(call.products, &CallProduct::in_panels);
    if (in_panels) {
      nest.function(&arguments);
    } else if (call.products.size() == 1) {
      product_.run(nest.function, matrix(call, 0), arguments);
    } else {
      call_whole(call, nest, arguments);
    }
  }

  void call_tiled(const NestCall& call, const CompiledNest& nest, const NestArguments& arguments) {
    const NestProgram& program = walker_.plan_.programs[size_t(call.program)];
    tiled_.resize(call.products.size());
    for (size_t i = 0; i < tiled_.size(); ++i) {
      const CallProduct& product = call.products[i];
      tiled_[i] = {products_[i], program.products[i].left, matrix(call, i), product.in_panels};
    }
    tiled_product_.run(nest.function, tiled_, arguments);
  }

  static PanelSource panel_source(const char* base, const MatrixStrides& strides,
                                  const PanelForm& form) {
    PanelSource source;
    source.base = base;
    source.k_stride = strides.k;
    source.column_stride = strides.column;
    source.part_stride = strides.part;
    source.k = form.k;
    source.parts = int(form.parts);
    source.columns = form.unit;
    source.width = form.width;
    source.bf16_parts = int(form.bf16_parts);
    source.dtype = form.from;
    return source;
  }

  PanelSource matrix(const NestCall& call, size_t index) const {
    const CallProduct& product = call.products[index];
    return panel_source(rights_[index], product.b_strides, product.panels);
  }

  /// Several products: packs, block by block, the whole panel of each operand that is not in
  /// panels.
  void call_whole(const NestCall& call, const CompiledNest& nest, NestArguments& arguments) {
    const int64_t width = call.products[0].panels.width;
    int64_t floats = 0;
    for (const CallProduct& product : call.products) floats += room_of(product);
    float* const panels = panels_.get(floats);
    const Range columns{arguments.column_begin, arguments.column_end};
    for (int64_t column = columns.begin; column < columns.end; column += width) {
      float* panel = panels;
      for (size_t i = 0; i < call.products.size(); ++i) {
        const CallProduct& product = call.products[i];
        products_[i].block = 0;
        if (product.in_panels) {
          products_[i].panels = rights_[i] + column / width * product.panels.block_bytes();
          continue;
        }
        PanelSource block = matrix(call, i);
        block.base += column * product.b_strides.column;
        block.columns = std::min(width, call.unit - column);
        make_panel(block, panel);
        products_[i].panels = panel;
        panel += room_of(product);
      }
      arguments.column_begin = column;
      arguments.column_end = std::min(column + width, columns.end);
      nest.function(&arguments);
    }
    arguments.column_begin = columns.begin;
    arguments.column_end = columns.end;
  }

  /// Floats of a block, rounded up to a whole cache line.
  static int64_t room_of(const CallProduct& product) {
    return (product.panels.block_bytes() / int64_t(sizeof(float)) + 15) / 16 * 16;
  }

  Walker& walker_;
  const int index_;
  PlanWalk<Thread> walk_;
  RowSteps row_steps_;
  char* const* bases_ = nullptr;
  std::vector<NestOperandArguments> operands_;
  std::vector<NestProductArguments> products_;
  std::vector<char*> rights_;  ///< the right operands of these
  std::vector<TiledOperand> tiled_;
  std::vector<char*> operands_of_call_;
  std::vector<int64_t> outer_index_, outer_extents_;
  Scratch panels_;
  BlockedProduct product_;
  TiledProduct tiled_product_;
};

Walker::Walker(const Plan& plan, std::vector<CompiledNest> nests, ThreadTeam& team,
               MatrixTiles tiles, int64_t panel_group, const std::shared_ptr<Ranks>& ranks)
    : plan_(plan),
      nests_(std::move(nests)),
      team_(team),
      tiles_(MatrixTiles::none),
      panel_group_(panel_group),
      collectives_(Collectives::of(plan, ranks)) {
  if (std::ranges::any_of(nests_, &CompiledNest::by_matrix_tiles)) tiles_ = tiles;
  for (int i = 0; i < team.size(); ++i) threads_.push_back(std::make_unique<Thread>(*this, i));
}
Walker::~Walker() = default;

void Walker::make_forms(const std::vector<char*>& bases, const std::vector<size_t>& forms) {
  team_.run_step([&](int thread) { threads_[size_t(thread)]->make_forms(bases, forms); });
}

void Walker::run(const std::vector<char*>& bases) {
  try {
    team_.run_step([&](int thread) { threads_[size_t(thread)]->run(bases); });
    if (collectives_ != nullptr) collectives_->finish();
  } catch (...) {
    if (collectives_ != nullptr) collectives_->abandon();
    throw;
  }
  if (profile_ != nullptr) profile_->end();
}

}  // namespace graphc::core::cpu
