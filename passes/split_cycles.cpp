// SPDX-License-Identifier: Apache-2.0
// The part of hoist that makes one loop of each cycle of carries: two layers written in one body
// become two loops, so that the second layer's input product leaves its loop.
//
// Carries that need each other's next form a cycle. Only a cycle with heavy work on it is worth a
// loop of its own; the others (counters, running sums) go with the first loop that has what they
// need. A value that a later loop reads is emitted by the loop that computes it.
#include <algorithm>

#include "ir/scan.h"
#include "passes/cut.h"
#include "passes/hoist.h"
#include "passes/region.h"

namespace graphc {
namespace {

class SplitCycles {
 public:
  SplitCycles(const Node& node, const Values& operands, Graph& to)
      : scan_(node), body_(scan_.body()), operands_(operands), to_(to) {
    streams_ = scan_.streams().size();
    carries_ = scan_.initial().size();
    emits_ = scan_.emits().size();
  }

  std::optional<Values> run() {
    if (carries_ < 2) return std::nullopt;
    find_cycles();
    if (std::count(heavy_cycle_.begin(), heavy_cycle_.end(), true) < 2) return std::nullopt;
    assign_loops();
    return build();
  }

 private:
  size_t id(Value value) const { return size_t(value.node->id); }

  /// cycle_[k]: the number of the carry's cycle. A cycle is heavy when a heavy node lies between
  /// its carries and their next.
  void find_cycles() {
    std::vector<std::vector<bool>> reaches;  // [from][to]
    std::vector<std::vector<bool>> depends;
    for (size_t k = 0; k < carries_; ++k) {
      depends.push_back(dependents(body_, {scan_.body_carries()[k]}));
      std::vector<bool> row;
      for (Value next : scan_.next()) row.push_back(depends[k][id(next)]);
      reaches.push_back(std::move(row));
    }
    for (size_t m = 0; m < carries_; ++m) {
      for (size_t i = 0; i < carries_; ++i) {
        for (size_t j = 0; j < carries_; ++j) {
          if (reaches[i][m] && reaches[m][j]) reaches[i][j] = true;
        }
      }
    }
    cycle_.assign(carries_, carries_);
    for (size_t k = 0; k < carries_; ++k) {
      if (cycle_[k] < carries_) continue;
      const size_t number = heavy_cycle_.size();
      Values carries, next;
      for (size_t j = k; j < carries_; ++j) {
        if (j != k && !(reaches[k][j] && reaches[j][k])) continue;
        cycle_[j] = number;
        carries.push_back(scan_.body_carries()[j]);
        next.push_back(scan_.next()[j]);
      }
      heavy_cycle_.push_back(reaches[k][k] && has_heavy_between(carries, next));
    }
  }

  bool has_heavy_between(const Values& carries, const Values& next) const {
    const std::vector<bool> behind = dependents(body_, carries), before = needed_for(body_, next);
    return std::any_of(body_.nodes().begin(), body_.nodes().end(), [&](const Node& node) {
      return behind[size_t(node.id)] && before[size_t(node.id)] && is_heavy(node);
    });
  }

  /// loop_[node]: the first loop that has all the node needs. A heavy cycle opens a loop of its own
  /// behind all that it needs; carries of a cycle are together.
  void assign_loops() {
    loop_.assign(body_.nodes().size(), 0);
    std::vector<int> loop_of_cycle(heavy_cycle_.size(), 0);
    int loops = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Node& node : body_.nodes()) {
        int loop = 0;
        for (Value operand : node.operands) loop = std::max(loop, loop_[id(operand)]);
        for (size_t k = 0; k < carries_; ++k) {
          if (&node == scan_.body_carries()[k].node)
            loop = std::max(loop, loop_of_cycle[cycle_[k]]);
        }
        loop_[size_t(node.id)] = loop;
      }
      for (size_t k = 0; k < carries_; ++k) {
        int& loop = loop_of_cycle[cycle_[k]];
        if (loop >= loop_[id(scan_.next()[k])]) continue;
        loop = loop_[id(scan_.next()[k])];
        changed = true;
      }
      if (changed) continue;
      // Heavy cycles that share a loop: all but the first of the lowest such loop move on by one.
      changed = separate(loop_of_cycle);
    }
    for (int loop : loop_) loops = std::max(loops, loop);
    loops_ = loops + 1;
  }

  bool separate(std::vector<int>& loop_of_cycle) const {
    for (size_t a = 0; a < heavy_cycle_.size(); ++a) {
      for (size_t b = 0; b < heavy_cycle_.size(); ++b) {
        if (a == b || !heavy_cycle_[a] || !heavy_cycle_[b]) continue;
        if (loop_of_cycle[a] != loop_of_cycle[b] || needs(a, b) || (b < a && !needs(b, a)))
          continue;
        ++loop_of_cycle[b];
        return true;
      }
    }
    return false;
  }

  /// Whether cycle a needs cycle b.
  bool needs(size_t a, size_t b) const {
    Values carries;
    for (size_t k = 0; k < carries_; ++k) {
      if (cycle_[k] == b) carries.push_back(scan_.body_carries()[k]);
    }
    const std::vector<bool> behind = dependents(body_, carries);
    for (size_t k = 0; k < carries_; ++k) {
      if (cycle_[k] == a && behind[id(scan_.next()[k])]) return true;
    }
    return false;
  }

