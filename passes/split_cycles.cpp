// SPDX-License-Identifier: Apache-2.0
// The part of hoist that splits a loop into one per cycle of carries: two layers written in one
// body become two loops, so that the second layer's input product leaves its loop.
//
// Carries that depend on each other's next form a cycle. Only a cycle with heavy work is worth a
// loop of its own; the others (counters, running sums) join the first loop that has everything they
// need. A value read by a later loop is emitted by the loop that computes it.
#include <algorithm>

#include "ir/scan.h"
#include "passes/components.h"
#include "passes/cut.h"
#include "passes/hoist.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

class SplitCycles {
 public:
  SplitCycles(const Node& node, const Values& operands, Graph& to)
      : scan_(node), body_(scan_.body()), operands_(operands), to_(to), inputs_(body_.inputs()) {
    streams_ = scan_.streams().size();
    carries_ = scan_.initial().size();
    emits_ = scan_.emits().size();
  }

  std::optional<Values> run() {
    if (carries_ < 2) return std::nullopt;
    find_cycles();
    if (heavy_roots_.size() < 2) return std::nullopt;
    assign_loops();
    return build();
  }

 private:
  size_t id(Value value) const { return size_t(value.node->id); }

  /// The dependences of each node across steps: its operands, and for a carry its next. Mutually
  /// dependent nodes form a cycle, which is heavy if it contains heavy work.
  void find_cycles() {
    needs_.resize(body_.nodes().size());
    for (const Node& node : body_.nodes()) {
      for (Value operand : node.operands) needs_[size_t(node.id)].push_back(operand.node->id);
    }
    std::vector<int> roots;
    for (size_t k = 0; k < carries_; ++k) {
      roots.push_back(scan_.body_carries()[k].node->id);
      needs_[size_t(roots.back())].push_back(scan_.next()[k].node->id);
    }
    const std::vector<int> cycle = components(needs_, roots);
    std::vector<int> members(cycle.size(), 0);
    std::vector<bool> heavy(cycle.size(), false);
    for (const Node& node : body_.nodes()) {
      const int of = cycle[size_t(node.id)];
      if (of < 0) continue;
      ++members[size_t(of)];
      if (is_heavy(node)) heavy[size_t(of)] = true;
    }
    std::vector<bool> counted(cycle.size(), false);
    for (int root : roots) {
      const size_t of = size_t(cycle[size_t(root)]);
      if (members[of] < 2 || !heavy[of] || counted[of]) continue;
      counted[of] = true;
      heavy_roots_.push_back(root);
    }
  }

  /// loop_[node] is the first loop with everything the node needs. A heavy cycle starts a new loop
  /// after everything it needs, otherwise in the order of the carries; the carries of a cycle stay
  /// together.
  void assign_loops() {
    std::vector<int> roots = heavy_roots_;
    for (const Node& node : body_.nodes()) roots.push_back(node.id);
    const std::vector<int> cycle = components(needs_, roots);
    std::vector<bool> heavy(cycle.size(), false);
    for (int root : heavy_roots_) heavy[size_t(cycle[size_t(root)])] = true;
    std::vector<std::vector<int>> nodes(cycle.size());
    for (const Node& node : body_.nodes()) nodes[size_t(cycle[size_t(node.id)])].push_back(node.id);
    loop_.assign(body_.nodes().size(), 0);
    for (size_t of = 0; of < nodes.size(); ++of) {
      int loop = heavy[of] ? loops_++ : 0;
      for (int node : nodes[of]) {
        for (int need : needs_[size_t(node)]) loop = std::max(loop, loop_[size_t(need)]);
      }
      for (int node : nodes[of]) loop_[size_t(node)] = loop;
    }
  }

  bool is_stream(Value value) const { return input_index(value) < streams_; }
  /// The index of the input that the value is, or the number of inputs.
  size_t input_index(Value value) const { return inputs_.index(value); }
  bool is_carry(size_t input) const { return input >= streams_ && input < streams_ + carries_; }
  bool is_at_hand(Value value) const {
    const size_t i = input_index(value);
    if (i < inputs_.size()) return !is_carry(i);
    return value.node->is(ops::constant) || value.node->is(ops::iota);
  }

  /// The values that each loop reads: streams and captures, and values of earlier loops.
  void find_read() {
    read_.resize(size_t(loops_));
    crossing_.resize(size_t(loops_));
    const auto read = [&](Value value, int loop) {
      if (is_at_hand(value)) {
        read_[size_t(loop)].add(value);
      } else if (loop_[id(value)] < loop) {
        crossing_[size_t(loop)].add(value);
      }
    };
    const std::vector<bool> live = needed_for(body_, body_.results());
    for (const Node& node : body_.nodes()) {
      if (!live[size_t(node.id)] || is_at_hand(node.result())) continue;
      for (Value operand : node.operands) read(operand, loop_[size_t(node.id)]);
    }
    for (size_t k = 0; k < carries_; ++k) read(scan_.next()[k], loop_[id(scan_.body_carries()[k])]);
  }

