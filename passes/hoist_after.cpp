// SPDX-License-Identifier: Apache-2.0
// The part of hoist that moves computations not needed by carries after the loop: the weight
// gradients of a backward loop, which are carries that only accumulate, and heavy work on the way
// to emits.
#include <algorithm>

#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/scan.h"
#include "passes/accumulated.h"
#include "passes/batch.h"
#include "passes/cut.h"
#include "passes/hoist.h"
#include "passes/region.h"
#include "passes/variation.h"

namespace graphc::core {
namespace {

class HoistAfter {
 public:
  HoistAfter(const Node& node, const Values& operands, Graph& to)
      : scan_(node),
        body_(scan_.body()),
        varies_(variation(scan_)),
        operands_(operands),
        to_(to),
        whole_(body_),
        inputs_(body_.inputs()) {
    streams_ = scan_.streams().size();
    carries_ = scan_.initial().size();
    emits_ = scan_.emits().size();
    for (Value carry : scan_.body_carries()) carry_index_.add(carry);
  }

  std::optional<Values> run() {
    find_moving();
    sums_.emplace(
        scan_, [this](Value value) { return moves(value); },
        [this](Value value) { return made_here(value); });
    // What leaves the loop must not grow: a sum that stays needs its result only.
    const int64_t with_reductions = choose(false);
    const bool any_reduction = std::ranges::any_of(body_.nodes(), [&](const Node& node) {
      return heavy_[size_t(node.id)] && reduces_what_is_made_here(node);
    });
    if (any_reduction && choose(true) >= with_reductions && !sums_->has_matrices()) choose(false);
    const bool any_late = std::any_of(scan_.emits().begin(), scan_.emits().end(),
                                      [&](Value emit) { return late_[id(emit)]; });
    if (scan_.steps() == 0 || (!sums_->any() && !any_late)) return std::nullopt;
    return build();
  }

 private:
  size_t id(Value value) const { return size_t(value.node->id); }
  bool moves(Value value) const { return moving_[id(value)]; }
  Value carry(size_t k) const { return scan_.body_carries()[k]; }

  void find_moving() {
    for (Varies varies : varies_) moving_.push_back(varies > Varies::captures);
    for (const Node& node : body_.nodes()) {
      made_here_.push_back(
          varies_[size_t(node.id)] == Varies::carries || node.is(ops::scan) ||
          std::ranges::any_of(node.operands, [&](Value x) { return made_here(x); }));
    }
  }
  /// Whether the value is there only while the loop runs: computed from carries, or by a loop.
  bool made_here(Value value) const { return made_here_[id(value)]; }

  /// Whether it is a product without a factor shared by all steps, so that batching does not make
  /// it faster, and with an operand computed in the loop that is larger than the result: the memory
  /// of a cell whose state is a matrix per row.
  bool reads_more_than_it_makes(const Node& node) const {
    return node.is(ops::matmul) &&
           std::ranges::all_of(node.operands, [&](Value x) { return moves(x); }) &&
           std::ranges::any_of(node.operands, [&](Value x) {
             return made_here(x) && x.shape().elements() > node.result().shape().elements();
           });
  }

  /// Chooses what is computed after the loop, without sums and maxima of larger values of the step
  /// if these stay. Returns the bytes that a step emits then.
  int64_t choose(bool reductions_stay) {
    find_late(reductions_stay);
    emitted_ = {};
    multiplied_ = {};
    whole_ = ValueMap(body_);
    crossing_.clear();
    find_kept_emits();
    find_multiplied();
    choose_crossing();
    int64_t bytes = 0;
    for (const Value value : emitted_.values()) bytes += value.type().bytes();
    return bytes;
  }

  /// Whether it is a sum or a maximum of a larger value that is there only while the loop runs. If
  /// rows carry a matrix, of any larger value, since to read a matrix again takes longer than to
  /// reduce it while it is in the cache; but not one that joins rows, which stay apart without it.
  bool reduces_what_is_made_here(const Node& node) const {
    if (!node.is(ops::sum) && !node.is(ops::max)) return false;
    if (sums_->joins_rows(node)) return false;
    const Value operand = node.operands[0];
    return (sums_->has_matrices() || made_here(operand)) &&
           operand.shape().elements() > node.result().shape().elements();
  }

  /// What the loop computes however much moves: its carries, and the matrices that rows accumulate.
  Values needed_in_loop() const {
    Values needed = sums_->of_rows();
    for (size_t k = 0; k < carries_; ++k) {
      if (!sums_->has(k)) needed.push_back(scan_.next()[k]);
    }
    return needed;
  }

