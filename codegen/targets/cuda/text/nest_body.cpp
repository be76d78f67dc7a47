// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/nest_body.h"

#include <fmt/ranges.h>

#include <array>
#include <limits>
#include <span>
#include <utility>

#include "codegen/targets/cuda/text/scalar_text.h"
#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

/// The smallest value of a type: of an integer type its minimum, of a floating one -infinity.
double lowest(DType dtype) {
  if (dtype == DType::i32) return double(std::numeric_limits<int32_t>::min());
  if (dtype == DType::i64) return double(std::numeric_limits<int64_t>::min());
  return is_floating(dtype) ? -std::numeric_limits<double>::infinity() : 0;
}

}  // namespace

std::string Reduction::identity() const { return literal_text(dtype, maximum ? lowest(dtype) : 0); }

std::string Reduction::join(const std::string& x, const std::string& y) const {
  const std::array<std::string, 2> both{x, y};
  return scalar_text(maximum ? ScalarOp::maximum : ScalarOp::add, dtype, dtype, both);
}

NestBody::NestBody(const NestProgram& program, const std::vector<Parameter>& parameters,
                   SumText sum)
    : program_(program),
      parameters_(parameters),
      sum_(std::move(sum)),
      levels_(levels_of(program)),
      values_(program.body.size()) {
  for (const Parameter& parameter : parameters) names_.make(parameter.name);
  find_reductions();
}

void NestBody::find_reductions() {
  for (const NestInstruction& in : program_.body) {
    if (in.kind != NestOp::reduce) continue;
    const int part = program_.kind == NestKind::row_wise ? 0 : in.part;
    bool known = false;
    for (const Reduction& r : reductions_) known |= r.operand == in.operand && r.part == part;
    if (known) continue;
    const NestOperand& operand = program_.operands[size_t(in.operand)];
    const std::string name = "all_" + name_of(ParameterKind::base, in.operand);
    // Sums of bf16 are computed in f32 and rounded once.
    const DType dtype = operand.dtype == DType::bf16 ? DType::f32 : operand.dtype;
    reductions_.push_back(
        {in.operand, part, dtype, operand.kind == OperandKind::reduce_max, names_.make(name)});
  }
}

std::string NestBody::name_of(ParameterKind kind, int index, int axis) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.kind == kind && parameter.index == index && parameter.axis == axis)
      return parameter.name;
  }
  return {};
}

std::string NestBody::sum_of(const std::vector<std::string>& terms) {
  return terms.empty() ? "0" : fmt::format("{}", fmt::join(terms, " + "));
}

std::vector<std::string> NestBody::outer_terms(ParameterKind kind, int index) const {
  std::vector<std::string> terms;
  for (int axis = 0;; ++axis) {
    const std::string stride = name_of(kind, index, axis);
    if (stride.empty()) return terms;
    terms.push_back(fmt::format("outer_{} * {}", axis, stride));
  }
}

std::string NestBody::index_of(int operand, int part, bool with_row, bool with_column) const {
  const NestOperand& form = program_.operands[size_t(operand)];
  std::vector<std::string> terms = outer_terms(ParameterKind::outer, operand);
  const std::string row = name_of(ParameterKind::row, operand);
  if (with_row && !row.empty()) terms.push_back("row * " + row);
  const std::string part_stride = name_of(ParameterKind::part, operand);
  if (part == 1) terms.push_back(part_stride);
  if (part > 1) terms.push_back(fmt::format("{} * {}", part, part_stride));
  const std::string column = name_of(ParameterKind::column, operand);
  if (with_column && !column.empty()) {
    terms.push_back("column * " + column);
  } else if (with_column && form.column == ColumnStep::contiguous) {
    terms.push_back("column");
  }
  return sum_of(terms);
}

std::string NestBody::element(int operand, int part) const {
  return fmt::format("{}[{}]", name_of(ParameterKind::base, operand),
                     index_of(operand, part, true, true));
}

std::string NestBody::converted(const std::string& value, DType from, DType to) const {
  const std::array<std::string, 1> one{value};
  return from == to ? value : scalar_text(ScalarOp::cast, to, from, one);
}

