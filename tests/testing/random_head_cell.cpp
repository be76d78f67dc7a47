// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/random_head_cell.h"

#include <fmt/format.h>

#include <random>

#include "ir/build.h"
#include "tests/testing/random_cell.h"

namespace graphc::core::testing {
namespace {

class RandomHeadCell {
 public:
  explicit RandomHeadCell(unsigned seed) : random_(seed) {
    steps_ = draw(1, 5);
    batch_ = chance(5) ? 1 : draw(2, 20);
    heads_ = chance(4) ? 1 : draw(2, 5);
    units_ = chance(3) ? draw(15, 34) : draw(2, 8);
    gates_ = draw(1, 4);
    heads_first_ = chance(4);
    reverse_ = chance(3);
    if (chance(2)) mask_ = Mask(draw(1, 3));
  }

  CellLoop loop() {
    GraphPtr body = make_body();
    return {body, streams_, carries_, steps_, reverse_};
  }

 private:
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int of) { return draw(0, of - 1) == 0; }

  Shape rows() const { return heads_first_ ? Shape{heads_, batch_} : Shape{batch_, heads_}; }
  Type vector(int64_t width) const { return {DType::f32, rows().insert(2, width)}; }

  GraphPtr make_body() {
    auto body = std::make_unique<Graph>("cell");
    const Value x = body->input(vector(gates_ * units_), "k");
    const Shape of_mask = chance(2) ? Shape{batch_} : Shape{batch_, 1};
    Value mask, step, left;
    if (mask_ == Mask::stream) mask = body->input({DType::boolean, of_mask}, "mask");
    if (mask_ == Mask::lengths) step = body->input({DType::i32, {}}, "t");
    const bool has_plain = chance(3);
    Value plain;
    if (has_plain) plain = body->input({DType::f32, {batch_, units_}}, "z");
    streams_ = body->inputs().size();
    const bool has_number = chance(3), has_memory = chance(2);
    Values states{body->input(vector(units_), "h")};
    if (has_memory) states.push_back(body->input(vector(units_), "c"));
    if (has_number) states.push_back(body->input({DType::f32, rows()}, "m"));
    carries_ = states.size();
    Value plain_state;
    if (has_plain && chance(2)) {
      plain_state = body->input({DType::f32, {batch_, units_}}, "p");
      ++carries_;
    }
    if (mask_ == Mask::counted) {
      left = body->input({DType::f32, of_mask}, "left");
      ++carries_;
      mask = greater(left, -0.3);
    } else if (mask_ == Mask::lengths) {
      mask = less(step, body->input({DType::i32, of_mask}, "lengths"));
    }
    Value z = x + of_heads(*body, states[0], gates_ * units_, "u");
    if (has_memory && chance(2)) z = z + of_heads(*body, tanh(states[1]), gates_ * units_, "v");
    if (chance(3)) {
      const Type one{DType::f32, {units_, gates_ * units_}};
      z = z + matmul(states[0], body->input(one, "w")) * 0.5;
    }
    const Values gates = gates_ == 1 ? Values{z} : split(z, int(gates_), 2);
    Value next = tanh(gates[0]);
    for (size_t i = 1; i < gates.size(); ++i) next = next * sigmoid(gates[i]) + states[0] * 0.25;
    Values results;
    if (chance(3)) next = next - sum(next, std::vector<int64_t>{2}, true) * (0.5 / double(units_));
    if (has_memory) next = next + states[1] * 0.3;
    if (plain) {
      plain = of_batch(plain, plain_state, mask);
      next =
          next +
          reshape(plain, heads_first_ ? Shape{1, batch_, units_} : Shape{batch_, 1, units_}) * 0.3;
    }
    results.push_back(held(next, states[0], mask));
    if (has_memory)
      results.push_back(held(sigmoid(gates.back()) * states[1] + next, states[1], mask));
    if (has_number) {
      const Value most = max(next, std::vector<int64_t>{2}) * 0.5 + states.back() * 0.5;
      results.push_back(held(most, states.back(), mask));
    }
    if (plain_state) results.push_back(plain);
    if (left) results.push_back(left - 0.25);
    results.push_back(has_number ? next * reshape(states.back(), rows().insert(2, 1)) : next);
    body->set_results(results);
    return freeze(std::move(body));
  }

  Value held(Value next, Value state, Value mask) const {
    if (!mask) return next;
    std::vector<int64_t> extents(size_t(state.shape().rank()), 1);
    extents[heads_first_ ? 1 : 0] = batch_;
    return select(reshape(mask, Shape(extents)), next, state);
  }

  /// What a plain layer beside that with heads computes.
  Value of_batch(Value z, Value state, Value mask) {
    const auto held_by_row = [&](Value a, Value b) {
      return mask ? select(reshape(mask, {batch_, 1}), a, b) : a;
    };
    if (state) return held_by_row(tanh(z + state * 0.5), state);
    const Value total = sum(z, std::vector<int64_t>{1}, true) * (1 / double(units_));
    return chance(2) ? held_by_row(z, z * 0.5) : z + held_by_row(total, total * 0.25);
  }

  /// h times one matrix a head, which a training graph has as an input.
  Value of_heads(Graph& body, Value h, int64_t width, const char* name) {
    if (heads_ == 1) {
      const Value u = body.input({DType::f32, {units_, width}}, name);
      const Value product = matmul(reshape(h, {batch_, units_}), u);
      return reshape(product, rows().insert(2, width));
    }
    const Value u = body.input({DType::f32, {heads_, units_, width}}, name);
    if (heads_first_) return matmul(h, u);
    return transpose(matmul(transpose(h, {1, 0, 2}), u), {1, 0, 2});
  }

  std::mt19937 random_;
  int64_t steps_ = 0, batch_ = 0, heads_ = 0, units_ = 0, gates_ = 0;
  size_t streams_ = 0, carries_ = 0;
  bool heads_first_ = false, reverse_ = false;
  /// What holds states: nothing, a stream, lengths, or what is left of a carried number.
  enum class Mask : uint8_t { none, stream, lengths, counted } mask_ = Mask::none;
};

}  // namespace

GraphPtr random_head_cell(unsigned seed) { return training_graph(RandomHeadCell(seed).loop()); }

}  // namespace graphc::core::testing
