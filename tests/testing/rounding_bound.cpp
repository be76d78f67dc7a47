// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/rounding_bound.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "codegen/compile.h"
#include "ir/composite.h"
#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "tests/testing/rounding_bound_scalar.h"

namespace graphc::core::testing {
namespace {

using Bounds = std::vector<Bounded>;

bool exact(const Bounds& values) {
  return std::none_of(values.begin(), values.end(), [](const Bounded& x) { return !!x.error; });
}

Values values_of(const Bounds& bounds) {
  Values values;
  for (const Bounded& x : bounds) values.push_back(x.value);
  return values;
}

Type error_type(const Type& type) { return {DType::f32, type.shape}; }

/// The error in the value's shape; zeros if there is none.
Value whole_error(const Bounded& x, Graph& to) {
  if (!x.error) return splat(to, 0, error_type(x.value.type()));
  const Shape& shape = x.value.shape();
  return x.error.shape() == shape ? x.error : broadcast_to(x.error, shape);
}

Value magnitude(const Bounded& x) { return abs(cast(x.value, DType::f32)); }

/// The node applied to errors or magnitudes instead of its numeric operands.
Value same_op(const Node& node, Values operands, Graph& to, int result = 0) {
  Attributes attributes = node.attributes;
  if (node.is(ops::pad)) attributes.set("value", 0.0);
  return to.add(node.op, std::move(operands), std::move(attributes)).result(result);
}

/// The error of a sum of `terms` products or numbers: the errors of the terms, and a rounding for
/// each addition, in any order; `magnitudes` is the sum of the terms' absolute values. Each sum may
/// be flushed, and each product before it.
Value error_of_sum(const Node& node, Value errors, const std::function<Value()>& magnitudes,
                   int64_t terms) {
  if (!is_floating(node.types.back().dtype)) return errors;
  const auto roundings = double(std::max<int64_t>(terms, 1));
  return rounded(magnitudes(), errors, roundings, node.is(ops::matmul) ? 2 * roundings : roundings);
}

/// Whether an element is an f32 denormal, which a target may read as 0.
bool has_denormals(const Literal& input) {
  if (input.dtype() != DType::f32) return false;
  return std::ranges::any_of(input.data<float>(),
                             [](float x) { return std::fpclassify(x) == FP_SUBNORMAL; });
}

bool is_index(const Node& node, size_t operand) {
  if (node.is(ops::merge_rows)) return operand == 0;
  if (node.is(ops::check_labels)) return true;
  return operand == 1 &&
         (node.is(ops::gather) || node.is(ops::scatter) || node.is(ops::scatter_add));
}

class Tracer {
 public:
  explicit Tracer(const ProductRounding& products) : products_(products) {}

  /// Adds the nodes of `from` to `to`, with `arguments` for its inputs; returns its results.
  Bounds run(const Graph& from, const Bounds& arguments, Graph& to) {
    std::vector<Bounds> done(from.nodes().size());
    GRAPHC_CHECK(from.states().empty(), "no bounds for states");
    for (size_t i = 0; i < arguments.size(); ++i)
      done[size_t(from.inputs()[i].node->id)] = {arguments[i]};
    const std::vector<bool> live = live_nodes(from);
    const auto known = [&](Value x) { return done[size_t(x.node->id)][size_t(x.index)]; };
    for (const Node& node : from.nodes()) {
      if (!live[size_t(node.id)] || node.is(ops::input)) continue;
      Bounds operands;
      for (Value operand : node.operands) operands.push_back(known(operand));
      done[size_t(node.id)] = run_node(node, operands, to);
    }
    Bounds results;
    for (Value result : from.results()) results.push_back(known(result));
    return results;
  }

 private:
  Bounds run_node(const Node& node, const Bounds& x, Graph& to) {
    if (node.is(ops::scan)) return run_scan(Scan(node), x, to);
    if (is_composite(node.op)) return run(*body_of(node), x, to);
    if (is_elementwise(node.op) && (!exact(x) || is_floating(node.types[0].dtype))) {
      Bounded result = run_elementwise(node, x, to);
      if (result.value.shape() != node.types[0].shape)
        result.value = broadcast_to(result.value, node.types[0].shape);
      return {result};
    }
    const Node& copy = copy_node(node, values_of(x), to);
    Bounds results;
    for (int i = 0; i < copy.results(); ++i) results.push_back({copy.result(i), {}});
    if (!is_elementwise(node.op)) add_errors(node, x, to, results);
    return results;
  }