void NestBody::define(TextWriter& text, size_t i, std::string_view name, const std::string& value) {
  values_[i] = names_.make(name);
  text.line("const {} {} = {};", register_type_text(program_.body[i].dtype), values_[i], value);
}

void NestBody::write(TextWriter& text, Level level, const std::string& when) {
  when_ = when;
  // All loads first: functions have branches, and no load is moved before a branch.
  for (size_t i = 0; i < program_.body.size(); ++i) {
    if (levels_[i] == level && program_.body[i].kind == NestOp::load) write_load(text, i);
  }
  for (size_t i = 0; i < program_.body.size(); ++i) {
    if (levels_[i] != level) continue;
    const NestInstruction& in = program_.body[i];
    switch (in.kind) {
      case NestOp::load:
        break;
      case NestOp::product: {
        const DType sum = program_.products[size_t(in.operand)].sum;
        define(text, i, "product", converted(sum_(in.operand, in.part), sum, in.dtype));
        break;
      }
      case NestOp::store:
        if (const auto number = numbers_.find(i); number != numbers_.end()) {
          text.line("{} = {};", number->second, values_[size_t(in.a)]);
        } else if (const auto kept = kept_.find(i); kept != kept_.end()) {
          const DType dtype = program_.operands[size_t(in.operand)].dtype;
          const bool rounds = stores_round_ && pairs_.contains(i) && dtype == DType::bf16;
          const int unrounded = rounds ? before_rounding(in.a) : -1;
          const std::string value =
              unrounded >= 0
                  ? values_[size_t(unrounded)]
                  : converted(values_[size_t(in.a)], program_.body[size_t(in.a)].dtype, dtype);
          text.line("{}[at_row][at_column] = {};", kept->second,
                    zeros_elsewhere_
                        ? fmt::format("{} ? {} : {}", when_, value, literal_text(dtype, 0))
                        : value);
        } else {
          write_store(text, in);
        }
        break;
      case NestOp::reduce:
        write_reduce(text, in);
        break;
      case NestOp::scalar:
        write_scalar(text, i);
        break;
    }
    if (const auto kept = kept_values_.find(i); kept != kept_values_.end())
      text.line("{}[at_row][at_column] = {};", kept->second, values_[i]);
  }
}

/// The f32 that the program rounds to this bf16; -1: the value is something else.
int NestBody::before_rounding(int value) const {
  const NestInstruction& in = program_.body[size_t(value)];
  const bool rounds = in.kind == NestOp::scalar && in.op == ScalarOp::cast &&
                      in.dtype == DType::bf16 && program_.body[size_t(in.a)].dtype == DType::f32;
  return rounds ? in.a : -1;
}

std::vector<size_t> NestBody::loads_of_elements() const {
  std::vector<size_t> loads;
  for (size_t i = 0; i < program_.body.size(); ++i) {
    const NestInstruction& in = program_.body[i];
    if (levels_[i] == Level::element && in.kind == NestOp::load && !held_.contains(i) &&
        !given_.contains(i) && !numbers_.contains(i) &&
        program_.operands[size_t(in.operand)].kind == OperandKind::load)
      loads.push_back(i);
  }
  return loads;
}

std::vector<size_t> NestBody::loads_of_columns() const {
  std::vector<size_t> loads = loads_of_elements();
  std::erase_if(loads, [&](size_t load) {
    return program_.operands[size_t(program_.body[load].operand)].by_row;
  });
  return loads;
}

void NestBody::declare_ahead(TextWriter& text, int rows, int columns) {
  for (const size_t i : loads_of_elements()) {
    const NestInstruction& in = program_.body[i];
    ahead_[i] = registers_of(i, names_.make("ahead_" + name_of(ParameterKind::base, in.operand)));
    text.line("{} = {{}};", ahead_[i].declaration(rows, columns));
  }
}

LoadedRegisters NestBody::registers_of(size_t load, const std::string& name) const {
  const NestOperand& form = program_.operands[size_t(program_.body[load].operand)];
  return {name, form.dtype, pairs_.contains(load) ? Columns::two : Columns::one,
          !for_all_rows_.contains(load)};
}

void NestBody::load_ahead(TextWriter& text, Columns columns) const {
  load_ahead(text, columns, true);
}

