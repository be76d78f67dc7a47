// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/rows/row_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "codegen/nest/contracted_products.h"
#include "codegen/targets/cuda/text/nest_body.h"
#include "codegen/targets/cuda/text/scalar_text.h"
#include "ir/error.h"

namespace graphc::core::cuda {

RowBody::RowBody(const Plan& plan, const RowNest& nest, RowText& rows, Names& names)
    : program_(plan.programs[size_t(nest.call->program)]),
      nest_(nest),
      rows_(rows),
      names_(names),
      bound_(program_.operands.size()),
      sums_(program_.operands.size()),
      values_(program_.body.size()),
      shares_(program_.body.size()) {}

void RowBody::set_shares(const std::vector<bool>& operands, bool sums_axis) {
  const auto shares = shares_in(program_, operands, sums_axis);
  GRAPHC_CHECK(shares.has_value(), "%{}: shares that do not add up", nest_.call->name);
  shares_ = *shares;
}

void RowBody::bind(size_t operand, std::string name, Spread spread) {
  bound_[operand] = {std::move(name), spread, {}, {}};
}
void RowBody::bind_apart(size_t operand, std::string share, std::string whole) {
  bound_[operand].share = std::move(share);
  bound_[operand].whole = std::move(whole);
}
void RowBody::bind_number(size_t operand, std::string name) {
  bound_[operand] = {std::move(name), Spread::number, {}, {}};
}

bool RowBody::is_sum(size_t operand) const {
  const OperandKind kind = program_.operands[operand].kind;
  return kind == OperandKind::reduce_sum || kind == OperandKind::reduce_max;
}

std::string RowBody::converted(const std::string& value, DType from, DType to) const {
  const std::array<std::string, 1> one{value};
  return from == to ? value : scalar_text(ScalarOp::cast, to, from, one);
}

DType RowBody::sum_type(size_t operand) const {
  // Sums of bf16 are computed in f32 and rounded once.
  const DType dtype = program_.operands[operand].dtype;
  return dtype == DType::bf16 ? DType::f32 : dtype;
}

std::string RowBody::join(size_t operand, const std::string& x, const std::string& y) const {
  const bool maximum = program_.operands[operand].kind == OperandKind::reduce_max;
  return Reduction{.dtype = sum_type(operand), .maximum = maximum}.join(x, y);
}

std::string RowBody::index_of(size_t i) const {
  const CallOperand& operand = nest_.call->operands[i];
  std::string text = bound_[i].name;
  const auto add = [&](const std::string& index, int64_t stride) {
    if (stride != 0) text += fmt::format(" + {} * {}ll", index, stride);
  };
  const NestOperand& form = program_.operands[i];
  const int64_t of_row = form.by_row ? operand.row : 0;
  const int64_t of_column = form.column == ColumnStep::none ? 0 : operand.column;
  if (nest_.call->outer.empty()) {
    add("row", of_row);
    if (nest_.domain == Spread::by_row) add(rows_.row(), of_column);
    if (nest_.domain == Spread::by_column) add(rows_.column(), of_column);
    if (nest_.domain == Spread::matrix)
      add(fmt::format("({} * {} + {})", rows_.row(), rows_.columns(), rows_.column()), of_column);
  } else {
    add("row", operand.outer[0]);
    add(rows_.row(), of_row);
    add(rows_.column(), of_column);
  }
  return "(" + text + ")";
}

std::string RowBody::loaded(const NestInstruction& in) const {
  const auto operand = size_t(in.operand);
  const NestOperand& form = program_.operands[operand];
  if (form.kind == OperandKind::literal)
    return converted(loaded_text(form.dtype, bound_[operand].name), form.dtype, in.dtype);
  if (form.kind == OperandKind::iota) return converted(index_of(operand), DType::i64, in.dtype);
  return converted(RowText::element(bound_[operand].name, bound_[operand].spread), form.dtype,
                   in.dtype);
}

std::string RowBody::fused(int product, const std::string& addend, bool negated) const {
  const NestInstruction& in = program_.body[size_t(product)];
  return fmt::format("{}({}{}, {}, {})", in.dtype == DType::f64 ? "fma" : "fmaf",
                     negated ? "-" : "", values_[size_t(in.a)], values_[size_t(in.b)], addend);
}

/// An addition or a subtraction of a product, in one rounding.
std::string RowBody::added(size_t i) const {
  const NestInstruction& in = program_.body[i];
  const bool is_first = products_[i] == in.a, subtracts = in.op == ScalarOp::sub;
  const auto addend = size_t(is_first ? in.b : in.a);
  std::string other = values_[addend];
  if (shares_[i] && !shares_[addend])
    other = RowText::of_first_part(other, program_.body[addend].dtype);
  if (subtracts && is_first) other = "-" + other;
  return fused(products_[i], other, subtracts && !is_first);
}

/// The value that an instruction makes; a product that is contracted with a sum has no variable.
std::string RowBody::value_of(int i) const {
  if (std::ranges::find(products_, i) == products_.end()) return values_[size_t(i)];
  const NestInstruction& in = program_.body[size_t(i)];
  return fmt::format("({} * {})", values_[size_t(in.a)], values_[size_t(in.b)]);
}

void RowBody::store_apart(TextWriter& text, const NestInstruction& in) const {
  const std::optional<LastSum> sum = last_sum(program_, shares_, in);
  GRAPHC_CHECK(sum.has_value(), "%{}: shares that do not end whole", nest_.call->name);
  const Bound& to = bound_[size_t(in.operand)];
  text.line("{} = {}{};", RowText::element(to.share, to.spread), sum->subtracts_share ? "-" : "",
            value_of(sum->share));
  text.line("{} = {}{};", RowText::element(to.whole, to.spread), sum->subtracts_whole ? "-" : "",
            value_of(sum->whole));
}

void RowBody::write_instruction(TextWriter& text, size_t i) {
  const NestInstruction& in = program_.body[i];
  const auto define = [&](const std::string& name, const std::string& value) {
    values_[i] = names_.make(name);
    text.line("const {} {} = {};", register_type_text(in.dtype), values_[i], value);
  };
  const auto operand = size_t(in.operand);
  switch (in.kind) {
    case NestOp::load:
      return define(program_.operands[operand].kind == OperandKind::load
                        ? "this_" + bound_[operand].name.substr(0, bound_[operand].name.find('['))
                        : "this_number",
                    loaded(in));
    case NestOp::scalar: {
      if (products_[i] >= 0) return define(std::string(graphc::core::name_of(in.op)), added(i));
      std::vector<std::string> operands;
      for (const int each : {in.a, in.b, in.c}) {
        if (each < 0) continue;
        const bool is_whole = shares_[i] && !shares_[size_t(each)];
        const std::string& value = values_[size_t(each)];
        operands.push_back(is_whole && is_added(in.op, int(operands.size()))
                               ? RowText::of_first_part(value, program_.body[size_t(each)].dtype)
                               : value);
      }
      return define(std::string(graphc::core::name_of(in.op)),
                    scalar_text(in.op, in.dtype, program_.body[size_t(in.a)].dtype, operands));
    }
    case NestOp::store: {
      // As memory would have it: rounded to the stored type.
      const DType dtype = program_.operands[operand].dtype;
      const std::string value =
          converted(values_[size_t(in.a)], program_.body[size_t(in.a)].dtype, dtype);
      text.line("{} = {};", RowText::element(bound_[operand].name, bound_[operand].spread),
                dtype == DType::bf16 ? loaded_text(dtype, stored_text(dtype, value)) : value);
      if (!bound_[operand].share.empty()) store_apart(text, in);
      return;
    }
    case NestOp::reduce: {
      const std::string sum = RowText::element(sums_[operand], bound_[operand].spread);
      text.line(
          "{} = {};", sum,
          products_[i] >= 0 ? fused(products_[i], sum) : join(operand, sum, values_[size_t(in.a)]));
      return;
    }
    case NestOp::product:
      return;
  }
}

void RowBody::finish_sum(TextWriter& text, size_t operand) {
  const Bound& bound = bound_[operand];
  const std::string& all = sums_[operand];
  const auto joined = [&](const std::string& x, const std::string& y) {
    return join(operand, x, y);
  };
  if (nest_.over_rows || nest_.over_columns)
    rows_.meet(text, nest_.over_rows, all, bound.spread, sum_type(operand), joined);
  const DType dtype = program_.operands[operand].dtype;
  const int scopes = rows_.open(text, bound.spread);
  const std::string own = RowText::element(all, bound.spread);
  text.line("{} = {};", RowText::element(bound.name, bound.spread),
            dtype == DType::bf16 ? loaded_text(dtype, stored_text(dtype, own)) : own);
  RowText::close(text, scopes);
}

void RowBody::write(TextWriter& text) {
  products_ = contracted_products(program_, shares_);
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (!is_sum(i)) continue;
    const bool maximum = program_.operands[i].kind == OperandKind::reduce_max;
    sums_[i] = names_.make("all_" + bound_[i].name);
    text.line("{} {}{};", register_type_text(sum_type(i)), sums_[i],
              rows_.extents(bound_[i].spread));
    const int scopes = rows_.open(text, bound_[i].spread, false);
    text.line("{} = {};", RowText::element(sums_[i], bound_[i].spread),
              Reduction{.dtype = sum_type(i), .maximum = maximum}.identity());
    RowText::close(text, scopes);
  }
  const int scopes = rows_.open(text, nest_.domain);
  // All loads first: functions have branches, and no load is moved before a branch.
  for (size_t i = 0; i < program_.body.size(); ++i) {
    if (program_.body[i].kind == NestOp::load) write_instruction(text, i);
  }
  for (size_t i = 0; i < program_.body.size(); ++i) {
    if (program_.body[i].kind != NestOp::load &&
        std::ranges::find(products_, int(i)) == products_.end())
      write_instruction(text, i);
  }
  RowText::close(text, scopes);
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (is_sum(i)) finish_sum(text, i);
  }
}

}  // namespace graphc::core::cuda
