// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/random_graph.h"

#include <functional>
#include <random>

#include "ir/build.h"
#include "ir/scan.h"

namespace graphc::core::testing {
namespace {

using Ints = std::vector<int64_t>;

class Generator {
 public:
  Generator(unsigned seed, bool smooth) : random_(seed), smooth_(smooth) {}

  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool flip() { return draw(0, 1) == 1; }
  Value pick(const Values& values) { return values[size_t(draw(0, int(values.size()) - 1))]; }

  Shape random_shape() {
    constexpr int64_t extents[] = {1, 2, 3, 4, 5, 8, 17, 33};
    Ints shape;
    for (int rank = draw(1, 3); rank > 0; --rank) shape.push_back(extents[draw(0, 7)]);
    return Shape(shape);
  }

  /// Adds about `nodes` applications to the graph, starting from the values of `pool`, and adds all
  /// of them to `pool`. `fresh` makes a value from outside.
  void grow(Graph& graph, Values& pool, int nodes,
            const std::function<Value(const Shape&)>& fresh) {
    for (int i = 0; i < nodes; ++i) {
      const Value made = apply_one(graph, pick(pool), pool, fresh);
      if (made.shape().elements() <= 4096) pool.push_back(made);
    }
  }

  /// Adds a loop over three to five steps; returns its results.
  Values add_loop(Graph& graph, Values& pool, const std::function<Value(const Shape&)>& fresh) {
    const int64_t steps = draw(3, 5);
    auto body = std::make_unique<Graph>("body");
    ScanParts parts;
    Values inside, carries;
    for (int i = draw(1, 2); i > 0; --i) {
      const Shape shape = pick(pool).shape();
      parts.streams.push_back(fresh(shape.rank() < 4 ? shape.insert(0, steps) : Shape{steps}));
      inside.push_back(body->input({DType::f32, parts.streams.back().shape().without(0)}, "x"));
    }
    for (int i = draw(1, 2); i > 0; --i) {
      parts.initial.push_back(pick(pool));
      carries.push_back(body->input(parts.initial.back().type(), "h"));
    }
    inside.insert(inside.end(), carries.begin(), carries.end());
    // Inputs are ordered as streams, carries, captures: captures are made when needed.
    const auto capture = [&](const Shape& shape) {
      parts.captures.push_back(fresh(shape));
      return body->input({DType::f32, shape}, "w");
    };
    grow(*body, inside, draw(3, 9), capture);
    Values results;
    for (Value carry : carries) results.push_back(next_of(carry, inside));
    for (int i = draw(1, 2); i > 0; --i) results.push_back(pick(inside));
    body->set_results(results);
    parts.body = freeze(std::move(body));
    parts.steps = steps;
    parts.reverse = flip();
    const Node& scan = add_scan(graph, std::move(parts));
    Values made;
    for (int i = 0; i < scan.results(); ++i) made.push_back(scan.result(i));
    return made;
  }

 private:
  /// A value of the carry's shape that depends on it and, if possible, on another value.
  Value next_of(Value carry, const Values& pool) {
    Values alike;
    for (Value value : pool) {
      if (value.shape() == carry.shape()) alike.push_back(value);
    }
    return tanh(carry * 0.5 + pick(alike));
  }

  Value unary(Value x) {
    switch (draw(0, smooth_ ? 6 : 9)) {
      case 0:
        return tanh(x);
      case 1:
        return sigmoid(x);
      case 2:
        return neg(x) * 0.5;
      case 3:
        return exp(tanh(x));
      case 4:
        return silu(x);
      case 5:
        return softplus(x);
      case 6:
        return square(tanh(x));
      case 7:
        return relu(x);
      case 8:
        return abs(x);
      default:
        return hard_sigmoid(x);
    }
  }

  Value binary(Value x, const Values& pool) {
    Values fitting;
    for (Value value : pool) {
      if (broadcast(value.shape(), x.shape())) fitting.push_back(value);
    }
    const Value y = pick(fitting);
    switch (draw(0, smooth_ ? 3 : 5)) {
      case 0:
        return x + y;
      case 1:
        return y - x;
      case 2:
        return tanh(x) * y;
      case 3:
        return x / (square(tanh(y)) + 1);
      case 4:
        return maximum(x, y);
      default:
        return minimum(y, x);
    }
  }

  Value reduce(Value x) {
    Ints axes;
    for (int axis = 0; axis < x.shape().rank(); ++axis) {
      if (flip()) axes.push_back(axis);
    }
    if (axes.empty()) axes.push_back(draw(0, x.shape().rank() - 1));
    const bool keep = flip();
    switch (draw(0, smooth_ ? 1 : 3)) {
      case 0:
        return tanh(sum(x, axes, keep) * 0.2);
      case 1:
        return mean(x, axes, keep);
      case 2:
        return max(x, axes, keep);
      default:
        return min(x, axes, keep);
    }
  }

  Value product(Value x, const std::function<Value(const Shape&)>& fresh) {
    const bool ta = x.shape().rank() == 2 && flip(), tb = flip();
    const int64_t k = x.shape()[ta ? 0 : -1], n = draw(1, 3) == 1 ? 1 : draw(2, 19);
    const Value w = fresh(tb ? Shape{n, k} : Shape{k, n});
    return matmul(x, w, ta, tb) * (1.0 / double(k + 1));
  }

