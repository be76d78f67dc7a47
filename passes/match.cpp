// SPDX-License-Identifier: Apache-2.0
// Recursive descent over both graphs with a copied state per alternative. Patterns are small (tens
// of nodes) and alternatives few; a step limit bounds the worst case.
#include "passes/match.h"

#include <algorithm>
#include <numeric>

#include "ir/build.h"
#include "ir/scan.h"
#include "passes/match_places.h"
#include "passes/simplify_rules.h"

namespace graphc::core {
namespace {

constexpr int kSteps = 2000, kStepsOfNearest = 50000;
constexpr int kMostInserted = 3;  ///< graph nodes skipped on one path, for the nearest match
constexpr size_t kMostCarries = 4;

/// The bindings on one path of the search.
struct State {
  std::vector<std::pair<const Node*, Value>> bound;  ///< by pattern node
  std::vector<std::pair<const Node*, Value>> added;  ///< terms to be added to a parameter
  std::vector<const Node*> covered;
  std::vector<size_t> carries;  ///< for each carry of the pattern, the index of the graph's
  Attributes attributes;
  int matched = 0, differences = 0;
  std::optional<Difference> first;
};

bool is_better(const State& a, const State& b) {
  const bool whole_a = a.differences == 0, whole_b = b.differences == 0;
  if (whole_a != whole_b) return whole_a;
  return a.matched != b.matched ? a.matched > b.matched : a.differences < b.differences;
}

class Matcher {
 public:
  Matcher(const Pattern& pattern, const Node& candidate, const MatchSettings& settings)
      : pattern_(pattern),
        candidate_(candidate),
        settings_(settings),
        theirs_(pattern.root()),
        ours_(candidate),
        steps_(settings.nearest ? kStepsOfNearest : kSteps) {}

  Match run() {
    State state;
    if (pattern_.is_loop())
      match_loops(state);
    else
      match(theirs_.place(pattern_.body->results()[0]), ours_.place(candidate_.result()), state);
    return finish(state);
  }

 private:
  bool is_over(const State& s) const { return s.differences > 0 && !settings_.nearest; }

  void differ(State& s, Value found, std::string text) const {
    if (s.differences++ == 0) s.first = Difference{found, std::move(text)};
  }

  static const Value* find(const State& s, const Node* node) {
    const auto known = std::ranges::find(s.bound, node, &std::pair<const Node*, Value>::first);
    return known == s.bound.end() ? nullptr : &known->second;
  }

  void cover(State& s, const Node& node) const {
    if (node.graph == candidate_.graph && &node != &candidate_) s.covered.push_back(&node);
  }

  // --- loops

  void match_loops(State& s) {
    const size_t wanted = theirs_.loop()->initial().size(), found = ours_.loop()->initial().size();
    match_attributes(pattern_.root(), candidate_.result(), s);
    if (wanted != found)
      differ(
          s, candidate_.result(),
          fmt::format("it has {} {}: wanted {}", found, found == 1 ? "carry" : "carries", wanted));
    if (is_over(s)) return;
    std::vector<size_t> order(std::max(wanted, found));
    std::iota(order.begin(), order.end(), size_t{0});
    std::optional<State> best;
    do {
      State tried = s;
      tried.carries.assign(order.begin(), order.begin() + long(wanted));
      match_carries(tried);
      if (!best || is_better(tried, *best)) best = std::move(tried);
    } while (order.size() <= kMostCarries && best->differences > 0 &&
             std::ranges::next_permutation(order).found);
    s = std::move(*best);
  }

  void match_carries(State& s) {
    const Scan &theirs = *theirs_.loop(), &ours = *ours_.loop();
    const auto has_partner = [&](size_t k) { return s.carries[k] < ours.initial().size(); };
    for (size_t k = 0; k < s.carries.size(); ++k) {
      if (has_partner(k))
        s.bound.emplace_back(theirs.body_carries()[k].node, ours.body_carries()[s.carries[k]]);
    }
    for (size_t k = 0; k < s.carries.size(); ++k) {
      if (!has_partner(k)) continue;
      match(theirs_.place(theirs.next()[k]), ours_.place(ours.next()[s.carries[k]]), s);
      match(theirs_.place(theirs.initial()[k]), ours_.place(ours.initial()[s.carries[k]]), s);
    }
    if (s.differences > 0) return;
    for (Value emit : ours.emits()) {
      const auto is_it = [&](Value value) { return stands_for(value, s) == emit; };
      if (std::ranges::none_of(theirs.emits(), is_it))
        differ(
            s, emit,
            fmt::format("the loop gives it for all steps, which {} does not", pattern_.op->name));
    }
  }

  // --- values

