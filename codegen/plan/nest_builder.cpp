// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan/nest_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "codegen/step/view.h"
#include "ir/stored.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;

template <typename Number>
std::array<char, 8> bytes_of(DType dtype, Number value) {
  std::array<char, 8> bytes{};
  const auto put = [&](auto number) { std::memcpy(bytes.data(), &number, sizeof number); };
  switch (dtype) {
    case DType::f32:
      put(float(value));
      break;
    case DType::f64:
      put(double(value));
      break;
    case DType::i32:
      put(int32_t(value));
      break;
    case DType::u32:
      put(uint32_t(value));
      break;
    case DType::i64:
      put(int64_t(value));
      break;
    case DType::u8:
      put(uint8_t(value));
      break;
    case DType::boolean:
      put(uint8_t(value != 0));
      break;
    case DType::bf16:
      put(BFloat16(float(value)));
      break;
  }
  return bytes;
}

}  // namespace

std::array<char, 8> stored_bytes(DType dtype, double value) { return bytes_of(dtype, value); }
std::array<char, 8> stored_bytes(DType dtype, int64_t value) { return bytes_of(dtype, value); }

std::vector<int64_t> lead_strides(const View& view, const Shape& lead, bool drop_column) {
  Ints strides(size_t(lead.rank()), 0);
  const int axes = view.shape.rank() - (drop_column ? 1 : 0);
  for (int i = 1; i <= std::min(axes, lead.rank()); ++i) {
    const int axis = axes - i;
    if (view.shape[axis] == 1) continue;
    strides[size_t(lead.rank() - i)] = view.strides[size_t(axis)] * size_of(view.dtype);
  }
  return strides;
}

int NestBuilder::add(NestInstruction in) {
  program.body.push_back(in);
  return int(program.body.size()) - 1;
}

int NestBuilder::operand(OperandKind kind, const View& view, RowKind row_kind, int64_t unit) {
  const auto known = with_place_.find({kind, view.address.buffer, view.address.offset});
  if (known != with_place_.end()) {
    for (int index : known->second) {
      if (same_view(views_[size_t(index)], view)) return index;
    }
  }
  NestOperand spec{kind, view.dtype, ColumnStep::none, false};
  CallOperand argument;
  argument.address = view.address;
  const bool columns = row_kind == RowKind::full || row_kind == RowKind::column;
  if (columns) {
    // A single column is contiguous whatever the stride of its axis, which may have any value.
    const int64_t size = size_of(view.dtype);
    const int64_t stride =
        view.shape[-1] == 1 ? size : view.strides[size_t(view.shape.rank() - 1)] * size;
    spec.column = stride == size ? ColumnStep::contiguous : ColumnStep::strided;
    if (stride == 0) spec.column = ColumnStep::none;
    argument.column = stride;
    argument.part = stride * unit;
  }
  if (row_kind != RowKind::scalar) argument.outer = lead_strides(view, lead_, true);
  argument.outer.resize(size_t(lead_.rank()), 0);
  spec.by_row = row_kind == RowKind::full || row_kind == RowKind::row;
  return append(spec, std::move(argument), kind, view);
}

int NestBuilder::literal(DType dtype, double value) {
  return literal(dtype, bytes_of(dtype, value));
}

int NestBuilder::literal(DType dtype, int64_t value) {
  return literal(dtype, bytes_of(dtype, value));
}

int NestBuilder::literal(DType dtype, const std::array<char, 8>& bytes) {
  CallOperand argument;
  argument.literal = bytes;
  const auto known = literals_.find({dtype, bytes});
  if (known != literals_.end()) return known->second;
  argument.outer.assign(size_t(lead_.rank()), 0);
  View none;
  none.address.buffer = -2 - int(views_.size());
  return literals_[{dtype, bytes}] = append({OperandKind::literal, dtype, ColumnStep::none, false},
                                            std::move(argument), OperandKind::literal, none);
}

