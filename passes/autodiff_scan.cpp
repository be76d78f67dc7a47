// SPDX-License-Identifier: Apache-2.0
// Reverse mode of a loop: a forward scan that emits the values needed by the backward scan, and a
// backward scan over the same steps in the opposite direction.
//
// One graph, the *joint*, holds a forward and a backward step: the body, with the cotangents of its
// results as further inputs and the cotangents of its inputs as further results. After
// simplification it is split in two (divided_step.h). Cotangents of carries are carries of the
// backward scan; cotangents of captures are sums over steps, written as carries that only
// accumulate, which `hoist` moves out of the loop.
#include <algorithm>
#include <optional>
#include <utility>

#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/scan.h"
#include "passes/autodiff.h"
#include "passes/batch.h"
#include "passes/composites.h"
#include "passes/divided_step.h"
#include "passes/region.h"
#include "passes/simplify.h"

namespace graphc::core {
namespace {

class ScanGradient {
 public:
  ScanGradient(Graph& graph, const Node& node, std::span<const Value> dy,
               const std::vector<bool>& active)
      : graph_(graph), scan_(node), dy_(dy.begin(), dy.end()), active_(active) {
    streams_ = scan_.streams().size();
    carries_ = scan_.initial().size();
    emits_ = scan_.emits().size();
  }

  Values run(ForwardScans& forwards) {
    users_ = &forwards.users;
    find_active_carries();
    first_carries_.assign(carries_, false);
    for (size_t k = 0; k < carries_; ++k)
      first_carries_[k] = dy_[emits_ + k] && active_[streams_ + k];
    backward_carries_ = carries_that_may_have_cotangents();
    while (!build_joint()) {
    }
    if (gradients_.empty()) return Values(active_.size());
    const Node& forward = add_forward();
    if (&forward != &scan_.node()) forwards.list.push_back({&scan_.node(), &forward});
    return add_backward(forward);
  }

 private:
  /// A carry is active if its initial value or its next is.
  void find_active_carries() {
    const Graph& body = scan_.body();
    std::vector<const Node*> roots;
    Spread::Links links;
    for (size_t i = 0; i < active_.size(); ++i) {
      if (active_[i]) roots.push_back(body.inputs()[i].node);
    }
    for (size_t k = 0; k < carries_; ++k) {
      const Value next = scan_.next()[k];
      if (is_floating(next.dtype())) links.emplace_back(next.node, scan_.body_carries()[k].node);
    }
    const Spread depends(body, Spread::Along::users, roots, links);
    for (size_t k = 0; k < carries_; ++k)
      active_[streams_ + k] = depends.has(*scan_.body_carries()[k].node);
  }

  /// The carries from which values with a cotangent are computed: a superset of those that have
  /// one.
  std::vector<size_t> carries_that_may_have_cotangents() const {
    std::vector<const Node*> roots;
    Spread::Links links;
    for (size_t i = 0; i < emits_; ++i) {
      if (dy_[i]) roots.push_back(scan_.emits()[i].node);
    }
    for (size_t k = 0; k < carries_; ++k) {
      const Node* next = scan_.next()[k].node;
      if (first_carries_[k]) roots.push_back(next);
      if (active_[streams_ + k]) links.emplace_back(scan_.body_carries()[k].node, next);
    }
    const Spread needed(scan_.body(), Spread::Along::operands, roots, links);
    std::vector<size_t> carries;
    for (size_t k = 0; k < carries_; ++k) {
      const bool read = active_[streams_ + k] && needed.has(*scan_.body_carries()[k].node);
      if (read || first_carries_[k]) carries.push_back(k);
    }
    return carries;
  }

  /// Builds the joint for `backward_carries_`. If other carries turn out to have cotangents,
  /// replaces `backward_carries_` by them and returns false.
  bool build_joint() {
    const Graph& body = scan_.body();
    auto joint = std::make_unique<Graph>(body.name());
    Values arguments, wrt;
    std::vector<size_t> wrt_index;
    for (size_t i = 0; i < body.inputs().size(); ++i) {
      const Value input = body.inputs()[i];
      arguments.push_back(joint->input(input.type(), input.name(), input.node->where));
      if (!active_[i]) continue;
      wrt.push_back(arguments.back());
      wrt_index.push_back(i);
    }
    const auto replace = [](const Node& node, const Values& operands,
                            Graph& to) -> std::optional<Values> {
      if (!is_composite(node.op) || !has_no_derivative(node)) return std::nullopt;
      return inline_composite(node, operands, to, has_no_derivative);
    };
    const Values results = inline_graph(body, arguments, *joint, replace);
    Values outputs, cotangents;
    const auto add_cotangent = [&](Value output, const std::string& name) {
      outputs.push_back(output);
      cotangents.push_back(joint->input(output.type(), "d." + name, output.node->where));
    };
    for (size_t k : backward_carries_) add_cotangent(results[k], arguments[streams_ + k].name());
    for (size_t i = 0; i < emits_; ++i) {
      if (dy_[i]) add_cotangent(results[carries_ + i], results[carries_ + i].name());
    }
    ForwardScans forwards;
    const Values gradients = backpropagate(*joint, outputs, cotangents, wrt, forwards);
    if (exchange_carries(*joint, cotangents, wrt_index, gradients)) return false;
    finish_joint(std::move(joint), results, wrt_index, gradients, forwards);
    return true;
  }

