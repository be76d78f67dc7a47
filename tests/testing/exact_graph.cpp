// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/exact_graph.h"

#include <functional>
#include <random>

#include "ir/build.h"
#include "ir/scan.h"

namespace graphc::core::testing {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kLimit = int64_t{1} << 22;

/// A value and a bound on the magnitude of its elements.
struct ExactValue {
  Value value;
  int64_t bound = 0;

  const Shape& shape() const { return value.shape(); }
  DType dtype() const { return value.dtype(); }
};
using ExactPool = std::vector<ExactValue>;
using Fresh = std::function<ExactValue(DType, const Shape&)>;

class ExactGenerator {
 public:
  explicit ExactGenerator(unsigned seed) : random_(seed) {}

  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool flip() { return draw(0, 1) == 1; }
  ExactValue pick(const ExactPool& pool) { return pool[size_t(draw(0, int(pool.size()) - 1))]; }
  DType random_dtype() { return draw(0, 2) == 0 ? DType::i32 : DType::f32; }

  Shape random_shape() {
    constexpr int64_t extents[] = {1, 2, 3, 4, 5, 7, 9, 17, 33};
    Ints shape;
    for (int rank = draw(1, 3); rank > 0; --rank) shape.push_back(extents[draw(0, 8)]);
    return Shape(shape);
  }

  void grow(Graph& graph, ExactPool& pool, int nodes, const Fresh& fresh) {
    for (int i = 0; i < nodes; ++i) {
      const ExactValue made = apply_one(graph, tamed(pick(pool)), pool, fresh);
      GRAPHC_CHECK(made.bound <= kLimit, "a bound of {}", made.bound);
      if (made.shape().elements() <= 4096) pool.push_back(made);
    }
  }

  /// Adds a loop over three to five steps; returns its results. Each step keeps a carry within its
  /// bound.
  ExactPool add_loop(Graph& graph, const ExactPool& pool, const Fresh& fresh) {
    const int64_t steps = draw(3, 5);
    auto body = std::make_unique<Graph>("body");
    ScanParts parts;
    ExactPool inside, carries;
    for (int i = draw(1, 2); i > 0; --i) {
      const Shape shape = pick(pool).shape();
      const ExactValue stream =
          fresh(random_dtype(), shape.rank() < 4 ? shape.insert(0, steps) : Shape{steps});
      parts.streams.push_back(stream.value);
      const Type step{stream.dtype(), stream.shape().without(0)};
      inside.push_back({body->input(step, "x"), stream.bound});
    }
    for (int i = draw(1, 2); i > 0; --i) {
      const ExactValue initial = tamed(pick(pool));
      parts.initial.push_back(initial.value);
      carries.push_back(
          {body->input(initial.value.type(), "h"), std::max<int64_t>(initial.bound, 8)});
    }
    inside.insert(inside.end(), carries.begin(), carries.end());
    // Inputs are ordered as streams, carries, captures: captures are made when needed.
    const auto capture = [&](DType dtype, const Shape& shape) -> ExactValue {
      const ExactValue outer = fresh(dtype, shape);
      parts.captures.push_back(outer.value);
      return {body->input({dtype, shape}, "w"), outer.bound};
    };
    grow(*body, inside, draw(3, 9), capture);
    Values results;
    for (const ExactValue& carry : carries) results.push_back(next_of(carry, inside).value);
    ExactPool made;
    for (int i = draw(1, 2); i > 0; --i) made.push_back(pick(inside));
    for (const ExactValue& emit : made) results.push_back(emit.value);
    body->set_results(results);
    parts.body = freeze(std::move(body));
    parts.steps = steps;
    parts.reverse = flip();
    made.insert(made.end(), carries.begin(), carries.end());
    const Node& scan = add_scan(graph, std::move(parts));
    for (size_t i = 0; i < made.size(); ++i) made[i].value = scan.result(int(i));
    return made;
  }

 private:
  ExactValue clipped(const ExactValue& x, int64_t bound) {
    return {minimum(maximum(x.value, -bound), bound), bound};
  }

  /// The same value or, if it is large, one with small elements made from it.
  ExactValue tamed(const ExactValue& x) {
    if (x.bound <= 1000) return x;
    if (x.dtype() == DType::f32 && flip()) return {remainder(x.value, 7), 7};
    return clipped(x, 9);
  }

  ExactValue next_of(const ExactValue& carry, const ExactPool& pool) {
    ExactPool alike;
    for (const ExactValue& value : pool) {
      if (value.value.type() == carry.value.type() && value.bound + carry.bound <= kLimit)
        alike.push_back(value);
    }
    return clipped({carry.value + pick(alike).value, 0}, carry.bound);
  }