  void match(const Place& p, const Place& u, State& s) {
    if (is_over(s)) return;
    if (--steps_ < 0) return differ(s, u.value, "too many ways to match");
    const Node& node = *p.value.node;
    if (const Value* known = find(s, &node)) return match_known(p, u, *known, s);
    if (node.is(ops::constant)) return match_constant(p.value, u.value, s);
    if (pattern_.is_loop() && node.is(ops::add)) {
      const Terms theirs = theirs_.terms(p), ours = ours_.terms(u);
      if (ours.places.size() > 1) return match_sum(p, u, theirs, ours, s);
    }
    if (p.kind != u.kind) {
      differ(s, u.value, fmt::format("wanted {}, {}", describe(p.value), text_of(p.kind)));
      return go_on(p, u, s);
    }
    if (node.is(ops::input)) return match_parameter(p.value, u.value, s);
    if (!u.value.node->is(node.op)) {
      differ(s, u.value, "wanted " + describe(p.value));
      return go_on(p, u, s);
    }
    const int before = s.differences;
    match_attributes(node, u.value, s);
    if (p.value.index != u.value.index)
      differ(s, u.value,
             fmt::format("wanted result {} of it, {}", p.value.index, describe(p.value)));
    s.matched += s.differences == before ? 1 : 0;
    match_nodes(p, u, s);
  }

  void match_known(const Place& p, const Place& u, Value known, State& s) const {
    const bool same = p.value.node->is(ops::input)
                          ? known == u.value
                          : known.node == u.value.node && p.value.index == u.value.index;
    if (same) return;
    const Value wanted = p.value.node->is(ops::input) ? known : known.node->result(p.value.index);
    const bool possible = wanted.index < wanted.node->results();
    differ(s, u.value, "wanted " + (possible ? describe(wanted) : describe(p.value)));
  }

  void match_parameter(Value p, Value u, State& s) const {
    const Type &wanted = p.type(), &found = u.type();
    if (theirs_.is_carry(p)) return differ(s, u, fmt::format("wanted the carry %{}", p.name()));
    const bool alike = is_floating(wanted.dtype) == is_floating(found.dtype) &&
                       is_integer(wanted.dtype) == is_integer(found.dtype) &&
                       (settings_.loose || wanted.shape.rank() == found.shape.rank());
    const bool equal = pattern_.is_loop() || settings_.loose || wanted == found;
    if (!alike || !equal)
      return differ(s, u,
                    fmt::format("it is {}: wanted %{} of {} axes", to_string(found), p.name(),
                                wanted.shape.rank()));
    s.bound.emplace_back(p.node, u);
  }

  void match_constant(Value p, Value u, State& s) const {
    const std::optional<double> wanted = splat_value(p), found = splat_value(u);
    if (!found) return differ(s, u, "wanted " + describe(p));
    for (const auto& [variable, stand_in] : pattern_.constants) {
      if (wanted == stand_in) return set_variable(variable, Attribute(*found), u, s);
    }
    if (!settings_.loose && (!wanted || *wanted != *found)) differ(s, u, "wanted " + describe(p));
  }

  /// Compares the operands of two nodes that are assumed to correspond, whatever their ops.
  void match_nodes(const Place& p, const Place& u, State& s) {
    const Node &theirs = *p.value.node, &ours = *u.value.node;
    s.bound.emplace_back(&theirs, u.value);
    cover(s, ours);
    if (theirs.operands.size() != ours.operands.size())
      return differ(s, u.value, fmt::format("wanted {} operands", theirs.operands.size()));
    const auto in_order = [&](bool exchanged) {
      State tried = s;
      const size_t count = theirs.operands.size();
      for (size_t i = 0; i < count; ++i)
        match(theirs_.operand(p, i), ours_.operand(u, exchanged ? count - 1 - i : i), tried);
      return tried;
    };
    State tried = in_order(false);
    if (tried.differences > s.differences && is_commutative(theirs.op)) {
      State other = in_order(true);
      if (is_better(other, tried)) tried = std::move(other);
    }
    s = std::move(tried);
  }

  /// Continues after a difference: as if the op were the expected one, or the node were extra.
  void go_on(const Place& p, const Place& u, State& s) {
    if (!settings_.nearest || u.value.node->is(ops::input) || p.value.node->is(ops::input)) return;
    State best = s;
    const auto keep = [&](State&& tried) {
      if (is_better(tried, best)) best = std::move(tried);
    };
    const size_t operands = u.value.node->operands.size();
    if (operands == p.value.node->operands.size()) {
      State tried = s;
      match_nodes(p, u, tried);
      keep(std::move(tried));
    }
    if (inserted_ < kMostInserted) {
      ++inserted_;
      for (size_t i = 0; i < operands; ++i) {
        State tried = s;
        match(p, ours_.operand(u, i), tried);
        keep(std::move(tried));
      }
      --inserted_;
    }
    s = std::move(best);
  }

  // --- sums

