// SPDX-License-Identifier: Apache-2.0
#include "passes/replicate/replicator.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/region.h"
#include "passes/replicate/rules.h"

namespace graphc::core {

struct Replicator::Inlined {
  Inlined(GraphPtr graph, Graph& to, const Shards& shards, Remarks* remarks)
      : body(std::move(graph)), replicator(*body, to, shards, remarks) {}

  GraphPtr body;
  Replicator replicator;
};

Replicator::~Replicator() = default;

Replicator::Replicator(const Graph& from, Graph& to, Shards shards, Remarks* remarks)
    : from_(from),
      to_(to),
      shards_(std::move(shards)),
      remarks_(remarks),
      known_(from.nodes().size()),
      by_place_(from.nodes().size()) {
  for (const Node& node : from.nodes()) known_[size_t(node.id)].resize(size_t(node.results()));
}

void Replicator::set(Value old, const Holding& holding, Values held) {
  const size_t wanted = holding.whole() ? 1 : shards_.own.size();
  GRAPHC_CHECK(held.size() == wanted, "%{} is held in {} values", old.name(), held.size());
  Known& value = known(old);
  value = {};
  value.holding = holding;
  value.held = std::move(held);
}

void Replicator::set(Value old, const Holding& holding, Values held, Value whole) {
  set(old, holding, std::move(held));
  known(old).whole = whole;
}

void Replicator::note(const Replicated& inner) {
  found_.communicates |= inner.communicates;
  found_.by_place |= inner.by_place;
}

void Replicator::run(Where line) {
  line_ = line;
  const std::vector<bool> live = live_nodes(from_);
  for (const Node& node : from_.nodes()) {
    if (!live[size_t(node.id)] || node.is(ops::input) || node.is(ops::state)) continue;
    const WhereScope scope(line_of(node));
    try {
      replicate_node(*this, node);
      by_place_[size_t(node.id)] = is_by_place(node.result());
    } catch (Error& error) {
      throw error.at(line_of(node));
    }
  }
}

std::string Replicator::name_of(const std::string& value, const Holding& holding) {
  if (holding.whole()) return value;
  return value + (holding.parts() ? ".own" : ".term");
}

Value Replicator::whole(Value old) {
  Known& value = known(old);
  GRAPHC_CHECK(!value.held.empty(), "nothing stands for %{}", old.name());
  if (value.holding.whole()) return value.held[0];
  if (value.whole) return value.whole;
  if (value.holding.terms()) return value.whole = sum(old, value.held);
  const WhereScope scope(line_of(*old.node));
  found_.communicates = true;
  return value.whole = gathered(value.held, value.holding, old.shape(), shards_, old.name());
}

Value Replicator::sum(Value old, const Values& terms, DType sent) {
  const WhereScope scope(line_of(*old.node));
  found_.communicates = true;
  return reduced(terms, shards_, old.name(), sent);
}

Values Replicator::as(Value old, const Holding& holding) {
  const Known& value = known(old);
  if (value.holding == holding) return value.held;
  if (holding.whole()) return {whole(old)};
  for (const auto& [other, held] : value.others) {
    if (other == holding) return held;
  }
  Values held;
  if (holding.terms()) {
    const Value one = whole(old);
    // Only whole numbers have one term that is all of them.
    found_.by_place |= !is_floating(old.dtype());
    for (const int64_t shard : shards_.own) held.push_back(term_of(one, shard, shards_.count));
  } else {
    held = parts(old, holding);
  }
  known(old).others.emplace_back(holding, held);
  return held;
}

bool Replicator::is_by_place(Value old) const {
  if (!holding(old).whole()) return false;
  const Known& value = known(old);
  if (value.inner != nullptr) return value.inner->is_by_place(value.in_body);
  const Node& node = *old.node;
  if (node.is(ops::iota)) return true;
  if (!is_elementwise(node.op) && !node.is(ops::reshape) && !node.is(ops::broadcast_to))
    return false;
  return std::ranges::any_of(node.operands, [&](Value operand) {
    return holding(operand).whole() && by_place_[size_t(operand.node->id)];
  });
}

Values Replicator::parts(Value old, const Holding& holding) {
  const WhereScope scope(line_of(*old.node));
  found_.by_place = true;
  if (this->holding(old).whole() && by_place_[size_t(old.node->id)]) {
    const Known& value = known(old);
    const Values held =
        value.inner != nullptr ? value.inner->as(value.in_body, holding) : of_place(old, holding);
    if (!held.empty()) return held;
  }
  const std::optional<double> number = splat_value(old);
  Values held;
  for (const int64_t shard : shards_.own) {
    if (number && is_floating(old.dtype())) {
      const Type own{old.dtype(), own_shape(old.shape(), holding, shards_.count)};
      held.push_back(splat(to_, *number, own));
    } else {
      held.push_back(part_of(whole(old), holding, shard, shards_.count));
    }
  }
  return held;
}

/// The same node for each shard, with operands of its places; nothing where that cannot be.
Values Replicator::of_place(Value old, const Holding& holding) {
  const Node& node = *old.node;
  Values held;
  if (node.is(ops::iota)) {
    for (const int64_t shard : shards_.own) {
      held.push_back(own_iota(to_, node, holding, shard, shards_.count));
      if (!held.back()) return {};
    }
    return held;
  }
  std::vector<Values> operands;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Value operand = node.operands[i];
    std::optional<Holding> wanted;
    if (node.is(ops::reshape)) {
      wanted = reshaped(old.shape(), holding, operand.shape(), shards_.count);
    } else {
      wanted = operand_holding(node, i, holding);
    }
    if (!wanted || !divides(operand.shape(), *wanted, shards_.count)) return {};
    operands.push_back(as(operand, *wanted));
  }
  Attributes attributes = node.attributes;
  if (!is_elementwise(node.op)) {
    const Shape own = own_shape(old.shape(), holding, shards_.count);
    attributes.set("shape", std::vector<int64_t>(own.begin(), own.end()));
  }
  for (size_t k = 0; k < shards_.own.size(); ++k) {
    Values own;
    for (const Values& each : operands) own.push_back(each.size() == 1 ? each[0] : each[k]);
    held.push_back(to_.add(node.op, std::move(own), attributes, {}, line_of(node),
                           {name_of(old.name(), holding)})
                       .result());
  }
  return held;
}

