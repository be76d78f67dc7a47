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
    if (chance(2)) mask_kind_ = Mask(draw(1, 3));
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
    add_inputs(*body);
    const Value h = states_[0], c = has_memory_ ? states_[1] : Value{};
    const Values gates = add_gates(*body);
    const Value index = token_ ? cast(token_, DType::i32) : Value{};
    const Value hot = token_ ? apply1(ops::one_hot, {index}, {{"depth", units_}}) : Value{};
    Value next = tanh(token_ ? gates[0] + cast(hot, DType::f32) * 0.5 : gates[0]);
    for (size_t i = 1; i < gates.size(); ++i) next = next * sigmoid(gates[i]) + h * 0.25;
    if (chance(3)) next = next - sum(next, std::vector<int64_t>{2}, true) * (0.5 / double(units_));
    if (has_memory_) next = next + c * 0.3;
    Value plain;
    if (plain_) {
      plain = of_batch();
      const Shape shape{heads_first_ ? 1 : batch_, heads_first_ ? batch_ : 1, units_};
      next = next + reshape(plain, shape) * 0.3;
    }
    Values results{held(next, h)};
    if (has_memory_) results.push_back(held(sigmoid(gates.back()) * c + next, c));
    if (has_number_) {
      const Value number = states_.back();
      const Value most = max(next, std::vector<int64_t>{2}) * 0.5 + number * 0.5;
      results.push_back(held(most, number));
      next = next * reshape(number, rows().insert(2, 1));
    }
    if (token_) results.push_back(held(chosen(hot), token_));
    if (plain_state_) results.push_back(plain);
    if (left_) results.push_back(left_ - 0.25);
    results.push_back(next);
    body->set_results(results);
    return freeze(std::move(body));
  }

  void add_inputs(Graph& body) {
    x_ = body.input(vector(gates_ * units_), "k");
    const Shape of_mask = chance(2) ? Shape{batch_} : Shape{batch_, 1};
    if (mask_kind_ == Mask::stream) mask_ = body.input({DType::boolean, of_mask}, "mask");
    if (mask_kind_ == Mask::lengths) step_ = body.input({DType::i32, {}}, "t");
    const bool has_plain = chance(3);
    if (has_plain) plain_ = body.input({DType::f32, {batch_, units_}}, "z");
    streams_ = body.inputs().size();
    has_number_ = chance(3);
    has_memory_ = chance(2);
    states_ = {body.input(vector(units_), "h")};
    if (has_memory_) states_.push_back(body.input(vector(units_), "c"));
    if (has_number_) states_.push_back(body.input({DType::f32, rows()}, "m"));
    if (chance(2)) token_ = body.input({DType::f32, rows()}, "token");
    if (has_plain && chance(2)) plain_state_ = body.input({DType::f32, {batch_, units_}}, "p");
    if (mask_kind_ == Mask::counted) {
      left_ = body.input({DType::f32, of_mask}, "left");
      mask_ = greater(left_, -0.3);
    }
    carries_ = body.inputs().size() - streams_;
    if (mask_kind_ == Mask::lengths)
      mask_ = less(step_, body.input({DType::i32, of_mask}, "lengths"));
  }

  Values add_gates(Graph& body) {
    Value z = x_ + of_heads(body, states_[0], gates_ * units_, "u");
    if (has_memory_ && chance(2)) z = z + of_heads(body, tanh(states_[1]), gates_ * units_, "v");
    if (chance(3)) {
      const Type one{DType::f32, {units_, gates_ * units_}};
      z = z + matmul(states_[0], body.input(one, "w")) * 0.5;
    }
    return gates_ == 1 ? Values{z} : split(z, int(gates_), 2);
  }

  /// The index of an element other than the last one chosen: of the largest, or a draw.
  Value chosen(Value last) {
    const Value others = select(last, -9, slice(x_, 2, 0, units_));
    if (!step_ || chance(2)) return cast(argmax(others, 2), DType::f32);
    const Value key = cast(step_, DType::i64);
    return cast(apply1(ops::categorical, {key, others * 4}), DType::f32);
  }

  Value held(Value next, Value state) const {
    if (!mask_) return next;
    std::vector<int64_t> extents(size_t(state.shape().rank()), 1);
    extents[heads_first_ ? 1 : 0] = batch_;
    return select(reshape(mask_, Shape(extents)), next, state);
  }

  /// What a plain layer beside that with heads computes.
  Value of_batch() {
    const auto held_by_row = [&](Value a, Value b) {
      return mask_ ? select(reshape(mask_, {batch_, 1}), a, b) : a;
    };
    if (plain_state_) return held_by_row(tanh(plain_ + plain_state_ * 0.5), plain_state_);
    const Value total = sum(plain_, std::vector<int64_t>{1}, true) * (1 / double(units_));
    return chance(2) ? held_by_row(plain_, plain_ * 0.5)
                     : plain_ + held_by_row(total, total * 0.25);
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
  bool heads_first_ = false, reverse_ = false, has_number_ = false, has_memory_ = false;
  /// What holds states: nothing, a stream, lengths, or what is left of a carried number.
  enum class Mask : uint8_t { none, stream, lengths, counted } mask_kind_ = Mask::none;
  Value x_, mask_, step_, left_, plain_, plain_state_, token_;
  Values states_;
};

}  // namespace

GraphPtr random_head_cell(unsigned seed) { return training_graph(RandomHeadCell(seed).loop()); }

}  // namespace graphc::core::testing
