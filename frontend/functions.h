// SPDX-License-Identifier: Apache-2.0
// Functions on values beside those of ir/build.h: sources, composites, derivatives, random masks.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "frontend/data.h"
#include "frontend/params.h"

namespace graphc::core {

// --- sources: values made of nothing, in the graph being traced ---

/// A value in which every element is `number`, which the type must have: floats round it.
Value filled(const Shape& shape, Numeral number, DType dtype = DType::f32,
             Where where = Where::here());
/// Numbers as part of the program: `literal(std::vector<float>{1, 1, 5})`, class weights or a small
/// table. At most 4096: more, or what changes, is an input or a state. Throws ErrorKind::input for
/// more, and for truth values.
Value literal(const Data& numbers, Where where = Where::here());
/// 0, 1, 2, ... along `axis`. A type of integers must have the last of them: 300 steps are not
/// counted in u8.
Value iota(const Shape& shape, int axis = 0, DType dtype = DType::i32, Where where = Where::here());

// --- parts ---

/// `parts` equal parts along an axis, which counts from the end when negative:
/// `auto [i, f, g, o] = split<4>(z);`
template <int parts>
std::array<Value, size_t(parts)> split(Value x, int axis = -1, Where where = Where::here()) {
  const Values values = split(x, parts, axis, where);
  std::array<Value, size_t(parts)> result;
  for (size_t i = 0; i < values.size(); ++i) result[i] = values[i];
  return result;
}

/// Values of one shape along a new axis, which may count from the end of the result's.
Value stack(const Values& values, int axis = 0, Where where = Where::here());
/// The slices along an axis, which goes.
Values unstack(Value x, int axis = 0, Where where = Where::here());
/// Sums of products by letters: `einsum("bik,bkj->bij", {x, y})`. One or two operands; an axis of
/// the operands that is none of the result is summed over. A letter, a to z or A to Z, comes once
/// in an operand. "..." stands for the axes before the last ones, "...ik,kj->...ij"; without an
/// arrow the result has them, then the letters that come once in all, in the order of the alphabet.
Value einsum(const std::string& formula, const Values& operands, Where where = Where::here());

// --- composites: see the op of the name ---

Value softmax(Value x, Where where = Where::here());
Value softmax(Value x, int axis, Where where = Where::here());
Value log_softmax(Value x, Where where = Where::here());
Value log_softmax(Value x, int axis, Where where = Where::here());
/// (x - mean) / sqrt(variance + epsilon) over the last axis, without gain and bias.
Value layer_norm(Value x, double epsilon = 1e-5, Where where = Where::here());
/// For labels [...] of integers: bool [..., depth].
Value one_hot(Value labels, int64_t depth, Where where = Where::here());
/// For logits [..., v] and integer labels [...]: nats for each label, [...]. A label that is none
/// of the v classes is an error of the run, which names it and its row.
Value cross_entropy(Value logits, Value labels, Where where = Where::here());

/// Labels that stand for no class.
struct LabelOptions {
  int64_t ignore;
};
/// The same, but a row whose label is `ignore` has loss 0 and derivative 0, whatever its logits
/// are, NaN too: `cross_entropy(x, y, {.ignore = -100})`. The labels' type must have the number. It
/// is a row of the result like any other, and mean() counts it: PyTorch's mean is `sum(loss) /
/// sum(cast(not_equal(labels, -100), f32))`.
Value cross_entropy(Value logits, Value labels, LabelOptions options, Where where = Where::here());
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

/// How much dropout drops: `{.rate = 0.1}` or `{.keep = 0.9}`. Neither is nothing dropped.
struct DropoutShare {
  std::optional<double> rate = {};  ///< the probability that an element is dropped, in [0, 1)
  std::optional<double> keep = {};  ///< the probability that it is kept, in (0, 1]

  /// The probability that an element is kept. Throws ErrorKind::input when it is outside its range,
  /// or both are given.
  double kept(Where where) const;
};
/// While training each element is kept with a probability and divided by it, else 0; a fresh mask
/// in every run and, inside a scan, in every step. `x` itself in a graph of Mode::evaluation, which
/// is what a graph is unless it says Mode::training.
Value dropout(Value x, DropoutShare share, Where where = Where::here());
template <typename Number>
  requires std::is_arithmetic_v<Number>
Value dropout(Value, Number, Where = {}) = delete;  // write {.rate = 0.1} or {.keep = 0.9}

// --- derivatives ---

/// What a derivative is taken by: inputs and results of `watch` are values, and of a parameter or
/// a state of the model it is the value it has before the graph runs.
class Leaves {
 public:
  /// One of them.
  struct Leaf {
    Leaf(Value leaf) : value(leaf) {}
    Leaf(const State& leaf) {
      if (leaf.cell()->of_model && !leaf.is_copy()) {
        cell = leaf.cell();
      } else {
        value = leaf;
      }
    }

    Value value;
    std::shared_ptr<StateCell> cell;
  };

  Leaves(std::initializer_list<Leaf> leaves) : leaves_(leaves) {}
  Leaves(const Values& leaves) : leaves_(leaves.begin(), leaves.end()) {}
  Leaves(const Params& leaves) : leaves_(leaves.begin(), leaves.end()) {}

  auto begin() const { return leaves_.begin(); }
  auto end() const { return leaves_.end(); }

 private:
  std::vector<Leaf> leaves_;
};

/// d loss / d leaf for each leaf: `gradients(loss, {w, x})`, `gradients(loss, model.params())`. The
/// loss is a scalar. Of a leaf that it does not depend on the derivative is 0; the trace remarks on
/// those. Throws ErrorKind::input when the loss reads a value that the graph has given a
/// parameter: the derivative would go on through the update.
Values gradients(Value loss, const Leaves& leaves, Where where = Where::here());

}  // namespace graphc::core
