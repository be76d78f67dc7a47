// SPDX-License-Identifier: Apache-2.0
#include "codegen/cuda/work.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "codegen/cuda/kernel_text.h"

namespace graphc::core::cuda {
namespace {

/// An operation against an addition, roughly.
double cost_of(ScalarOp op) {
  if (is_elementary(op)) return 20;
  switch (op) {
    case ScalarOp::argument:
    case ScalarOp::constant:
      return 0;
    case ScalarOp::sqrt:
    case ScalarOp::div:
      return 8;
    default:
      return 1;
  }
}

bool moves_with(const Address& address, int depth) {
  return std::ranges::any_of(address.terms, [&](const Address::Term& term) {
    return term.loop == depth && term.step != 0;
  });
}

class Counting {
 public:
  Counting(const Plan& plan, const NestCall& call, int depth, const LoopPlacement* placement,
           size_t nest)
      : program_(plan.programs[size_t(call.program)]),
        call_(call),
        depth_(depth),
        placement_(placement),
        share_(placement == nullptr ? nullptr : &placement->nests[nest]) {
    const Grid grid = nest_grid(program_, call_);
    blocks_across_ = grid.blocks[0];
    blocks_down_ = grid.blocks[1];
    work_.blocks = blocks_across_ * blocks_down_ * grid.blocks[2];
    if (placement_ == nullptr || work_.blocks == 0) return;
    blocks_across_ = double(placement_->column_groups);
    blocks_down_ = double(placement_->row_groups);
    work_.blocks = blocks_across_ * blocks_down_;
  }

  NestWork count() {
    if (work_.blocks == 0) return work_;
    operations();
    for (size_t i = 0; i < call_.operands.size(); ++i) operand(i);
    for (size_t i = 0; i < call_.products.size(); ++i) product(i);
    // Before what it computes with is there.
    work_.waits += 1;
    return work_;
  }

 private:
  double around() const {
    double product = 1;
    for (int64_t extent : call_.outer) product *= double(extent);
    return product;
  }
  double elements() const { return double(call_.rows) * double(call_.unit) * around(); }

  void operations() {
    for (const NestInstruction& in : program_.body) {
      if (in.kind == NestOp::scalar) work_.operations += cost_of(in.op) * elements();
      if (in.kind == NestOp::reduce) work_.operations += elements();
    }
  }

  /// Elements at distinct addresses.
  double extent_of(size_t index) const {
    const NestOperand& operand = program_.operands[index];
    const CallOperand& at = call_.operands[index];
    const bool is_sum =
        operand.kind == OperandKind::reduce_sum || operand.kind == OperandKind::reduce_max;
    double count = 1;
    if (operand.by_row && at.row != 0) count *= double(call_.rows);
    // A sum along the row has no column.
    if (operand.column != ColumnStep::none && !(is_sum && program_.kind == NestKind::row_wise))
      count *= double(call_.unit);
    std::set<int> parts;
    for (const NestInstruction& in : program_.body) {
      const bool uses = in.kind != NestOp::product && in.kind != NestOp::scalar;
      if (uses && in.operand == int(index)) parts.insert(in.part);
    }
    if (at.part != 0) count *= double(std::max<size_t>(parts.size(), 1));
    for (size_t axis = 0; axis < at.outer.size(); ++axis) {
      if (at.outer[axis] != 0) count *= double(call_.outer[axis]);
    }
    return count;
  }

  void moved(double bytes, double taken_in, const Address& address) {
    work_.bytes += bytes;
    work_.ingest_bytes += taken_in;
    if (moves_with(address, depth_)) work_.moving_bytes += bytes;
  }

  void operand(size_t index) {
    const NestOperand& operand = program_.operands[index];
    if (operand.kind == OperandKind::iota || operand.kind == OperandKind::literal) return;
    const double bytes = extent_of(index) * double(size_of(operand.dtype));
    moved(bytes, bytes, call_.operands[index].address);
  }

  /// The tile of a block, and how many of them it does one after the other.
  ProductTile tile() const {
    return product_tile(program_, share_ == nullptr ? form_of(call_) : share_->form);
  }
  double tiles_of_block(const ProductTile& tile) const {
    if (share_ == nullptr) return 1;
    return std::ceil(double(placement_->rows_of_block(call_.rows)) / tile.block_rows()) *
           std::ceil(double(share_->columns_of_block) / tile.block_columns());
  }

  void product(size_t index) {
    const NestProduct& form = program_.products[index];
    const CallProduct& product = call_.products[index];
    const double k = double(product.panels.k), columns = double(call_.unit) * form.parts;
    double times = 1;  // axes around that the left operand moves along
    for (size_t axis = 0; axis < product.outer.size(); ++axis) {
      if (product.outer[axis] != 0) times *= double(call_.outer[axis]);
    }
    const double left = double(call_.rows) * k * times * double(size_of(form.left));
    const double right = k * columns * double(size_of(form.right));
    // A block reads its rows of the left operand and its columns of the right one.
    const bool held = share_ != nullptr && !share_->form.held[index].empty();
    // What blocks of a cluster hand each other is in their shared memory.
    const bool exchanged = share_ != nullptr && !share_->form.exchanged[index].empty();
    moved(exchanged ? 0 : left, exchanged ? 0 : left * blocks_across_ * around() / times,
          product.a);
    moved(held ? 0 : right, held ? 0 : right * blocks_down_ * around(), product.b);
    const double terms = double(call_.rows) * k * columns * around();
    work_.flop += 2 * terms;
    work_.is_f64 |= form.sum == DType::f64;
    if (on_tensor_cores(program_)) work_.factors = form.factors;
    // What a warp loads of each operand for a term serves all its sums.
    const ProductTile tile = this->tile();
    const auto text = product_text(program_, tile);
    const double of_thread = double(text->rows()) * text->columns() * form.parts;
    work_.shared_bytes +=
        terms * text->loads_of_term(int(index)) / of_thread * double(size_of(form.sum));
    if (!held || !exchanged) work_.waits += std::ceil(k / tile.terms) * tiles_of_block(tile);
  }

  const NestProgram& program_;
  const NestCall& call_;
  const int depth_;
  const LoopPlacement* const placement_;
  const NestShare* const share_;
  double blocks_across_ = 0, blocks_down_ = 0;
  NestWork work_;
};

}  // namespace

NestWork work_of(const Plan& plan, const NestCall& call, int depth, const LoopPlacement* placement,
                 size_t nest) {
  return Counting(plan, call, depth, placement, nest).count();
}

bool is_empty_nest(const Plan& plan, const NestCall& call) {
  const Grid grid = nest_grid(plan.programs[size_t(call.program)], call);
  return std::ranges::find(grid.blocks, 0u) != grid.blocks.end();
}

double bytes_of(const TableCall& call) {
  const double indices = double(call.count) * double(size_of(call.index_dtype));
  const double rows = double(call.count) * double(call.row_bytes);
  switch (call.op) {
    case TableOp::gather:
    case TableOp::scatter:
      return indices + 2 * rows;
    case TableOp::check_labels:
      return 2 * indices + rows;
    case TableOp::scatter_add:
      return indices + 3 * rows;
    case TableOp::merge_rows:
      return 2 * indices + 2 * rows + double(call.count) * double(size_of(call.distinct_dtype));
  }
  return 0;
}

}  // namespace graphc::core::cuda
