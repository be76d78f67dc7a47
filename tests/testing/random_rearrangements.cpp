// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/random_rearrangements.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "ir/build.h"
#include "ir/scan.h"

namespace graphc::core::testing {
namespace {

using Ints = std::vector<int64_t>;

class Rearranging {
 public:
  explicit Rearranging(unsigned seed) : random_(seed) {}

  GraphPtr graph() {
    auto graph = std::make_unique<Graph>("rearranging");
    const Shape of_stream = any_shape(), of_carry = chance(2) ? of_stream : any_shape();
    const Value x = body_->input({DType::f32, of_stream}, "x");
    const Value carry = body_->input({DType::f32, of_carry}, "s");
    pool_ = {x, carry};
    for (int count = draw(4, 14); count > 0; --count) pool_.push_back(step());
    Values results{next_of(carry)};
    for (int count = draw(1, 2); count > 0; --count) results.push_back(pick());
    body_->set_results(results);

    const int64_t steps = draw(1, 3);
    ScanParts parts;
    parts.steps = steps;
    parts.reverse = chance(3);
    parts.streams = {graph->input({DType::f32, of_stream.insert(0, steps)}, "xs")};
    parts.initial = {graph->input({DType::f32, of_carry}, "s0")};
    for (const Type& type : matrices_) parts.captures.push_back(graph->input(type, "u"));
    parts.body = freeze(std::move(body_));
    const Node& loop = add_scan(*graph, std::move(parts));
    Values all;
    for (int i = 0; i < loop.results(); ++i) all.push_back(loop.result(i));
    graph->set_results(all);
    return freeze(std::move(graph));
  }

 private:
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int of) { return draw(0, of - 1) == 0; }
  /// Mostly one of the last values, so that steps are chains.
  Value pick() {
    const int last = int(pool_.size()) - 1;
    return pool_[size_t(chance(3) ? draw(0, last) : std::max(last - draw(0, 1), 0))];
  }
  int any_axis(Value x) { return draw(0, x.shape().rank() - 1); }

  Shape any_shape() {
    Ints extents;
    for (int rank = draw(1, 4); rank > 0; --rank) {
      constexpr int kExtents[] = {1, 2, 2, 3, 4, 6, 9};
      extents.push_back(kExtents[draw(0, chance(6) ? 6 : 5)]);
    }
    while (std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>()) > 96)
      extents.pop_back();
    return Shape(extents);
  }

  /// As many elements, in axes drawn anew.
  Shape other_shape(const Shape& shape) {
    Ints factors;
    for (int64_t left = shape.elements(), factor = 2; left > 1;) {
      if (left % factor != 0) {
        ++factor;
      } else {
        factors.push_back(factor);
        left /= factor;
      }
    }
    if (!chance(3)) std::ranges::shuffle(factors, random_);
    Ints extents;
    for (const int64_t factor : factors) {
      if (extents.empty() || (chance(2) && extents.size() < 4)) {
        extents.push_back(factor);
      } else {
        extents.back() *= factor;
      }
    }
    for (int units = chance(4) ? draw(1, 2) : 0; units > 0; --units)
      extents.insert(extents.begin() + draw(0, int(extents.size())), 1);
    return extents.empty() ? Shape{1} : Shape(extents);
  }

  Value step() {
    const Value x = pick();
    if (x.shape().rank() == 0) return reshape(x * 0.5, Shape{1});
    switch (draw(0, 11)) {
      case 0:
      case 1:
      case 2:
        return reshape(x, other_shape(x.shape()));
      case 3: {
        Ints order(size_t(x.shape().rank()));
        std::iota(order.begin(), order.end(), 0);
        std::ranges::shuffle(order, random_);
        return transpose(x, order);
      }
      case 4:
      case 5:
        return rejoined(x);
      case 6: {
        const int axis = any_axis(x);
        if (chance(2)) return of_split(x, axis);
        const int64_t extent = x.shape()[axis], start = draw(0, int(extent) - 1);
        return slice(x, axis, start, draw(int(start) + 1, int(extent)));
      }
      case 7:
        return beside(x);
      case 8: {
        const int axis = any_axis(x);
        return x - sum(x, Ints{axis}, true) * 0.125;
      }
      case 9:
        return chance(3)   ? apply1(ops::softmax, {x})
               : chance(2) ? mean(x, Ints{any_axis(x)}, chance(2))
                           : sum(x, Ints{any_axis(x)});
      case 10:
        return x.shape().rank() > 1 && x.shape()[-1] > 1 ? product(x) : tanh(x);
      default:
        return tanh(x) + x * 0.25;
    }
  }

