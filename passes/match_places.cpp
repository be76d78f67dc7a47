// SPDX-License-Identifier: Apache-2.0
#include "passes/match_places.h"

#include <algorithm>

#include "ir/build.h"
#include "passes/match.h"

namespace graphc::core {
namespace {

std::string operand_text(Value value) {
  if (const std::optional<double> number = splat_value(value)) return to_string(Attribute(*number));
  return "%" + value.name();
}

}  // namespace

std::string_view text_of(Place::Kind kind) {
  switch (kind) {
    case Place::Kind::stacked:
      return "computed for all steps before the loop";
    case Place::Kind::invariant:
      return "the same in every step";
    default:
      return "computed in the loop";
  }
}

Side::Side(const Node& root) {
  if (root.is(ops::scan)) loop_.emplace(root);
}

Place Side::place(Value value) const {
  if (!loop_ || !value.node->is(ops::input) || value.node->graph != &loop_->body()) return {value};
  const auto input = std::ranges::find(loop_->body().inputs(), value);
  const auto index = size_t(input - loop_->body().inputs().begin());
  const Value outer = loop_->node().operands[index];
  if (index < loop_->streams().size()) return {outer, Place::Kind::stacked};
  if (index < loop_->streams().size() + loop_->initial().size()) return {value};
  return {outer, Place::Kind::invariant};
}

Place Side::operand(const Place& place, size_t index) const {
  return this->place(place.value.node->operands[index]);
}

Terms Side::terms(const Place& place) const {
  // No pattern has so many terms; and a value added to itself doubles them on every line.
  constexpr size_t kMostTerms = 256;
  Terms terms;
  std::vector<Place> waiting{place};
  while (!waiting.empty()) {
    const Place at = waiting.back();
    waiting.pop_back();
    if (!is_sum(at) || terms.sums.size() == kMostTerms) {
      terms.places.push_back(at);
      continue;
    }
    terms.sums.push_back(at.value.node);
    const Values& operands = at.value.node->operands;
    for (auto operand = operands.rbegin(); operand != operands.rend(); ++operand)
      waiting.push_back(term_of(at, *operand));
  }
  return terms;
}

bool Side::is_sum(const Place& place) {
  const Node& node = *place.value.node;
  if (!node.is(ops::add) || place.kind == Place::Kind::invariant) return false;
  // Before the loop, an operand with fewer axes is the same in every step; one whose step axis is
  // broadcast is neither stacked nor invariant.
  const auto fits = [&](Value operand) {
    return operand.shape().rank() < place.value.shape().rank() ||
           operand.shape()[0] == place.value.shape()[0];
  };
  return place.kind != Place::Kind::stacked || std::ranges::all_of(node.operands, fits);
}

Place Side::term_of(const Place& sum, Value operand) const {
  if (sum.kind != Place::Kind::stacked) return place(operand);
  const bool same = operand.shape().rank() < sum.value.shape().rank();
  return {operand, same ? Place::Kind::invariant : Place::Kind::stacked};
}

bool Side::is_carry(Value value) const {
  return loop_ && std::ranges::count(loop_->body_carries(), value) > 0;
}

Attribute attribute_of(const Node& node, std::string_view name) {
  const Attribute* attribute = node.attributes.find(name);
  if (attribute == nullptr) return Attribute(false);
  const auto* axis = name == "axis" ? std::get_if<int64_t>(attribute) : nullptr;
  if (axis == nullptr || *axis >= 0) return *attribute;
  const int rank = (node.operands.empty() ? node.types[0] : node.operands[0].type()).shape.rank();
  return Attribute(*axis + rank);
}

std::string describe(Value value) {
  const Node& node = *value.node;
  if (node.is(ops::input) || node.is(ops::state)) return "%" + value.name();
  if (node.is(ops::constant)) {
    const std::optional<double> number = splat_value(value);
    return number ? to_string(Attribute(*number)) : "%" + value.name();
  }
  std::string text = fmt::format("%{} = {}", value.name(), node.op.name);
  if (node.results() > 1)
    text = fmt::format("%{} = result {} of {}", value.name(), value.index, node.op.name);
  for (size_t i = 0; i < node.operands.size(); ++i)
    text += (i == 0 ? " " : ", ") + operand_text(node.operands[i]);
  return text;
}

}  // namespace graphc::core
