// SPDX-License-Identifier: Apache-2.0
#include "passes/amplified.h"

#include <algorithm>
#include <optional>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "passes/narrow.h"

namespace graphc::core {
namespace {

/// Bounds on the error of a value, in roundings (2^-9 for bf16).
enum class ErrorSize : uint8_t {
  of_element,         ///< relative to the element: a value that was just rounded
  of_element_or_one,  ///< relative to max(element, 1): softplus
  of_one,             ///< absolute, relative to 1: after sigmoid and tanh
  of_more,            ///< relative to a number that may exceed both: after sums and differences
};
constexpr ErrorSize kSizes[] = {ErrorSize::of_element, ErrorSize::of_element_or_one,
                                ErrorSize::of_one, ErrorSize::of_more};

/// The effect of a node on the error of an operand.
struct Effect {
  bool amplified = false;
  std::optional<ErrorSize> size = {};  ///< error of its results; empty if there is none
};

Effect leaves(ErrorSize size) { return {.size = size}; }
constexpr Effect kAmplified{.amplified = true};
constexpr Effect kEnds{};

template <typename... Ops>
bool is_any(const Node& node, const Ops&... candidates) {
  return (node.is(candidates) || ...);
}

/// Whether the elements of the value are never negative (sign 1) or never positive (sign -1), as
/// far as the preceding nodes show.
bool has_sign(Value value, int sign, int depth = 5) {
  const Node& node = *value.node;
  if (depth == 0) return false;
  const auto all = [&](int wanted) {
    return std::ranges::all_of(node.operands,
                               [&](Value x) { return has_sign(x, wanted, depth - 1); });
  };
  if (const auto number = splat_value(value)) return *number * sign >= 0;
  if (node.is(ops::neg)) return all(-sign);
  if (moves_whole(node) || is_any(node, ops::sum, ops::max, ops::cumsum, ops::add))
    return all(sign);
  if (is_any(node, ops::maximum, ops::minimum) && (sign > 0) == node.is(ops::maximum))
    return has_sign(node.operands[0], sign, depth - 1) ||
           has_sign(node.operands[1], sign, depth - 1);
  if (node.is(ops::sub))
    return has_sign(node.operands[0], sign, depth - 1) &&
           has_sign(node.operands[1], -sign, depth - 1);
  if (is_any(node, ops::mul, ops::div)) {
    const bool square = node.operands[0] == node.operands[1];
    const auto one_of = [&](int left, int right) {
      return has_sign(node.operands[0], left, depth - 1) &&
             has_sign(node.operands[1], right, depth - 1);
    };
    return sign > 0 ? square || one_of(1, 1) || one_of(-1, -1) : one_of(1, -1) || one_of(-1, 1);
  }
  return sign > 0 && is_any(node, ops::abs, ops::exp, ops::square, ops::sqrt, ops::rsqrt,
                            ops::sigmoid, ops::hard_sigmoid, ops::softplus, ops::relu);
}

/// For results that may be near 0 although the error is not: the relative error is unbounded.
Effect of_inverse(ErrorSize size) {
  return size == ErrorSize::of_element ? leaves(size) : kAmplified;
}

Effect of_sum(const Node& node, ErrorSize size) {
  // Numbers of one sign do not cancel, and the largest dominate: variances, norms.
  const bool adds_up = std::ranges::all_of(node.operands, [](Value x) { return has_sign(x, 1); });
  if (adds_up && node.is(ops::sum)) return leaves(ErrorSize::of_element);
  if (size == ErrorSize::of_one || (adds_up && node.is(ops::add))) return leaves(size);
  return leaves(ErrorSize::of_more);
}

Effect of_exponential(Value argument, ErrorSize size) {
  if (size == ErrorSize::of_one) return leaves(size);
  if (size != ErrorSize::of_more && has_sign(argument, -1)) return leaves(ErrorSize::of_one);
  return kAmplified;
}

Effect of_logarithm(const Node& node, ErrorSize size) {
  if (node.is(ops::log1p) && has_sign(node.operands[0], 1)) return leaves(size);
  if (size == ErrorSize::of_more) return kAmplified;
  if (node.is(ops::log1p) && size != ErrorSize::of_one) return kAmplified;
  return leaves(size == ErrorSize::of_element ? ErrorSize::of_one : ErrorSize::of_more);
}

Effect of_power(const Node& node, size_t operand, ErrorSize size) {
  if (operand == 1) return size == ErrorSize::of_one ? leaves(size) : kAmplified;
  const auto exponent = splat_value(node.operands[1]);
  return exponent && *exponent >= 1 ? leaves(size) : of_inverse(size);
}

/// The derivative of a maximum compares rounded numbers again. Against a constant, as for the
/// derivative of relu or clip, few numbers are close enough to change sides.
Effect of_comparison(const Node& node, size_t operand, ErrorSize size) {
  const bool beside_constant = splat_value(node.operands[1 - operand]).has_value();
  const bool bounded = size == ErrorSize::of_one || size == ErrorSize::of_element_or_one;
  return beside_constant || bounded ? kEnds : kAmplified;
}

Effect effect_of(const Node& node, size_t operand, ErrorSize size) {
  const bool of_one = size == ErrorSize::of_one;
  if (multiplies(node) || sums_over_rows(node)) return kEnds;
  if (is_any(node, ops::sign, ops::is_nan, ops::is_finite)) return kEnds;
  if (is_any(node, ops::equal, ops::not_equal, ops::less, ops::less_equal, ops::greater,
             ops::greater_equal))
    return of_comparison(node, operand, size);
  if (node.types[0].dtype == DType::boolean || (node.is(ops::select) && operand == 0)) return kEnds;
  if (moves_whole(node) ||
      is_any(node, ops::neg, ops::abs, ops::relu, ops::silu, ops::square, ops::clip, ops::max,
             ops::maximum, ops::minimum, ops::select, ops::mul, ops::stop_gradient, ops::watch,
             ops::floor, ops::ceil, ops::round, ops::prod))
    return leaves(size);
  if (node.is(ops::cast)) return is_floating(node.types[0].dtype) ? leaves(size) : kEnds;
  if (is_any(node, ops::sigmoid, ops::tanh, ops::hard_sigmoid)) return leaves(ErrorSize::of_one);
  if (is_any(node, ops::add, ops::sub, ops::sum, ops::cumsum)) return of_sum(node, size);
  if (node.is(ops::softplus)) return leaves(of_one ? size : ErrorSize::of_element_or_one);
  if (is_any(node, ops::exp, ops::expm1)) return of_exponential(node.operands[0], size);
  if (is_any(node, ops::log, ops::log1p)) return of_logarithm(node, size);
  if (node.is(ops::sqrt)) return size == ErrorSize::of_more ? kAmplified : leaves(size);
  if (node.is(ops::div)) return operand == 0 ? leaves(size) : of_inverse(size);
  if (is_any(node, ops::reciprocal, ops::rsqrt)) return of_inverse(size);
  if (node.is(ops::pow)) return of_power(node, operand, size);
  if (is_any(node, ops::sin, ops::cos)) return of_one ? leaves(size) : kAmplified;
  // Unknown ops are assumed to amplify.
  return kAmplified;
}

/// Adds the reasons in `more`, which precede in the program; returns whether any was missing.
template <typename Reasons>
bool add_reasons(Reasons& to, const Reasons& more) {
  bool any = false;
  for (size_t i = 0; i < to.size(); ++i) {
    if (more[i] == nullptr) continue;
    any |= to[i] == nullptr;
    to[i] = more[i];
  }
  return any;
}

}  // namespace

Amplifiers::Amplifiers(const Graph& graph) {
  find(graph, std::vector<Reasons>(graph.roots().size()));
}

Amplifiers::Amplifiers(const Graph& body, const std::vector<Reasons>& results) {
  find(body, results);
}

const Node* Amplifiers::of(Value value) const {
  return reasons_[size_t(value.node->id)][size_t(value.index)][size_t(ErrorSize::of_element)];
}

const Amplifiers& Amplifiers::inside(const Node& scan) const { return *bodies_.at(&scan); }

void Amplifiers::find(const Graph& graph, const std::vector<Reasons>& roots) {
  for (const Node& node : graph.nodes()) reasons_.emplace_back(node.types.size());
  const Values values = graph.roots();
  for (size_t i = 0; i < values.size(); ++i) add_reasons(reasons(values[i]), roots[i]);
  const std::vector<bool> live = live_nodes(graph);
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    if (live[size_t(node->id)]) find_of_operands(*node);
  }
}