  bool is_stream(Value value) const {
    const std::span<const Value> streams = scan_.body_streams();
    return std::count(streams.begin(), streams.end(), value) > 0;
  }
  bool is_at_hand(Value value) const {
    const auto input = std::find(body_.inputs().begin(), body_.inputs().end(), value);
    const size_t i = size_t(input - body_.inputs().begin());
    if (i < body_.inputs().size()) return i < streams_ || i >= streams_ + carries_;
    return value.node->is(ops::constant) || value.node->is(ops::iota);
  }

  /// Values of earlier loops that nodes of `loop` read.
  Values crossing_into(int loop) const {
    Values crossing;
    const auto read = [&](Value value) {
      if (is_at_hand(value) || loop_[id(value)] >= loop) return;
      if (std::count(crossing.begin(), crossing.end(), value) == 0) crossing.push_back(value);
    };
    const std::vector<bool> live = needed_for(body_, body_.results());
    for (const Node& node : body_.nodes()) {
      if (loop_[size_t(node.id)] != loop || !live[size_t(node.id)] || is_at_hand(node.result()))
        continue;
      for (Value operand : node.operands) read(operand);
    }
    for (size_t k = 0; k < carries_; ++k) {
      if (loop_[id(scan_.body_carries()[k])] == loop) read(scan_.next()[k]);
    }
    return crossing;
  }

  Values build() {
    Values finals(carries_);
    std::vector<Values> crossing;
    for (int loop = 0; loop < loops_; ++loop) crossing.push_back(crossing_into(loop));
    for (int loop = 0; loop < loops_; ++loop) {
      Values emits;
      const auto emit = [&](Value value) {
        if (!is_stream(value) && loop_[id(value)] == loop &&
            std::count(emits.begin(), emits.end(), value) == 0)
          emits.push_back(value);
      };
      for (Value value : scan_.emits()) emit(value);
      for (int later = loop + 1; later < loops_; ++later) {
        for (Value value : crossing[size_t(later)]) emit(value);
      }
      add_loop(loop, crossing[size_t(loop)], emits, finals);
    }
    Values results;
    for (Value value : scan_.emits()) results.push_back(stacked(value));
    results.insert(results.end(), finals.begin(), finals.end());
    return results;
  }

  /// The steps of a value that has been emitted, or is a stream.
  Value stacked(Value value) const {
    for (const auto& [inner, outer] : stacked_) {
      if (inner == value) return outer;
    }
    const auto input = std::find(body_.inputs().begin(), body_.inputs().end(), value);
    GRAPHC_CHECK(size_t(input - body_.inputs().begin()) < streams_, "%{} is not emitted",
                 value.name());
    return operands_[size_t(input - body_.inputs().begin())];
  }

  void add_loop(int loop, const Values& crossing, const Values& emits, Values& finals) {
    auto copy = std::make_unique<Graph>(body_.name());
    ValueMap known(body_);
    ScanParts parts;
    const auto add_input = [&](Value value, Value outer, Values& list) {
      known.set(value, copy->input(value.type(), value.name(), value.node->where));
      list.push_back(outer);
    };
    for (size_t i = 0; i < streams_; ++i) add_input(body_.inputs()[i], operands_[i], parts.streams);
    for (Value value : crossing) add_input(value, stacked(value), parts.streams);
    Values wanted;
    std::vector<size_t> carries;
    for (size_t k = 0; k < carries_; ++k) {
      const Value carry = scan_.body_carries()[k];
      if (loop_[id(carry)] != loop) continue;
      carries.push_back(k);
      add_input(carry, operands_[streams_ + k], parts.initial);
      wanted.push_back(scan_.next()[k]);
    }
    for (size_t i = streams_ + carries_; i < operands_.size(); ++i)
      add_input(body_.inputs()[i], operands_[i], parts.captures);
    wanted.insert(wanted.end(), emits.begin(), emits.end());
    if (wanted.empty()) return;
    copy->set_results(copy_cone(body_, known, wanted, *copy));
    parts.body = freeze(std::move(copy));
    parts.steps = scan_.steps();
    parts.reverse = scan_.reverse();
    std::vector<std::string> names;
    for (Value value : emits) names.push_back(value.name());
    for (size_t k : carries) names.push_back(scan_.node().names[emits_ + k]);
    const Node& added = add_scan(to_, std::move(parts), scan_.node().where, std::move(names));
    for (size_t i = 0; i < emits.size(); ++i) stacked_.emplace_back(emits[i], added.result(int(i)));
    for (size_t i = 0; i < carries.size(); ++i)
      finals[carries[i]] = added.result(int(emits.size() + i));
  }

  Scan scan_;
  const Graph& body_;
  const Values& operands_;
  Graph& to_;
  size_t streams_, carries_, emits_;
  std::vector<size_t> cycle_;      // of each carry
  std::vector<bool> heavy_cycle_;  // of each cycle
  std::vector<int> loop_;          // of each node
  int loops_ = 0;
  std::vector<std::pair<Value, Value>> stacked_;  // values of the body emitted so far
};

}  // namespace

std::optional<Values> split_cycles(const Node& node, const Values& operands, Graph& to) {
  return SplitCycles(node, operands, to).run();
}

}  // namespace graphc