  ExactValue unary(const ExactValue& x) {
    const bool real = x.dtype() == DType::f32;
    switch (draw(0, 8)) {
      case 0:
        return {neg(x.value), x.bound};
      case 1:
        return {abs(x.value), x.bound};
      case 2:
        return {maximum(x.value, 0), x.bound};
      case 3:
        return real ? ExactValue{floor(x.value * 0.5), x.bound}
                    : ExactValue{x.value * 2, x.bound * 2};
      case 4:
        return real ? ExactValue{sign(x.value), 1} : ExactValue{minimum(x.value, 3), x.bound + 3};
      case 5:
        return {square(x.value), x.bound * x.bound};
      case 6:
        return {x.value * 3 - 1, x.bound * 3 + 1};
      case 7:
        return real ? ExactValue{round(x.value * 0.25), x.bound}
                    : ExactValue{x.value + x.value, x.bound * 2};
      default:
        return {cast(x.value, real ? DType::i32 : DType::f32), x.bound};
    }
  }

  Value compared(Value x, Value y) {
    switch (draw(0, 3)) {
      case 0:
        return less(x, y);
      case 1:
        return equal(x, y);
      case 2:
        return greater_equal(y, x);
      default:
        return logical_or(less(y, x), logical_not(not_equal(x, y)));
    }
  }

  ExactValue binary(const ExactValue& x, const ExactPool& pool) {
    ExactPool fitting;
    for (const ExactValue& value : pool) {
      if (value.dtype() == x.dtype() && broadcast(value.shape(), x.shape()))
        fitting.push_back(value);
    }
    ExactValue y = tamed(pick(fitting));
    const int64_t larger = std::max(x.bound, y.bound);
    switch (draw(0, 6)) {
      case 0:
        return {x.value + y.value, x.bound + y.bound};
      case 1:
        return {y.value - x.value, x.bound + y.bound};
      case 2:
        return {x.value * y.value, x.bound * y.bound};
      case 3:
        return {maximum(x.value, y.value), larger};
      case 4:
        return {minimum(y.value, x.value), larger};
      case 5:
        return {cast(compared(x.value, y.value), x.dtype()), 1};
      default:
        return {select(compared(x.value, y.value), x.value, y.value - 1), larger + 1};
    }
  }

  ExactValue reduce(const ExactValue& x) {
    Ints axes;
    int64_t count = 1;
    for (int axis = 0; axis < x.shape().rank(); ++axis) {
      if (flip()) axes.push_back(axis);
    }
    if (axes.empty()) axes.push_back(draw(0, x.shape().rank() - 1));
    for (int64_t axis : axes) count *= x.shape()[int(axis)];
    const bool keep = flip();
    switch (draw(0, 4)) {
      case 0:
      case 1:
        if (x.bound * count > kLimit) return {sum(sign_of(x), axes, keep), count};
        return {sum(x.value, axes, keep), x.bound * count};
      case 2:
        return {max(x.value, axes, keep), x.bound};
      case 3:
        return {min(x.value, axes, keep), x.bound};
      default:
        return {argmax(x.value, int(axes[0])), x.shape()[int(axes[0])]};
    }
  }

  /// -1, 0 or 1.
  Value sign_of(const ExactValue& x) { return clipped(x, 1).value; }

  ExactValue running(const ExactValue& x) {
    const int axis = draw(0, x.shape().rank() - 1);
    return {cumsum(sign_of(x), axis, flip()), x.shape()[axis]};
  }

  ExactValue product(const ExactValue& x, const Fresh& fresh) {
    const bool ta = x.shape().rank() == 2 && flip(), tb = flip();
    const int64_t k = x.shape()[ta ? 0 : -1], n = draw(1, 3) == 1 ? 1 : draw(2, 37);
    const ExactValue w = fresh(DType::f32, tb ? Shape{n, k} : Shape{k, n});
    return {matmul(x.value, w.value, ta, tb), x.bound * w.bound * k};
  }

