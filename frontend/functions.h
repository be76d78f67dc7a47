// SPDX-License-Identifier: Apache-2.0
// Functions on values in addition to those of ir/build.h: sources, composites, derivatives, random
// masks.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "frontend/data.h"
#include "frontend/params.h"

namespace graphc::core {

// --- sources: values without operands, in the graph being traced ---

/// A value with every element `number`. The type must be able to represent it; floats round it.
Value filled(const Shape& shape, Numeral number, DType dtype = DType::f32,
             Where where = Where::here());
/// Constants in the program, such as class weights or a small table: `literal(std::vector<float>{1,
/// 1, 5})`. At most 4096 elements: larger or changing data belongs in an input or a state. Throws
/// ErrorKind::input for more elements, and for booleans.
Value literal(const Data& numbers, Where where = Where::here());
/// 0, 1, 2, ... along `axis`. An integer type must be able to represent the last one: u8 cannot
/// count 300 steps.
Value iota(const Shape& shape, int axis = 0, DType dtype = DType::i32, Where where = Where::here());

// --- parts ---

/// `parts` equal parts along an axis; a negative axis counts from the end:
/// `auto [i, f, g, o] = split<4>(z);`
template <int parts>
std::array<Value, size_t(parts)> split(Value x, int axis = -1, Where where = Where::here()) {
  const Values values = split(x, parts, axis, where);
  std::array<Value, size_t(parts)> result;
  for (size_t i = 0; i < values.size(); ++i) result[i] = values[i];
  return result;
}

/// Joins values of one shape along a new axis; a negative axis counts from the end of the result.
Value stack(const Values& values, int axis = 0, Where where = Where::here());
/// The slices along an axis, which is removed.
Values unstack(Value x, int axis = 0, Where where = Where::here());
/// Einstein summation: `einsum("bik,bkj->bij", {x, y})`. Takes one or two operands and sums over
/// the axes that are not in the result. A letter, a to z or A to Z, occurs once per operand. "..."
/// stands for leading axes: "...ik,kj->...ij". Without an arrow the result has those axes, then the
/// letters that occur exactly once, in alphabetical order.
Value einsum(const std::string& formula, const Values& operands, Where where = Where::here());

// --- composites: see the op of the same name ---

Value softmax(Value x, Where where = Where::here());
Value softmax(Value x, int axis, Where where = Where::here());
Value log_softmax(Value x, Where where = Where::here());
Value log_softmax(Value x, int axis, Where where = Where::here());
/// (x - mean) / sqrt(variance + epsilon) over the last axis, without gain and bias.
Value layer_norm(Value x, double epsilon = 1e-5, Where where = Where::here());
/// For labels [...] of integers: bool [..., depth].
Value one_hot(Value labels, int64_t depth, Where where = Where::here());
/// For logits [..., v] and integer labels [...]: nats per label, [...]. A label outside the v
/// classes is a runtime error that names the label and its row.
Value cross_entropy(Value logits, Value labels, Where where = Where::here());

/// Label options of cross_entropy().
struct LabelOptions {
  int64_t ignore;
};
/// The same, but a row with the label `ignore` has loss 0 and derivative 0 whatever its logits are,
/// NaN included: `cross_entropy(x, y, {.ignore = -100})`. The labels' type must be able to
/// represent `ignore`. The row is part of the result, so mean() counts it; PyTorch's mean is
/// `sum(loss) / sum(cast(not_equal(labels, -100), f32))`.
Value cross_entropy(Value logits, Value labels, LabelOptions options, Where where = Where::here());
/// For logits and target probabilities [..., v]: nats per row, [...].
Value cross_entropy_with_probabilities(Value logits, Value probabilities,
                                       Where where = Where::here());
/// For logits and target probabilities of one shape: nats per element.
Value sigmoid_cross_entropy(Value logits, Value probabilities, Where where = Where::here());
/// The mean of the squared differences over all elements.
Value mse(Value x, Value y, Where where = Where::here());

// --- random: pure functions of a key (i64[]) ---

/// A fresh key from the model's seed and step; inside a scan, another one in each step.
Value random_key(Where where = Where::here());
/// A new key from a key and a number.
Value fold_in(Value key, Operand number);
/// f32 of the shape, uniform in [0, 1).
Value uniform(Value key, const Shape& shape, Where where = Where::here());
/// f32 of the shape, standard normal.
Value normal(Value key, const Shape& shape, Where where = Where::here());
/// True with the given probability, per element.
Value bernoulli(Value key, Value probability, Where where = Where::here());
/// For each row of logits [..., v] an index (i32), drawn with the probabilities softmax(logits).
Value categorical(Value key, Value logits, Where where = Where::here());

/// The share of elements to drop: `{.rate = 0.1}` or `{.keep = 0.9}`. Default: drop nothing.
struct DropoutShare {
  std::optional<double> rate = {};  ///< probability of dropping an element, in [0, 1)
  std::optional<double> keep = {};  ///< probability of keeping an element, in (0, 1]

  /// The probability of keeping an element. Throws ErrorKind::input if it is out of range or both
  /// are given.
  double kept(Where where) const;
};
/// In training, keeps each element with a probability and divides it by that probability; dropped
/// elements are 0. The mask is fresh in every run and, inside a scan, in every step. In a graph of
/// Mode::evaluation, the default, returns `x`.
Value dropout(Value x, DropoutShare share, Where where = Where::here());
template <typename Number>
  requires std::is_arithmetic_v<Number>
Value dropout(Value, Number, Where = {}) = delete;  // write {.rate = 0.1} or {.keep = 0.9}

// --- derivatives ---

/// What to differentiate with respect to: values that are inputs or results of `watch`, and
/// parameters or states of the model, by their values before the graph runs.
class Leaves {
 public:
  /// One value or state.
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
  Leaves(std::vector<Leaf> leaves) : leaves_(std::move(leaves)) {}
  Leaves(const Values& leaves) : leaves_(leaves.begin(), leaves.end()) {}
  Leaves(const Params& leaves) : leaves_(leaves.begin(), leaves.end()) {}

  auto begin() const { return leaves_.begin(); }
  auto end() const { return leaves_.end(); }

 private:
  std::vector<Leaf> leaves_;
};

/// d loss / d leaf for each leaf: `gradients(loss, {w, x})`, `gradients(loss, model.params())`. The
/// loss is a scalar. The gradient of a leaf that it does not depend on is 0, and the trace emits a
/// remark. Throws ErrorKind::input if the loss reads a value that the graph has assigned to a
/// parameter: the derivative would propagate through the update.
Values gradients(Value loss, const Leaves& leaves, Where where = Where::here());

}  // namespace graphc::core