  void add_errors(const Node& node, const Bounds& x, Graph& to, Bounds& results) const {
    add_errors_of_values(node, x, to, results);
    for (size_t i = 0; i < x.size(); ++i) {
      if (!is_index(node, i) || !x[i].error) continue;
      // If an index may differ, every element may be anything.
      const Value turned = less(0.0, sum(x[i].error));
      for (Bounded& result : results)
        result.error = select(turned, kInfinite, whole_error(result, to));
    }
  }

  void add_errors_of_values(const Node& node, const Bounds& x, Graph& to, Bounds& results) const {
    const auto all = [&](const std::function<Value(const Bounded&)>& part) {
      Values operands;
      for (size_t i = 0; i < x.size(); ++i)
        operands.push_back(is_index(node, i) ? x[i].value : part(x[i]));
      return operands;
    };
    bool none_errs = true;
    for (size_t i = 0; i < x.size(); ++i) none_errs &= is_index(node, i) || !x[i].error;
    const Values errors =
        none_errs ? Values() : all([&](const Bounded& e) { return whole_error(e, to); });
    if (moves_elements(node) || node.is(ops::max)) {
      if (errors.empty()) return;
      const Node& moved = *same_op(node, errors, to).node;
      for (size_t i = 0; i < results.size(); ++i) results[i].error = moved.result(int(i));
    } else if (node.is(ops::constant)) {
      results[0].error = error_of_constant(results[0].value);
    } else if (node.is(ops::matmul)) {
      results[0].error = error_of_product(node, x, to);
    } else if (node.is(ops::prod)) {
      results[0].error = error_of_prod(node, x[0], to);
    } else if (!node.is(ops::iota) && !node.is(ops::size)) {
      const int last = node.results() - 1;
      const Value carried = errors.empty() ? Value() : same_op(node, errors, to, last);
      const auto magnitudes = [&] { return same_op(node, all(magnitude), to, last); };
      results.back().error = error_of_sum(node, carried, magnitudes, terms_of(node));
    }
  }

  static int64_t terms_of(const Node& node) {
    const Shape& shape = node.operands[0].shape();
    if (node.is(ops::cumsum)) return shape[int(node.attributes.get_int("axis", 0))];
    if (node.is(ops::scatter_add)) return node.operands[1].shape().elements() + 1;
    if (node.is(ops::merge_rows)) return shape.elements();
    GRAPHC_CHECK(node.is(ops::sum), "no bound for the error of {}", node.op.name);
    int64_t terms = 1;
    for (int64_t axis : node.attributes.get_ints("axes")) terms *= shape[int(axis)];
    return terms;
  }

  static Value error_of_constant(Value constant) {
    if (!is_floating(constant.dtype())) return {};
    const Attribute& value = *constant.node->attributes.find("value");
    const auto* list = std::get_if<std::vector<double>>(&value);
    const auto* number = std::get_if<double>(&value);
    if (list != nullptr ? std::all_of(list->begin(), list->end(), is_held)
                        : number == nullptr || is_held(*number)) {
      return {};
    }
    return rounded(constant, {}, 1);
  }

  Value error_of_product(const Node& node, const Bounds& x, Graph& to) const {
    const auto product = [&](Value a, Value b) { return same_op(node, {a, b}, to); };
    const Value a = magnitude(x[0]), b = magnitude(x[1]);
    const Value error_a = factor_error(x[0], to), error_b = factor_error(x[1], to);
    Value error;
    if (error_b) error = product(a, error_b);
    if (error_a) error = sum_of_errors(error, product(error_a, error_b ? b + error_b : b));
    const bool transposed = node.attributes.get_bool("transpose_a", false);
    const int64_t terms = node.operands[0].shape()[transposed ? -2 : -1];
    const int of_sum = is_rounded(x[0]) ? products_.of_sum : 1;
    return error_of_sum(node, error, [&] { return product(a, b); }, of_sum * terms);
  }