  /// Finds heavy nodes that no remaining carry needs and whose users can all be computed after the
  /// loop.
  void find_late(bool reductions_stay) {
    const std::vector<bool> in_loop = needed_for(body_, needed_in_loop());
    const size_t count = body_.nodes().size();
    std::vector<bool> batches(count);
    heavy_.assign(count, false);
    for (const Node& node : body_.nodes()) {
      const size_t n = size_t(node.id);
      std::vector<bool> stacked;
      for (Value operand : node.operands) stacked.push_back(moves(operand));
      batches[n] = can_batch(node, stacked);
      heavy_[n] = batches[n] && moving_[n] && !in_loop[n] && is_heavy(node) &&
                  !reads_more_than_it_makes(node) &&
                  !(reductions_stay && reduces_what_is_made_here(node));
    }
    batches_ = batches;
    const std::vector<bool> accumulated = only_accumulated();
    for (bool changed = true; changed;) {
      changed = false;
      late_ = heavy_;
      for (const Node& node : body_.nodes()) {
        for (Value operand : node.operands) {
          if (late_[id(operand)]) late_[size_t(node.id)] = true;
        }
      }
      Values stuck;
      for (const Node& node : body_.nodes()) {
        const size_t n = size_t(node.id);
        if (late_[n] && !batches[n] && !accumulated[n]) stuck.push_back(node.result());
      }
      const std::vector<bool> before = needed_for(body_, stuck);
      for (size_t n = 0; n < count; ++n) {
        if (!before[n] || !heavy_[n]) continue;
        heavy_[n] = false;
        changed = true;
      }
    }
  }

  /// By node: whether it only contributes to sums over steps that are not computed step by step.
  std::vector<bool> only_accumulated() const {
    Values others = needed_in_loop();
    for (size_t k = 0; k < carries_; ++k) {
      if (!sums_->has(k)) continue;
      const Values operands = sums_->needed(k);
      others.insert(others.end(), operands.begin(), operands.end());
    }
    others.insert(others.end(), scan_.emits().begin(), scan_.emits().end());
    std::vector<bool> result = needed_for(body_, others);
    result.flip();
    return result;
  }

  void find_kept_emits() {
    for (Value emit : scan_.emits()) {
      if (!late_[id(emit)]) emit_value(emit);
    }
  }

  void emit_value(Value value) {
    if (!emitted_.add(value) || !value.node->is(ops::concat)) return;
    for (Value part : value.node->operands) {
      if (!whole_.find(part)) whole_.set(part, value);
    }
  }

  /// Elementwise values computed from carries and read by products after the loop: products read
  /// memory, so the loop may as well store them.
  void find_multiplied() {
    Values kept = emitted_.values();
    const Values needed = needed_in_loop();
    kept.insert(kept.end(), needed.begin(), needed.end());
    const std::vector<bool> in_loop = needed_for(body_, kept);
    for (const Node& node : body_.nodes()) {
      if (!node.is(ops::matmul) || in_loop[size_t(node.id)]) continue;
      for (Value operand : node.operands) {
        if (made_here(operand) && is_elementwise(operand.node->op)) multiplied_.add(operand);
      }
    }
  }

  /// The next of a remaining carry whose history is the carry's value.
  Value next_of(Value value) const {
    const size_t k = carry_index_.index(value);
    return k < carries_ ? scan_.next()[k] : Value{};
  }
  bool is_emitted(Value value) const { return emitted_.contains(value); }
  /// The emitted concatenation from which the part can be sliced, or an absent value.
  Value emitted_whole(Value value) const { return whole_.find(value); }

  int64_t price(Value value) const {
    if (value.node->is(ops::constant) || value.node->is(ops::iota)) return never;
    if (late_[id(value)]) return never;
    if (!moves(value)) return value.node->is(ops::input) ? 0 : never;
    if (is_emitted(value) || emitted_whole(value) || multiplied_.contains(value)) return 0;
    if (const Value next = next_of(value))
      return is_emitted(next) ? 0 : cost_of_storing(next.type());
    if (value.node->is(ops::input)) return 0;
    // What lies around the loops of rows that carry a matrix joins the rows: better computed later.
    const bool joins = sums_->has_loops() && is_elementwise(value.node->op);
    return cost_of_storing(value.type()) + (joins ? 1 : 0);
  }

  /// Kernels of sums cannot include a concatenation, so it would be stored for the sum. Parts of an
  /// existing row are a view.
  int64_t cost_of_joining(const Node& concat) const {
    const bool are_parts = std::ranges::all_of(
        concat.operands, [this](Value part) { return bool(emitted_whole(part)); });
    return are_parts ? 0 : cost_of_storing(concat.types[0]);
  }

  void choose_crossing() {
    CutProblem problem;
    for (size_t k = 0; k < carries_; ++k) {
      if (!sums_->has(k)) continue;
      const Values operands = sums_->needed(k);
      problem.wanted.insert(problem.wanted.end(), operands.begin(), operands.end());
    }
    for (Value emit : scan_.emits()) {
      if (late_[id(emit)]) problem.wanted.push_back(emit);
    }
    problem.store = [this](Value value) { return price(value); };
    problem.repeat = [this](const Node& node) -> int64_t {
      if (late_[size_t(node.id)] || !moving_[size_t(node.id)]) return 0;
      if (!batches_[size_t(node.id)] || is_heavy(node)) return never;
      return node.is(ops::concat) ? cost_of_joining(node) : cost_of_repeating(node);
    };
    for (Value value : minimum_cut(body_, problem)) {
      if (!moves(value)) continue;
      crossing_.push_back(value);
      const Value next = next_of(value);
      const Value source = next && !is_emitted(value) ? next : value;
      const bool stream = value.node->is(ops::input) && !next;
      if (!stream && !is_emitted(source) && !emitted_whole(source)) emit_value(source);
    }
  }

