// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/nest_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

/// Whether a stride of a product's operands is too long for offsets of 31 bits: within a piece
/// there are at most 1024 strides. Offsets count elements and these strides bytes, which are more.
bool has_far_elements(const CallProduct& product) {
  constexpr int64_t kMostStrides = 1024;
  const int64_t right = product.in_panels ? 0 : std::abs(product.b_strides.k);
  return std::max(std::abs(product.a_row), right) >
         std::numeric_limits<int32_t>::max() / kMostStrides;
}

/// Lists parameters, according to the axes along which the program moves each operand.
class Listing {
 public:
  Listing(const Plan& plan, const NestCall& call, Names& names)
      : plan_(plan), program_(plan.programs[size_t(call.program)]), call_(call), names_(names) {}

  std::vector<Parameter> all() {
    for (size_t i = 0; i < program_.operands.size(); ++i) list_operand(int(i));
    for (size_t i = 0; i < program_.products.size(); ++i) list_product(int(i));
    add(ParameterKind::rows, 0, "rows");
    add(ParameterKind::columns, 0, "columns");
    for (int axis = 0; axis < int(call_.outer.size()); ++axis)
      add(ParameterKind::extent, 0, fmt::format("extent_{}", axis), "long long", axis);
    return std::move(parameters_);
  }

 private:
  void add(ParameterKind kind, int index, std::string name, std::string type = "long long",
           int axis = 0) {
    parameters_.push_back({kind, index, axis, std::move(type), std::move(name)});
  }

  /// "const float*" for operands that are read, "float*" for those that are written.
  static std::string pointer_to(DType dtype, bool written) {
    return fmt::format("{}{}*", written ? "" : "const ", stored_type_text(dtype));
  }

  std::string buffer_name(const Address& address) const {
    return plan_.buffers[size_t(address.buffer)].name;
  }

  bool has_parts(int operand) const {
    for (const NestInstruction& in : program_.body) {
      const bool of_operand = in.kind == NestOp::load || in.kind == NestOp::store ||
                              (in.kind == NestOp::reduce && program_.kind != NestKind::row_wise);
      if (of_operand && in.operand == operand && in.part > 0) return true;
    }
    return false;
  }

  void list_operand(int i) {
    const NestOperand& form = program_.operands[size_t(i)];
    if (form.kind == OperandKind::literal) {
      return add(ParameterKind::literal, i, names_.make("number"),
                 std::string(stored_type_text(form.dtype)));
    }
    const bool iota = form.kind == OperandKind::iota;
    const std::string name =
        names_.make(iota ? "index" : buffer_name(call_.operands[size_t(i)].address));
    const bool written = form.kind != OperandKind::load;
    add(ParameterKind::base, i, name, iota ? "long long" : pointer_to(form.dtype, written));
    if (form.by_row) add(ParameterKind::row, i, names_.make(name + "_row"));
    if (has_parts(i)) add(ParameterKind::part, i, names_.make(name + "_part"));
    const bool steps =
        form.column == ColumnStep::strided || (iota && form.column == ColumnStep::contiguous);
    if (steps) add(ParameterKind::column, i, names_.make(name + "_column"));
    for (int axis = 0; axis < int(call_.outer.size()); ++axis)
      add(ParameterKind::outer, i, names_.make(fmt::format("{}_outer_{}", name, axis)), "long long",
          axis);
  }

  void list_product(int p) {
    const NestProduct& form = program_.products[size_t(p)];
    const CallProduct& product = call_.products[size_t(p)];
    const std::string left = names_.make(buffer_name(product.a));
    add(ParameterKind::left, p, left, pointer_to(form.left, false));
    add(ParameterKind::left_row, p, names_.make(left + "_row"));
    add(ParameterKind::left_k, p, names_.make(left + "_k"));
    for (int axis = 0; axis < int(call_.outer.size()); ++axis)
      add(ParameterKind::left_outer, p, names_.make(fmt::format("{}_outer_{}", left, axis)),
          "long long", axis);
    const std::string right = names_.make(buffer_name(product.b));
    add(ParameterKind::right, p, right, pointer_to(form.right, false));
    for (int axis = 0; axis < int(call_.outer.size()); ++axis)
      add(ParameterKind::right_outer, p, names_.make(fmt::format("{}_outer_{}", right, axis)),
          "long long", axis);
    if (product.in_panels) {
      add(ParameterKind::right_block, p, names_.make(right + "_block"));
    } else {
      add(ParameterKind::right_k, p, names_.make(right + "_k"));
      if (form.parts > 1) add(ParameterKind::right_part, p, names_.make(right + "_part"));
      add(ParameterKind::right_column, p, names_.make(right + "_column"));
    }
    add(ParameterKind::k, p, names_.make("terms"));
  }

  const Plan& plan_;
  const NestProgram& program_;
  const NestCall& call_;
  Names& names_;
  std::vector<Parameter> parameters_;
};

/// Converts bytes to elements.
int64_t in_elements(int64_t bytes, DType dtype) {
  GRAPHC_CHECK(bytes % size_of(dtype) == 0, "a stride of {} bytes in elements of {}", bytes,
               name_of(dtype));
  return bytes / size_of(dtype);
}

