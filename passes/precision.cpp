// SPDX-License-Identifier: Apache-2.0
// With option {bf16}, stores in bf16 values that products of bf16 factors read, and values passed
// from loop to loop. Without options nothing changes. passes/narrow.h defines which values.
//
// With {copied_from} also f32 factors of products outside loops of at least so many multiply-adds
// have a bf16 copy, which the products read: a library multiplies those faster than it rounds f32,
// and no result changes.
//
// A value stored in bf16 is cast where it is computed and cast back where it is read; moves of it
// move the bf16. Casts read by products and sums over rows are free: the pass fuse leaves them
// outside kernels, and lowering reads through them. Runs after autodiff, which would otherwise give
// cotangents the types of their values and sum gradients in bf16, and after reductions have been
// lowered to the forms of kernels.
#include <algorithm>
#include <memory>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/narrow.h"
#include "passes/passes.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

/// For a result of a body: whether it is bf16, and the codes of its gates, if any.
struct StoredResult {
  bool bf16 = false;
  std::vector<GateCode> codes;
};
using Results = std::vector<StoredResult>;

/// The results that are bf16 without codes.
std::vector<bool> plainly_bf16(const Results& results) {
  std::vector<bool> flags;
  for (const StoredResult& result : results) flags.push_back(result.bf16 && result.codes.empty());
  return flags;
}

Value cast_to(Value x, DType dtype, const std::string& name, Where where, Graph& to) {
  return to.add(ops::cast, {x}, {{"dtype", dtype}}, {}, where, {name}).result();
}

/// The multiply-adds of a product.
double work_of_product(const Node& node) {
  const Shape& left = node.operands[0].shape();
  const bool transposed = node.attributes.get_bool("transpose_a", false);
  const int64_t k = left[left.rank() - (transposed ? 2 : 1)];
  return double(node.result().shape().elements()) * double(k);
}

