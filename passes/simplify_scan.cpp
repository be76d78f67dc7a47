// SPDX-License-Identifier: Apache-2.0
// The rules of simplify on the parts of scans.
//
// An unused result is not emitted. A carry is needed if its final value is used or if something
// needed reads it. An unread stream or capture is removed. Equal streams, captures and emits are
// merged. A carry that is its own next becomes a capture. Constants are created in the body. An
// emit that is a stream becomes the stream.
#include <algorithm>

#include "ir/build.h"
#include "ir/scan.h"
#include "passes/region.h"
#include "passes/simplify_rules.h"

namespace graphc::core {
namespace {

class PrunedScan {
 public:
  PrunedScan(const Node& node, const Values& operands, const std::vector<int>& uses)
      : scan_(node), operands_(operands), uses_(uses), kept_(operands.size(), true) {
    streams_ = scan_.streams().size();
    carries_ = scan_.initial().size();
    emits_ = scan_.emits().size();
    for (size_t i = 0; i < streams_; ++i) stream_inputs_.add(input(i));
  }

  /// Finds what is needed; returns whether anything is not.
  bool find() {
    classify_inputs();
    find_needed();
    find_emits();
    const bool all = std::find(kept_.begin(), kept_.end(), false) == kept_.end();
    return !all || kept_emits_.size() < emits_;
  }

  /// The results of the pruned scan; empty if everything is needed.
  std::optional<Values> run(Graph& to) { return find() ? std::optional(build(to)) : std::nullopt; }

 private:
  Value input(size_t i) const { return scan_.body().inputs()[i]; }
  bool is_carry(size_t i) const { return i >= streams_ && i < streams_ + carries_; }
  bool is_own_next(size_t i) const { return is_carry(i) && scan_.next()[i - streams_] == input(i); }
  bool is_constant(size_t i) const {
    return (!is_carry(i) || is_own_next(i)) && splat_value(operands_[i]).has_value();
  }

  /// The replacement of each input: itself, an earlier equal one, or a constant in the body.
  void classify_inputs() {
    same_as_.resize(operands_.size());
    ValueSet streams, captures;                 // operands not merged with earlier ones
    std::vector<size_t> stream_of, capture_of;  // the first input of each
    for (size_t i = 0; i < operands_.size(); ++i) {
      same_as_[i] = i;
      if (is_constant(i) || (is_carry(i) && !is_own_next(i))) continue;
      ValueSet& known = i < streams_ ? streams : captures;
      std::vector<size_t>& first = i < streams_ ? stream_of : capture_of;
      if (known.add(operands_[i]))
        first.push_back(i);
      else
        same_as_[i] = first[known.index(operands_[i])];
    }
  }

  void find_needed() {
    std::vector<const Node*> roots;
    Spread::Links links;
    for (size_t i = 0; i < emits_; ++i) {
      if (uses_[i] > 0) roots.push_back(scan_.emits()[i].node);
    }
    for (size_t k = 0; k < carries_; ++k) {
      const Node* next = scan_.next()[k].node;
      if (uses_[emits_ + k] > 0) roots.push_back(next);
      links.emplace_back(input(streams_ + k).node, next);
    }
    const Spread needed(scan_.body(), Spread::Along::operands, roots, links);
    for (size_t i = 0; i < operands_.size(); ++i) {
      const bool final_read = is_carry(i) && uses_[emits_ + i - streams_] > 0;
      const bool read = final_read || needed.has(*input(i).node);
      needed_.push_back(read);
      kept_[i] = read && same_as_[i] == i && !is_constant(i) && !is_own_next(i);
    }
    // An input that replaces a read one is kept.
    for (size_t i = 0; i < operands_.size(); ++i) {
      const size_t j = same_as_[i];
      if (needed_[i] && !is_constant(j) && !is_own_next(j)) kept_[j] = true;
    }
    read_.assign(operands_.size(), false);
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (needed_[i]) read_[same_as_[i]] = true;
    }
  }

  /// The index of the stream that an emit is, or the number of streams.
  size_t emitted_stream(Value emit) const { return stream_inputs_.index(emit); }

  void find_emits() {
    for (size_t i = 0; i < emits_; ++i) {
      const Value emit = scan_.emits()[i];
      if (uses_[i] == 0 || splat_value(emit) || emitted_stream(emit) < streams_) continue;
      if (emitted_values_.add(emit)) kept_emits_.push_back(i);
    }
  }