void Amplifiers::find_of_operands(const Node& node) {
  if (node.is(ops::scan)) return find_of_operands_of_loop(node);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    Reasons found{};
    for (const ErrorSize size : kSizes) {
      const Effect effect = effect_of(node, i, size);
      const Node*& reason = found[size_t(size)];
      if (effect.amplified) reason = &node;
      for (int k = 0; k < node.results() && effect.size && reason == nullptr; ++k)
        reason = reasons(node.result(k))[size_t(*effect.size)];
    }
    add_reasons(reasons(node.operands[i]), found);
  }
}

void Amplifiers::find_of_operands_of_loop(const Node& node) {
  const Scan scan(node);
  const size_t carries = scan.next().size();
  std::vector<Reasons> results;
  for (size_t i = 0; i < carries; ++i) results.push_back(reasons(scan.final(i)));
  for (size_t i = 0; i < scan.emits().size(); ++i) results.push_back(reasons(scan.emitted(i)));
  // A carry's readers in one step are also readers of its next value in the previous step.
  std::unique_ptr<Amplifiers> body;
  for (bool changed = true; changed;) {
    body.reset(new Amplifiers(scan.body(), results));
    changed = false;
    for (size_t i = 0; i < carries; ++i)
      changed |= add_reasons(results[i], body->reasons(scan.body_carries()[i]));
  }
  for (size_t i = 0; i < node.operands.size(); ++i)
    add_reasons(reasons(node.operands[i]), body->reasons(scan.body().inputs()[i]));
  bodies_.emplace(&node, std::move(body));
}

}  // namespace graphc::core
