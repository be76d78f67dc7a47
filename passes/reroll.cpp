// SPDX-License-Identifier: Apache-2.0
// Turns hand-unrolled loops back into loops: copies of one body, each of which reads results of the
// previous one or the next step of a sequence, become one `scan`. Then one body is compiled for any
// number of steps, and all loop optimisations apply.
//
// Results of the copies become steps of the history that the loop emits, or the whole history where
// all of them are concatenated along an axis. Copies that differ, such as a first one without a
// product, stay. Only loops at the top level of the graph are rerolled.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "passes/repeats.h"

namespace graphc::core {
namespace {

/// The maximum number of loops made of one graph; each rebuilds the graph.
constexpr int kMostLoops = 32;

/// Moves an axis to the front, or back.
Value with_axis_first(Value x, int axis) {
  std::vector<int64_t> permutation(size_t(x.shape().rank()));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::rotate(permutation.begin(), permutation.begin() + axis, permutation.begin() + axis + 1);
  return axis == 0 ? x : transpose(x, permutation);
}
Value with_first_axis_at(Value x, int axis) {
  std::vector<int64_t> permutation(size_t(x.shape().rank()));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::rotate(permutation.begin(), permutation.begin() + 1, permutation.begin() + axis + 1);
  return axis == 0 ? x : transpose(x, permutation);
}

Value step_of(Value from, int axis, int64_t index, bool keeps_axis) {
  const Value part = slice(from, axis, index, index + 1);
  return keeps_axis ? part : reshape(part, part.shape().without(axis));
}

/// The body of the loop, and its operands.
class Body {
 public:
  explicit Body(const Repeats& run) : run_(run), body_(std::make_unique<Graph>()) {
    using Kind = CopyOperand::Kind;
    // Inputs: streams, carries, captures.
    for (const Kind kind : {Kind::stream, Kind::carried, Kind::invariant}) {
      for (const auto& operands : run.operands) {
        for (const CopyOperand& operand : operands) {
          if (operand.kind == kind) add_input(operand);
        }
      }
    }
    for (size_t m = 0; m < run.period; ++m) {
      const Node& node = run.node(0, m);
      Values operands;
      for (const CopyOperand& operand : run.operands[m]) operands.push_back(value_of(operand));
      nodes_.push_back(&body_->add_copy(node, operands, node.regions));
    }
  }

  /// The carried results, by node and result of the body, in the order of the carries.
  std::vector<std::pair<size_t, int>> carried() const {
    std::vector<std::pair<size_t, int>> all;
    for (const CopyOperand& operand : carries_) all.emplace_back(operand.node, operand.result);
    return all;
  }

  /// The loop: `emitted` are nodes and results of the body, `known` maps the values around it.
  const Node& add_loop(const std::vector<std::pair<size_t, int>>& emitted, const ValueMap& known,
                       Graph& to) {
    const auto steps = int64_t(run_.copies);
    ScanParts parts;
    for (const CopyOperand& stream : streams_) {
      int64_t first = stream.step->index - (stream.by < 0 ? steps - 1 : 0);
      if (mutated(Mutant::rerolled_from_the_first_step)) first = 0;
      const Value from = known(stream.outside);
      const int axis = stream.step->axis;
      const bool is_whole = first == 0 && steps == from.shape()[axis];
      parts.streams.push_back(
          with_axis_first(is_whole ? from : slice(from, axis, first, first + steps), axis));
    }
    for (const CopyOperand& carry : carries_) parts.initial.push_back(known(carry.outside));
    for (const CopyOperand& capture : captures_) parts.captures.push_back(known(capture.outside));
    Values results;
    for (const auto& [node, result] : carried()) results.push_back(nodes_[node]->result(result));
    for (const auto& [node, result] : emitted) results.push_back(nodes_[node]->result(result));
    body_->set_results(results);
    parts.body = freeze(std::move(body_));
    parts.steps = steps;
    parts.reverse = run_.reverse();
    return add_scan(to, std::move(parts), run_.node(0, 0).where);
  }

 private:
  using Key = std::tuple<CopyOperand::Kind, size_t, int, const Node*, int, int, int64_t>;
  /// Identifies the source of an input: equal keys share one input.
  static Key key_of(const CopyOperand& operand) {
    const bool is_stream = operand.kind == CopyOperand::Kind::stream;
    const bool is_carried = operand.kind == CopyOperand::Kind::carried;
    return {operand.kind,
            is_carried ? operand.node : 0,
            is_carried ? operand.result : 0,
            operand.outside.node,
            operand.outside.index,
            is_stream ? operand.step->axis : 0,
            is_stream ? operand.step->index : 0};
  }

