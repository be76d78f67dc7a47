// SPDX-License-Identifier: Apache-2.0
// Operations between ranks in the evaluator: every rank gets the operands of all, and computes from
// them.
#include <algorithm>
#include <bit>

#include "ir/evaluate_ops.h"
#include "ir/op.h"
#include "ir/sent.h"

namespace graphc::core::evaluation {
namespace {

/// The operand of every rank, one after another along a new first axis, as one row each.
Array gathered(const Array& mine, int64_t ranks, RankExchange* exchange) {
  Array all(Type{mine.dtype(), {ranks, mine.elements()}});
  const size_t bytes = size_t(mine.elements() * kElementBytes);
  exchange->all_gather({mine.bytes(), bytes}, {all.bytes(), bytes * size_t(ranks)});
  return all;
}

/// The sum of `count` numbers, the largest power of two below their number on the left.
template <typename Number>
Number sum_in_pairs(const Number* first, int64_t stride, int64_t count) {
  if (count == 1) return *first;
  const auto half = int64_t(std::bit_floor(uint64_t(count - 1)));
  return sum_in_pairs(first, stride, half) +
         sum_in_pairs(first + half * stride, stride, count - half);
}

Array sum_of_rows(const Array& rows, const Type& type, Precision precision) {
  Array sum(type);
  const int64_t count = rows.shape()[0], elements = sum.elements();
  const auto* integers = reinterpret_cast<const uint64_t*>(rows.integers());
  for (int64_t i = 0; i < elements; ++i) {
    if (sum.floating()) {
      sum.floats()[i] = sum_in_pairs(rows.floats() + i, elements, count);
    } else {
      sum.integers()[i] = int64_t(sum_in_pairs(integers + i, elements, count));
    }
  }
  if (sum.floating()) {
    round_floats(sum.dtype(), precision, sum.floats(), elements);
  } else {
    wrap_integers(sum.dtype(), sum.integers(), elements);
  }
  return sum;
}

/// The terms of this rank, one after another.
Array terms_of(ArrayOperands operands) {
  const Type& type = operands[0].type();
  Array all(Type{type.dtype, {int64_t(operands.size()), type.shape.elements()}});
  const size_t bytes = size_t(operands[0].elements() * kElementBytes);
  for (size_t i = 0; i < operands.size(); ++i)
    std::copy_n(operands[i].bytes(), bytes, all.bytes() + i * bytes);
  return all;
}

/// The sum of the terms of all ranks. `all_of` gathers what each of them has.
template <typename AllOf>
Array sum_over_ranks(const Node& node, ArrayOperands own, const Type& type, Precision precision,
                     const AllOf& all_of) {
  const int64_t ranks = node.attributes.get_int("ranks", 1), elements = type.shape.elements();
  const auto sum_of = [&](const Array& rows, int64_t count) {
    return sum_of_rows(rows.view({type.dtype, {count, elements}}), type, precision);
  };
  const auto terms = int64_t(own.size());
  if (ranks == 1 || sent_as(node) != DType::bf16)
    return sum_of(all_of(terms_of(own)), ranks * terms);
  const auto narrowed = [&](Array values) {
    round_floats(DType::bf16, precision, values.floats(), elements);
    return values;
  };
  return narrowed(sum_of(all_of(narrowed(sum_of(terms_of(own), terms))), ranks));
}

}  // namespace

Arrays collective_of(const Node& node, ArrayOperands operands, Precision precision,
                     RankExchange* ranks) {
  const int64_t wanted = node.attributes.get_int("ranks", 1);
  const int found = ranks == nullptr ? 1 : ranks->count();
  if (wanted != found) {
    throw input_error(node.where, "{}: the graph is that of one of {} ranks: found {}",
                      node.op.name, wanted, found);
  }
  const auto all_of = [&](const Array& mine) {
    return wanted == 1 ? mine : gathered(mine, wanted, ranks);
  };
  Arrays results;
  const auto terms = size_t(node.attributes.get_int("terms", 1));
  for (size_t i = 0; i < node.types.size(); ++i) {
    const Type& type = node.types[i];
    if (node.is(ops::all_reduce)) {
      const ArrayOperands own = operands.subspan(i * terms, terms);
      results.push_back(sum_over_ranks(node, own, type, precision, all_of));
      continue;
    }
    const Array& mine = operands[i];
    const Array all = all_of(mine);
    Arrays parts;
    for (int64_t r = 0; r < wanted; ++r)
      parts.push_back(all.view(mine.type(), r * mine.elements()));
    results.push_back(concat_of(parts, int(node.attributes.get_int("axis", 0)), type));
  }
  return results;
}

}  // namespace graphc::core::evaluation