  /// Follows cotangents through the joint, from emits and final carries to carries, and on from
  /// these. Returns true if they reach other carries than `backward_carries_`.
  bool exchange_carries(const Graph& joint, const Values& cotangents,
                        const std::vector<size_t>& wrt_index, const Values& gradients) {
    Values gradient_of(carries_);
    for (size_t i = 0; i < wrt_index.size(); ++i) {
      const bool carry = wrt_index[i] >= streams_ && wrt_index[i] < streams_ + carries_;
      if (carry) gradient_of[wrt_index[i] - streams_] = gradients[i];
    }
    std::vector<const Node*> roots;
    Spread::Links links;
    for (size_t i = 0; i < cotangents.size(); ++i) {
      const bool carry = i < backward_carries_.size();
      if (!carry || first_carries_[backward_carries_[i]]) roots.push_back(cotangents[i].node);
      if (carry && gradient_of[backward_carries_[i]])
        links.emplace_back(gradient_of[backward_carries_[i]].node, cotangents[i].node);
    }
    const Spread reached(joint, Spread::Along::users, roots, links);
    std::vector<size_t> found;  // after the first exchange the set only grows
    for (size_t k = 0; k < carries_; ++k) {
      const bool has = gradient_of[k] && reached.has(*gradient_of[k].node);
      const bool kept = exchanged_ && std::ranges::binary_search(backward_carries_, k);
      if (has || kept || first_carries_[k]) found.push_back(k);
    }
    exchanged_ = true;
    if (found == backward_carries_) return false;
    backward_carries_ = std::move(found);
    return true;
  }

  /// Results of the joint: next values, emits, then the cotangent of each input in `gradients_`.
  void finish_joint(std::unique_ptr<Graph> joint, Values results,
                    const std::vector<size_t>& wrt_index, const Values& gradients,
                    const ForwardScans& forwards) {
    gradients_.clear();
    for (size_t i = 0; i < wrt_index.size(); ++i) {
      const size_t input = wrt_index[i];
      const bool carry = input >= streams_ && input < streams_ + carries_;
      const bool in_loop = carry && std::ranges::binary_search(backward_carries_, input - streams_);
      if (!gradients[i] && !in_loop) continue;
      gradients_.push_back(input);
      results.push_back(gradients[i] ? gradients[i]
                                     : splat(*joint, 0, scan_.body().inputs()[input].type()));
    }
    joint->set_results(std::move(results));
    const GraphPtr merged = merge_forward_scans(freeze(std::move(joint)), forwards);
    JointStep step{without_repetition(simplified(merged)), streams_, carries_, active_.size(),
                   emits_};
    for (size_t i = 0; i < streams_; ++i) step.overwritten.push_back(may_be_overwritten(i));
    joint_.emplace(std::move(step));
  }

  /// Whether a stream is computed and not read by anything else: its storage could be overwritten.
  bool may_be_overwritten(size_t i) const {
    Value stream = scan_.streams()[i];
    while (stream.node->is(ops::reshape) && users_->of(stream) <= 1)
      stream = stream.node->operands[0];
    if (!is_floating(stream.dtype()) || stream.node->operands.empty()) return false;
    return users_->of(stream) <= 1;  // the loop itself, or the shape that it reads
  }

  const Node& add_forward() {
    const Values& emitted = joint_->emitted();
    if (emitted.size() == emits_) return scan_.node();
    const Graph& body = scan_.body();
    auto to = std::make_unique<Graph>(body.name());
    ValueMap known(joint_->graph());
    for (size_t i = 0; i < body.inputs().size(); ++i) {
      const Value input = body.inputs()[i];
      known.set(joint_->graph().inputs()[i],
                to->input(input.type(), input.name(), input.node->where));
    }
    Values wanted = joint_->results(0, carries_);
    wanted.insert(wanted.end(), emitted.begin(), emitted.end());
    to->set_results(copy_cone(joint_->graph(), known, wanted, *to));
    ScanParts parts;
    parts.streams.assign(scan_.streams().begin(), scan_.streams().end());
    parts.initial.assign(scan_.initial().begin(), scan_.initial().end());
    parts.captures.assign(scan_.captures().begin(), scan_.captures().end());
    parts.body = freeze(std::move(to));
    parts.steps = scan_.steps();
    parts.reverse = scan_.reverse();
    parts.save_every = scan_.save_every();
    return add_scan(graph_, std::move(parts), scan_.node().where);
  }