  /// Another shape with the same elements, or some of them.
  ExactValue rearrange(const ExactValue& x, const ExactPool& pool) {
    const int rank = x.shape().rank(), axis = draw(0, rank - 1);
    const int64_t extent = x.shape()[axis];
    const auto same = [&](Value value) { return ExactValue{value, x.bound}; };
    switch (draw(0, 8)) {
      case 0:
        return same(reshape(x.value, {x.shape().elements()}));
      case 1: {
        Ints order;
        for (int i = 0; i < rank; ++i) order.push_back((i + axis) % rank);
        return same(transpose(x.value, order));
      }
      case 2: {
        const int64_t start = draw(0, int(extent) - 1);
        return same(slice(x.value, axis, start, draw(int(start) + 1, int(extent))));
      }
      case 3:
        return same(
            concat({x.value, neg(x.value), slice(x.value, axis, 0, draw(1, int(extent)))}, axis));
      case 4: {
        const int parts = extent % 2 == 0 ? 2 : extent % 3 == 0 ? 3 : 1;
        const Values slices = split(x.value, parts, axis);
        return {slices[0] - slices.back(), 2 * x.bound};
      }
      case 5: {
        Ints low(size_t(rank), 0), high = low;
        low[size_t(axis)] = draw(0, 2);
        high[size_t(axis)] = draw(0, 2);
        return {pad(x.value, low, high, 2), std::max<int64_t>(x.bound, 2)};
      }
      case 6:
        return same(reverse(x.value, {axis}));
      case 7: {
        const ExactValue other = pick(pool);
        const bool fits = other.value.type() == x.value.type();
        const ExactValue y = fits ? other : ExactValue{neg(x.value), x.bound};
        Graph& graph = *x.value.node->graph;
        const Value left = less(iota(graph, x.shape(), axis), draw(0, int(extent)));
        return {select(left, x.value, y.value), std::max(x.bound, y.bound)};
      }
      default:
        return rank < 3 ? same(broadcast_to(x.value, x.shape().insert(0, draw(1, 4))))
                        : same(max(x.value, Ints{0}, false));
    }
  }

  /// Rows of x by indices, which are constants or values of the graph.
  ExactValue by_index(Graph& graph, const ExactValue& x, const ExactPool& pool) {
    const int64_t extent = x.shape()[0];
    Value indices;
    const ExactValue other = pick(pool);
    if (flip() && other.shape().rank() == 1 && other.shape().elements() <= 40) {
      indices = minimum(maximum(cast(other.value, DType::i32), 0), extent - 1);
    } else {
      Ints rows;
      for (int i = draw(1, 6); i > 0; --i) rows.push_back(draw(0, int(extent) - 1));
      const Attributes constant{
          {"dtype", DType::i32}, {"shape", Ints{int64_t(rows.size())}}, {"value", rows}};
      indices = graph.add(ops::constant, {}, constant).result();
    }
    const Value taken = gather(x.value, indices);
    if (flip() || x.dtype() != DType::f32) return {taken, x.bound};
    return {scatter_add(x.value, indices, taken), x.bound * (1 + indices.shape().elements())};
  }

  ExactValue apply_one(Graph& graph, const ExactValue& x, const ExactPool& pool,
                       const Fresh& fresh) {
    const int kind = x.shape().rank() == 0 ? draw(0, 6) : draw(0, 17);
    if (kind <= 2) return unary(x);
    if (kind <= 6) return binary(x, pool);
    if (kind <= 8) return reduce(x);
    if (kind <= 10 && x.shape().rank() > 1 && x.dtype() == DType::f32)
      return product(clipped(x, 20), fresh);
    if (kind == 11) return running(x);
    if (kind == 12) return by_index(graph, x, pool);
    return rearrange(x, pool);
  }

  std::mt19937 random_;
};

}  // namespace

GraphPtr exact_graph(unsigned seed, int nodes, bool loop) {
  ExactGenerator generator(seed);
  auto graph = std::make_unique<Graph>("exact");
  ExactPool pool;
  const auto fresh = [&](DType dtype, const Shape& shape) -> ExactValue {
    return {graph->input({dtype, shape}, "x"), kExactInput};
  };
  pool.push_back(fresh(DType::f32, generator.random_shape()));
  for (int i = generator.draw(0, 2); i > 0; --i)
    pool.push_back(fresh(generator.random_dtype(), generator.random_shape()));
  const int before = loop ? nodes / 2 : nodes;
  generator.grow(*graph, pool, before, fresh);
  if (loop) {
    for (const ExactValue& made : generator.add_loop(*graph, pool, fresh)) pool.push_back(made);
    generator.grow(*graph, pool, nodes - before, fresh);
  }
  Values results;
  for (size_t i = 1; i <= 3 && i <= pool.size(); ++i)
    results.push_back(pool[pool.size() - i].value);
  graph->set_results(results);
  return freeze(std::move(graph));
}

}  // namespace graphc::core::testing