  const Node& add_loop() {
    auto copy = std::make_unique<Graph>(body_.name());
    ValueMap known(body_);
    ScanParts parts;
    const auto add = [&](size_t i, Values& list) {
      const Value input = body_.inputs()[i];
      known.set(input, copy->input(input.type(), input.name(), input.node->where));
      list.push_back(operands_[i]);
    };
    for (size_t i = 0; i < streams_; ++i) add(i, parts.streams);
    for (size_t k = 0; k < carries_; ++k) {
      if (!sums_->has(k)) add(streams_ + k, parts.initial);
    }
    const Values of_rows = sums_->add_carries(*copy, parts, to_);
    for (size_t i = streams_ + carries_; i < operands_.size(); ++i) add(i, parts.captures);
    Values wanted;
    std::vector<std::string> names;
    const Values& emitted = emitted_.values();
    for (Value emit : emitted) names.push_back(emit.name());
    for (size_t k = 0; k < carries_; ++k) {
      if (sums_->has(k)) continue;
      wanted.push_back(scan_.next()[k]);
      names.push_back(scan_.node().names[emits_ + k]);
    }
    const size_t kept = wanted.size();
    wanted.insert(wanted.end(), sums_->of_rows().begin(), sums_->of_rows().end());
    wanted.insert(wanted.end(), emitted.begin(), emitted.end());
    Values results = copy_cone(body_, known, wanted, *copy);
    for (size_t i = 0; i < of_rows.size(); ++i) {
      Value& matrix = results[kept + i];
      matrix = sums_->next(i, of_rows[i], matrix);
      names.push_back(matrix.name());
    }
    copy->set_results(std::move(results));
    parts.body = freeze(std::move(copy));
    parts.steps = scan_.steps();
    parts.reverse = scan_.reverse();
    parts.save_every = scan_.save_every();
    return add_scan(to_, std::move(parts), scan_.node().where, std::move(names));
  }

  Value stacked(Value value, const Node& loop) const {
    if (is_emitted(value)) return loop.result(int(emitted_.index(value)));
    if (const Value whole = emitted_whole(value)) {
      const int axis = int(whole.node->attributes.get_int("axis", 0));
      const int positive = axis < 0 ? axis + whole.shape().rank() : axis;
      int64_t start = 0;
      for (Value part : whole.node->operands) {
        const int64_t limit = start + part.shape()[positive];
        if (part == value) return slice(stacked(whole, loop), positive + 1, start, limit);
        start = limit;
      }
    }
    if (const size_t k = carry_index_.index(value); k < carries_) {
      const Value steps = stacked(scan_.next()[k], loop);
      if (mutated(Mutant::hoisted_carry_not_shifted)) return steps;
      return carry_history(operands_[streams_ + k], steps, scan_.reverse());
    }
    return operands_[inputs_.index(value)];
  }

  Values build() {
    const WhereScope scope(scan_.node().where);
    const bool empty = emitted_.empty() && needed_in_loop().empty();
    const Node* loop = empty ? &scan_.node() : &add_loop();
    Batch batch(body_, to_, scan_.steps());
    for (size_t i = streams_ + carries_; i < operands_.size(); ++i)
      batch.set(body_.inputs()[i], {operands_[i], false});
    for (Value value : crossing_) batch.set(value, {stacked(value, *loop), true});
    Values results;
    for (Value emit : scan_.emits())
      results.push_back(late_[id(emit)] ? batch.get_stacked(emit) : stacked(emit, *loop));
    Values of_rows;
    for (size_t i = 0; !empty && i < sums_->of_rows().size(); ++i)
      of_rows.push_back(loop->result(loop->results() - int(sums_->of_rows().size() - i)));
    size_t next = emitted_.size();
    for (size_t k = 0; k < carries_; ++k) {
      results.push_back(sums_->has(k)
                            ? sums_->total(k, operands_[streams_ + k], of_rows, batch, to_)
                            : loop->result(int(next++)));
    }
    return results;
  }

  Scan scan_;
  const Graph& body_;
  const std::vector<Varies> varies_;
  const Values& operands_;
  Graph& to_;
  size_t streams_, carries_, emits_;
  std::vector<bool> moving_, heavy_, late_, batches_;
  std::vector<bool> made_here_;
  std::optional<Accumulated> sums_;  // the carries that only accumulate
  ValueSet emitted_;                 // of the new loop: still emitted, or crossing the cut
  ValueMap whole_;                   // from parts to emitted concatenations
  ValueSet multiplied_;              // elementwise work of carries that products read
  ValueSet inputs_, carry_index_;    // of the body
  Values crossing_;
};

}  // namespace

std::optional<Values> hoist_after(const Node& node, const Values& operands, Graph& to) {
  return HoistAfter(node, operands, to).run();
}

}  // namespace graphc::core
