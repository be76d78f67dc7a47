// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/nest_positions.h"

#include <algorithm>
#include <ranges>
#include <vector>

#include "ir/op.h"
#include "ir/scalar.h"

namespace graphc::core {
namespace {

bool has_elementary_function(const Node& node) {
  return is_elementwise(node.op) && !is_exact(scalar_code(node));
}

}  // namespace

bool is_reduction(const Node& node) { return node.is(ops::sum) || node.is(ops::max); }

NestPositions::NestPositions(const Graph& body, const RowModel& rows, bool join_spaces)
    : body_(body), rows_(rows) {
  for (size_t i = 0; i < rows.spaces.size(); ++i) {
    size_t first = join_spaces ? 0 : i;
    while (rows.spaces[first].unit != rows.spaces[i].unit) ++first;
    space_.push_back(int(first));
  }
  for (const Node& node : body.nodes()) {
    if (node.is(ops::matmul))
      with_products_.insert({2 * rows.stage[size_t(node.id)], space_of(node)});
  }
}

NestPosition NestPositions::of(Value value) const {
  const Node& node = *value.node;
  const int stage = rows_.stage[size_t(node.id)];
  if (!is_reduction(node)) return {2 * stage, space_of(node)};
  const NestPosition on_the_way{2 * (stage - 1), space_of(node)};
  return with_products_.contains(on_the_way)
             ? NestPosition{on_the_way.position + 1, on_the_way.space}
             : on_the_way;
}

std::unordered_set<const Node*> NestPositions::summed_functions() const {
  std::unordered_set<const Node*> functions;
  std::vector<bool> summed(body_.nodes().size());  // directly, or through others of its nest
  for (const Node& node : std::views::reverse(body_.nodes())) {
    const size_t id = size_t(node.id);
    if (summed[id] && rows_.kind[id] == RowKind::full && has_elementary_function(node))
      functions.insert(&node);
    if (!summed[id] && !is_reduction(node)) continue;
    for (Value operand : node.operands) {
      if (of(operand) == of(node.result())) summed[size_t(operand.node->id)] = true;
    }
  }
  return functions;
}

int NestPositions::space_of(const Node& node) const {
  if (is_reduction(node)) return space_of(*node.operands[0].node);
  const int space = rows_.space[size_t(node.id)];
  return space < 0 ? space : space_[size_t(space)];
}

}  // namespace graphc::core