int64_t operand_number(const Parameter& parameter, const NestOperand& form,
                       const CallOperand& operand) {
  const auto stride = [&](int64_t given) {
    return form.kind == OperandKind::iota ? given : in_elements(given, form.dtype);
  };
  switch (parameter.kind) {
    case ParameterKind::base:
      return operand.base;
    case ParameterKind::literal: {
      int64_t number = 0;
      std::memcpy(&number, operand.literal.data(), sizeof number);
      return number;
    }
    case ParameterKind::row:
      return stride(operand.row);
    case ParameterKind::part:
      return stride(operand.part);
    case ParameterKind::column:
      return stride(operand.column);
    default:
      return stride(operand.outer[size_t(parameter.axis)]);
  }
}

int64_t product_number(const Parameter& parameter, const NestProduct& form,
                       const CallProduct& product) {
  switch (parameter.kind) {
    case ParameterKind::left_row:
      return in_elements(product.a_row, form.left);
    case ParameterKind::left_k:
      return in_elements(product.a_k, form.left);
    case ParameterKind::left_outer:
      return in_elements(product.outer[size_t(parameter.axis)], form.left);
    case ParameterKind::right_outer:
      return in_elements(product.right_outer[size_t(parameter.axis)], form.right);
    case ParameterKind::right_k:
      return in_elements(product.b_strides.k, form.right);
    case ParameterKind::right_part:
      return in_elements(product.b_strides.part, form.right);
    case ParameterKind::right_column:
      return in_elements(product.b_strides.column, form.right);
    case ParameterKind::right_block:
      return in_elements(product.panels.block_bytes(), form.right);
    default:
      return product.panels.k;
  }
}

}  // namespace

std::string NestForm::resident_name(size_t product) const {
  return fmt::format("resident_{}_{}", nest, product);
}

std::string NestForm::exchanged_name(size_t product) const {
  return fmt::format("exchanged_{}_{}", nest, product);
}

std::string NestForm::key() const {
  GRAPHC_CHECK(!owned, "nests of a loop whose blocks own rows and columns share no kernels");
  std::string copies;
  if (pipelined) {
    for (const CopiedOperand& operand : pipelined->operands)
      copies += fmt::format(", copies of {} bytes along {}", operand.bytes,
                            operand.along_terms ? "terms" : "lines");
    if (pipelined->in_panels) copies += " of panels";
    copies += fmt::format(", pairs [{}]", fmt::join(pipelined->pairs, ","));
  }
  return fmt::format("{} axes around, panels [{}], tiles of {} x {}, {} terms{}{}", outer,
                     fmt::join(panel_widths, ","), tile_rows, tile_columns, staged_k,
                     far ? ", far" : "", copies);
}

NestForm form_of(const NestCall& call) {
  NestForm form;
  form.outer = int(call.outer.size());
  const auto size_class = [](int64_t extent) { return extent <= 16 ? 16 : extent <= 32 ? 32 : 64; };
  if (!call.products.empty()) {
    form.tile_rows = size_class(call.rows);
    form.tile_columns = size_class(call.unit);
  }
  for (const CallProduct& product : call.products) {
    form.panel_widths.push_back(product.in_panels ? product.panels.width : 0);
    form.far |= has_far_elements(product);
  }
  return form;
}

NestForm streamed_form_of(const NestCall& call) {
  NestForm form = form_of(call);
  form.staged_k = 16;
  return form;
}

std::vector<Parameter> parameters_of(const Plan& plan, const NestCall& call) {
  Names names;
  return parameters_of(plan, call, names);
}

std::vector<Parameter> parameters_of(const Plan& plan, const NestCall& call, Names& names) {
  return Listing(plan, call, names).all();
}

int64_t number_for(const Parameter& parameter, const Plan& plan, const NestCall& call) {
  const NestProgram& program = plan.programs[size_t(call.program)];
  const size_t index = size_t(parameter.index);
  switch (parameter.kind) {
    case ParameterKind::base:
    case ParameterKind::literal:
    case ParameterKind::row:
    case ParameterKind::part:
    case ParameterKind::column:
    case ParameterKind::outer:
      return operand_number(parameter, program.operands[index], call.operands[index]);
    case ParameterKind::rows:
      return call.rows;
    case ParameterKind::columns:
      return call.unit;
    case ParameterKind::extent:
      return call.outer[size_t(parameter.axis)];
    default:
      return product_number(parameter, program.products[index], call.products[index]);
  }
}

DType dtype_of(const Parameter& parameter, const NestProgram& program) {
  const size_t index = size_t(parameter.index);
  if (parameter.kind == ParameterKind::left) return program.products[index].left;
  if (parameter.kind == ParameterKind::right) return program.products[index].right;
  return program.operands[index].dtype;
}

const Address* address_for(const Parameter& parameter, const Plan& plan, const NestCall& call) {
  const NestProgram& program = plan.programs[size_t(call.program)];
  const size_t index = size_t(parameter.index);
  switch (parameter.kind) {
    case ParameterKind::base:
      return program.operands[index].kind == OperandKind::iota ? nullptr
                                                               : &call.operands[index].address;
    case ParameterKind::left:
      return &call.products[index].a;
    case ParameterKind::right:
      return &call.products[index].b;
    default:
      return nullptr;
  }
}

}  // namespace graphc::core::cuda
