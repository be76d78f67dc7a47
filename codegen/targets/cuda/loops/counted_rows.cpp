// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/counted_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "codegen/targets/cuda/loops/loop_accesses.h"

namespace graphc::core::cuda {
namespace {

class RowFinding : LoopAccesses {
 public:
  RowFinding(const LoopNests& nests, RowNumbers& found)
      : LoopAccesses(nests), nests_(nests), found_(found) {}

  std::string find() {
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      found_.is_of_rows.push_back(is_of_rows(i) && nests_.program(i).products.empty());
      found_.is_done.push_back(false);
      if (std::string reason = add_numbers(i); !reason.empty()) return reason;
    }
    if (found_.numbers.empty()) return {};
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      for (size_t in = 0; in < body(i).size(); ++in) {
        if (body(i)[in].kind != NestOp::load || form_of(i, in).kind != OperandKind::load) continue;
        if (std::string reason = add_load(i, in); !reason.empty()) return reason;
      }
    }
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      if (std::string reason = check_loads(i); !reason.empty()) return reason;
    }
    for (RowNumber& number : found_.numbers)
      number.in_memory = is_read_outside(place_of(number.nest, number.made).base.buffer);
    return {};
  }

 private:
  const std::string& name_of(size_t nest) const { return nests_.nests[nest]->name; }

  /// Adds what a nest reduces along its rows, and what it stores if it has one column.
  std::string add_numbers(size_t i) {
    RowExchange exchange;
    exchange.nest = i;
    for (size_t in = 0; in < body(i).size(); ++in) {
      const NestInstruction& instruction = body(i)[in];
      const bool is_stored = instruction.kind == NestOp::store && found_.is_of_rows[i];
      if (!is_stored && instruction.kind != NestOp::reduce) continue;
      // Sums of several parts are one.
      if (!is_stored && number_of(i, instruction.operand)) continue;
      if (!type_of(i, in))
        return fmt::format("%{} makes numbers of rows of {}, stored as {}, not of f32", name_of(i),
                           graphc::core::name_of(body(i)[size_t(instruction.a)].dtype),
                           graphc::core::name_of(form_of(i, in).dtype));
      if (!is_of_row(i, in) || (!is_stored && is_of_rows(i)))
        return fmt::format("%{} makes numbers of rows that blocks do not exchange", name_of(i));
      if (!is_stored)
        (form_of(i, in).kind == OperandKind::reduce_max ? exchange.maxima : exchange.sums)
            .push_back(found_.numbers.size());
      found_.numbers.push_back({i, in, instruction.operand, false});
    }
    if (exchange.sums.empty() && exchange.maxima.empty()) return {};
    exchange.words = std::max(exchange.sums.size(), exchange.maxima.size()) <= 2 ? 2 : 4;
    found_.exchanges.push_back(std::move(exchange));
    return {};
  }

  /// The number that an operand is of; of a nest with one column, one of its parts.
  std::optional<size_t> number_of(size_t nest, int operand) const {
    const auto number = std::ranges::find_if(found_.numbers, [&](const RowNumber& each) {
      return each.nest == nest && each.operand == operand;
    });
    if (number == found_.numbers.end()) return std::nullopt;
    return size_t(number - found_.numbers.begin());
  }

  /// Lets a load read a number in registers. A load that may read one is refused if it does not
  /// read what the same step made before it.
  std::string add_load(size_t i, size_t load) {
    std::vector<std::pair<size_t, size_t>> writers;
    visit_writers(i, load, [&](size_t j, size_t operand) { writers.emplace_back(j, operand); });
    const bool reads_numbers = std::ranges::any_of(writers, [&](const auto& writer) {
      return number_of(writer.first, int(writer.second)).has_value();
    });
    if (!reads_numbers) return {};
    const std::string reason =
        fmt::format("%{} reads numbers of rows that blocks do not exchange", name_of(i));
    if (writers.size() != 1 || !is_of_row(i, load) || !type_of(i, load) ||
        place_of(i, load).first || writers[0].first >= i)
      return reason;
    for (size_t from = 0; from < found_.numbers.size(); ++from) {
      const RowNumber& number = found_.numbers[from];
      if (std::pair(number.nest, size_t(number.operand)) != writers[0] ||
          !is_same_element(i, load, number.nest, number.made, false))
        continue;
      found_.loads.push_back({i, load, from});
      return {};
    }
    return reason;
  }

  /// Whether all loads of an operand are of numbers in registers, or none.
  std::string check_loads(size_t i) const {
    for (const RowLoad& held : found_.loads) {
      if (held.nest != i) continue;
      for (size_t in = 0; in < body(i).size(); ++in) {
        if (body(i)[in].kind != NestOp::load || body(i)[in].operand != body(i)[held.load].operand)
          continue;
        if (std::ranges::none_of(found_.loads, [&](const RowLoad& each) {
              return each.nest == i && each.load == in;
            }))
          return fmt::format("%{} reads numbers of rows beside others", name_of(i));
      }
    }
    return {};
  }

  const LoopNests& nests_;
  RowNumbers& found_;
};

}  // namespace

const RowExchange* RowNumbers::exchange_of(size_t nest) const {
  const auto found = std::ranges::find(exchanges, nest, &RowExchange::nest);
  return found == exchanges.end() ? nullptr : &*found;
}

bool RowNumbers::orders(size_t from, size_t to) const {
  return std::ranges::any_of(exchanges, [&](const RowExchange& each) {
    return from <= to ? from < each.nest && each.nest < to : from < each.nest || each.nest < to;
  });
}

std::vector<RowOperand> RowNumbers::operands(const LoopNests& nests) const {
  std::vector<RowOperand> all;
  for (const RowNumber& number : numbers)
    all.push_back({number.nest, number.operand, number.in_memory});
  for (const RowLoad& load : loads)
    all.push_back({load.nest, nests.program(load.nest).body[load.load].operand, false});
  return all;
}

std::string find_row_numbers(const LoopNests& nests, RowNumbers& found) {
  return RowFinding(nests, found).find();
}

}  // namespace graphc::core::cuda
