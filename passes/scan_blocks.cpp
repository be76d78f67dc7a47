// SPDX-License-Identifier: Apache-2.0
#include "passes/scan_blocks.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ir/build.h"
#include "ir/mutant.h"

namespace graphc::core {
namespace {

/// The loop over the blocks of steps [first, limit).
const Node& loop_over_blocks(const Scan& scan, const ScanOperands& operands, int64_t first,
                             int64_t limit, int64_t factor, const AddSteps& block, Graph& to) {
  auto body = std::make_unique<Graph>(scan.body().name());
  ScanParts parts;
  ScanOperands inside;
  for (size_t i = 0; i < operands.streams.size(); ++i) {
    const Value stream = slice(operands.streams[i], 0, first, limit);
    const Shape blocks = stream.shape().with(0, factor).insert(0, (limit - first) / factor);
    parts.streams.push_back(reshape(stream, blocks));
    const Value input = scan.body_streams()[i];
    inside.streams.push_back(body->input({input.dtype(), blocks.without(0)}, input.name()));
  }
  parts.initial = operands.initial;
  for (size_t k = 0; k < operands.initial.size(); ++k) {
    inside.initial.push_back(
        body->input(operands.initial[k].type(), scan.body_carries()[k].name()));
  }
  parts.captures = operands.captures;
  for (Value capture : scan.body_captures())
    inside.captures.push_back(body->input(capture.type(), capture.name()));
  StepsDone done = block(inside, factor, *body);
  Values results = std::move(done.carries);
  results.insert(results.end(), done.stacks.begin(), done.stacks.end());
  body->set_results(std::move(results));
  parts.body = freeze(std::move(body));
  parts.steps = (limit - first) / factor;
  parts.reverse = scan.reverse();
  return add_scan(to, std::move(parts), scan.node().where);
}

}  // namespace

ScanOperands operands_of(const Scan& scan, const Values& values) {
  const auto streams = values.begin() + long(scan.streams().size());
  const auto carries = streams + long(scan.initial().size());
  return {{values.begin(), streams}, {streams, carries}, {carries, values.end()}};
}

bool has_room_for_blocks(const Scan& scan) {
  const auto has_room = [](Value value) { return value.shape().rank() + 2 <= Shape::kMaxRank; };
  return std::ranges::all_of(scan.body_streams(), has_room) &&
         std::ranges::all_of(scan.emits(), has_room);
}

Values in_blocks(const Scan& scan, const Values& values, int64_t factor, const AddSteps& block,
                 const AddSteps& rest, Graph& to) {
  ScanOperands operands = operands_of(scan, values);
  const size_t emits = scan.emits().size();
  const int64_t left = scan.steps() % factor;
  // The loop runs first: over the first steps, or in reverse over the last.
  const int64_t first = scan.reverse() ? left : 0, limit = first + scan.steps() - left;
  const Node& loop = loop_over_blocks(scan, operands, first, limit, factor, block, to);
  Values stacks, carries;
  for (size_t k = 0; k < emits; ++k) {
    const Value blocks = loop.result(int(k));
    stacks.push_back(reshape(blocks, blocks.shape().without(0).with(0, limit - first)));
  }
  for (size_t k = 0; k < operands.initial.size(); ++k)
    carries.push_back(loop.result(int(emits + k)));
  if (left > 0) {
    const auto [from, end] =
        scan.reverse() ? std::pair(int64_t{0}, left) : std::pair(limit, scan.steps());
    for (Value& stream : operands.streams) stream = slice(stream, 0, from, end);
    operands.initial = carries;
    StepsDone last = rest(operands, left, to);
    if (!mutated(Mutant::unroll_remainder_skipped)) carries = std::move(last.carries);
    for (size_t k = 0; k < emits; ++k) {
      stacks[k] = scan.reverse() ? concat({last.stacks[k], stacks[k]}, 0)
                                 : concat({stacks[k], last.stacks[k]}, 0);
    }
  }
  stacks.insert(stacks.end(), carries.begin(), carries.end());
  return stacks;
}

}  // namespace graphc::core
