// SPDX-License-Identifier: Apache-2.0
// Whether a step that was read can be walked.
#include <algorithm>
#include <cmath>
#include <limits>

#include "codegen/step/footprint.h"
#include "codegen/step/rows_apart.h"
#include "codegen/step/serialize.h"
#include "ir/cases.h"
#include "ir/error.h"

namespace graphc::core {
namespace {

/// Sums of a few dozen of these do not overflow.
constexpr int64_t kMostBytes = int64_t{1} << 56;
constexpr int64_t kMostExtent = int64_t{1} << 48;

class Check {
 public:
  explicit Check(const Plan& plan) : plan_(plan) {}

  void run() {
    at("workers", plan_.workers, 1, 1 << 16);
    at("loop_depth", plan_.loop_depth, 0, 1 << 8);
    for (const Buffer& buffer : plan_.buffers) check(buffer);
    for (const NestProgram& program : plan_.programs) check(program);
    for (const PlanForm& form : plan_.forms) {
      name_ = "a form";
      at("buffer", form.buffer, 0, int64_t(plan_.buffers.size()) - 1);
      each(form.make);
    }
    each(plan_.records);
    name_ = "a result";
    for (const View& result : plan_.results) check(result.address);
  }

 private:
  void each(const std::vector<Record>& records) {
    for (const Record& record : records) {
      check(record);
      places(record);
    }
  }

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw input_error({}, "step: {}: {}", name_, fmt::format(format, std::forward<Args>(args)...));
  }

  void at(std::string_view what, int64_t value, int64_t least, int64_t most) const {
    if (value < least || value > most)
      fail("{}: expected {} to {}: found {}", what, least, most, value);
  }
  void extent(std::string_view what, int64_t value) const { at(what, value, 0, kMostExtent); }
  /// The product of a stride and extents, or of extents alone.
  void reach(std::string_view what, std::initializer_list<int64_t> factors) const {
    double product = 1;
    for (const int64_t factor : factors) product *= std::abs(double(factor));
    if (product > double(kMostBytes)) fail("{}: more than {} bytes", what, kMostBytes);
  }

  void check(const Buffer& buffer) {
    name_ = "%" + buffer.name;
    extent("bytes", buffer.bytes);
    extent("offset", buffer.offset);
    extent("index", buffer.index);
    if (buffer.place == Place::arena && buffer.first_phase >= 0)
      at("end in the arena", buffer.offset + buffer.bytes, 0, plan_.arena_bytes);
    if (buffer.place == Place::constant)
      at("data", int64_t(buffer.data.size()), buffer.bytes, buffer.bytes);
  }

  void check(const NestProgram& program) {
    name_ = "a program";
    for (const NestProduct& product : program.products) at("parts", product.parts, 1, 1 << 20);
    for (size_t i = 0; i < program.body.size(); ++i) {
      const NestInstruction& in = program.body[i];
      const bool is_product = in.kind == NestOp::product;
      if (in.kind != NestOp::scalar)
        at("operand", in.operand, 0,
           int64_t(is_product ? program.products.size() : program.operands.size()) - 1);
      at("part", in.part, 0, 1 << 20);
      const bool reads = in.kind != NestOp::load && !is_product;
      for (const int operand : {in.a, in.b, in.c})
        at("an instruction's operand", operand, -1, reads ? int64_t(i) - 1 : -1);
      const auto is = [&](std::initializer_list<OperandKind> kinds) {
        return std::ranges::find(kinds, program.operands[size_t(in.operand)].kind) != kinds.end();
      };
      using enum OperandKind;
      if ((in.kind == NestOp::store && !is({store})) ||
          (in.kind == NestOp::reduce && !is({reduce_sum, reduce_max})) ||
          (in.kind == NestOp::load && !is({load, iota, literal})))
        fail("instruction {} has an operand of another kind", i);
    }
  }

  void check(const Address& address) const {
    const int64_t innermost = int64_t(steps_.size()) - 1;
    at("buffer", address.buffer, 0, int64_t(plan_.buffers.size()) - 1);
    reach("offset", {address.offset});
    for (const Address::Term& term : address.terms) {
      at("a loop", term.loop, 0, innermost);
      reach("step", {term.step, steps_[size_t(term.loop)]});
      reach("slot", {term.parity});
    }
    if (!address.at_first) return;
    at("first_loop", address.first_loop, 0, innermost);
    check(*address.at_first);
  }

  void check(const Record& record) {
    name_ = "%" + std::visit([](const auto& call) { return call.name; }, record.call);
    extent("share", record.share.extent);
    at("grain of the share", record.share.grain, 1, kMostExtent);
    std::visit(Cases{[&](const NestCall& call) { check(call); },
                     [&](const PanelCall& call) { check(call); },
                     [&](const TableCall& call) { check(call); },
                     [&](const ExternCall& call) { check(call); },
                     [&](const LoopCall& call) { check(call); },
                     [&](const BlockCall& call) {
                       extent("rows", call.rows);
                       at("block_rows", call.block_rows, 1,
                          std::numeric_limits<int64_t>::max() / 2);
                       for (const Record& inner : call.body) check(inner);
                     }},
               record.call);
  }