  Value row_wise(Value x) {
    switch (draw(0, 3)) {
      case 0:
        return apply1(ops::softmax, {x});
      case 1:
        return apply1(ops::log_softmax, {tanh(x)});
      case 2:
        return apply1(ops::layer_norm, {x}, {{"epsilon", 0.1}});
      default:
        return cumsum(x * 0.2, draw(0, x.shape().rank() - 1), flip());
    }
  }

  /// Another shape with the same elements, or some of them.
  Value rearrange(Graph& graph, Value x, const Values& pool) {
    const int rank = x.shape().rank(), axis = draw(0, rank - 1);
    const int64_t extent = x.shape()[axis];
    switch (draw(0, 8)) {
      case 0:
        return reshape(x, {x.shape().elements()});
      case 1: {
        Ints order;
        for (int i = 0; i < rank; ++i) order.push_back((i + axis) % rank);
        return transpose(x, order);
      }
      case 2: {
        const int64_t start = draw(0, int(extent) - 1);
        return slice(x, axis, start, draw(int(start) + 1, int(extent)));
      }
      case 3:
        return concat({x, tanh(x), slice(x, axis, 0, draw(1, int(extent)))}, axis);
      case 4: {
        const int parts = extent % 2 == 0 ? 2 : extent % 3 == 0 ? 3 : 1;
        const Values slices = split(x, parts, axis);
        return slices[0] * 0.5 + slices.back();
      }
      case 5: {
        Ints low(size_t(rank), 0), high = low;
        low[size_t(axis)] = draw(0, 2);
        high[size_t(axis)] = draw(0, 2);
        return pad(x, low, high, 0.25);
      }
      case 6:
        return reverse(x, {axis});
      case 7: {
        const Value other = pick(pool);
        const Value y = other.shape() == x.shape() ? other : tanh(x);
        return select(less(iota(graph, x.shape(), axis), double(draw(0, int(extent)))), x, y);
      }
      default:
        return rank < 3 ? broadcast_to(x, x.shape().insert(0, draw(1, 4))) : sum(x, Ints{0}, false);
    }
  }

  Value by_index(Graph& graph, Value x) {
    Ints rows;
    for (int i = draw(1, 6); i > 0; --i) rows.push_back(draw(0, int(x.shape()[0]) - 1));
    const Value indices =
        graph
            .add(ops::constant, {},
                 {{"dtype", DType::i32}, {"shape", Ints{int64_t(rows.size())}}, {"value", rows}})
            .result();
    const Value taken = gather(x, indices);
    return flip() ? taken : scatter_add(x, indices, tanh(taken));
  }

  Value apply_one(Graph& graph, Value x, const Values& pool,
                  const std::function<Value(const Shape&)>& fresh) {
    const int kind = x.shape().rank() == 0 ? draw(0, 5) : draw(0, 15);
    if (kind <= 2) return unary(x);
    if (kind <= 5) return binary(x, pool);
    if (kind <= 7) return reduce(x);
    if (kind <= 9) return x.shape().rank() > 1 ? product(x, fresh) : unary(x);
    if (kind == 10) return row_wise(x);
    if (kind == 11) return by_index(graph, x);
    return rearrange(graph, x, pool);
  }

  std::mt19937 random_;
  const bool smooth_;
};

Value weighed(Value x, int i) {
  const Value ramp = cast(iota(*x.node->graph, {x.shape().elements()}), DType::f32);
  return sum(reshape(x, ramp.shape()) * (sin(ramp * 0.7 + double(i)) * 0.5));
}

}  // namespace

GraphPtr random_graph(unsigned seed, const RandomGraphOptions& options) {
  Generator generator(seed, options.gradient);
  auto graph = std::make_unique<Graph>("random");
  Values pool, inputs;
  const auto fresh = [&](const Shape& shape) {
    inputs.push_back(graph->input({DType::f32, shape}, "x"));
    return inputs.back();
  };
  for (int i = generator.draw(1, 3); i > 0; --i) pool.push_back(fresh(generator.random_shape()));
  const int before = options.loop ? options.nodes / 2 : options.nodes;
  generator.grow(*graph, pool, before, fresh);
  if (options.loop) {
    for (Value made : generator.add_loop(*graph, pool, fresh)) pool.push_back(made);
    generator.grow(*graph, pool, options.nodes - before, fresh);
  }
  Values results;
  for (int i = 1; i <= 3 && i <= int(pool.size()); ++i)
    results.push_back(pool[pool.size() - size_t(i)]);
  if (options.gradient) {
    Value loss = weighed(results[0], 0);
    for (size_t i = 1; i < results.size(); ++i) loss = loss + weighed(results[i], int(i));
    Values operands{loss};
    operands.insert(operands.end(), inputs.begin(), inputs.end());
    const Node& gradients = graph->add(ops::grad, operands);
    results = {loss};
    for (int i = 0; i < gradients.results(); ++i) results.push_back(gradients.result(i));
  }
  graph->set_results(results);
  return freeze(std::move(graph));
}

}  // namespace graphc::core::testing