  Values build(Graph& to) {
    auto body = std::make_unique<Graph>(scan_.body().name());
    ValueMap known(scan_.body());
    ScanParts parts;
    const auto add = [&](size_t i, Values& list) {
      const Value value = body->input(input(i).type(), input(i).name(), input(i).node->where);
      known.set(input(i), value);
      list.push_back(operands_[i]);
    };
    for (size_t i = 0; i < streams_; ++i) {
      if (kept_[i]) add(i, parts.streams);
    }
    Values wanted;
    for (size_t k = 0; k < carries_; ++k) {
      if (!kept_[streams_ + k]) continue;
      add(streams_ + k, parts.initial);
      wanted.push_back(scan_.next()[k]);
    }
    for (size_t i = streams_; i < operands_.size(); ++i) {
      const bool captured = !is_carry(i) || is_own_next(i);
      if (captured && same_as_[i] == i && !is_constant(i) && is_read(i)) add(i, parts.captures);
    }
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (is_constant(i))
        known.set(input(i), splat(*body, *splat_value(operands_[i]), input(i).type()));
      else if (const Value twin = known.find(input(same_as_[i])))
        known.set(input(i), twin);
    }
    for (size_t i : kept_emits_) wanted.push_back(scan_.emits()[i]);
    body->set_results(copy_cone(scan_.body(), known, wanted, *body));
    parts.body = freeze(std::move(body));
    parts.steps = scan_.steps();
    parts.reverse = scan_.reverse();
    parts.save_every = scan_.save_every();
    return results(to, std::move(parts));
  }

  /// Whether the input, or one that it replaces, is read.
  bool is_read(size_t i) const { return read_[i]; }

  Values results(Graph& to, ScanParts parts) {
    const size_t kept_carries = parts.initial.size();
    std::vector<std::string> names;
    for (size_t i : kept_emits_) names.push_back(scan_.node().names[i]);
    for (size_t k = 0; k < carries_; ++k) {
      if (kept_[streams_ + k]) names.push_back(scan_.node().names[emits_ + k]);
    }
    Values added(kept_emits_.size() + kept_carries);
    if (!added.empty()) {
      added = results_of(add_scan(to, std::move(parts), scan_.node().where, std::move(names)));
    }
    Values values(emits_ + carries_);
    for (size_t i = 0; i < emits_; ++i) {
      if (uses_[i] > 0) values[i] = emitted(i, added, to);
    }
    size_t next = kept_emits_.size();
    for (size_t k = 0; k < carries_; ++k) {
      const size_t i = streams_ + k;
      if (kept_[i])
        values[emits_ + k] = added[next++];
      else if (uses_[emits_ + k] > 0)
        values[emits_ + k] = operands_[i];
    }
    return values;
  }

  Value emitted(size_t i, const Values& added, Graph& to) const {
    const Value emit = scan_.emits()[i];
    const size_t stream = emitted_stream(emit);
    if (stream < streams_) return operands_[stream];
    if (const std::optional<double> number = splat_value(emit))
      return splat(to, *number, scan_.emitted(i).type());
    const size_t j = emitted_values_.index(emit);
    GRAPHC_CHECK(j < kept_emits_.size(), "emit %{} is used and not kept", emit.name());
    return added[j];
  }

  Scan scan_;
  Values operands_;
  std::vector<int> uses_;  // of each result
  std::vector<bool> kept_;
  std::vector<bool> needed_;
  std::vector<bool> read_;  // by replacement input
  std::vector<size_t> same_as_;
  std::vector<size_t> kept_emits_;
  ValueSet emitted_values_;  // values of `kept_emits_`
  ValueSet stream_inputs_;
  size_t streams_ = 0, carries_ = 0, emits_ = 0;
};

}  // namespace

GraphPtr prune_scans(const GraphPtr& graph) {
  const auto is_scan = [](const Node& node) { return node.is(ops::scan); };
  if (std::ranges::none_of(graph->nodes(), is_scan)) return graph;
  const std::vector<std::vector<int>> uses = value_uses(*graph);
  // Usually everything is needed, and nothing is copied.
  const std::vector<bool> live = live_nodes(*graph);
  const auto has_more = [&](const Node& node) {
    return live[size_t(node.id)] && is_scan(node) &&
           PrunedScan(node, node.operands, uses[size_t(node.id)]).find();
  };
  if (std::ranges::none_of(graph->nodes(), has_more)) return graph;
  return rewrite(*graph,
                 [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
                   if (!node.is(ops::scan)) return std::nullopt;
                   const WhereScope scope(node.where);
                   return PrunedScan(node, operands, uses[size_t(node.id)]).run(to);
                 });
}

}  // namespace graphc::core
