// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/launches/work.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "codegen/step/access.h"
#include "codegen/targets/cuda/text/kernel_text.h"
#include "codegen/targets/cuda/text/pipelined_form.h"

namespace graphc::core::cuda {
namespace {

bool moves_with(const Address& address, int depth) {
  return std::ranges::any_of(address.terms, [&](const Address::Term& term) {
    return term.loop == depth && term.step != 0;
  });
}

class Counting {
 public:
  Counting(const Plan& plan, const NestCall& call, NestForm form, int depth = -1,
           const LoopPlacement* placement = nullptr, size_t nest = 0)
      : program_(plan.programs[size_t(call.program)]),
        call_(call),
        depth_(depth),
        placement_(placement),
        share_(placement == nullptr ? nullptr : &placement->nests[nest]),
        nest_(nest),
        form_(std::move(form)) {
    const Grid grid = nest_grid(program_, call_, form_);
    blocks_across_ = grid.blocks[0];
    blocks_down_ = grid.blocks[1];
    work_.blocks = blocks_across_ * blocks_down_ * grid.blocks[2];
    if (placement_ == nullptr || work_.blocks == 0) return;
    if (share_->owner == Owner::outer) {
      blocks_across_ = blocks_down_ = 1;
      work_.blocks = std::min(around(), double(placement_->column_groups));
      return;
    }
    blocks_across_ = double(placement_->column_groups);
    blocks_down_ = double(placement_->row_groups);
    work_.blocks = double(placement_->blocks());
  }

  NestWork count() {
    if (work_.blocks == 0) return work_;
    operations();
    std::vector<double> left(call_.products.size()), right(call_.products.size());
    for (const Access& access : accesses_of(program_, call_)) {
      const double bytes = access.size();
      if (access.operand == Access::Operand::operand) moved(bytes, bytes, *access.address);
      if (access.operand == Access::Operand::left) left[size_t(access.index)] = bytes;
      if (access.operand == Access::Operand::right) right[size_t(access.index)] = bytes;
    }
    for (size_t i = 0; i < call_.products.size(); ++i) product(i, left[i], right[i]);
    // The wait for the operands of the body; a counted exchange takes longer
    // (CountedLoop::beside_us).
    if (!is_counted()) work_.waits += 1;
    return work_;
  }

 private:
  bool is_counted() const { return placement_ != nullptr && placement_->counted != nullptr; }
  double around() const { return double(outer_indices(call_)); }
  /// The matrices of an operand that moves like this along the outer axes.
  double matrices(const std::vector<int64_t>& strides) const {
    double times = 1;
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      if (strides[axis] != 0) times *= double(call_.outer[axis]);
    }
    return times;
  }
  double elements() const { return double(call_.rows) * double(call_.unit) * around(); }

  void operations() {
    for (const NestInstruction& in : program_.body) {
      if (in.kind == NestOp::scalar) work_.operations += cost_of(in.op) * elements();
      if (in.kind == NestOp::reduce) work_.operations += elements();
    }
  }

  void moved(double bytes, double taken_in, const Address& address) {
    work_.bytes += bytes;
    work_.ingest_bytes += taken_in;
    if (moves_with(address, depth_)) work_.moving_bytes += bytes;
  }

  /// The tile of a block, and the number of tiles that it computes one after the other.
  ProductTile tile() const { return product_tile(program_, form_); }
  double tiles_of_block(const ProductTile& tile) const {
    if (share_ == nullptr) return 1;
    return double(placement_->turns_of_block(call_)) *
           std::ceil(double(placement_->rows_of_block(call_.rows)) / tile.block_rows()) *
           std::ceil(double(share_->columns_of_block) / tile.block_columns());
  }

  /// `left` and `right` are the bytes of the product's matrices.
  void product(size_t index, double left, double right) {
    const NestProduct& form = program_.products[index];
    const CallProduct& product = call_.products[index];
    const double k = double(product.panels.k), columns = double(call_.unit) * form.parts;
    const double times = matrices(product.outer);
    // A block reads its rows of the left operand and its columns of the right one.
    const bool resident = share_ != nullptr && share_->form.resident[index];
    // Operands that blocks of a cluster exchange are in their shared memory.
    const bool exchanged = share_ != nullptr && share_->form.exchanged[index];
    moved(exchanged ? 0 : left, exchanged ? 0 : left * blocks_across_ * around() / times,
          product.a);
    moved(resident ? 0 : right,
          resident ? 0 : right * blocks_down_ * around() / matrices(product.right_outer),
          product.b);
    const double terms = double(call_.rows) * k * columns * around();
    work_.flop += 2 * terms;
    work_.is_f64 |= form.sum == DType::f64;
    if (on_tensor_cores(program_)) work_.factors = form.factors;
    if (is_counted()) {
      const CountedLoop& loop = *placement_->counted;
      const CountedProduct& counted = loop.products[loop.number_of(nest_, index)];
      work_.shared_bytes += work_.blocks * loop.loaded_bytes(counted);
      if (counted.uses_fma()) work_.product_cycles += counted.cycles;
      return;
    }
    if (form_.pipelined) return pipelined(k);
    // The values that a warp loads of each operand for a term serve all its sums.
    const ProductTile tile = this->tile();
    const auto text = product_text(program_, tile);
    work_.shared_bytes += terms * text->loads_of_term(int(index)) / text->sums(int(index)) *
                          double(size_of(form.sum));
    if (!resident || !exchanged) work_.waits += std::ceil(k / tile.k) * tiles_of_block(tile);
  }

  /// Stages of which all but one are on their way while one is multiplied.
  void pipelined(double k) {
    const PipelineLayout layout(program_, form_);
    const double stages = std::ceil(k / layout.terms());
    work_.shared_bytes += work_.blocks * stages * layout.moved_bytes();
    work_.waits += 1;
    work_.waits_ahead += stages / (PipelineLayout::kStages - 1);
    work_.blocks_beside = layout.blocks_beside();
  }

  const NestProgram& program_;
  const NestCall& call_;
  const int depth_;
  const LoopPlacement* const placement_;
  const NestShare* const share_;
  const size_t nest_;
  const NestForm form_;
  double blocks_across_ = 0, blocks_down_ = 0;
  NestWork work_;
};

}  // namespace

NestWork work_of(const Plan& plan, const NestCall& call, int depth, const LoopPlacement* placement,
                 size_t nest) {
  NestForm form = placement != nullptr ? placement->nests[nest].form : streamed_form_of(call);
  return Counting(plan, call, std::move(form), depth, placement, nest).count();
}

NestWork launched_work_of(const Plan& plan, const NestCall& call, int64_t shared_bytes) {
  return Counting(plan, call, launched_form_of(plan, call, shared_bytes)).count();
}

bool is_empty_nest(const Plan& plan, const NestCall& call) {
  const Grid grid = nest_grid(plan.programs[size_t(call.program)], call);
  return std::ranges::find(grid.blocks, 0u) != grid.blocks.end();
}

double bytes_of(const TableCall& call) {
  double bytes = 0;
  for (const Access& access : accesses_of(call)) bytes += access.size();
  return bytes;
}

}  // namespace graphc::core::cuda
