// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/rows/row_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "codegen/targets/cuda/text/scalar_text.h"

namespace graphc::core::cuda {
namespace {

constexpr int kSumThreads = 256;
constexpr int64_t kMostSumBlocks = 1024;
/// Where one value's shares end and the next one's begin.
constexpr int64_t kAlignment = 256;

/// Follows which values are shares through the nests of a step.
class ShareFinding {
 public:
  ShareFinding(const Plan& plan, const RowLoop& loop, bool rows)
      : plan_(plan), loop_(loop), rows_(rows), is_share_(loop.values.size()) {}

  std::optional<std::vector<bool>> find() {
    for (const RowNest& nest : loop_.nests) {
      if (!follow(nest)) return {};
    }
    for (size_t v = 0; v < loop_.values.size(); ++v) {
      const RowValue& value = loop_.values[v];
      const bool is_left = value.left_by >= 0 && is_share_[size_t(value.left_by)];
      if (value.origin == Origin::carried && (is_share_[v] || is_left)) return {};
      // All blocks of a row load it, and one of them overwrites it, maybe before.
      if (!is_divided(value.spread) &&
          (value.is_overwritten || (value.origin == Origin::carried && value.is_stored)))
        return {};
    }
    return std::move(is_share_);
  }

 private:
  bool is_divided(Spread spread) const {
    return spread == Spread::matrix || spread == (rows_ ? Spread::by_row : Spread::by_column);
  }

  /// What an instruction makes of its operands, of which some are shares: a share, if the shares of
  /// all blocks add up to the whole; nothing if they do not.
  static std::optional<bool> made_of(const NestInstruction& in, const std::vector<bool>& shares) {
    const auto is_share = [&](int i) { return i >= 0 && shares[size_t(i)]; };
    const bool a = is_share(in.a), b = is_share(in.b), c = is_share(in.c);
    if (!a && !b && !c) return false;
    switch (in.op) {
      case ScalarOp::argument:
      case ScalarOp::neg:
        return true;
      case ScalarOp::add:
      case ScalarOp::sub:
        return a && b ? std::optional(true) : std::nullopt;
      case ScalarOp::mul:
        return a && b ? std::nullopt : std::optional(true);
      default:
        return std::nullopt;
    }
  }

  bool follow(const RowNest& nest) {
    const NestProgram& program = plan_.programs[size_t(nest.call->program)];
    const bool sums_axis = rows_ ? nest.over_rows : nest.over_columns;
    std::vector<bool> shares(program.body.size());
    for (size_t i = 0; i < program.body.size(); ++i) {
      const NestInstruction& in = program.body[i];
      const RowNest::Operand* operand =
          in.kind == NestOp::scalar ? nullptr : &nest.operands[size_t(in.operand)];
      switch (in.kind) {
        case NestOp::load:
          if (operand->value < 0) break;
          // A vector that is turned to the other axis is needed as a whole.
          if (operand->spread != loop_.values[size_t(operand->value)].spread) return false;
          shares[i] = is_share_[size_t(operand->value)];
          // Elements along the axis would each be made of a share.
          if (shares[i] && is_divided(nest.domain)) return false;
          break;
        case NestOp::scalar: {
          const std::optional<bool> made_share = made_of(in, shares);
          if (!made_share) return false;
          shares[i] = *made_share;
          break;
        }
        case NestOp::store:
        case NestOp::reduce: {
          const bool is_sum = in.kind == NestOp::reduce;
          const bool is_share = shares[size_t(in.a)] || (is_sum && sums_axis);
          const bool is_maximum =
              is_sum && program.operands[size_t(in.operand)].kind == OperandKind::reduce_max;
          if (is_share && is_maximum) return false;
          if (is_share && !is_floating(loop_.values[size_t(operand->value)].place.dtype))
            return false;
          is_share_[size_t(operand->value)] = is_share;
          break;
        }
        case NestOp::product:
          return false;
      }
    }
    return true;
  }

