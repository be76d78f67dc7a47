// SPDX-License-Identifier: Apache-2.0
#include "codegen/step/plan.h"

#include <algorithm>

#include "ir/error.h"

namespace graphc::core {

std::string_view name_of(TableOp op) {
  constexpr std::string_view names[] = {"gather", "scatter", "scatter_add", "merge_rows",
                                        "check_labels"};
  return names[size_t(op)];
}

const ExternOperand* ExternCall::operand(std::string_view wanted) const {
  const auto found = std::ranges::find(operands, wanted, &ExternOperand::name);
  return found == operands.end() ? nullptr : &*found;
}

int64_t ExternCall::parameter(std::string_view wanted) const {
  const auto found = std::ranges::find_if(
      parameters, [&](const auto& parameter) { return parameter.first == wanted; });
  GRAPHC_CHECK(found != parameters.end(), "%{}: {} has no parameter {}", name, function, wanted);
  return found->second;
}

const PanelCall* PlanForm::panels() const {
  return make.size() == 1 ? std::get_if<PanelCall>(&make[0].call) : nullptr;
}

std::vector<int64_t> PlanForm::key() const {
  const PanelCall* const call = panels();
  GRAPHC_CHECK(call != nullptr, "a form of {} states has no key", states.size());
  const PanelForm& form = call->panels;
  const MatrixStrides& strides = call->from_strides;
  return {call->from.offset,  strides.k,      strides.column,
          strides.part,       form.k,         form.unit,
          form.parts,         form.width,     int64_t(form.dtype),
          form.k_group,       form.k_tile,    form.bf16_parts,
          int64_t(form.from), call->matrices, call->from_matrix};
}

bool NestPart::is_empty(const NestCall& call) const {
  return outer.empty() || (rows.empty() && call.rows > 0) || (columns.empty() && call.unit > 0);
}

NestPart part_of(const NestCall& call, Along along, Range own) {
  NestPart part;
  if (!call.outer.empty()) part.outer = {0, call.outer[0]};
  part.rows = {0, call.rows};
  part.columns = {0, call.unit};
  if (along == Along::outer) part.outer = own;
  if (along == Along::rows || along == Along::around) part.rows = own;
  if (along == Along::columns) part.columns = own;
  return part;
}

}  // namespace graphc::core
