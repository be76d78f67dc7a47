// SPDX-License-Identifier: Apache-2.0
#include "frontend/initial_draw.h"

#include <algorithm>
#include <exception>
#include <span>
#include <system_error>

#include "ir/build.h"
#include "ir/denormals.h"
#include "ir/mutant.h"
#include "runtime/philox.h"
#include "runtime/thread_team.h"

namespace graphc::core {
namespace {

/// Below this size, starting a second thread costs more than it saves.
constexpr int64_t kOfOneThread = 256 * 1024;

bool is_step(const Op& op) { return &op == &ops::add || &op == &ops::sub || &op == &ops::mul; }

}  // namespace

std::optional<PlainDraw> PlainDraw::of(const Graph& initial, int64_t key) {
  PlainDraw draw;
  Value value = initial.results().front();
  draw.type_ = value.type();
  draw.key_ = key;
  draw.constant_ = splat_value(value);
  if (draw.constant_) return draw;
  while (is_step(value.node->op)) {
    const Values& operands = value.node->operands;
    const auto left = splat_value(operands[0]), right = splat_value(operands[1]);
    if (left.has_value() == right.has_value()) return std::nullopt;
    draw.steps_.push_back({&value.node->op, float(left ? *left : *right), left.has_value()});
    const Value other = operands[left ? 1 : 0];
    if (other.type() != value.type()) return std::nullopt;
    value = other;
  }
  std::ranges::reverse(draw.steps_);
  const bool drawn = value.node->is(ops::uniform) && value.node->operands[0] == initial.inputs()[0];
  return drawn ? std::optional(std::move(draw)) : std::nullopt;
}

/// Each step rounds: no fused multiply-add.
void PlainDraw::take(const Step& step, Piece& numbers) {
  const float y = step.number;
  if (step.op == &ops::mul) {
    for (float& x : numbers) x *= y;
  } else if (step.op == &ops::add) {
    for (float& x : numbers) x += y;
  } else if (step.number_first) {
    for (float& x : numbers) x = y - x;
  } else {
    for (float& x : numbers) x -= y;
  }
}

Literal PlainDraw::value(int threads) const {
  if (constant_) return Literal::filled(type_, *constant_);
  Literal drawn(type_);
  const std::span<float> all = drawn.mutable_data<float>();
  ThreadTeam team(int(std::clamp<int64_t>(drawn.elements() / kOfOneThread, 1, threads)));
  team.run([&](int thread) {
    const UsualArithmetic mode;
    Piece numbers;
    for (size_t begin = size_t(thread) * numbers.size(); begin < all.size();
         begin += size_t(team.size()) * numbers.size()) {
      const int64_t block = int64_t(begin) / kNumbersOfBlock;
      fill_uniform(key_, mutated(Mutant::drawn_pieces_alike) ? 0 : block, numbers);
      for (const Step& step : steps_) take(step, numbers);
      std::copy_n(numbers.begin(), std::min(numbers.size(), all.size() - begin), &all[begin]);
    }
  });
  return drawn;
}

DrawsBeside::DrawsBeside(Draws draws) : draws_(std::move(draws)) {
  if (draws_.empty()) return;
  try {
    thread_ = std::thread([this] { draw_all(); });
  } catch (const std::system_error&) {
    // The remaining values are drawn afterwards.
  }
}

void DrawsBeside::draw_all() {
  const UsualArithmetic mode;  // a new thread inherits the mode of its creator
  for (const auto& [name, draw] : draws_) {
    if (enough_) return;
    if (draw.type().shape.elements() > kMostElements) continue;
    try {
      values_.emplace(name, draw.value(1));
    } catch (const std::exception&) {
      return;  // the user of the value draws it and gets the error
    }
  }
}

void DrawsBeside::finish() {
  enough_ = true;
  if (thread_.joinable()) thread_.join();
}

std::optional<Literal> DrawsBeside::take(std::string_view name) {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  std::optional<Literal> value = std::move(found->second);
  values_.erase(found);
  return value;
}

}  // namespace graphc::core
