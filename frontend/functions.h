// SPDX-License-Identifier: Apache-2.0
// Functions on values beside those of ir/build.h: sources, composites, derivatives, random masks.
#pragma once

#include <array>

#include "frontend/state.h"

namespace graphc {

// --- sources: values made of nothing, in the graph being traced ---

/// A value in which every element is `number`.
Value filled(const Shape& shape, double number, DType dtype = DType::f32,
             Where where = Where::here());
/// 0, 1, 2, ... along `axis`.
Value iota(const Shape& shape, int axis = 0, DType dtype = DType::i32, Where where = Where::here());

// --- parts ---

/// `parts` equal parts along an axis, which counts from the end when negative:
/// `auto [i, f, g, o] = split<4>(z);`
template <int parts>
std::array<Value, size_t(parts)> split(Value x, int axis = -1, Where where = Where::here()) {
  const Values values = split(x, parts, axis < 0 ? axis + x.shape().rank() : axis, where);
  std::array<Value, size_t(parts)> result;
  for (size_t i = 0; i < values.size(); ++i) result[i] = values[i];
  return result;
}
/// Element `index` along axis 0, which goes; an index below 0 counts from the end.
Value at(Value x, int64_t index, Where where = Where::here());

/// Values of one shape along a new axis.
Value stack(const Values& values, int axis = 0, Where where = Where::here());
/// The slices along an axis, which goes.
Values unstack(Value x, int axis = 0, Where where = Where::here());
/// Sums of products by letters: `einsum("bik,bkj->bij", {x, y})`. One or two operands; an axis of
/// the operands that is none of the result is summed over. A letter comes once in an operand.
Value einsum(const std::string& formula, const Values& operands, Where where = Where::here());

// --- composites: see the op of the name ---

Value softmax(Value x, Where where = Where::here());
Value log_softmax(Value x, Where where = Where::here());
/// (x - mean) / sqrt(variance + epsilon) over the last axis, without gain and bias.
Value layer_norm(Value x, double epsilon = 1e-5, Where where = Where::here());
/// For labels [...] of integers: bool [..., depth].
Value one_hot(Value labels, int64_t depth, Where where = Where::here());
/// For logits [..., v] and integer labels [...]: nats for each label, [...].
Value cross_entropy(Value logits, Value labels, Where where = Where::here());
/// For logits and target probabilities [..., v]: nats for each row, [...].
Value cross_entropy_with_probabilities(Value logits, Value probabilities,
                                       Where where = Where::here());
/// For logits and target probabilities of one shape: nats for each element.
Value sigmoid_cross_entropy(Value logits, Value probabilities, Where where = Where::here());
/// The mean of the squared differences of all elements.
Value mse(Value x, Value y, Where where = Where::here());

// --- random: pure functions of a key (i64[]) ---

/// A key nobody else gets, from the model's seed and step; inside a scan another in each step.
Value random_key(Where where = Where::here());
/// A new key from a key and a number.
Value fold_in(Value key, Operand number);
/// f32 of the shape, uniform in [0, 1).
Value uniform(Value key, const Shape& shape, Where where = Where::here());
/// f32 of the shape, standard normal.
Value normal(Value key, const Shape& shape, Where where = Where::here());
/// True with the probability of each element.
Value bernoulli(Value key, Value probability, Where where = Where::here());
/// An index (i32) for each row of logits [..., v], with the probability that softmax gives it.
Value categorical(Value key, Value logits, Where where = Where::here());
/// While training each element is kept with probability `keep` and divided by it, else 0; a fresh
/// mask in every run and, inside a scan, in every step. `x` itself while evaluating.
Value dropout(Value x, double keep, Where where = Where::here());

// --- derivatives ---

/// d loss / d leaf for each leaf: an input, the result of `watch`, or the value a state has before
/// the graph runs. The loss is a scalar.
Values gradients(Value loss, const Values& leaves, Where where = Where::here());
Values gradients(Value loss, const Params& leaves, Where where = Where::here());

}  // namespace graphc
