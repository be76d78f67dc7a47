// SPDX-License-Identifier: Apache-2.0
// Stores in bf16 what products of bf16 factors read, and what loops hand on to other loops, with
// {bf16}; without options nothing changes. Which values these are stands in passes/narrow.h.
//
// A value that is stored in bf16 is cast where it is computed, and cast back where it is read;
// moves of it are moves of the bf16. The casts that products and sums over the rows read are no
// work: the pass fuse leaves them outside of kernels, and lowering reads through them. It comes
// after autodiff, which would give a cotangent the type of its value and sum gradients in bf16, and
// when reductions have the forms of kernels.
#include <algorithm>
#include <memory>

#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/narrow.h"
#include "passes/passes.h"
#include "passes/region.h"

namespace graphc {
namespace {

/// Which of a list are bf16.
using Flags = std::vector<bool>;

Value cast_to(Value x, DType dtype, const std::string& name, Where where, Graph& to) {
  return to.add(ops::cast, {x}, {{"dtype", dtype}}, {}, where, {name}).result();
}

/// Writes a graph, or the body of a loop, again.
class Writer {
 public:
  /// Of a body: where its inputs come from, and which of its results are bf16. Both are empty for a
  /// graph. `remarks` may be null.
  Writer(const Graph& from, const std::vector<ValueOrigin>& inputs, const Flags& results,
         Remarks* remarks)
      : from_(from),
        narrow_(from, inputs, results),
        inputs_(inputs),
        results_(results),
        remarks_(remarks),
        to_(std::make_unique<Graph>(from.name())),
        as_computed_(from),
        in_bf16_(from),
        widened_(from) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i]) emitted_.add(from.results()[i]);
    }
  }

  GraphPtr run() {
    for (size_t i = 0; i < from_.inputs().size(); ++i) add_input(i);
    for (Value state : from_.states())
      as_computed_.set(state, to_->state(state.type(), state.name(), state.node->where));
    const std::vector<bool> live = live_nodes(from_);
    for (const Node& node : from_.nodes()) {
      if (live[size_t(node.id)] && !node.is(ops::input) && !node.is(ops::state)) add(node);
    }
    Values results;
    for (size_t i = 0; i < from_.results().size(); ++i) {
      const Value result = from_.results()[i];
      results.push_back(is_bf16(results_, i) ? bf16(result) : f32(result));
    }
    to_->set_results(std::move(results));
    for (const Next& next : from_.next()) to_->set_next(f32(next.state), f32(next.value));
    return freeze(std::move(to_));
  }

 private:
  static bool is_bf16(const Flags& flags, size_t i) { return i < flags.size() && flags[i]; }

  void add_input(size_t i) {
    const Value input = from_.inputs()[i];
    const bool narrow = i < inputs_.size() && inputs_[i].narrow;
    const Type type = narrow ? Type{DType::bf16, input.shape()} : input.type();
    (narrow ? in_bf16_ : as_computed_)
        .set(input, to_->input(type, input.name(), input.node->where));
  }

  /// The value as it was computed, or, where there is only the bf16 of it, that.
  Value f32(Value old) {
    const Value value = as_computed_.find(old);
    return value ? value : widened(old);
  }

  Value bf16(Value old) {
    if (const Value value = in_bf16_.find(old)) return value;
    in_bf16_.set(
        old, cast_to(as_computed_(old), DType::bf16, old.name() + ".bf16", old.node->where, *to_));
    return in_bf16_(old);
  }

  /// What is stored in bf16, as f32 again.
  Value widened(Value old) {
    if (const Value value = widened_.find(old)) return value;
    widened_.set(old, cast_to(bf16(old), DType::f32, old.name(), old.node->where, *to_));
    return widened_(old);
  }

  /// Whether there is the bf16 of the value in memory: products read that.
  bool is_stored(Value old) const { return narrow_.contains(old) || emitted_.contains(old); }

  void add(const Node& node) {
    if (node.is(ops::scan)) return add_loop(node);
    const auto is_narrow = [&](Value value) { return narrow_.contains(value); };
    const bool moves_bf16 = moves_whole(node) && std::ranges::any_of(node.operands, is_narrow) &&
                            std::ranges::any_of(results_of(node), is_narrow);
    Values operands;
    for (Value operand : node.operands) {
      if (moves_bf16) {
        operands.push_back(bf16(operand));
      } else if (multiplies(node) ? is_stored(operand) : narrow_.contains(operand)) {
        operands.push_back(widened(operand));
      } else {
        operands.push_back(f32(operand));
      }
    }
    const Node& copy = copy_node(node, std::move(operands), *to_);
    for (int i = 0; i < node.results(); ++i)
      (moves_bf16 ? in_bf16_ : as_computed_).set(node.result(i), copy.result(i));
    if (!moves_bf16) store(node);
  }

  /// Rounds the results that are stored so.
  void store(const Node& node) {
    for (int i = 0; i < node.results(); ++i) {
      const Value value = node.result(i);
      if (is_stored(value)) bf16(value);
      if (narrow_.contains(value)) note(node, value);
    }
  }

  void add_loop(const Node& node) {
    const Scan scan(node);
    const std::vector<ValueOrigin> inputs = narrow_.inputs_of(scan);
    Flags emits(scan.next().size());
    Values operands;
    for (size_t i = 0; i < node.operands.size(); ++i)
      operands.push_back(inputs[i].narrow ? bf16(node.operands[i]) : f32(node.operands[i]));
    for (size_t i = 0; i < scan.emits().size(); ++i) {
      emits.push_back(narrow_.contains(scan.emitted(i)));
      if (emits.back()) note(node, scan.emitted(i));
    }
    GraphPtr body = Writer(scan.body(), inputs, emits, nullptr).run();
    const Node& copy = copy_node(node, std::move(operands), *to_, {std::move(body)});
    for (int i = 0; i < node.results(); ++i)
      (narrow_.contains(node.result(i)) ? in_bf16_ : as_computed_)
          .set(node.result(i), copy.result(i));
  }

  void note(const Node& node, Value value) {
    if (remarks_ == nullptr) return;
    const std::string_view why = narrow_.is_exact(value)
                                     ? "only products read it, which round it anyway"
                                     : "loops or sums over rows read it, rounded once more";
    remarks_->add(node, fmt::format("stores %{} in bf16: {}", value.name(), why));
  }

  const Graph& from_;
  const NarrowValues narrow_;
  const std::vector<ValueOrigin>& inputs_;
  const Flags& results_;
  Remarks* const remarks_;
  std::unique_ptr<Graph> to_;
  ValueSet emitted_;  ///< results that are bf16
  ValueMap as_computed_, in_bf16_, widened_;
};

GraphPtr run_precision(const GraphPtr& graph, const PassOptions& options, Remarks& remarks) {
  if (!options.get_bool("bf16", false)) return graph;
  return Writer(*graph, {}, {}, &remarks).run();
}

}  // namespace

constinit const Pass passes::precision{
    .name = "precision",
    .summary = "with {bf16}: what products and loops alone read is stored in bf16",
    .options = "bf16",
    .run = run_precision,
};

}  // namespace graphc