void Replicator::add(const Node& node, const std::vector<Values>& operands,
                     const Attributes& attributes, const std::vector<Holding>& holdings) {
  const bool once = std::ranges::all_of(holdings, &Holding::whole);
  std::vector<Values> held(size_t(node.results()));
  std::vector<std::string> names;
  for (int i = 0; i < node.results(); ++i)
    names.push_back(name_of(node.names[size_t(i)], holdings[size_t(i)]));
  for (size_t k = 0; k < (once ? 1 : shards_.own.size()); ++k) {
    Values own;
    for (const Values& each : operands) own.push_back(each.size() == 1 ? each[0] : each[k]);
    const Node& copy =
        to_.add(node.op, std::move(own), attributes, node.regions, line_of(node), names);
    for (int i = 0; i < node.results(); ++i) {
      if (k == 0 || !holdings[size_t(i)].whole()) held[size_t(i)].push_back(copy.result(i));
    }
  }
  for (int i = 0; i < node.results(); ++i)
    set(node.result(i), holdings[size_t(i)], std::move(held[size_t(i)]));
}

void Replicator::add(const Node& node, const std::vector<Values>& operands,
                     const Holding& holding) {
  add(node, operands, node.attributes, std::vector<Holding>(size_t(node.results()), holding));
}

void Replicator::add_body(const Node& node, GraphPtr body) {
  const Graph& from = *body;
  inlined_.push_back(std::make_unique<Inlined>(std::move(body), to_, shards_, remarks_));
  Replicator& inner = inlined_.back()->replicator;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Known& operand = known(node.operands[i]);
    inner.set(from.inputs()[i], operand.holding, operand.held, operand.whole);
  }
  inner.run(line_of(node));
  note(inner.found());
  for (int i = 0; i < node.results(); ++i) {
    const Value result = from.results()[size_t(i)];
    const Known& made = inner.known(result);
    set(node.result(i), made.holding, made.held, made.whole);
    known(node.result(i)).inner = &inner;
    known(node.result(i)).in_body = result;
  }
}

void Replicator::add_whole(const Node& node, std::string_view why) {
  std::vector<Values> operands;
  bool gathers = false;
  for (const Value operand : node.operands) {
    gathers |= holding(operand).parts();
    operands.push_back({whole(operand)});
  }
  if (gathers && remarks_ != nullptr && !why.empty())
    remarks_->add(node, fmt::format("every rank computes it whole: {}", why));
  add(node, operands, kWhole);
}

}  // namespace graphc::core
