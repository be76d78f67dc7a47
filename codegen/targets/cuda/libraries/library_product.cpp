// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/libraries/library_product.h"

#include <algorithm>

#include "codegen/step/access.h"
#include "codegen/step/visit.h"
#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

constexpr int64_t kFloatBytes = int64_t{sizeof(float)};

/// The form in which cuBLASLt takes a matrix with these strides in bytes along both axes; nothing
/// if neither axis is contiguous.
std::optional<MatrixPlace> place_of(int64_t along_rows, int64_t along_columns, int64_t rows,
                                    int64_t columns, DType dtype) {
  const int64_t size = size_of(dtype);
  const auto fits = [&](int64_t stride, int64_t least) {
    return stride >= least * size && stride % size == 0;
  };
  // With a single row, or column, the stride to the next one does not matter.
  if (along_columns == size && (rows == 1 || fits(along_rows, columns)))
    return MatrixPlace{false, rows == 1 ? columns : along_rows / size};
  if (along_rows == size && (columns == 1 || fits(along_columns, rows)))
    return MatrixPlace{true, columns == 1 ? rows : along_columns / size};
  return std::nullopt;
}

/// The computation of cuBLASLt that corresponds to our rounding of factors; nothing if it has none.
std::optional<cublasComputeType_t> compute_of(Factors factors) {
  switch (factors) {
    case Factors::as_stored:
      return CUBLAS_COMPUTE_32F;
    case Factors::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Factors::bf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    case Factors::f16:
      return CUBLAS_COMPUTE_32F_FAST_16F;
    case Factors::split_tf32:
    case Factors::two_bf16:
    case Factors::three_bf16:
      break;
  }
  return std::nullopt;
}

/// The operand to which the product is stored unchanged, if that is all that the nest does.
std::optional<int> only_store(const NestProgram& program) {
  std::optional<int> operand;
  for (const NestInstruction& in : program.body) {
    if (in.kind == NestOp::product && in.dtype == DType::f32) continue;
    const bool stores = in.kind == NestOp::store && in.dtype == DType::f32 &&
                        program.body[size_t(in.a)].kind == NestOp::product &&
                        program.body[size_t(in.a)].part == in.part;
    if (!stores || (operand && *operand != in.operand)) return std::nullopt;
    operand = in.operand;
  }
  if (!operand) return std::nullopt;
  const NestOperand& form = program.operands[size_t(*operand)];
  const bool plain = form.kind == OperandKind::store && form.dtype == DType::f32 && form.by_row &&
                     form.column == ColumnStep::contiguous;
  return plain ? operand : std::nullopt;
}

}  // namespace

LibraryForms::LibraryForms(const Plan& plan) : plan_(plan) {
  for (size_t i = 0; i < plan.records.size(); ++i) {
    visit_accesses(plan, plan.records[i], [&](const Access& access) {
      if (access.writes()) first_write_.emplace(access.address->buffer, i);
    });
  }
  for (const Buffer& buffer : plan.buffers) rests_.buffers.push_back({.name = buffer.name});
  rests_.buffers.push_back({.name = "product"});
}

int64_t LibraryForms::scratch_bytes(const ProductShape& shape) {
  return shape.rows * shape.columns * kFloatBytes;
}

std::optional<LibraryForms::Found> LibraryForms::find(const NestCall& call, size_t record) {
  const NestProgram& program = plan_.programs[size_t(call.program)];
  if (program.kind != NestKind::tiles || program.products.size() != 1 || !call.outer.empty())
    return std::nullopt;
  const NestProduct& form = program.products[0];
  const auto is = [&](DType dtype) { return form.left == dtype && form.right == dtype; };
  if ((!is(DType::f32) && !is(DType::bf16)) || form.sum != DType::f32) return std::nullopt;
  // Stored bf16 factors need no rounding in any precision.
  const auto compute = is(DType::bf16) ? CUBLAS_COMPUTE_32F : compute_of(form.factors);
  Found found;
  found.shape.rows = call.rows;
  found.shape.columns = form.parts * call.unit;
  found.shape.k = call.products[0].panels.k;
  found.shape.type = is(DType::bf16) ? CUDA_R_16BF : CUDA_R_32F;
  if (!compute || std::min({found.shape.rows, found.shape.columns, found.shape.k}) <= 0 ||
      !find_operands(call, record, found))
    return std::nullopt;
  found.shape.compute = *compute;
  make_rest(call, found);
  return found;
}

bool LibraryForms::find_operands(const NestCall& call, size_t record, Found& found) const {
  const NestProduct& form = plan_.programs[size_t(call.program)].products[0];
  const CallProduct& product = call.products[0];
  found.left = product.a;
  found.right = product.b;
  MatrixStrides strides = product.b_strides;
  if (product.in_panels) {
    // Panels of a state can be replaced by the state until the step writes it.
    const auto kept = std::ranges::find(plan_.forms, product.b.buffer, &PlanForm::buffer);
    if (kept == plan_.forms.end()) return false;
    const PanelCall& made = *kept->panels();
    const auto write = first_write_.find(made.from.buffer);
    if (write != first_write_.end() && write->second <= record) return false;
    found.right = made.from;
    strides = made.from_strides;
  }
  if (form.parts > 1 && strides.part != strides.column * call.unit) return false;
  const ProductShape& shape = found.shape;
  const auto left = place_of(product.a_row, product.a_k, shape.rows, shape.k, form.left);
  const auto right = place_of(strides.k, strides.column, shape.k, shape.columns, form.right);
  if (!left || !right) return false;
  found.shape.left = *left;
  found.shape.right = *right;
  return true;
}

void LibraryForms::make_rest(const NestCall& call, Found& found) {
  const NestProgram& program = plan_.programs[size_t(call.program)];
  found.shape.result_leading = found.shape.columns;
  if (const std::optional<int> operand = only_store(program)) {
    const CallOperand& to = call.operands[size_t(*operand)];
    const bool together = program.products[0].parts == 1 || to.part == call.unit * kFloatBytes;
    const auto place =
        place_of(to.row, kFloatBytes, found.shape.rows, found.shape.columns, DType::f32);
    if (together && place && !place->transposed) {
      found.shape.result_leading = place->leading;
      found.result = &to.address;
      return;
    }
  }
  const auto [known, is_new] = rest_programs_.emplace(call.program, int(rests_.programs.size()));
  const int operand = int(program.operands.size());
  if (is_new) {
    NestProgram rest = program;
    rest.kind = NestKind::row_wise;
    rest.products.clear();
    rest.operands.push_back({OperandKind::load, DType::f32, ColumnStep::contiguous, true});
    for (NestInstruction& in : rest.body) {
      if (in.kind != NestOp::product) continue;
      in.kind = NestOp::load;
      in.operand = operand;
    }
    rests_.programs.push_back(std::move(rest));
  }
  found.rest = call;
  found.rest.program = known->second;
  found.rest.products.clear();
  CallOperand product;
  product.address.buffer = int(rests_.buffers.size()) - 1;
  product.row = found.shape.columns * kFloatBytes;
  product.part = call.unit * kFloatBytes;
  product.column = kFloatBytes;
  found.rest.operands.push_back(std::move(product));
}

}  // namespace graphc::core::cuda