  /// Whether factors of this type are rounded to another type.
  bool is_rounded(const Bounded& x) const {
    return products_.factor > 0 && x.value.dtype() == DType::f32;
  }

  /// The error of a factor: that of the value plus that of rounding it.
  Value factor_error(const Bounded& x, Graph& to) const {
    if (!is_rounded(x)) return x.error ? whole_error(x, to) : Value();
    Value size = magnitude(x);
    if (x.error) size = size + whole_error(x, to);
    Value made = size * products_.factor;
    if (products_.least > 0) made = maximum(made, products_.least);
    if (std::isfinite(products_.largest))
      made = select(less(products_.largest, size), kInfinite, made);
    return sum_of_errors(x.error ? whole_error(x, to) : Value(), made);
  }

  static Value error_of_prod(const Node& node, const Bounded& x, Graph& to) {
    const Value least = same_op(node, {magnitude(x)}, to);
    const Value most = x.error ? same_op(node, {magnitude(x) + x.error}, to) : least;
    const int64_t factors = std::max<int64_t>(
        node.operands[0].shape().elements() / std::max<int64_t>(least.shape().elements(), 1), 1);
    // If a partial product is flushed, the remaining factors amplify that error.
    const Value enlarged = same_op(node, {maximum(magnitude(x) + whole_error(x, to), 1.0)}, to);
    const Value error = sum_of_errors(x.error ? most - least : Value(),
                                      enlarged * (double(factors) * kSmallestNormal));
    return rounded(most, error, double(factors));
  }

  /// A carry that is rounded has an error, and so does one that is combined with or assigned from
  /// it.
  Bounds run_scan(const Scan& scan, const Bounds& x, Graph& to) {
    const size_t first = scan.streams().size(), carries = scan.initial().size();
    std::vector<bool> erring;
    for (const Bounded& operand : x) {
      const bool carry = erring.size() >= first && erring.size() < first + carries;
      erring.push_back(operand.error || (carry && is_floating(operand.value.dtype())));
    }
    while (true) {
      auto body = std::make_unique<Graph>(scan.body().name());
      const Bounds inner = run(scan.body(), arguments_of_body(scan, erring, *body), *body);
      const std::vector<bool> before = erring;
      for (size_t i = 0; i < carries; ++i) erring[first + i] = erring[first + i] || inner[i].error;
      if (erring == before) return add_bounded_scan(scan, x, erring, inner, std::move(body), to);
    }
  }

  /// Inputs of the body: streams, their errors, carries, their errors, captures, their errors.
  static Bounds arguments_of_body(const Scan& scan, const std::vector<bool>& erring, Graph& body) {
    Bounds arguments(erring.size());
    for_each_part(scan, [&](size_t begin, size_t end) {
      const Values& inputs = scan.body().inputs();
      for (size_t i = begin; i < end; ++i)
        arguments[i].value = body.input(inputs[i].type(), inputs[i].name());
      for (size_t i = begin; i < end; ++i) {
        if (!erring[i]) continue;
        arguments[i].error = body.input(error_type(inputs[i].type()), inputs[i].name() + "_error");
      }
    });
    return arguments;
  }

  static void for_each_part(const Scan& scan, const std::function<void(size_t, size_t)>& visit) {
    const size_t streams = scan.streams().size(), carries = scan.initial().size();
    visit(0, streams);
    visit(streams, streams + carries);
    visit(streams + carries, scan.node().operands.size());
  }

