// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/loop_groups.h"

#include <algorithm>
#include <utility>

#include "codegen/step/barriers.h"

namespace graphc::core::cuda {
namespace {

/// Whether workers who share out all nests like this never wait for each other.
bool are_apart(const LoopNests& nests, const Share& share) {
  SharedLoop shared{
      .plan = *nests.plan,
      .loop = {},
      .position = nests.position,
      .depth = nests.depth,
      .workers = 2,
      .ownership = Ownership::indices,
      .footprint = [&nests](const Record& record, const Position& position, int depth) {
        return footprint_of(*nests.plan, record, position, depth);
      }};
  shared.loop.steps = nests.loop->steps;
  shared.loop.reverse = nests.loop->reverse;
  for (const NestCall* call : nests.nests) {
    Record record{Family::recurrent, *call};
    record.share = share;
    shared.loop.body.push_back(std::move(record));
  }
  return !has_barriers(std::move(shared));
}

/// Moves a stride along the only outer axis.
int64_t taken(std::vector<int64_t>& outer) {
  const int64_t stride = outer.empty() ? 0 : outer[0];
  outer.clear();
  return stride;
}

/// Takes the outer axis from a nest.
GroupStrides take_groups(NestCall& call) {
  GroupStrides strides;
  call.outer.clear();
  for (CallOperand& operand : call.operands) strides.operands.push_back(taken(operand.outer));
  for (CallProduct& product : call.products) {
    strides.left.push_back(taken(product.outer));
    strides.right.push_back(taken(product.right_outer));
  }
  return strides;
}

}  // namespace

std::optional<LoopGroups> groups_of(const LoopNests& nests) {
  const NestCall& first = *nests.nests[0];
  if (first.outer.size() != 1) return std::nullopt;
  const bool are_alike = std::ranges::all_of(
      nests.nests, [&](const NestCall* call) { return call->outer == first.outer; });
  if (!are_alike || !are_apart(nests, {Along::outer, first.outer[0], 1})) return std::nullopt;
  LoopGroups groups;
  groups.nests = nests;
  groups.nests.groups = first.outer[0];
  groups.nests.nests.clear();
  groups.calls.reserve(nests.nests.size());
  bool has_same_rows = true;
  for (const NestCall* call : nests.nests) {
    has_same_rows &= call->rows == first.rows;
    groups.calls.push_back(*call);
    groups.nests.group_strides.push_back(take_groups(groups.calls.back()));
    groups.nests.nests.push_back(&groups.calls.back());
  }
  groups.nests.private_rows_of_group =
      has_same_rows && (first.rows == 1 || are_apart(groups.nests, {Along::rows, first.rows, 1}));
  return groups;
}

}  // namespace graphc::core::cuda
