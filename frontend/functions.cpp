// SPDX-License-Identifier: Apache-2.0
#include "frontend/functions.h"

#include "frontend/dependence.h"
#include "frontend/initializers.h"
#include "frontend/intervals.h"
#include "frontend/trace.h"
#include "ir/called.h"
#include "ir/mutant.h"

namespace graphc::core {
namespace {

/// The graph for source values: the traced graph, or an initialiser's.
Graph& graph_for(std::string_view what, Where where) {
  Graph* const initial = graph_of_initializer();
  return initial != nullptr ? *initial : Trace::require(what, where).graph();
}

/// Applies an op that works on the last axis to another axis.
Value along(const Op& op, Value x, int axis, Where where) {
  const Called called(op.name, where);
  const int rank = x.shape().rank();
  if (axis_of(axis, rank) < 0 || axis_of(axis, rank) >= rank)
    throw input_error(where, "{}: axis {} is outside {}", op.name, axis, to_string(x.type()));
  if (x.shape()[axis_of(axis, rank)] == 0) {
    throw input_error(where, "{}: %{} is {}: there are no elements along axis {}", op.name,
                      x.name(), to_string(x.type()), axis_of(axis, rank));
  }
  if (rank > 0 && axis_of(axis, rank) == rank - 1) return apply1(op, {x}, {}, where);
  return transpose(apply1(op, {transpose(x, axis, -1, where)}, {}, where), axis, -1, where);
}

}  // namespace

Value filled(const Shape& shape, Numeral number, DType dtype, Where where) {
  const Called called("filled", where);
  return splat(graph_for("filled", where), number, {dtype, shape});
}

Value literal(const Data& numbers, Where where) {
  constexpr int64_t kMost = 4096;
  const Called called("literal", where);
  Graph& graph = graph_for("literal", where);
  const Literal all = numbers.tensor().literal();
  if (all.dtype() == DType::boolean || all.elements() > kMost) {
    throw input_error(where, "literal: wanted at most {} numbers, found {}", kMost,
                      to_string(all.type()));
  }
  Attribute list;
  if (is_floating(all.dtype())) {
    list = all.to_vector<double>();
  } else {
    list = all.to_vector<int64_t>();
  }
  const Shape& shape = all.shape();
  return graph
      .add(ops::constant, {},
           {{"dtype", all.dtype()},
            {"shape", std::vector<int64_t>(shape.begin(), shape.end())},
            {"value", std::move(list)}},
           {}, where)
      .result();
}

Value iota(const Shape& shape, int axis, DType dtype, Where where) {
  const Called called("iota", where);
  return iota(graph_for("iota", where), shape, axis, dtype);
}

Value stack(const Values& values, int axis, Where where) {
  const Called called("stack", where);
  if (values.empty()) throw input_error(where, "stack: takes at least one value");
  axis = axis_of(axis, values[0].shape().rank() + 1);
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
  const Called called("unstack", where);
  axis = axis_of(axis, x.shape().rank());
  if (axis < 0 || axis >= x.shape().rank()) {
    throw input_error(where, "unstack: axis {} is outside {}", axis, to_string(x.type()));
  }
  if (x.shape()[axis] == 0) return {};
  Values slices;
  for (Value part : split(x, int(x.shape()[axis]), axis, where))
    slices.push_back(reshape(part, part.shape().without(axis), where));
  return slices;
}

Value softmax(Value x, Where where) { return along(ops::softmax, x, -1, where); }

Value softmax(Value x, int axis, Where where) { return along(ops::softmax, x, axis, where); }

Value log_softmax(Value x, Where where) { return along(ops::log_softmax, x, -1, where); }

Value log_softmax(Value x, int axis, Where where) {
  return along(ops::log_softmax, x, axis, where);
}

Value layer_norm(Value x, double epsilon, Where where) {
  expect_in("layer_norm", "epsilon", epsilon, kFromZero, where);
  return apply1(ops::layer_norm, {x}, {{"epsilon", epsilon}}, where);
}

Value one_hot(Value labels, int64_t depth, Where where) {
  return apply1(ops::one_hot, {labels}, {{"depth", depth}}, where);
}

Value cross_entropy(Value logits, Value labels, Where where) {
  return apply1(ops::cross_entropy, {logits, labels}, {}, where);
}

Value cross_entropy(Value logits, Value labels, LabelOptions options, Where where) {
  const Called called("cross_entropy", where);
  const Type& type = labels.type();
  if (!is_integer(type.dtype)) return cross_entropy(logits, labels, where);  // reports the error
  if (!holds(type.dtype, options.ignore)) {
    throw input_error(where, "cross_entropy: {{.ignore = {}}} is no label: the labels are {}",
                      options.ignore, to_string(type));
  }
  const Value ignored = equal(labels, options.ignore);
  if (logits.shape().rank() > 0 && logits.shape().without(-1) == type.shape) {
    // The logits there have no influence, NaN and infinity included: select() masks them and their
    // derivative.
    logits = select(reshape(ignored, type.shape.insert(type.shape.rank(), 1)), 0, logits);
  }
  return select(ignored, 0, cross_entropy(logits, select(ignored, 0, labels), where));
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

Value mse(Value x, Value y, Where where) {
  const Called called("mse", where);
  x.expect_usable(where);
  if (x.shape().elements() == 0) {
    throw input_error(where, "mse: %{} is {}: it has no elements", x.name(), to_string(x.type()));
  }
  return apply1(ops::mse, {x, y}, {}, where);
}

Value random_key(Where where) {
  Trace& trace = Trace::require("random_key", where);
  const Called called("random_key", where);
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

double DropoutShare::kept(Where where) const {
  if (rate && keep)
    throw input_error(where, "dropout: one of rate and keep is given: found {} and {}", *rate,
                      *keep);
  if (rate && !(*rate >= 0 && *rate < 1))
    throw input_error(where, "dropout: rate is in [0, 1): found {}", *rate);
  if (keep && !(*keep > 0 && *keep <= 1))
    throw input_error(where, "dropout: keep is in (0, 1]: found {}", *keep);
  return keep ? *keep : 1 - rate.value_or(0);
}

Value dropout(Value x, DropoutShare share, Where where) {
  const Called called("dropout", where);
  const double keep = share.kept(where);
  const bool evaluating = Trace::require("dropout", where).mode() == Mode::evaluation &&
                          !mutated(Mutant::dropout_while_evaluating);
  if (keep == 1 || evaluating) return x;
  return apply1(ops::dropout, {x, random_key(where)}, {{"keep", keep}}, where);
}

namespace {

void remark_on_zeros(Trace& trace, Value loss, const Values& leaves, Where where) {
  const std::unordered_set<const Node*> reached = differentiable_from(loss);
  std::vector<std::string> independent;
  for (Value leaf : leaves) {
    if (!reached.contains(leaf.node)) independent.push_back(leaf.name());
  }
  if (independent.empty()) return;
  trace.remark(where, fmt::format("the loss does not depend on {}: the gradient is 0",
                                  fmt::join(independent, ", ")));
}

}  // namespace

Values gradients(Value loss, const Leaves& leaves, Where where) {
  const Called called("gradients", where);
  Trace& trace = Trace::require("gradients", where);
  loss.expect_usable(where);
  std::vector<Operand> operands{{loss, where}};
  std::vector<std::string> names;
  Values values;
  for (const Leaves::Leaf& leaf : leaves) {
    const Value value = leaf.cell ? trace.leaf(leaf.cell) : leaf.value;
    value.expect_usable(where);
    operands.emplace_back(value, where);
    names.push_back("d." + value.name());
    values.push_back(value);
  }
  if (!trace.in_loop()) {
    expect_values_of_before(loss, where);
    remark_on_zeros(trace, loss, values, where);
  }
  const Node& node = apply(ops::grad, std::move(operands), {}, {}, where, std::move(names));
  Values results;
  for (int i = 0; i < node.results(); ++i) results.push_back(node.result(i));
  return results;
}

}  // namespace graphc::core
