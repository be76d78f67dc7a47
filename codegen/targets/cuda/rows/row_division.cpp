// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/rows/row_division.h"

#include <algorithm>
#include <utility>

namespace graphc::core::cuda {
namespace {

/// Whether the shares of a result are what the operation makes of the shares of its operands.
bool is_linear(const NestInstruction& in, bool a, bool b, bool c) {
  switch (in.op) {
    case ScalarOp::argument:
    case ScalarOp::neg:
    case ScalarOp::add:
    case ScalarOp::sub:
      return true;
    case ScalarOp::mul:
      return a != b;
    case ScalarOp::div:
      return a && !b;
    case ScalarOp::select:
      return !a && (b || c);
    default:
      return false;
  }
}

/// Follows which values are shares through the nests of a step.
class Dividing {
 public:
  Dividing(const Plan& plan, const RowLoop& loop, bool rows)
      : plan_(plan), loop_(loop), rows_(rows) {
    found_.starts_as_share.resize(loop.values.size());
    found_.operands.resize(loop.nests.size());
    found_.ends_whole.resize(loop.values.size());
  }

  std::optional<Division> find() {
    // What is carried is a share once the step before leaves one.
    do {
      found_.is_share = found_.starts_as_share;
      for (size_t n = 0; n < loop_.nests.size(); ++n) {
        if (!follow(n)) return {};
      }
    } while (starts_with_more());
    for (size_t v = 0; v < loop_.values.size(); ++v) {
      found_.is_late.push_back(is_late(v));
      const RowPlace& place = loop_.values[v].place;
      const bool in_slots = !place.is_of_last() && place.place.slot != 0;
      // Shares are not rounded, and lie one for each step.
      if (found_.in_shares(v) &&
          (in_slots || !is_floating(place.dtype) || place.dtype == DType::bf16))
        return {};
    }
    return std::move(found_);
  }

 private:
  bool is_divided(Spread spread) const {
    return spread == Spread::matrix || spread == (rows_ ? Spread::by_row : Spread::by_column);
  }

  bool starts_with_more() {
    bool more = false;
    for (size_t v = 0; v < loop_.values.size(); ++v) {
      const RowValue& value = loop_.values[v];
      if (value.origin != Origin::carried || found_.starts_as_share[v]) continue;
      if (!found_.is_share[value.left_by >= 0 ? size_t(value.left_by) : v]) continue;
      found_.starts_as_share[v] = more = true;
    }
    return more;
  }

  bool follow(size_t n) {
    const RowNest& nest = loop_.nests[n];
    const NestProgram& program = plan_.programs[size_t(nest.call->program)];
    std::vector<bool>& operands = found_.operands[n];
    operands.assign(nest.operands.size(), false);
    for (const NestInstruction& in : program.body) {
      if (in.kind != NestOp::load || nest.operands[size_t(in.operand)].value < 0) continue;
      const RowNest::Operand& operand = nest.operands[size_t(in.operand)];
      const auto value = size_t(operand.value);
      // A vector that is turned to the other axis is needed as a whole; and of a share, each
      // element along the axis would be made.
      if (operand.spread != loop_.values[value].spread) return false;
      operands[size_t(in.operand)] = found_.is_share[value];
      if (found_.is_share[value] && is_divided(nest.domain)) return false;
    }
    const std::optional<std::vector<bool>> shares =
        shares_in(program, operands, rows_ ? nest.over_rows : nest.over_columns);
    if (!shares) return false;
    for (size_t i = 0; i < program.body.size(); ++i) {
      const NestInstruction& in = program.body[i];
      if (in.kind != NestOp::store && in.kind != NestOp::reduce) continue;
      const auto value = size_t(nest.operands[size_t(in.operand)].value);
      found_.is_share[value] = (*shares)[i];
      found_.ends_whole[value] =
          loop_.values[value].is_stored && last_sum(program, *shares, in).has_value();
    }
    return true;
  }

  /// All blocks of a row load what is not divided, and one of them would overwrite it, maybe
  /// before.
  bool is_late(size_t v) const {
    const RowValue& value = loop_.values[v];
    if (!value.is_stored || is_divided(value.spread)) return false;
    return value.origin == Origin::carried ||
           std::ranges::any_of(loop_.values, [&](const RowValue& other) {
             return other.is_overwritten && other.place == value.place;
           });
  }

  const Plan& plan_;
  const RowLoop& loop_;
  const bool rows_;
  Division found_;
};

}  // namespace

std::optional<Division> divided(const Plan& plan, const RowLoop& loop, bool rows) {
  return Dividing(plan, loop, rows).find();
}

std::optional<std::vector<bool>> shares_in(const NestProgram& program,
                                           const std::vector<bool>& operands, bool sums_axis) {
  std::vector<bool> shares(program.body.size());
  const auto is_share = [&](int i) { return i >= 0 && shares[size_t(i)]; };
  for (size_t i = 0; i < program.body.size(); ++i) {
    const NestInstruction& in = program.body[i];
    const bool a = is_share(in.a), b = is_share(in.b), c = is_share(in.c);
    if (in.kind == NestOp::product) return {};
    if (in.kind == NestOp::load) {
      shares[i] = operands[size_t(in.operand)];
    } else if (in.kind == NestOp::reduce) {
      const bool is_maximum = program.operands[size_t(in.operand)].kind == OperandKind::reduce_max;
      shares[i] = a || sums_axis;
      if (shares[i] && is_maximum) return {};
    } else if (a || b || c) {
      if (in.kind == NestOp::scalar && !is_linear(in, a, b, c)) return {};
      shares[i] = true;
    }
  }
  return shares;
}

std::optional<LastSum> last_sum(const NestProgram& program, const std::vector<bool>& shares,
                                const NestInstruction& store) {
  if (store.kind != NestOp::store || store.a < 0) return {};
  const NestInstruction& in = program.body[size_t(store.a)];
  const bool subtracts = in.op == ScalarOp::sub;
  if (in.kind != NestOp::scalar || (in.op != ScalarOp::add && !subtracts) ||
      in.dtype != program.operands[size_t(store.operand)].dtype ||
      shares[size_t(in.a)] == shares[size_t(in.b)])
    return {};
  if (shares[size_t(in.a)]) return LastSum{in.a, in.b, false, subtracts};
  return LastSum{in.b, in.a, subtracts, false};
}

bool is_added(ScalarOp op, int operand) {
  return op == ScalarOp::add || op == ScalarOp::sub || (op == ScalarOp::select && operand > 0);
}

}  // namespace graphc::core::cuda
