// SPDX-License-Identifier: Apache-2.0
// The rule of simplify on counters: a carry of few whole numbers, such as one for each row of the
// batch, to which every step adds the same is a stream. So what is compared with it, a mask of
// lengths say, is known before the loop.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/build.h"
#include "ir/scan.h"
#include "passes/region.h"
#include "passes/simplify_rules.h"

namespace graphc::core {
namespace {

/// As many numbers as the stream of several counters may have: 16 MiB of i32. One counter has one
/// number a step.
constexpr int64_t kMostNumbers = int64_t{1} << 22;

/// How far a counter goes at most, in either direction.
int64_t farthest(DType dtype) {
  return dtype == DType::i32 ? std::numeric_limits<int32_t>::max() : int64_t{1} << 53;
}

/// What a step adds to the carry, if that is all that it does with it, and if all steps together
/// add what the type holds (i64: what a double holds, which constants are read as).
std::optional<int64_t> added_by_step(Value carry, Value next, int64_t steps) {
  const Node& node = *next.node;
  const bool counts = carry.dtype() == DType::i32 || carry.dtype() == DType::i64;
  const int64_t counters = carry.shape().elements();
  const bool is_small = counters == 1 || (counters > 0 && steps <= kMostNumbers / counters);
  if (!counts || !is_small || next.type() != carry.type()) return std::nullopt;
  if (!node.is(ops::add) && !node.is(ops::sub)) return std::nullopt;
  const size_t other = node.is(ops::add) && node.operands[1] == carry ? 0 : 1;
  if (node.operands[1 - other] != carry) return std::nullopt;
  const std::optional<double> number = splat_value(node.operands[other]);
  if (!number || std::max(std::abs(*number), 1.0) * double(std::max<int64_t>(steps, 1)) >
                     double(farthest(carry.dtype())))
    return std::nullopt;
  return int64_t(node.is(ops::sub) ? -*number : *number);
}

class Counters {
 public:
  Counters(const Node& node, Graph& to) : scan_(node), to_(to) {
    for (size_t k = 0; k < scan_.initial().size(); ++k) {
      const bool has_room = scan_.initial()[k].shape().rank() < Shape::kMaxRank;
      added_.push_back(has_room
                           ? added_by_step(scan_.body_carries()[k], scan_.next()[k], scan_.steps())
                           : std::nullopt);
      any_ |= added_[k].has_value();
    }
  }

  std::optional<Values> run() {
    if (!any_) return std::nullopt;
    auto body = std::make_unique<Graph>(scan_.body().name());
    ValueMap known(scan_.body());
    const auto add = [&](Value input) {
      known.set(input, body->input(input.type(), input.name(), input.node->where));
    };
    const Values& operands = scan_.node().operands;
    const size_t streams = scan_.streams().size(), carries = scan_.initial().size();
    const std::vector<Value>& inputs = scan_.body().inputs();
    ScanParts parts;
    for (size_t i = 0; i < streams; ++i) {
      add(inputs[i]);
      parts.streams.push_back(operands[i]);
    }
    for (size_t k = 0; k < carries; ++k) {
      if (!added_[k]) continue;
      add(inputs[streams + k]);
      parts.streams.push_back(counted(k));
    }
    Values wanted;
    for (size_t k = 0; k < carries; ++k) {
      if (added_[k]) continue;
      add(inputs[streams + k]);
      parts.initial.push_back(operands[streams + k]);
      wanted.push_back(scan_.next()[k]);
    }
    for (size_t i = streams + carries; i < operands.size(); ++i) {
      add(inputs[i]);
      parts.captures.push_back(operands[i]);
    }
    wanted.insert(wanted.end(), scan_.emits().begin(), scan_.emits().end());
    body->set_results(copy_cone(scan_.body(), known, wanted, *body));
    parts.body = freeze(std::move(body));
    parts.steps = scan_.steps();
    parts.reverse = scan_.reverse();
    parts.save_every = scan_.save_every();
    return results(std::move(parts));
  }

 private:
  Value initial(size_t k) const { return scan_.initial()[k]; }

  /// The number of each step, in the order of the stream: [steps, ...].
  Value counted(size_t k) {
    const Type type = initial(k).type();
    const int64_t steps = scan_.steps();
    const Type all{type.dtype, {steps}};
    Value index = iota(to_, {steps}, 0, type.dtype);
    if (scan_.reverse()) index = splat(to_, steps - 1, all) - index;
    const Value since = index * splat(to_, *added_[k], all);
    std::vector<int64_t> extents(size_t(type.shape.rank()) + 1, 1);
    extents[0] = steps;
    return reshape(since, Shape(extents)) + initial(k);
  }

  Values results(ScanParts parts) {
    const Node& node = scan_.node();
    const size_t emits = scan_.emits().size();
    std::vector<std::string> names(node.names.begin(), node.names.begin() + long(emits));
    for (size_t k = 0; k < added_.size(); ++k) {
      if (!added_[k]) names.push_back(node.names[emits + k]);
    }
    Values made;
    if (!names.empty())
      made = results_of(add_scan(to_, std::move(parts), node.where, std::move(names)));
    Values all(made.begin(), made.begin() + long(emits));
    size_t next = emits;
    for (size_t k = 0; k < added_.size(); ++k) {
      const Type type = initial(k).type();
      all.push_back(added_[k] ? initial(k) + splat(to_, *added_[k] * scan_.steps(), type)
                              : made[next++]);
    }
    return all;
  }

  Scan scan_;
  Graph& to_;
  std::vector<std::optional<int64_t>> added_;  ///< by a step, to each carry that counts
  bool any_ = false;
};

}  // namespace

std::optional<Values> counters_are_streams(const Node& node, Graph& to) {
  return Counters(node, to).run();
}

}  // namespace graphc::core