  void add_input(const CopyOperand& operand) {
    Value& input = inputs_[key_of(operand)];
    if (input) return;
    Type type = operand.outside.type();
    if (operand.kind == CopyOperand::Kind::stream) {
      type.shape = type.shape.without(operand.step->axis);
      streams_.push_back(operand);
    } else {
      (operand.kind == CopyOperand::Kind::carried ? carries_ : captures_).push_back(operand);
    }
    input = body_->input(type, operand.outside.name());
  }

  Value value_of(const CopyOperand& operand) const {
    if (operand.kind == CopyOperand::Kind::stream) {
      const Value step = inputs_.at(key_of(operand));
      return operand.step->keeps_axis ? reshape(step, step.shape().insert(operand.step->axis, 1))
                                      : step;
    }
    const Value from = operand.kind == CopyOperand::Kind::internal
                           ? nodes_[operand.node]->result(operand.result)
                           : inputs_.at(key_of(operand));
    if (!operand.step) return from;
    return step_of(from, operand.step->axis, operand.step->index, operand.step->keeps_axis);
  }

  const Repeats& run_;
  std::unique_ptr<Graph> body_;
  std::vector<const Node*> nodes_;
  std::map<Key, Value> inputs_;
  std::vector<CopyOperand> streams_, carries_, captures_;
};

/// Builds the graph in which a run is a loop.
class Reroll {
 public:
  Reroll(const Graph& from, const Repeats& run)
      : from_(from),
        run_(run),
        body_(run),
        to_(std::make_unique<Graph>(from.name())),
        known_(from) {
    for (size_t i = 0; i < run.nodes.size(); ++i) place_.emplace(run.nodes[i], i);
  }

  GraphPtr result() {
    find_uses();
    for (Value input : from_.inputs())
      known_.set(input, to_->input(input.type(), input.name(), input.node->where));
    for (Value state : from_.states())
      known_.set(state, to_->state(state.type(), state.name(), state.node->where));
    for (const Node& node : from_.nodes()) {
      if (&node == run_.nodes[0]) add_loop();
      if (!is_wanted_[size_t(node.id)] || known_.find(node.result())) continue;
      copy(node);
    }
    Values results;
    for (Value value : from_.results()) results.push_back(known(value));
    to_->set_results(results);
    for (const Next& next : from_.next()) to_->set_next(known(next.state), known(next.value));
    return freeze(std::move(to_));
  }

 private:
  /// A result of a copy.
  struct Given {
    size_t copy, node;
    int result;
    std::pair<size_t, int> of_body() const { return {node, result}; }
  };
  std::optional<Given> given(Value value) const {
    const auto found = place_.find(value.node);
    if (found == place_.end()) return std::nullopt;
    return Given{found->second / run_.period, found->second % run_.period, value.index};
  }

  /// Determines which nodes around the run are needed, and which results of the run.
  void find_uses() {
    is_wanted_.assign(from_.nodes().size(), false);
    const auto use = [&](Value value) {
      if (const std::optional<Given> of = given(value)) {
        uses_[of->of_body()].insert(of->copy);
      } else {
        is_wanted_[size_t(value.node->id)] = true;
      }
    };
    for (Value root : from_.roots()) use(root);
    for (const auto& operands : run_.operands) {
      for (const CopyOperand& operand : operands) {
        if (operand.outside) use(operand.outside);
      }
    }
    for (auto node = from_.nodes().rbegin(); node != from_.nodes().rend(); ++node) {
      if (!is_wanted_[size_t(node->id)]) continue;
      for (Value operand : node->operands) use(operand);
    }
  }

  void add_loop() {
    Values outside;
    for (const auto& operands : run_.operands) {
      for (const CopyOperand& operand : operands) {
        if (operand.outside) outside.push_back(operand.outside);
      }
    }
    copy_cone(from_, known_, outside, *to_);
    // A carried result of which only the last copy is used outside needs no history.
    const std::vector<std::pair<size_t, int>> carried = body_.carried();
    std::vector<std::pair<size_t, int>> emitted;
    for (const auto& [of_body, copies] : uses_) {
      const bool is_final = copies == std::set{run_.copies - 1} &&
                            std::ranges::find(carried, of_body) != carried.end();
      if (!is_final) emitted.push_back(of_body);
    }
    const Node& loop = body_.add_loop(emitted, known_, *to_);
    for (size_t i = 0; i < emitted.size(); ++i) histories_[emitted[i]] = loop.result(int(i));
    for (size_t i = 0; i < carried.size(); ++i)
      final_.emplace(carried[i], loop.result(int(emitted.size() + i)));
  }