void NestBody::load_columns_ahead(TextWriter& text, Columns columns) const {
  load_ahead(text, columns, false);
}

void NestBody::load_ahead(TextWriter& text, Columns columns, bool by_row) const {
  for (const auto& [i, registers] : ahead_) {
    if (!given_.contains(i) && registers.by_row == by_row) load_into(text, i, columns);
  }
}

void NestBody::load_into(TextWriter& text, size_t load, Columns columns) const {
  if (!is_of(load, columns)) return;
  const NestInstruction& in = program_.body[load];
  text.line("{};", ahead_.at(load).load(element(in.operand, in.part)));
}

void NestBody::load_held(TextWriter& text, size_t load, Columns columns) const {
  if (ahead_.contains(load)) return load_into(text, load, columns);
  if (!is_of(load, columns)) return;
  // Registers of a store have its value.
  const NestInstruction& in = program_.body[load];
  const DType dtype = program_.operands[size_t(in.operand)].dtype;
  const std::string from = element(in.operand, in.part);
  const std::string to = held_.at(load) + "[at_row][at_column";
  if (columns == Columns::one) {
    text.line("{}] = {};", to, converted(loaded_text(dtype, from), dtype, in.dtype));
  } else if (dtype == DType::bf16) {
    text.open_block();
    text.line("const unsigned pair = load_bf16_pair(&{});", from);
    text.line("{}] = bf16_of_pair(pair, 0);", to);
    text.line("{} + 1] = bf16_of_pair(pair, 1);", to);
    text.close();
  } else {
    text.line("load_pair(&{}], &{});", to, from);
  }
}

void NestBody::hold_store(size_t store, std::string name, bool in_memory) {
  kept_[store] = std::move(name);
  if (!in_memory) not_stored_.insert(store);
}

void NestBody::declare_kept(TextWriter& text, int rows, int columns) {
  for (size_t i = 0; i < program_.body.size(); ++i) {
    const NestInstruction& in = program_.body[i];
    if (in.kind != NestOp::store || levels_[i] != Level::element || kept_.contains(i)) continue;
    kept_[i] = names_.make("kept_" + name_of(ParameterKind::base, in.operand));
    text.line("{} {}[{}][{}];", register_type_text(program_.operands[size_t(in.operand)].dtype),
              kept_[i], rows, columns);
  }
}

std::string NestBody::kept_name(int operand, int part) const {
  for (const auto& [i, name] : kept_) {
    if (program_.body[i].operand == operand && program_.body[i].part == part) return name;
  }
  return {};
}

void NestBody::store_kept(TextWriter& text, Columns columns) const {
  for (const auto& [i, name] : kept_) {
    if (not_stored_.contains(i) || !is_of(i, columns)) continue;
    const NestInstruction& in = program_.body[i];
    const NestOperand& form = program_.operands[size_t(in.operand)];
    if (columns == Columns::two) {
      const std::string both =
          fmt::format("{0}[at_row][at_column], {0}[at_row][at_column + 1]", name);
      const bool rounds = form.dtype == DType::bf16;
      text.line("store_{}pair(&{}, {});", rounds ? "bf16_" : "", element(in.operand, in.part),
                rounds ? fmt::format("bf16_pair({})", both) : both);
      continue;
    }
    const std::string value = name + "[at_row][at_column]";
    text.line("{}{} = {};", guard_of(form), element(in.operand, in.part),
              stored_text(form.dtype, value));
    write_handed_on(text, in, value);
  }
}

