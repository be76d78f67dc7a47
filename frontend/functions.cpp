// SPDX-License-Identifier: Apache-2.0
#include "frontend/functions.h"

#include "frontend/trace.h"
#include "ir/mutant.h"

namespace graphc {

Value filled(const Shape& shape, double number, DType dtype, Where where) {
  const WhereScope scope(where);
  return splat(Trace::require("filled", where).graph(), number, {dtype, shape});
}

Value iota(const Shape& shape, int axis, DType dtype, Where where) {
  const WhereScope scope(where);
  return iota(Trace::require("iota", where).graph(), shape, axis, dtype);
}

Value at(Value x, int64_t index, Where where) {
  if (x.shape().rank() == 0)
    throw input_error(where, "at: takes a value with at least one axis: found {}",
                      to_string(x.type()));
  const int64_t extent = x.shape()[0], start = index < 0 ? index + extent : index;
  if (start < 0 || start >= extent) {
    throw input_error(where, "at: {} is outside axis 0 of {}", index, to_string(x.type()));
  }
  return reshape(slice(x, 0, start, start + 1, where), x.shape().without(0), where);
}

Value stack(const Values& values, int axis, Where where) {
  if (values.empty()) throw input_error(where, "stack: takes at least one value");
  if (axis < 0 || axis > values[0].shape().rank()) {
    throw input_error(where, "stack: axis {} is outside a result of rank {}", axis,
                      values[0].shape().rank() + 1);
  }
  Values parts;
  for (Value value : values) {
    if (value.shape() != values[0].shape()) {
      throw input_error(where, "stack: the values have one shape: found {} and {}",
                        to_string(values[0].type()), to_string(value.type()));
    }
    parts.push_back(reshape(value, value.shape().insert(axis, 1), where));
  }
  return concat(parts, axis, where);
}

Values unstack(Value x, int axis, Where where) {
  if (axis < 0 || axis >= x.shape().rank()) {
    throw input_error(where, "unstack: axis {} is outside {}", axis, to_string(x.type()));
  }
  if (x.shape()[axis] == 0) return {};
  Values slices;
  for (Value part : split(x, int(x.shape()[axis]), axis, where))
    slices.push_back(reshape(part, part.shape().without(axis), where));
  return slices;
}

Value softmax(Value x, Where where) { return apply1(ops::softmax, {x}, {}, where); }

Value log_softmax(Value x, Where where) { return apply1(ops::log_softmax, {x}, {}, where); }

Value layer_norm(Value x, double epsilon, Where where) {
  return apply1(ops::layer_norm, {x}, {{"epsilon", epsilon}}, where);
}

Value one_hot(Value labels, int64_t depth, Where where) {
  return apply1(ops::one_hot, {labels}, {{"depth", depth}}, where);
}

Value cross_entropy(Value logits, Value labels, Where where) {
  return apply1(ops::cross_entropy, {logits, labels}, {}, where);
}

Value cross_entropy_with_probabilities(Value logits, Value probabilities, Where where) {
  return apply1(ops::cross_entropy_with_probabilities, {logits, probabilities}, {}, where);
}

Value sigmoid_cross_entropy(Value logits, Value probabilities, Where where) {
  return apply1(ops::sigmoid_cross_entropy, {logits, probabilities}, {}, where);
}

Value bernoulli(Value key, Value probability, Where where) {
  return apply1(ops::bernoulli, {key, probability}, {}, where);
}

Value categorical(Value key, Value logits, Where where) {
  return apply1(ops::categorical, {key, logits}, {}, where);
}

Value mse(Value x, Value y, Where where) { return apply1(ops::mse, {x, y}, {}, where); }

Value random_key(Where where) {
  Trace& trace = Trace::require("random_key", where);
  const WhereScope scope(where);
  return trace.random_key();
}

Value fold_in(Value key, Operand number) {
  return apply1(ops::fold_in, {key, number}, {}, number.where());
}

Value uniform(Value key, const Shape& shape, Where where) {
  return apply1(ops::uniform, {key}, {{"shape", std::vector<int64_t>(shape.begin(), shape.end())}},
                where);
}

Value normal(Value key, const Shape& shape, Where where) {
  return apply1(ops::normal, {key}, {{"shape", std::vector<int64_t>(shape.begin(), shape.end())}},
                where);
}

Value dropout(Value x, double keep, Where where) {
  if (!(keep > 0 && keep <= 1))
    throw input_error(where, "dropout: keep is in (0, 1]: found {}", keep);
  const bool evaluating = Trace::require("dropout", where).mode() == Mode::evaluation &&
                          !mutated(Mutant::dropout_while_evaluating);
  if (keep == 1 || evaluating) return x;
  return apply1(ops::dropout, {x, random_key(where)}, {{"keep", keep}}, where);
}

Values gradients(Value loss, const Values& leaves, Where where) {
  std::vector<Operand> operands{{loss, where}};
  std::vector<std::string> names;
  for (Value leaf : leaves) {
    operands.emplace_back(leaf, where);
    names.push_back("d." + leaf.name());
  }
  const Node& node = apply(ops::grad, std::move(operands), {}, {}, where, std::move(names));
  Values results;
  for (int i = 0; i < node.results(); ++i) results.push_back(node.result(i));
  return results;
}

Values gradients(Value loss, const Params& leaves, Where where) {
  Trace& trace = Trace::require("gradients", where);
  Values values;
  for (const Param& leaf : leaves) values.push_back(trace.leaf(leaf.cell()));
  return gradients(loss, values, where);
}

}  // namespace graphc