  /// The step of the loop that corresponds to a copy.
  int64_t step(size_t copy) const {
    return int64_t(run_.reverse() ? run_.copies - 1 - copy : copy);
  }

  Value known(Value value) {
    if (const Value there = known_.find(value)) return there;
    const std::optional<Given> of = given(value);
    GRAPHC_CHECK(of.has_value(), "%{} is not known", value.name());
    if (!histories_.contains(of->of_body())) return final_.at(of->of_body());
    Value& step_value = steps_[{of->copy, of->node, of->result}];
    if (!step_value) step_value = step_of(histories_.at(of->of_body()), 0, step(of->copy), false);
    return step_value;
  }

  void copy(const Node& node) {
    if (node.is(ops::concat) && joined(node)) return;
    Values operands;
    for (Value operand : node.operands) operands.push_back(known(operand));
    const Node& copied = copy_node(node, operands, *to_);
    for (int i = 0; i < node.results(); ++i) known_.set(node.result(i), copied.result(i));
  }

  /// The result of a copy that an operand of a concatenation contributes: of width one along the
  /// axis, or reshaped to have that axis.
  std::optional<Given> with_axis(Value operand, int axis) const {
    if (const std::optional<Given> whole = given(operand))
      return operand.shape()[axis] == 1 ? whole : std::nullopt;
    if (!operand.node->is(ops::reshape)) return std::nullopt;
    const Value inner = operand.node->operands[0];
    const bool adds_axis = operand.shape().rank() == inner.shape().rank() + 1 &&
                           inner.shape().insert(axis, 1) == operand.shape();
    return adds_axis ? given(inner) : std::nullopt;
  }

  /// Concatenates slices of histories in place of consecutive steps; returns false if there are
  /// none.
  bool joined(const Node& node) {
    const int axis = int(node.attributes.get_int("axis", 0));
    Values pieces;
    bool found = false;
    for (size_t i = 0; i < node.operands.size();) {
      const std::optional<Given> first = with_axis(node.operands[i], axis);
      const bool has_history = first && histories_.contains(first->of_body());
      size_t end = i + 1;
      for (; has_history && end < node.operands.size(); ++end) {
        const std::optional<Given> next = with_axis(node.operands[end], axis);
        if (!next || next->of_body() != first->of_body() ||
            step(next->copy) != step(first->copy) + int64_t(end - i))
          break;
      }
      if (end == i + 1) {
        pieces.push_back(known(node.operands[i]));
      } else {
        const int64_t begin = step(first->copy);
        Value part = slice(histories_.at(first->of_body()), 0, begin, begin + int64_t(end - i));
        if (part.shape().rank() > node.types[0].shape.rank())
          part = reshape(part, part.shape().without(axis + 1));
        pieces.push_back(with_first_axis_at(part, axis));
        found = true;
      }
      i = end;
    }
    if (found) known_.set(node.result(), pieces.size() == 1 ? pieces[0] : concat(pieces, axis));
    return found;
  }

  const Graph& from_;
  const Repeats& run_;
  Body body_;
  std::unique_ptr<Graph> to_;
  ValueMap known_;
  std::map<const Node*, size_t> place_;                        ///< in the run
  std::vector<bool> is_wanted_;                                ///< by id
  std::map<std::pair<size_t, int>, std::set<size_t>> uses_;    ///< copies, by result of the body
  std::map<std::pair<size_t, int>, Value> histories_, final_;  ///< the same
  std::map<std::tuple<size_t, size_t, int>, Value> steps_;     ///< of histories
};

GraphPtr run_reroll(const GraphPtr& graph, const PassOptions&, Remarks& remarks) {
  GraphPtr result = graph;
  size_t from = 0;
  for (int loops = 0;; ++loops) {
    const std::optional<Repeats> run = find_repeats(*result, from);
    if (!run) return result;
    const Node& first = run->node(0, 0);
    if (loops == kMostLoops) {
      remarks.add(first, fmt::format("{} copies stay written out: {} loops are made of one graph",
                                     run->copies, kMostLoops));
      return result;
    }
    const WhereScope scope(first.where);
    remarks.add(first, fmt::format("{} copies of {} node{} are one loop", run->copies, run->period,
                                   run->period == 1 ? "" : "s"));
    from = run->first;
    result = Reroll(*result, *run).result();
  }
}

}  // namespace

constinit const Pass passes::reroll{
    .name = "reroll",
    .summary = "makes a loop of copies that are written out one after another",
    .options = "",
    .run = run_reroll,
};

}  // namespace graphc::core