void NestBody::write_load(TextWriter& text, size_t i) {
  const NestInstruction& in = program_.body[i];
  const NestOperand& form = program_.operands[size_t(in.operand)];
  const std::string name = name_of(ParameterKind::base, in.operand);
  if (const auto held = held_.find(i); held != held_.end())
    return define(text, i, "this_" + name, held->second + "[at_row][at_column]");
  if (const auto number = numbers_.find(i); number != numbers_.end())
    return define(text, i, "this_" + name, number->second);
  if (const auto ahead = ahead_.find(i); ahead != ahead_.end())
    return define(text, i, "this_" + name, converted(ahead->second.value(), form.dtype, in.dtype));
  if (form.kind == OperandKind::literal) {
    const std::string number = name_of(ParameterKind::literal, in.operand);
    define(text, i, "constant", converted(loaded_text(form.dtype, number), form.dtype, in.dtype));
  } else if (form.kind == OperandKind::iota) {
    const std::string index =
        fmt::format("({} + {})", name, index_of(in.operand, in.part, true, true));
    define(text, i, "count", converted(index, DType::i64, in.dtype));
  } else {
    std::string loaded = loaded_text(form.dtype, element(in.operand, in.part));
    if (!when_.empty())
      loaded = fmt::format("({} ? {} : {})", when_, loaded, literal_text(form.dtype, 0));
    define(text, i, "this_" + name, converted(loaded, form.dtype, in.dtype));
  }
}

void NestBody::write_store(TextWriter& text, const NestInstruction& in) const {
  const NestOperand& form = program_.operands[size_t(in.operand)];
  const DType from = program_.body[size_t(in.a)].dtype;
  const std::string value = converted(values_[size_t(in.a)], from, form.dtype);
  text.line("{}{} = {};", guard_of(form), element(in.operand, in.part),
            stored_text(form.dtype, value));
  write_handed_on(text, in, value);
}

/// A value that is constant along the row is stored by the first column, and one that is the same
/// for all rows by the first row.
std::string NestBody::guard_of(const NestOperand& operand) const {
  std::vector<std::string_view> once;
  if (operand.column == ColumnStep::none) once.push_back("column == 0");
  if (!operand.by_row) once.push_back("row == 0");
  return once.empty() ? std::string() : fmt::format("if ({}) ", fmt::join(once, " && "));
}

void NestBody::write_handed_on(TextWriter& text, const NestInstruction& in,
                               const std::string& value) const {
  for (const HandedOn& store : handed_on_) {
    if (store.operand != in.operand) continue;
    std::vector<std::string> term;
    if (store.first_term > 0) term.push_back(std::to_string(store.first_term));
    if (in.part > 0) term.push_back(fmt::format("{} * columns", in.part));
    term.push_back("column");
    text.line(
        "store_to_all_{0}(&{1}[(row - row_begin) / {2} * {3} + (row - row_begin) % {2} * {4} + "
        "({5}) * {6}], {7});",
        store.blocks, store.to, store.tile_rows, store.tile_stride, store.row_stride, sum_of(term),
        store.term_stride, value);
  }
}

void NestBody::write_scalar(TextWriter& text, size_t i) {
  const NestInstruction& in = program_.body[i];
  std::vector<std::string> operands;
  for (int operand : {in.a, in.b, in.c}) {
    if (operand >= 0) operands.push_back(values_[size_t(operand)]);
  }
  const DType operand_dtype = program_.body[size_t(in.a)].dtype;
  define(text, i, fmt::format("{}_{}", graphc::core::name_of(in.op), i),
         scalar_text(in.op, in.dtype, operand_dtype, operands));
}

void NestBody::write_reduce(TextWriter& text, const NestInstruction& in) const {
  const int part = program_.kind == NestKind::row_wise ? 0 : in.part;
  for (const Reduction& r : reductions_) {
    if (r.operand != in.operand || r.part != part) continue;
    const std::string& value = values_[size_t(in.a)];
    text.line(
        "{} = {};", r.name,
        r.join(r.name, zeros_elsewhere_ ? fmt::format("({} ? {} : {})", when_, value, r.identity())
                                        : value));
  }
}

void NestBody::store_number(TextWriter& text, size_t store) const {
  const NestInstruction& in = program_.body[store];
  text.line("{} = {};", element(in.operand, in.part),
            stored_text(program_.operands[size_t(in.operand)].dtype, numbers_.at(store)));
}

void NestBody::write_result(TextWriter& text, const Reduction& reduction,
                            const std::string& value) const {
  const bool by_row = program_.kind == NestKind::row_wise;
  text.line("{}[{}] = {};", name_of(ParameterKind::base, reduction.operand),
            index_of(reduction.operand, by_row ? 0 : reduction.part, by_row, !by_row),
            stored_text(program_.operands[size_t(reduction.operand)].dtype, value));
}

}  // namespace graphc::core::cuda