  void match_sum(const Place& p, const Place& u, const Terms& theirs, const Terms& ours, State& s) {
    s.bound.emplace_back(p.value.node, u.value);
    for (const Node* node : ours.sums) cover(s, *node);
    std::vector<Place> wanted = theirs.places, left = ours.places;
    // Computed terms are more specific than a parameter, which matches anything.
    std::ranges::stable_partition(
        wanted, [](const Place& place) { return !place.value.node->is(ops::input); });
    int found = 0;
    for (const Place& term : wanted) found += match_term(term, left, u, s) ? 1 : 0;
    if (found > 1) s.matched += found - 1;
    for (const Place& term : left) {
      if (!is_over(s) && !absorb(term, wanted, s))
        differ(s, term.value,
               fmt::format("added to {}, which {} has not", describe(u.value), pattern_.op->name));
    }
  }

  /// Finds the term, or the one most like it, among those left, and removes it.
  bool match_term(const Place& term, std::vector<Place>& left, const Place& sum, State& s) {
    if (is_over(s)) return false;
    std::optional<State> best;
    size_t chosen = 0;
    for (size_t i = 0; i < left.size(); ++i) {
      State tried = s;
      match(term, left[i], tried);
      if (best && !is_better(tried, *best)) continue;
      best = std::move(tried);
      chosen = i;
      if (best->differences == s.differences) break;
    }
    const bool alike = best && (best->matched > s.matched || best->differences == s.differences);
    if (alike) {
      left.erase(left.begin() + long(chosen));
      s = std::move(*best);
    } else {
      differ(s, sum.value, fmt::format("wanted {} among its terms", describe(term.value)));
    }
    return alike;
  }

  /// A second vector added in every step is part of the bias.
  bool absorb(const Place& term, const std::vector<Place>& wanted, State& s) const {
    for (const Place& place : wanted) {
      const Node& node = *place.value.node;
      const Value* bound = find(s, &node);
      if (!node.is(ops::input) || place.kind != term.kind || bound == nullptr) continue;
      if (bound->type() != term.value.type()) continue;
      s.added.emplace_back(&node, term.value);
      return true;
    }
    return false;
  }

  // --- attributes

  void set_variable(const std::string& name, const Attribute& value, Value u, State& s) const {
    const Attribute* known = s.attributes.find(name);
    if (known != nullptr && *known != value)
      differ(s, u, fmt::format("wanted {} = {}", name, to_string(*known)));
    s.attributes.set(name, value);
  }

  void match_attributes(const Node& node, Value u, State& s) const {
    std::vector<std::string> names;
    for (const Attributes* attributes : {&node.attributes, &u.node->attributes}) {
      for (const auto& [name, value] : *attributes) names.push_back(name);
    }
    for (const std::string& name : names) {
      if (name == "steps" || name == "streams" || name == "carries") continue;
      const Attribute wanted = attribute_of(node, name), found = attribute_of(*u.node, name);
      if (std::ranges::count(pattern_.variables, name, &Variable::name) > 0) {
        if (found != Attribute(false)) set_variable(name, found, u, s);
        continue;
      }
      const bool extent =
          !std::holds_alternative<bool>(wanted) && !std::holds_alternative<DType>(wanted);
      if ((settings_.loose && extent) || wanted == found) continue;
      return differ(
          s, u, fmt::format("wanted {} = {}, found {}", name, to_string(wanted), to_string(found)));
    }
  }

  // --- what was found

  Value stands_for(Value p, const State& s) const {
    const Value* known = find(s, p.node);
    if (known == nullptr) return {};
    return p.node->is(ops::input) ? *known : known->node->result(p.index);
  }

  Match finish(const State& s) const {
    Match match{.matched = s.matched, .difference = s.first, .covered = s.covered};
    if (s.differences > 0) return match;
    for (const auto& [name, value] : s.attributes) {
      const auto variable = std::ranges::find(pattern_.variables, name, &Variable::name);
      if (to_string(value) != variable->otherwise) match.attributes.set(name, value);
    }
    for (Value parameter : pattern_.body->inputs()) {
      Values& terms = match.operands.emplace_back();
      if (const Value known = stands_for(parameter, s)) terms.push_back(known);
      for (const auto& [node, value] : s.added) {
        if (node == parameter.node) terms.push_back(value);
      }
    }
    for (Value result : pattern_.body->results()) match.results.push_back(result_of(result, s));
    return match;
  }

  Value result_of(Value result, const State& s) const {
    if (!pattern_.is_loop()) return candidate_.result(result.index);
    const Scan &theirs = *theirs_.loop(), &ours = *ours_.loop();
    const size_t emits = theirs.emits().size(), index = size_t(result.index);
    if (index >= emits) return ours.final(s.carries[index - emits]);
    for (size_t i = 0; i < ours.emits().size(); ++i) {
      if (ours.emits()[i] == stands_for(theirs.emits()[index], s)) return ours.emitted(i);
    }
    return {};
  }

  const Pattern& pattern_;
  const Node& candidate_;
  MatchSettings settings_;
  Side theirs_, ours_;
  int steps_, inserted_ = 0;
};

}  // namespace

Match match(const Pattern& pattern, const Node& candidate, const MatchSettings& settings) {
  return Matcher(pattern, candidate, settings).run();
}

}  // namespace graphc::core