int NestBuilder::iota(const Node& node, RowKind kind, int64_t unit) {
  const Shape& shape = node.types[0].shape;
  const int rank = shape.rank();
  const std::array<int64_t, Shape::kMaxRank> row_major = shape.strides();
  const int64_t axis = node.attributes.get_int("axis", -1);
  const auto stride = [&](int i) { return axis < 0 ? row_major[size_t(i)] : int64_t(i == axis); };
  CallOperand argument;
  argument.outer.assign(size_t(lead_.rank()), 0);
  for (int i = 2; i <= rank; ++i) {
    if (shape[-i] != 1) argument.outer[size_t(lead_.rank() - i + 1)] = stride(rank - i);
  }
  const bool columns = rank > 0 && shape[-1] != 1;
  argument.column = columns ? stride(rank - 1) : 0;
  argument.part = argument.column * unit;
  View none;
  none.address.buffer = -2 - int(views_.size());
  const bool by_row = kind == RowKind::full || kind == RowKind::row;
  const ColumnStep step = argument.column != 0 ? ColumnStep::strided : ColumnStep::none;
  return append({OperandKind::iota, node.types[0].dtype, step, by_row}, std::move(argument),
                OperandKind::iota, none);
}

int NestBuilder::append(NestOperand spec, CallOperand argument, OperandKind kind,
                        const View& view) {
  program.operands.push_back(spec);
  call.operands.push_back(std::move(argument));
  views_.push_back(view);
  const int index = int(program.operands.size()) - 1;
  with_place_[{kind, view.address.buffer, view.address.offset}].push_back(index);
  return index;
}

void join_axes(NestCall& call, NestProgram& program, const Shape& lead, bool flatten,
               int row_axes) {
  Ints extents(lead.begin(), lead.end());
  std::vector<Ints*> strides;
  for (CallOperand& operand : call.operands) strides.push_back(&operand.outer);
  for (CallProduct& product : call.products) {
    strides.push_back(&product.outer);
    strides.push_back(&product.right_outer);
  }
  for (int axis = int(extents.size()) - 2; axis >= 0; --axis) {
    const size_t i = size_t(axis);
    if (axis + 1 == row_axes) continue;
    const bool joined = extents[i] == 1 || extents[i + 1] == 1 ||
                        std::all_of(strides.begin(), strides.end(), [&](const Ints* s) {
                          return (*s)[i] == (*s)[i + 1] * extents[i + 1];
                        });
    if (!joined) continue;
    for (Ints* s : strides) {
      if (extents[i + 1] == 1) (*s)[i + 1] = (*s)[i];
      s->erase(s->begin() + axis);
    }
    extents[i + 1] *= extents[i];
    extents.erase(extents.begin() + axis);
  }
  call.rows = extents.empty() ? 1 : extents.back();
  if (!extents.empty()) extents.pop_back();
  call.outer = extents;
  for (CallOperand& operand : call.operands) {
    operand.row = operand.outer.empty() ? 0 : operand.outer.back();
    if (!operand.outer.empty()) operand.outer.pop_back();
  }
  for (CallProduct& product : call.products) {
    product.a_row = product.outer.empty() ? 0 : product.outer.back();
    if (!product.outer.empty()) product.outer.pop_back();
    if (!product.right_outer.empty()) product.right_outer.pop_back();
  }
  // What a row of an outer axis reads for all its inner rows is read once.
  for (size_t i = 0; i < call.operands.size() && !call.outer.empty(); ++i) {
    NestOperand& spec = program.operands[i];
    const bool reads = spec.kind == OperandKind::load || spec.kind == OperandKind::iota;
    if (reads && call.operands[i].row == 0) spec.by_row = false;
  }
  // Elementwise work on contiguous rows becomes one long row.
  bool flat = flatten && program.kind == NestKind::row_wise && call.rows > 1;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const NestOperand& spec = program.operands[i];
    const CallOperand& operand = call.operands[i];
    const bool reduction =
        spec.kind == OperandKind::reduce_sum || spec.kind == OperandKind::reduce_max;
    const bool everywhere = !spec.by_row && spec.column == ColumnStep::none;
    const bool whole = spec.column != ColumnStep::none && operand.row == call.unit * operand.column;
    flat &= !reduction && (everywhere || whole);
  }
  for (const NestInstruction& in : program.body) flat &= in.part == 0;
  if (!flat) return;
  call.unit *= call.rows;
  call.rows = 1;
}

}  // namespace graphc::core
