// SPDX-License-Identifier: Apache-2.0
// The records of operations between ranks: each rank runs a graph of its own, and all of them run
// the same collectives in the same order.
//
// The derivatives are those of one loss, the sum of what the ranks' graphs call their losses, with
// respect to the operand of this rank: it contributes to the results of all ranks.
#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/ops/infer.h"
#include "ir/sent.h"

namespace graphc::core {
namespace {

using Cotangents = std::span<const Value>;

int64_t ranks_attribute(const Node& node) {
  constexpr int64_t kMost = 4096;
  const int64_t ranks = node.attributes.get_int("ranks", 0);
  if (ranks < 1 || ranks > kMost) {
    throw input_error({}, "{}: attribute 'ranks' is a number of ranks, from 1 to {}: found {}",
                      node.op.name, kMost, ranks);
  }
  return ranks;
}

/// How many operands are terms of one result.
int64_t terms_attribute(const Node& node) {
  const int64_t terms = node.attributes.get_int("terms", 1);
  if (terms < 1 || node.operands.empty() || int64_t(node.operands.size()) % terms != 0) {
    throw input_error({},
                      "all_reduce: attribute 'terms' divides the number of operands, {}: "
                      "found {}",
                      node.operands.size(), terms);
  }
  return terms;
}

/// Checks the type in which the operands are sent.
void check_sent(const Node& node) {
  if (node.attributes.find("sent") == nullptr) return;
  if (sent_as(node) != DType::bf16) {
    throw input_error({}, "all_reduce: attribute 'sent' is bf16, or absent: found {}",
                      to_string(sent_as(node)));
  }
  for (const Value operand : node.operands) {
    if (is_floating(operand.dtype())) continue;
    throw input_error({}, "all_reduce: sends floats in bf16: found {}", to_string(operand.type()));
  }
}

std::vector<Type> infer_all_reduce(const Node& node) {
  expect_attributes(node, {"ranks", "sent", "terms"});
  ranks_attribute(node);
  check_sent(node);
  const auto terms = size_t(terms_attribute(node));
  std::vector<Type> types;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Type& type = node.operands[i].type();
    if (type.dtype == DType::boolean)
      throw input_error({}, "all_reduce: takes numbers: found {}", to_string(type));
    if (i % terms == 0) types.push_back(type);
    if (type != types.back()) {
      throw input_error({}, "all_reduce: terms of one value are {} and {}", to_string(types.back()),
                        to_string(type));
    }
  }
  return types;
}

/// Every operand of a rank is a term of a result of all.
Values all_reduce_vjp(const Node& node, Cotangents dy) {
  Values present;
  for (Value each : dy) {
    if (each) present.push_back(each);
  }
  const Values sums = mutated(Mutant::all_reduce_not_reduced_backwards)
                          ? present
                          : all_reduce(present, ranks_attribute(node));
  Values result;
  size_t next = 0;
  for (Value each : dy)
    result.insert(result.end(), size_t(terms_attribute(node)), each ? sums[next++] : Value{});
  return result;
}

std::vector<Type> infer_all_gather(const Node& node) {
  expect(node, 1, {"axis", "rank", "ranks"});
  const Type& x = type_of(node, 0);
  const int axis = axis_attribute(node, x.shape.rank());
  const int64_t ranks = ranks_attribute(node), rank = node.attributes.get_int("rank", 0);
  if (rank < 0 || rank >= ranks) {
    throw input_error({}, "all_gather: attribute 'rank' is one of {} ranks, from 0: found {}",
                      ranks, rank);
  }
  return {{x.dtype, x.shape.with(axis, ranks * x.shape[axis])}};
}

Values all_gather_vjp(const Node& node, Cotangents dy) {
  const int axis = axis_attribute(node, node.types[0].shape.rank());
  const int64_t own = node.operands[0].shape()[axis];
  const int64_t start = node.attributes.get_int("rank", 0) * own;
  const Value all = all_reduce({dy[0]}, ranks_attribute(node))[0];
  return {graphc::core::slice(all, axis, start, start + own)};
}

}  // namespace

constinit const Op ops::all_reduce{
    .name = "all_reduce",
    .doc =
        "The sum of each operand over {ranks} ranks, element by element; every rank has it. With "
        "{terms}, as many operands, one after another, are added on each rank first; the sums of "
        "both kinds are one tree of pairs. Integers wrap. With {sent} = bf16, what a rank sends is "
        "rounded to bf16, and so is the sum, which is computed in f32; one rank sends nothing. "
        "With "
        "one rank and term the operands themselves.",
    .infer = infer_all_reduce,
    .vjp = all_reduce_vjp,
    .samples =
        [] {
          return Samples{{{{DType::f32, {3, 5}}}, {{"ranks", int64_t{1}}}},
                         {{{DType::f32, {7}}, {DType::f32, {2, 3}}}, {{"ranks", int64_t{1}}}}};
        },
};

constinit const Op ops::all_gather{
    .name = "all_gather",
    .doc =
        "The operands of {ranks} ranks, in their order, concatenated along {axis}; every rank has "
        "them all. {rank} is the rank whose graph this is. With one rank the operand itself.",
    .infer = infer_all_gather,
    .vjp = all_gather_vjp,
    .samples =
        [] {
          return Samples{{{{DType::f32, {3, 5}}},
                          {{"axis", int64_t{1}}, {"rank", int64_t{0}}, {"ranks", int64_t{1}}}}};
        },
};

}  // namespace graphc::core