  static Bounds add_bounded_scan(const Scan& scan, const Bounds& x, const std::vector<bool>& erring,
                                 const Bounds& inner, std::unique_ptr<Graph> body, Graph& to) {
    const size_t first = scan.streams().size(), carries = scan.initial().size();
    ScanParts parts{.steps = scan.steps(), .reverse = scan.reverse()};
    std::vector<Values*> operands{&parts.streams, &parts.initial, &parts.captures};
    for_each_part(scan, [&, part = 0](size_t begin, size_t end) mutable {
      Values& all = *operands[size_t(part++)];
      for (size_t i = begin; i < end; ++i) all.push_back(x[i].value);
      for (size_t i = begin; i < end; ++i) {
        if (erring[i]) all.push_back(whole_error(x[i], to));
      }
    });
    const auto has_error = [&](size_t i) {
      return i < carries ? bool(erring[first + i]) : bool(inner[i].error);
    };
    Values results;
    for (const auto& [begin, end] : {std::pair(size_t(0), carries), {carries, inner.size()}}) {
      for (size_t i = begin; i < end; ++i) results.push_back(inner[i].value);
      for (size_t i = begin; i < end; ++i) {
        if (has_error(i)) results.push_back(whole_error(inner[i], *body));
      }
    }
    body->set_results(results);
    parts.body = freeze(std::move(body));
    const Node& made = add_scan(to, std::move(parts));
    Bounds bounds(inner.size());
    int next = 0;
    for (const auto& [begin, end] : {std::pair(carries, inner.size()), {size_t(0), carries}}) {
      for (size_t i = begin; i < end; ++i) bounds[i].value = made.result(next++);
      for (size_t i = begin; i < end; ++i) {
        if (has_error(i)) bounds[i].error = made.result(next++);
      }
    }
    std::ranges::rotate(bounds, bounds.begin() + long(carries));
    return bounds;
  }

  const ProductRounding products_;
};

}  // namespace

bool moves_elements(const Node& node) {
  for (const Op* op :
       {&ops::reshape, &ops::transpose, &ops::broadcast_to, &ops::slice, &ops::pad, &ops::reverse,
        &ops::concat, &ops::split, &ops::gather, &ops::scatter, &ops::check_labels}) {
    if (node.is(*op)) return true;
  }
  // Of one rank they are their operands.
  return is_collective(node.op) && node.attributes.get_int("ranks", 1) == 1;
}

ProductRounding product_rounding(Precision precision) {
  ProductRounding products;
  if (precision == Precision::f32) return products;
  products.of_sum = precision == Precision::tf32x3 ? 10 : 4;
  products.factor = unit_roundoff(precision);
  if (precision == Precision::fp16) {
    products.least = 0x1p-25;
    products.largest = 65504;
  }
  return products;
}

GraphPtr with_rounding_bounds(const Graph& graph, const ProductRounding& products,
                              const std::vector<bool>& denormal) {
  auto bounded = std::make_unique<Graph>(graph.name());
  Bounds inputs;
  for (Value input : graph.inputs()) {
    const Value x = bounded->input(input.type(), input.name());
    inputs.push_back({x, {}});
    if (inputs.size() > denormal.size() || !denormal[inputs.size() - 1]) continue;
    inputs.back().error = select(less(abs(x), kSmallestNormal), abs(x), 0.0);
  }
  const Bounds results = Tracer(products).run(graph, inputs, *bounded);
  Values values = values_of(results);
  for (const Bounded& result : results) values.push_back(whole_error(result, *bounded));
  bounded->set_results(values);
  return freeze(std::move(bounded));
}

BoundedResults evaluate_with_bounds(const Graph& graph, const std::vector<Literal>& inputs,
                                    const ProductRounding& products) {
  std::vector<bool> denormal;
  for (const Literal& input : inputs) denormal.push_back(has_denormals(input));
  const auto all =
      evaluate(*with_rounding_bounds(graph, products, denormal), inputs, {}, Precision::f64)
          .results;
  const auto half = all.begin() + long(all.size() / 2);
  return {{all.begin(), half}, {half, all.end()}};
}

std::string beyond_bound(const std::vector<Literal>& found, const BoundedResults& wanted) {
  for (size_t i = 0; i < wanted.values.size(); ++i) {
    for (int64_t k = 0; k < wanted.values[i].elements(); ++k) {
      const double value = wanted.values[i].element(k), bound = wanted.bounds[i].element(k);
      if (!std::isfinite(bound)) continue;
      if (!(std::abs(found[i].element(k) - value) <= bound)) {
        return fmt::format("result {} element {}: wanted {}, found {}, bound {}", i, k, value,
                           found[i].element(k), bound);
      }
    }
  }
  return {};
}

}  // namespace graphc::core::testing