  Values build() {
    find_read();
    Values finals(carries_);
    std::vector<ValueSet> emits(static_cast<size_t>(loops_));
    const auto emit = [&](Value value) {
      if (!is_stream(value)) emits[size_t(loop_[id(value)])].add(value);
    };
    for (Value value : scan_.emits()) emit(value);
    for (const ValueSet& crossing : crossing_) {
      for (Value value : crossing.values()) emit(value);
    }
    carries_of_.resize(size_t(loops_));
    for (size_t k = 0; k < carries_; ++k)
      carries_of_[size_t(loop_[id(scan_.body_carries()[k])])].push_back(k);
    for (size_t loop = 0; loop < emits.size(); ++loop) {
      // An emitted capture is emitted by the first loop and must be available there.
      for (Value value : emits[loop].values()) {
        if (is_at_hand(value)) read_[loop].add(value);
      }
      add_loop(loop, emits[loop].values(), finals);
    }
    Values results;
    for (Value value : scan_.emits()) results.push_back(stacked(value));
    results.insert(results.end(), finals.begin(), finals.end());
    return results;
  }

  /// The stacked steps of a value that has been emitted, or is a stream.
  Value stacked(Value value) const {
    const size_t i = emitted_.index(value);
    if (i < emitted_.size()) return stacked_[i];
    GRAPHC_CHECK(is_stream(value), "%{} is not emitted", value.name());
    return operands_[input_index(value)];
  }

  void add_loop(size_t loop, const Values& emits, Values& finals) {
    auto copy = std::make_unique<Graph>(body_.name());
    ValueMap known(body_);
    ScanParts parts;
    const auto add_input = [&](Value value, Value outer, Values& list) {
      known.set(value, copy->input(value.type(), value.name(), value.node->where));
      list.push_back(outer);
    };
    Values wanted;
    const std::vector<size_t>& carries = carries_of_[loop];
    for (size_t k : carries) wanted.push_back(scan_.next()[k]);
    for (Value value : wanted) {
      if (is_at_hand(value)) read_[loop].add(value);
    }
    std::vector<size_t> inputs;
    for (Value value : read_[loop].values()) {
      if (input_index(value) < inputs_.size()) inputs.push_back(input_index(value));
    }
    std::sort(inputs.begin(), inputs.end());
    for (size_t i : inputs) {
      if (i < streams_) add_input(inputs_.values()[i], operands_[i], parts.streams);
    }
    for (Value value : crossing_[loop].values()) add_input(value, stacked(value), parts.streams);
    for (size_t k : carries)
      add_input(scan_.body_carries()[k], operands_[streams_ + k], parts.initial);
    for (size_t i : inputs) {
      if (i >= streams_) add_input(inputs_.values()[i], operands_[i], parts.captures);
    }
    wanted.insert(wanted.end(), emits.begin(), emits.end());
    if (wanted.empty()) return;
    copy->set_results(copy_cone(body_, known, wanted, *copy));
    parts.body = freeze(std::move(copy));
    parts.steps = scan_.steps();
    parts.reverse = scan_.reverse();
    parts.save_every = scan_.save_every();
    std::vector<std::string> names;
    for (Value value : emits) names.push_back(value.name());
    for (size_t k : carries) names.push_back(scan_.node().names[emits_ + k]);
    const Node& added = add_scan(to_, std::move(parts), scan_.node().where, std::move(names));
    for (size_t i = 0; i < emits.size(); ++i) {
      emitted_.add(emits[i]);
      stacked_.push_back(added.result(int(i)));
    }
    for (size_t i = 0; i < carries.size(); ++i)
      finals[carries[i]] = added.result(int(emits.size() + i));
  }

  Scan scan_;
  const Graph& body_;
  const Values& operands_;
  Graph& to_;
  size_t streams_, carries_, emits_;
  std::vector<std::vector<int>> needs_;  // of each node
  std::vector<int> heavy_roots_;         // one carry of each heavy cycle
  std::vector<int> loop_;                // of each node
  int loops_ = 0;
  ValueSet inputs_;                              // of the body
  std::vector<ValueSet> read_, crossing_;        // of each loop
  std::vector<std::vector<size_t>> carries_of_;  // of each loop
  ValueSet emitted_;                             // values of the body emitted so far
  Values stacked_;                               // and their stacked steps
};

}  // namespace

std::optional<Values> split_cycles(const Node& node, const Values& operands, Graph& to) {
  return SplitCycles(node, operands, to).run();
}

}  // namespace graphc::core