/// Rewrites a graph or the body of a loop.
class Writer {
 public:
  /// For a body: the origins of its inputs, and which of its results are bf16; both empty for a
  /// graph. `amplifiers` belong to the same graph; `remarks` may be null. `copied_from` is the
  /// option of that name; 0: no factor is copied.
  Writer(const Graph& from, const Amplifiers& amplifiers, const std::vector<ValueOrigin>& inputs,
         const Results& results, Remarks* remarks, int64_t copied_from = 0)
      : from_(from),
        amplifiers_(amplifiers),
        narrow_(from, amplifiers, inputs, plainly_bf16(results)),
        inputs_(inputs),
        results_(results),
        remarks_(remarks),
        copied_from_(copied_from),
        to_(std::make_unique<Graph>(from.name())),
        as_computed_(from),
        in_bf16_(from),
        in_codes_(from),
        widened_(from),
        uses_(value_uses(from)) {
    for (size_t i = 0; i < results.size(); ++i) {
      const Value result = from.results()[i];
      if (results[i].bf16 && results[i].codes.empty()) emitted_.add(result);
      if (results[i].codes.size() > 1 && uses_[size_t(result.node->id)][0] == 1)
        only_in_codes_.add(result);
    }
    if (copied_from_ > 0) copy_factors();
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
      const StoredResult stored = i < results_.size() ? results_[i] : StoredResult{};
      results.push_back(!stored.bf16           ? f32(result)
                        : stored.codes.empty() ? bf16(result)
                                               : in_codes(result, stored.codes));
    }
    to_->set_results(std::move(results));
    for (const Next& next : from_.next()) to_->set_next(f32(next.state), f32(next.value));
    return freeze(std::move(to_));
  }

 private:
  void add_input(size_t i) {
    const Value input = from_.inputs()[i];
    const bool narrow = i < inputs_.size() && inputs_[i].narrow;
    const Type type = narrow ? Type{DType::bf16, input.shape()} : input.type();
    place_of(input, narrow).set(input, to_->input(type, input.name(), input.node->where));
  }

  /// The map for a value: as computed, or stored in bf16.
  ValueMap& place_of(Value old, bool narrow) {
    if (!narrow) return as_computed_;
    return narrow_.codes_of(old).empty() ? in_bf16_ : in_codes_;
  }

  /// The value as computed, or its bf16 form if that is all there is.
  Value f32(Value old) {
    const Value value = as_computed_.find(old);
    return value ? value : widened(old);
  }

  Value bf16(Value old) {
    if (const Value value = in_bf16_.find(old)) return value;
    // The copy of a factor in another shape is that of the factor.
    if (copied_.contains(old) && old.node->is(ops::reshape)) {
      const Value whole = old.node->operands[0];
      if (narrow_.codes_of(whole).empty()) {
        in_bf16_.set(old, copy_node(*old.node, {bf16(whole)}, *to_).result());
        return in_bf16_(old);
      }
    }
    in_bf16_.set(old, cast_to(f32(old), DType::bf16, old.name() + ".bf16", old.node->where, *to_));
    return in_bf16_(old);
  }

  /// The gates that a body emits, in codes.
  Value in_codes(Value old, const std::vector<GateCode>& codes) {
    const Node& node = *old.node;
    Values gates;
    for (size_t i = 0; i < codes.size(); ++i) {
      const Value gate = codes.size() == 1 ? old : node.operands[i];
      const Value argument = codes[i] == GateCode::argument ? f32(gate.node->operands[0]) : gate;
      gates.push_back(encoded(codes[i], f32(gate), argument, node.where));
    }
    Value all = gates[0];
    if (codes.size() > 1) all = concat(gates, old.shape().rank() - 1, node.where);
    return cast_to(all, DType::bf16, old.name() + ".bf16", node.where, *to_);
  }

  /// The decoded gates in f32; for a split, only those that are read.
  Values gates_of(Value old, const std::vector<int>& uses) {
    const std::vector<GateCode>& codes = narrow_.codes_of(old);
    const Where where = old.node->where;
    Values gates{in_codes_(old)};
    if (codes.size() > 1) gates = split(gates[0], int(codes.size()), old.shape().rank() - 1, where);
    for (size_t i = 0; i < codes.size(); ++i) {
      if (uses[i] > 0)
        gates[i] = decoded(codes[i], cast_to(gates[i], DType::f32, old.name(), where, *to_), where);
    }
    return gates;
  }

  /// All gates, concatenated as in the value.
  Value decoded_whole(Value old) {
    const Values gates = gates_of(old, std::vector<int>(narrow_.codes_of(old).size(), 1));
    return gates.size() == 1 ? gates[0] : concat(gates, old.shape().rank() - 1, old.node->where);
  }

  /// A value stored in bf16, widened to f32.
  Value widened(Value old) {
    if (const Value value = widened_.find(old)) return value;
    if (in_codes_.find(old)) {
      widened_.set(old, decoded_whole(old));
      return widened_(old);
    }
    widened_.set(old, cast_to(bf16(old), DType::f32, old.name(), old.node->where, *to_));
    return widened_(old);
  }

  /// Whether the bf16 form of the value is in memory, for products to read.
  bool is_stored(Value old) const {
    return narrow_.contains(old) || emitted_.contains(old) || copied_.contains(old);
  }

  /// Finds the f32 factors of products of at least so many multiply-adds.
  void copy_factors() {
    for (const Node& node : from_.nodes()) {
      if (!node.is(ops::matmul) || work_of_product(node) < double(copied_from_)) continue;
      for (Value operand : node.operands) {
        if (operand.dtype() == DType::f32 && !is_stored(operand)) copied_.add(operand);
      }
    }
  }

  void add(const Node& node) {
    if (node.is(ops::scan)) return add_loop(node);
    if (splits_codes(node)) return add_gates(node);
    if (only_in_codes_.contains(node.result(0))) return;
    const auto is_narrow = [&](Value value) {
      return narrow_.contains(value) && narrow_.codes_of(value).empty();
    };
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

  bool splits_codes(const Node& node) const {
    if (!node.is(ops::split)) return false;
    const size_t gates = narrow_.codes_of(node.operands[0]).size();
    return gates > 0 && splits_gates(node, gates);
  }

  void add_gates(const Node& node) {
    const std::vector<int>& uses = uses_[size_t(node.id)];
    const Values gates = gates_of(node.operands[0], uses);
    for (size_t i = 0; i < gates.size(); ++i) {
      if (uses[i] > 0) as_computed_.set(node.result(int(i)), gates[i]);
    }
  }

  /// Rounds the results that are stored in bf16.
  void store(const Node& node) {
    for (int i = 0; i < node.results(); ++i) {
      const Value value = node.result(i);
      if (is_stored(value)) bf16(value);
      note(node, value);
    }
  }

  void add_loop(const Node& node) {
    const Scan scan(node);
    const std::vector<ValueOrigin> inputs = narrow_.inputs_of(scan);
    Results emits(scan.next().size());
    Values operands;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const Value operand = node.operands[i];
      operands.push_back(!inputs[i].narrow         ? f32(operand)
                         : inputs[i].codes.empty() ? bf16(operand)
                                                   : in_codes_(operand));
    }
    for (size_t i = 0; i < scan.emits().size(); ++i) {
      const Value emitted = scan.emitted(i);
      emits.push_back({narrow_.contains(emitted), narrow_.codes_of(emitted)});
      note(node, emitted);
    }
    GraphPtr body = Writer(scan.body(), amplifiers_.inside(node), inputs, emits, nullptr).run();
    const Node& copy = copy_node(node, std::move(operands), *to_, {std::move(body)});
    for (int i = 0; i < node.results(); ++i) {
      const Value result = node.result(i);
      place_of(result, narrow_.contains(result)).set(result, copy.result(i));
    }
  }

  /// Remarks how a result of the node is stored, if there was a choice.
  void note(const Node& node, Value value) {
    if (remarks_ == nullptr) return;
    if (const Node* by = narrow_.kept_for(value)) {
      remarks_->add(node, fmt::format("stores %{} in f32: {} (%{}) would amplify its rounding",
                                      value.name(), by->op.name, by->result(0).name()));
    }
    if (!narrow_.contains(value)) return;
    const std::string_view why = narrow_.is_exact(value)
                                     ? "only products read it, which round it anyway"
                                     : "loops or sums over rows read it, rounded once more";
    remarks_->add(node, fmt::format("stores %{} in bf16: {}", value.name(), why));
  }

  const Graph& from_;
  const Amplifiers& amplifiers_;
  const NarrowValues narrow_;
  const std::vector<ValueOrigin>& inputs_;
  const Results& results_;
  Remarks* const remarks_;
  const int64_t copied_from_;
  std::unique_ptr<Graph> to_;
  ValueSet emitted_;        ///< results that are bf16
  ValueSet copied_;         ///< f32 values of which products read a bf16 copy
  ValueSet only_in_codes_;  ///< concatenations of gates that are only emitted
  ValueMap as_computed_, in_bf16_, in_codes_, widened_;
  const std::vector<std::vector<int>> uses_;
};

GraphPtr run_precision(const GraphPtr& graph, const PassOptions& options, Remarks& remarks) {
  if (!options.get_bool("bf16", false)) return graph;
  const int64_t copied_from = options.get_int("copied_from", 0);
  return Writer(*graph, Amplifiers(*graph), {}, {}, &remarks, copied_from).run();
}

}  // namespace

constinit const Pass passes::precision{
    .name = "precision",
    .summary = "with {bf16}: what products and loops alone read is stored in bf16",
    .options = "bf16,copied_from",
    .run = run_precision,
};

}  // namespace graphc::core