  /// In pieces along an axis, some of them changed, which are joined: in their order, another one,
  /// or one of them twice.
  Value rejoined(Value x) {
    const int axis = any_axis(x);
    const int64_t extent = x.shape()[axis];
    for (const int64_t block : {2, 3}) {
      if (extent % block == 0 && extent > block && chance(2)) return blocks_of(x, axis, block);
    }
    Values pieces;
    const int64_t equal = extent % 2 == 0 && chance(2) ? extent / 2 : 1;
    for (int64_t start = 0; start < extent;) {
      const int64_t end =
          chance(2) ? std::min(start + equal, extent) : draw(int(start) + 1, int(extent));
      const Value piece = slice(x, axis, start, end);
      pieces.push_back(chance(2) ? tanh(piece) : piece);
      start = end;
    }
    if (chance(2)) std::ranges::shuffle(pieces, random_);
    if (chance(4) && extent < 9) pieces.push_back(pieces[0]);
    return pieces.size() == 1 ? pieces[0] : concat(pieces, axis);
  }

  /// Joined again of blocks, and of the single elements of others; possibly with an axis of blocks.
  Value blocks_of(Value x, int axis, int64_t block) {
    Values pieces;
    for (int64_t start = 0; start < x.shape()[axis]; start += block) {
      const int64_t extent = chance(2) ? block : 1;
      for (int64_t at = start; at < start + block; at += extent) {
        const Value piece = slice(x, axis, at, at + extent);
        pieces.push_back(chance(2) ? tanh(piece) : piece);
      }
    }
    const Value joined = concat(pieces, axis);
    if (x.shape().rank() > 3 || chance(3)) return joined;
    const int64_t blocks = x.shape()[axis] / block;
    return reshape(joined, joined.shape().with(axis, blocks).insert(axis + 1, block));
  }

  /// Of the results of a split, one, or what is made of two.
  Value of_split(Value x, int axis) {
    const int64_t extent = x.shape()[axis];
    const int64_t parts = extent % 3 == 0 ? 3 : extent % 2 == 0 ? 2 : extent;
    const Values all = split(x, int(parts), axis);
    return chance(3) ? all[0] : all.front() * 0.5 + sigmoid(all.back());
  }

  /// With another value of its shape, or with one element of an axis.
  Value beside(Value x) {
    for (const Value y : pool_) {
      if (y.shape() == x.shape() && !(y == x) && chance(2)) return x * 0.5 + tanh(y);
    }
    const int axis = any_axis(x);
    if (chance(3)) {
      const Value numbers = iota(*body_, x.shape(), axis, DType::f32);
      return select(greater(numbers, 0.5), x, numbers * 0.125);
    }
    const int64_t at = draw(0, int(x.shape()[axis]) - 1);
    return x + slice(x, axis, at, at + 1) * 0.5;
  }

  Value product(Value x) {
    const int64_t k = x.shape()[-1], n = chance(2) ? k : draw(1, 6);
    Ints extents{k, n};
    const bool turned = chance(3);
    if (turned) std::swap(extents[0], extents[1]);
    if (x.shape().rank() > 2 && chance(2))
      extents.insert(extents.begin(), x.shape().begin(), x.shape().end() - 2);
    matrices_.push_back({DType::f32, Shape(extents)});
    return matmul(x, body_->input(matrices_.back(), "w"), false, turned) * 0.25;
  }

  Value next_of(Value carry) {
    for (auto value = pool_.rbegin(); value != pool_.rend(); ++value) {
      if (value->shape().elements() == carry.shape().elements())
        return value->shape() == carry.shape() ? *value : reshape(*value, carry.shape());
    }
    return carry;
  }

  std::mt19937 random_;
  std::unique_ptr<Graph> body_ = std::make_unique<Graph>("step");
  Values pool_;
  std::vector<Type> matrices_;
};

}  // namespace

GraphPtr random_rearrangements(unsigned seed) { return Rearranging(seed).graph(); }

}  // namespace graphc::core::testing