  void check(const NestCall& call) const {
    at("program", call.program, 0, int64_t(plan_.programs.size()) - 1);
    const NestProgram& program = plan_.programs[size_t(call.program)];
    extent("rows", call.rows);
    extent("unit", call.unit);
    at("axes around the rows", int64_t(call.outer.size()), 0, Shape::kMaxRank);
    for (const int64_t outer : call.outer) extent("an axis around the rows", outer);
    const auto same = [&](std::string_view what, size_t found, size_t wanted) {
      at(what, int64_t(found), int64_t(wanted), int64_t(wanted));
    };
    same("operands", call.operands.size(), program.operands.size());
    same("products", call.products.size(), program.products.size());
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const OperandKind kind = program.operands[i].kind;
      if (kind == OperandKind::literal) continue;
      const CallOperand& operand = call.operands[i];
      same("strides around the rows", operand.outer.size(), call.outer.size());
      if (kind == OperandKind::iota) continue;
      check(operand.address);
      reach("rows", {operand.row, call.rows});
      reach("columns", {operand.column, call.unit});
      reach("parts", {operand.part, 1 << 20});
      reach("columns", {8, call.unit});
      around(operand.outer, call);
    }
    for (size_t i = 0; i < call.products.size(); ++i) {
      const CallProduct& product = call.products[i];
      same("strides around the rows", product.outer.size(), call.outer.size());
      same("strides around the rows", product.right_outer.size(), call.outer.size());
      check(product.panels);
      check(product.b_strides, product.panels);
      reach("rows", {product.a_row, call.rows});
      reach("terms", {product.a_k, product.panels.k});
      around(product.outer, call);
      around(product.right_outer, call);
      same("parts", size_t(product.panels.parts), size_t(program.products[i].parts));
      same("units", size_t(product.panels.unit), size_t(call.unit));
      check(product.a);
      check(product.b);
    }
  }

  void around(const std::vector<int64_t>& strides, const NestCall& call) const {
    for (size_t axis = 0; axis < strides.size(); ++axis)
      reach("axes around the rows", {strides[axis], call.outer[axis]});
  }

  void check(const MatrixStrides& strides, const PanelForm& form) const {
    reach("terms", {strides.k, form.k});
    reach("columns", {strides.column, form.unit});
    reach("parts", {strides.part, form.parts});
  }

  void check(const PanelForm& form) const {
    extent("k", form.k);
    extent("unit", form.unit);
    for (const int64_t one : {form.parts, form.width, form.k_group, form.k_tile, form.bf16_parts})
      at("panels", one, 1, 1 << 20);
    reach("panels", {form.unit + form.width, form.k + form.k_group + form.k_tile, form.parts,
                     8 * form.bf16_parts});
  }

  void check(const PanelCall& call) const {
    check(call.panels);
    check(call.from_strides, call.panels);
    at("matrices", call.matrices, 1, 1 << 20);
    reach("matrices", {call.from_matrix, call.matrices});
    reach("panels", {call.panels.bytes(), call.matrices});
    check(call.from);
    check(call.to);
  }

  void check(const TableCall& call) const {
    for (const int64_t each : {call.table_rows, call.count, call.row_bytes})
      extent("rows and bytes of rows", each);
    reach("rows", {call.table_rows + call.count, call.row_bytes + 8});
    check(call.indices);
    check(call.rows);
    if (call.has_table()) check(call.table);
    if (call.op == TableOp::merge_rows) check(call.distinct);
  }

  void check(const ExternCall& call) const {
    for (const ExternOperand& operand : call.operands) {
      extent("bytes", operand.bytes);
      check(operand.address);
    }
  }

  void check(const LoopCall& loop) {
    extent("steps", loop.steps);
    extent("rows", loop.rows);
    at("loops around it", int64_t(steps_.size()), 0, plan_.loop_depth - 1);
    for (const Carry& carry : loop.carries) {
      at("carry", carry.now, 0, int64_t(plan_.buffers.size()) - 1);
      at("carry", carry.next, 0, int64_t(plan_.buffers.size()) - 1);
    }
    const std::string name = name_;
    if (loop.rows_apart != 0) rows_apart(loop);
    steps_.push_back(loop.steps);
    for (const Record& inner : loop.body) check(inner);
    steps_.pop_back();
    name_ = name;
  }

  void rows_apart(const LoopCall& loop) {
    extent("rows apart", loop.rows_apart);
    if (const int64_t rows = shared_rows(loop); rows != loop.rows_apart) {
      fail("rows apart: expected nests that share out {} rows, without barriers: found {}",
           loop.rows_apart, rows == 0 ? "others" : std::to_string(rows));
    }
  }

  /// All accesses in all steps of the loops inside.
  void places(const Record& record) const {
    for (const PlacedAccess& access : footprint_of(plan_, record, {}, 0)) {
      const Buffer& buffer = plan_.buffers[size_t(access.place.buffer)];
      const Extent extent = access.extent();
      if (extent.begin < 0 || extent.end > buffer.bytes)
        fail("it {} bytes {} to {} of %{}, which has {}", access.writes() ? "writes" : "reads",
             extent.begin, extent.end, buffer.name, buffer.bytes);
    }
  }

  const Plan& plan_;
  std::string name_ = "the step";
  std::vector<int64_t> steps_;  ///< of the loops around what is checked, outermost first
};

}  // namespace

void check_step(const Plan& plan) { Check(plan).run(); }

}  // namespace graphc::core
