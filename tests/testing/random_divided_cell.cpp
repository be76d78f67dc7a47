// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/random_divided_cell.h"

#include <algorithm>
#include <random>

#include "ir/build.h"
#include "tests/testing/random_cell.h"

namespace graphc::core::testing {
namespace {

using Ints = std::vector<int64_t>;

/// What an axis behind the batch counts.
enum class Count : uint8_t { gates, heads, units };

/// The order of axes behind the batch, and which of them are one.
struct Layout {
  std::vector<Count> order;
  std::vector<bool> joins;  ///< whether an axis is one with the axis behind it
};

class RandomDividedCell {
 public:
  explicit RandomDividedCell(unsigned seed) : random_(seed) {
    steps_ = draw(1, 4);
    batch_ = chance(5) ? 1 : draw(2, 5);
    heads_ = chance(6) ? 1 : draw(2, 4);
    units_ = chance(6) ? 1 : chance(3) ? draw(9, 20) : draw(2, 6);
    gates_ = chance(8) ? 9 : draw(1, 4);
    multiplies_all_ = chance(6);
    has_product_ = !chance(4);
    takes_some_ = chance(8);
    joins_stream_ = chance(5);
    reverse_ = chance(4);
  }

  bool is_divisible() const {
    return has_product_ && !takes_some_ && !joins_stream_ && units_ > 1 && gates_ <= 8 &&
           (heads_ == 1 || !multiplies_all_);
  }

  bool is_whole() const {
    return has_product_ && multiplies_all_ && heads_ > 1 && units_ > 1 && batch_ > 1;
  }

  CellLoop loop() {
    GraphPtr body = make_body();
    return {body, streams_, carries_, steps_, reverse_};
  }

 private:
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int of) { return draw(0, of - 1) == 0; }

  int64_t extent(Count count) const {
    return count == Count::gates ? gates_ : count == Count::heads ? heads_ : units_;
  }

  // --- layouts

  Layout any_layout() {
    Layout layout{{Count::gates, Count::heads, Count::units}, {}};
    std::ranges::shuffle(layout.order, random_);
    for (int i = 0; i < 2; ++i) layout.joins.push_back(chance(2));
    return layout;
  }

  Shape shape_of(const Layout& layout) const {
    Ints extents{extent(layout.order[0])};
    for (size_t i = 1; i < layout.order.size(); ++i) {
      if (layout.joins[i - 1]) {
        extents.back() *= extent(layout.order[i]);
      } else {
        extents.push_back(extent(layout.order[i]));
      }
    }
    return Shape(extents);
  }

  /// With all axes behind the first `kept` in another layout.
  Value moved(Value x, const Layout& from, const Layout& to, int kept) const {
    Ints apart, order, extents;
    for (int axis = 0; axis < kept; ++axis) {
      order.push_back(axis);
      apart.push_back(x.shape()[axis]);
      extents.push_back(x.shape()[axis]);
    }
    for (const Count count : from.order) apart.push_back(extent(count));
    for (const Count count : to.order)
      order.push_back(kept + (std::ranges::find(from.order, count) - from.order.begin()));
    const Shape shape = shape_of(to);
    extents.insert(extents.end(), shape.begin(), shape.end());
    Value y = x.shape() == Shape(apart) ? x : reshape(x, Shape(apart));
    if (!std::ranges::is_sorted(order)) y = transpose(y, order);
    return y.shape() == Shape(extents) ? y : reshape(y, Shape(extents));
  }

  // --- states

  enum class Form : uint8_t { vectors, heads, rows };
  Shape state_shape() const {
    if (form_ == Form::vectors) return {batch_, heads_ * units_};
    if (form_ == Form::heads) return {batch_, heads_, units_};
    return {batch_ * heads_, units_};
  }
  Value as_heads(Value x) const { return reshape(x, {batch_, heads_, units_}); }
  Value as_state(Value x) const { return reshape(x, state_shape()); }

  GraphPtr make_body() {
    auto body = std::make_unique<Graph>("cell");
    const auto input = [&](const Shape& shape, const char* name) {
      return body->input({DType::f32, shape}, name);
    };
    form_ = Form(draw(0, 2));
    const Layout given = any_layout(), common = any_layout();
    const Value x = stream_of(*body, shape_of(given).insert(0, batch_));
    Value number, mask;
    if (chance(3)) number = input({batch_, heads_}, "g");
    if (form_ != Form::rows && chance(3)) mask = body->input({DType::boolean, {batch_}}, "mask");
    streams_ = body->inputs().size();
    const bool has_memory = chance(2);
    // Both states may be one carry, side by side along an axis of its own.
    const int stacked = has_memory && chance(2) ? draw(0, state_shape().rank()) : -1;
    Value pair = stacked < 0 ? Value{} : input(state_shape().insert(stacked, 2), "s");
    const Value h = pair ? at(pair, 0, stacked) : input(state_shape(), "h");
    const Value c = pair ? at(pair, 1, stacked) : has_memory ? input(state_shape(), "c") : Value{};
    carries_ = body->inputs().size() - streams_;

    Value z = moved(x, given, common, 1);
    if (has_product_) z = z + product(*body, h, common);
    if (chance(2)) z = z + input(shape_of(common), "b");
    const Values gates = taken_apart(z, common);
    Value next = tanh(gates[0]) + h * 0.25;
    for (size_t i = 1; i < gates.size(); ++i) next = next * sigmoid(gates[i]) + h * 0.125;
    if (multiplies_all_) {
      const int64_t all = heads_ * units_;
      next = next + as_state(matmul(reshape(h, {batch_, all}), input({all, all}, "w"))) * 0.2;
    }
    if (chance(2)) next = of_each_head(next);
    if (number) next = as_state(as_heads(next) * reshape(sigmoid(number), {batch_, heads_, 1}));
    if (has_memory) next = next + c * 0.3;
    if (takes_some_) next = next + of_some_elements(h);
    if (mask) {
      Ints extents(size_t(next.shape().rank()), 1);
      extents[0] = batch_;
      next = select(reshape(mask, Shape(extents)), next, h);
    }
    Values results{next};
    if (has_memory) results.push_back(sigmoid(gates.back()) * c + next * 0.5);
    if (pair) {
      const Shape one = state_shape().insert(stacked, 1);
      pair = concat({reshape(results[0], one), reshape(results[1], one)}, stacked);
      results = {pair};
    }
    results.push_back(pair && chance(2) ? pair : chance(2) ? as_heads(next) : next);
    body->set_results(results);
    return freeze(std::move(body));
  }