  const Plan& plan_;
  const RowLoop& loop_;
  const bool rows_;
  std::vector<bool> is_share_;  ///< by value, after the nests so far
};

bool is_stored_in_shares(const RowLoop& loop, const RowThreads& threads, size_t v) {
  return threads.is_share(v) && loop.values[v].is_stored;
}

/// The sums of one value's shares.
void add_sums(TextWriter& text, const RowPlace& place, const Shares& shares, int64_t parts,
              int number, RowParameters& parameters) {
  const std::string at = fmt::format("_{}", number);
  const int64_t size = size_of(place.dtype);
  const std::string_view type = register_type_text(shares.dtype);
  parameters.listed.push_back(fmt::format("\n    const {}* shares{}", type, at));
  parameters.arguments.push_back({KernelArgument::Kind::scratch, 0, {}});
  parameters.add_number("offset" + at, shares.offset / size_of(shares.dtype));
  parameters.add_place(fmt::format("{}*", stored_type_text(place.dtype)), "to" + at,
                       place.place.base);
  parameters.add_number("of_row" + at, place.of_loop_row / size);
  parameters.add_number("of_step" + at, place.place.step / size);
  text.open_block();
  text.line("const long long count = {}rows * {};", shares.steps == 1 ? "" : "steps * ",
            shares.elements);
  text.open(
      "for (long long at = (long long)blockIdx.x * {0} + threadIdx.x; at < count; at += "
      "(long long)gridDim.x * {0})",
      kSumThreads);
  text.line("{} sum = shares{}[offset{} + at];", type, at, at);
  text.open("for (int part = 1; part < {}; ++part)", parts);
  text.line("sum = sum + shares{0}[offset{0} + part * count + at];", at);
  text.close();
  std::string of_row = "at", element;
  if (shares.elements > 1) {
    of_row = fmt::format("at / {}", shares.elements);
    element =
        fmt::format(" + at % {} * {}", shares.elements, (place.of_row + place.of_column) / size);
  }
  text.line("const long long row = {0} % rows, step = {0} / rows;", of_row);
  text.line("to{0}[step * of_step{0} + row * of_row{0}{1}] = {2};", at, element,
            stored_text(place.dtype, "sum"));
  text.close();
  text.close();
}

}  // namespace

std::optional<std::vector<bool>> shares_along(const Plan& plan, const RowLoop& loop, bool rows) {
  return ShareFinding(plan, loop, rows).find();
}

Shares shares_of(const LoopNests& nests, const RowLoop& loop, const RowThreads& threads, size_t v) {
  Shares found;
  int64_t end = 0;
  for (size_t i = 0; i <= v; ++i) {
    if (!is_stored_in_shares(loop, threads, i)) continue;
    const RowValue& value = loop.values[i];
    found.dtype = value.place.dtype == DType::bf16 ? DType::f32 : value.place.dtype;
    found.offset = (end + kAlignment - 1) / kAlignment * kAlignment;
    found.steps = value.place.place.stays() ? 1 : nests.loop->steps;
    found.elements = value.spread == Spread::number   ? 1
                     : value.spread == Spread::by_row ? loop.rows
                                                      : loop.columns;
    end = found.offset + threads.parts() * found.of_part(loop) * size_of(found.dtype);
  }
  return found;
}

int64_t bytes_of_shares(const LoopNests& nests, const RowLoop& loop, const RowThreads& threads) {
  int64_t bytes = 0;
  for (size_t v = 0; v < loop.values.size(); ++v) {
    if (!is_stored_in_shares(loop, threads, v)) continue;
    const Shares shares = shares_of(nests, loop, threads, v);
    bytes = shares.offset + threads.parts() * shares.of_part(loop) * size_of(shares.dtype);
  }
  return bytes;
}

std::optional<SumOfShares> sum_of_shares(const LoopNests& nests, const RowLoop& loop,
                                         const RowThreads& threads, std::string_view name) {
  RowParameters parameters;
  TextWriter text(1);
  int64_t most = 0;
  int number = 0;
  parameters.add_number("steps", nests.loop->steps);
  parameters.add_number("rows", loop.loop_rows);
  for (size_t v = 0; v < loop.values.size(); ++v) {
    if (!is_stored_in_shares(loop, threads, v)) continue;
    const Shares shares = shares_of(nests, loop, threads, v);
    add_sums(text, loop.values[v].place, shares, threads.parts(), number++, parameters);
    most = std::max(most, shares.of_part(loop));
  }
  if (number == 0) return std::nullopt;
  SumOfShares sums;
  sums.kernel.name = name;
  sums.kernel.text =
      helpers_of(text.text()) +
      fmt::format("// {}, the shares that the blocks of a row have of its sums.\n",
                  in_comment(nests.loop->name)) +
      fmt::format("extern \"C\" __global__ void __launch_bounds__({}, 2) {}({}) {{\n", kSumThreads,
                  name, fmt::join(parameters.listed, ",")) +
      text.text() + "}\n";
  sums.arguments = std::move(parameters.arguments);
  sums.grid.threads[0] = kSumThreads;
  sums.grid.blocks[0] = unsigned(std::min((most + kSumThreads - 1) / kSumThreads, kMostSumBlocks));
  return sums;
}

}  // namespace graphc::core::cuda