  /// All steps of a saved value, stacked.
  Value saved_stream(Value value, const Node& forward) const {
    const size_t input = joint_->input(value);
    if (input < streams_) {
      const Value stream = scan_.streams()[input];
      const bool redrawn = mutated(Mutant::dropout_redrawn_backward) && !is_floating(value.dtype());
      return redrawn ? reverse(stream, {0}) : stream;
    }
    const Value source = joint_->source_of(value);
    const Value steps = forward.result(int(joint_->emitted_index(source)));
    if (source == value || mutated(Mutant::saved_carry_not_shifted)) return steps;
    return carry_history(scan_.initial()[input - streams_], steps, scan_.reverse());
  }

  Values add_backward(const Node& forward) {
    const std::string& name = scan_.body().name();
    auto body = std::make_unique<Graph>(name.empty() ? "backward" : name + ".backward");
    ValueMap known(joint_->graph());
    ScanParts parts;
    const Values cotangents = joint_->cotangents();
    for (Value value : joint_->saved()) {
      if (joint_->is_capture(value)) continue;
      known.set(value, body->input(value.type(), value.name()));
      parts.streams.push_back(saved_stream(value, forward));
    }
    size_t next_cotangent = backward_carries_.size();
    for (size_t i = 0; i < emits_; ++i) {
      if (!dy_[i]) continue;
      const Value input = cotangents[next_cotangent++];
      known.set(input, body->input(input.type(), input.name()));
      parts.streams.push_back(dy_[i]);
    }
    for (size_t i = 0; i < backward_carries_.size(); ++i) {
      known.set(cotangents[i], body->input(cotangents[i].type(), cotangents[i].name()));
      const Value final = dy_[emits_ + backward_carries_[i]];
      parts.initial.push_back(final ? final : splat(graph_, 0, cotangents[i].type()));
    }
    return finish_backward(std::move(body), known, std::move(parts));
  }

  bool is_capture(size_t input) const { return input >= streams_ + carries_; }

  Values finish_backward(std::unique_ptr<Graph> body, ValueMap& known, ScanParts parts) {
    Values sums;
    for (size_t input : gradients_) {
      if (!is_capture(input)) continue;
      const Value capture = joint_->graph().inputs()[input];
      sums.push_back(body->input(capture.type(), "d." + capture.name()));
      parts.initial.push_back(splat(graph_, 0, capture.type()));
    }
    for (Value value : joint_->saved()) {
      if (!joint_->is_capture(value)) continue;
      known.set(value, body->input(value.type(), value.name()));
      parts.captures.push_back(scan_.node().operands[joint_->input(value)]);
    }
    const Values gradients = copy_cone(joint_->graph(), known, joint_->gradients(), *body);
    Values next, added, emits;
    std::vector<std::pair<size_t, bool>> place;  // for each gradient: index, and whether emitted
    for (size_t i = 0; i < gradients_.size(); ++i) {
      const size_t input = gradients_[i];
      if (is_capture(input)) {
        place.emplace_back(backward_carries_.size() + added.size(), false);
        added.push_back(sums[added.size()] + gradients[i]);
      } else if (input >= streams_) {
        place.emplace_back(next.size(), false);
        next.push_back(gradients[i]);
      } else {
        place.emplace_back(emits.size(), true);
        emits.push_back(gradients[i]);
      }
    }
    next.insert(next.end(), added.begin(), added.end());
    next.insert(next.end(), emits.begin(), emits.end());
    body->set_results(std::move(next));
    parts.body = freeze(std::move(body));
    parts.steps = scan_.steps();
    parts.reverse = scan_.reverse() == mutated(Mutant::backward_scan_runs_forwards);
    const Node& backward = add_scan(graph_, std::move(parts), scan_.node().where.derivative());
    Values dx(active_.size());
    for (size_t i = 0; i < gradients_.size(); ++i) {
      const auto [index, emitted] = place[i];
      dx[gradients_[i]] = backward.result(int(emitted ? index : emits.size() + index));
    }
    return dx;
  }

  Graph& graph_;
  Scan scan_;
  Values dy_;
  std::vector<bool> active_;  // by operand
  size_t streams_, carries_, emits_;
  UserCounts* users_ = nullptr;
  bool exchanged_ = false;
  std::vector<bool> first_carries_;       // carries whose final value has a cotangent
  std::vector<size_t> backward_carries_;  // carries with a cotangent, ascending
  std::vector<size_t> gradients_;         // inputs of the body with a cotangent, ascending
  std::optional<DividedStep> joint_;
};

}  // namespace

Values differentiate_scan(Graph& graph, const Node& node, std::span<const Value> dy,
                          const std::vector<bool>& active, ForwardScans& forwards) {
  const Scan scan(node);
  if (scan.steps() > 0) return ScanGradient(graph, node, dy, active).run(forwards);
  Values dx(node.operands.size());
  for (size_t k = 0; k < scan.initial().size(); ++k)
    dx[scan.streams().size() + k] = dy[scan.emits().size() + k];
  return dx;
}

}  // namespace graphc::core
