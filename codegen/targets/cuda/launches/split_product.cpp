// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/launches/split_product.h"

#include <vector>

#include "codegen/targets/cuda/text/kernel_text.h"
#include "codegen/targets/cuda/text/pipelined_form.h"

namespace graphc::core::cuda {
namespace {

constexpr int64_t kMostParts = 16;
/// A launch more is worth at most this share of the time without it.
constexpr double kGain = 0.8;
constexpr int64_t kSumBytes = int64_t{sizeof(float)};

/// The cycles that the rest takes as a launch of its own: 1,800 for the launch, 1 us, and sums of
/// all parts that are written and read again, by 128 multiprocessors at 58 bytes a cycle each.
double cycles_of_rest(const NestCall& call, int64_t parts) {
  return 1800 + 2.0 * double(parts * call.rows * call.unit * kSumBytes) / (128 * 58);
}

/// The sums of all parts in scratch memory, [parts, rows, columns].
CallOperand operand_of_sums(const NestCall& call, int buffer) {
  CallOperand sums;
  sums.address.buffer = buffer;
  sums.row = call.unit * kSumBytes;
  sums.part = call.rows * call.unit * kSumBytes;
  sums.column = kSumBytes;
  return sums;
}

}  // namespace

int64_t SplitProducts::parts_of(const NestCall& call) const {
  const NestProgram& program = plan_.programs[size_t(call.program)];
  const NestForm whole = launched_form_of(plan_, call, shared_bytes_);
  // Parts of panels would have strides of their own, and sums of several parts places.
  if (!whole.pipelined || !call.outer.empty() || call.products[0].in_panels) return 1;
  // The rest adds f32.
  for (const NestInstruction& in : program.body) {
    if (in.kind == NestOp::product && in.dtype != DType::f32) return 1;
  }
  const int64_t terms = call.products[0].panels.k;
  double least = kGain * pipelined_cycles(program, call, whole);
  int64_t best = 1;
  for (int64_t parts = 2; parts <= kMostParts; ++parts) {
    if (terms % parts != 0 || terms / parts < kPiece) continue;
    const NestCall product = product_of(call, parts);
    const NestForm form = launched_form_of(plan_, product, shared_bytes_);
    // Parts may begin where fewer bytes are copied at a time: that takes less than idle blocks.
    if (!form.pipelined) continue;
    const double cycles = pipelined_cycles(program, product, form) + cycles_of_rest(call, parts);
    if (cycles < least) least = cycles, best = parts;
  }
  return best;
}

/// Parts of the terms are an axis around the rows. The body is still that of the call.
NestCall SplitProducts::product_of(const NestCall& call, int64_t parts) const {
  NestCall product = call;
  CallProduct& of = product.products[0];
  of.panels.k /= parts;
  product.outer = {parts};
  of.outer = {of.a_k * of.panels.k};
  of.right_outer = {of.b_strides.k * of.panels.k};
  for (CallOperand& operand : product.operands) operand.outer = {0};
  return product;
}

int SplitProducts::program_of_product(const NestCall& call) {
  const auto [known, is_new] = products_.emplace(call.program, int(split_->programs.size()));
  if (!is_new) return known->second;
  NestProgram program = plan_.programs[size_t(call.program)];
  program.operands = {{OperandKind::store, DType::f32, ColumnStep::contiguous, true}};
  program.body.clear();
  program.body.push_back({.kind = NestOp::product, .dtype = DType::f32, .operand = 0});
  program.body.push_back({.kind = NestOp::store, .dtype = DType::f32, .a = 0, .operand = 0});
  split_->programs.push_back(std::move(program));
  return known->second;
}

/// The sum of all parts, in their order, in the place of the product.
int SplitProducts::program_of_rest(const NestCall& call, int64_t parts) {
  const auto [known, is_new] =
      rests_.emplace(std::pair(call.program, parts), int(split_->programs.size()));
  if (!is_new) return known->second;
  NestProgram rest = plan_.programs[size_t(call.program)];
  rest.kind = NestKind::row_wise;
  rest.products.clear();
  const int operand = int(rest.operands.size());
  rest.operands.push_back({OperandKind::load, DType::f32, ColumnStep::contiguous, true});
  std::vector<NestInstruction> body;
  for (int part = 0; part < int(parts); ++part) {
    body.push_back({.kind = NestOp::load, .dtype = DType::f32, .operand = operand, .part = part});
  }
  int sum = 0;
  for (int part = 1; part < int(parts); ++part) {
    body.push_back(
        {.kind = NestOp::scalar, .op = ScalarOp::add, .dtype = DType::f32, .a = sum, .b = part});
    sum = int(body.size()) - 1;
  }
  std::vector<int> now;  // where each instruction of the call's body is
  for (NestInstruction in : rest.body) {
    if (in.kind == NestOp::product) {
      now.push_back(sum);
      continue;
    }
    for (int* of : {&in.a, &in.b, &in.c}) {
      if (*of >= 0) *of = now[size_t(*of)];
    }
    now.push_back(int(body.size()));
    body.push_back(in);
  }
  rest.body = std::move(body);
  split_->programs.push_back(std::move(rest));
  return known->second;
}

std::shared_ptr<const SplitProduct> SplitProducts::find(const NestCall& call) {
  const int64_t parts = parts_of(call);
  if (parts == 1) return nullptr;
  if (!split_) {
    split_ = std::make_shared<Plan>();
    split_->programs = plan_.programs;
    for (const Buffer& buffer : plan_.buffers) {
      split_->buffers.push_back({.name = buffer.name,
                                 .place = buffer.place,
                                 .index = buffer.index,
                                 .bytes = buffer.bytes,
                                 .offset = buffer.offset});
    }
    split_->buffers.push_back({.name = "sums"});
  }
  auto found = std::make_shared<SplitProduct>();
  found->plan = split_;
  found->parts = parts;
  CallOperand sums = operand_of_sums(call, int(plan_.buffers.size()));
  found->scratch_bytes = parts * sums.part;
  found->rest = call;
  found->rest.program = program_of_rest(call, parts);
  found->rest.products.clear();
  found->rest.operands.push_back(sums);
  sums.outer = {sums.part};
  found->product = product_of(call, parts);
  found->product.program = program_of_product(call);
  found->product.operands = {std::move(sums)};
  return found;
}

}  // namespace graphc::core::cuda