  /// A stream, possibly joined of two that are not alike.
  Value stream_of(Graph& body, const Shape& shape) {
    const int64_t all = shape[1], first = joins_stream_ && all > 2 ? draw(1, int(all) - 1) : all;
    const auto part = [&](int64_t extent, const char* name) {
      return body.input({DType::f32, shape.with(1, extent)}, name);
    };
    const Value x = part(first, "k");
    return first == all ? x : concat({x, part(all - first, "l")}, 1);
  }

  /// A number of a row, of single elements of a piece of its columns.
  Value of_some_elements(Value h) {
    const int last = h.shape().rank() - 1;
    const auto most = int(std::min<int64_t>(h.shape()[last] - 1, 8));
    if (most < 2) return h * 0.1;
    const int count = draw(2, most);
    const Values elements = split(slice(h, last, 0, count), count, last);
    return elements[0] * elements.back() * 0.1;
  }

  /// h times one matrix a head, or one for all.
  Value product(Graph& body, Value h, const Layout& wanted) {
    const bool gates_first = chance(2);
    const Layout made{gates_first ? std::vector{Count::heads, Count::gates, Count::units}
                                  : std::vector{Count::heads, Count::units, Count::gates},
                      {false, true}};
    const int64_t width = gates_ * units_;
    const auto matrix = [&](const Shape& shape) { return body.input({DType::f32, shape}, "u"); };
    Value y;
    if (chance(3)) {
      y = matmul(reshape(h, {batch_ * heads_, units_}), matrix({units_, width}));
    } else {
      const Value of_heads = transpose(as_heads(h), {1, 0, 2});
      y = transpose(matmul(of_heads, matrix({heads_, units_, width})), {1, 0, 2});
    }
    return moved(reshape(y, {batch_, heads_, width}), made, wanted, 1);
  }

  Values taken_apart(Value z, const Layout& layout) {
    Layout apart = layout;
    apart.joins.assign(2, false);
    // Where gates come first, their slices are vectors of all heads.
    const bool side_by_side = layout.order[0] == Count::gates && chance(2);
    if (side_by_side) apart.joins = {true, true};
    const Value all = moved(z, layout, apart, 1);
    const auto axis = 1 + int(std::ranges::find(apart.order, Count::gates) - apart.order.begin());
    Values gates;
    if (gates_ > 1 && chance(2)) {
      gates = split(all, int(gates_), axis);
    } else {
      const int64_t one = all.shape()[axis] / gates_;
      for (int64_t i = 0; i < gates_; ++i)
        gates.push_back(slice(all, axis, i * one, (i + 1) * one));
    }
    for (Value& gate : gates) {
      const auto of = [&](Count count) { return std::ranges::find(apart.order, count); };
      if (of(Count::units) < of(Count::heads))
        gate = transpose(reshape(gate, {batch_, units_, heads_}), {0, 2, 1});
      gate = as_state(gate);
    }
    return gates;
  }

  Value of_each_head(Value x) {
    const Value heads = as_heads(x);
    const Ints last{2};
    switch (units_ == 1 ? 0 : draw(0, 2)) {  // of one element the others are constants
      case 0:
        return as_state(heads * rsqrt(sum(square(heads), last, true) + 0.5));
      case 1:
        return as_state(heads - mean(heads, last, true));
      default:
        return as_state(apply1(ops::softmax, {heads}) * 2);
    }
  }

  std::mt19937 random_;
  int64_t steps_ = 0, batch_ = 0, heads_ = 0, units_ = 0, gates_ = 0;
  size_t streams_ = 0, carries_ = 0;
  bool multiplies_all_ = false, has_product_ = false, takes_some_ = false, joins_stream_ = false,
       reverse_ = false;
  Form form_ = Form::vectors;
};

}  // namespace

GraphPtr random_divided_cell(unsigned seed) {
  return training_graph(RandomDividedCell(seed).loop());
}

bool is_surely_divisible(unsigned seed) { return RandomDividedCell(seed).is_divisible(); }
bool is_surely_whole(unsigned seed) { return RandomDividedCell(seed).is_whole(); }

}  // namespace graphc::core::testing
