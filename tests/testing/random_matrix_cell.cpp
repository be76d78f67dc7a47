// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/random_matrix_cell.h"

#include <fmt/format.h>

#include <random>

#include "ir/build.h"
#include "tests/testing/random_cell.h"

namespace graphc::core::testing {
namespace {

using Ints = std::vector<int64_t>;

/// How a mask of the rows is given.
enum class RowMask { none, boolean, column, number, lengths, capture, count };

Value matrix_column(Value x) { return reshape(x, x.shape().insert(x.shape().rank(), 1)); }
Value matrix_row(Value x) { return reshape(x, x.shape().insert(x.shape().rank() - 1, 1)); }

class RandomMatrixCell {
 public:
  explicit RandomMatrixCell(unsigned seed) : random_(seed), words_(seed + 1) {
    steps_ = draw(1, 5);
    batch_ = draw(1, 4);
    rows_ = {batch_};
    if (draw(0, 1) == 1) rows_.push_back(draw(1, 3));
    // Of some cells about a vector, or two.
    const bool wide = chance(3);
    keys_ = wide ? draw(14, 35) : draw(1, 7);
    values_ = wide ? draw(14, 35) : draw(1, 6);
    reverse_ = draw(0, 3) == 0;
    // Every way occurs among consecutive seeds.
    mask_ = RowMask(seed % unsigned(RowMask::count));
  }

  CellLoop loop() {
    GraphPtr body = make_body();
    return {body, streams_, carries_, steps_, reverse_};
  }

 private:
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int of) { return draw(0, of - 1) == 0; }

  Shape shape(Ints more = {}) const {
    Ints all = rows_;
    all.insert(all.end(), more.begin(), more.end());
    return Shape(all);
  }

  // --- products with a vector, in the words that people have for them

  /// One of three.
  int word() { return std::uniform_int_distribution<int>(0, 2)(words_); }

  static Value turned(Value s) { return transpose(s, s.shape().rank() - 2, s.shape().rank() - 1); }
  /// A product of one row or one column, without its axis.
  static Value only(Value product, int axis) {
    return reshape(product, product.shape().without(product.shape().rank() + axis));
  }

  /// s' k.
  Value read_by_keys(Value s, Value k) {
    switch (word()) {
      case 0:
        return sum(s * matrix_column(k), Ints{s.shape().rank() - 2});
      case 1:
        return only(matmul(matrix_row(k), s), -2);
      default:
        return only(matmul(turned(s), matrix_column(k)), -1);
    }
  }

  /// s' k, where k may be one of a group that reads s by one product.
  Value query_of_group(Value s, Value k) {
    if (word() > 0) return read_by_keys(s, k);
    const int rank = s.shape().rank();
    const Value all = matmul(concat({matrix_row(tanh(k)), matrix_row(k)}, rank - 2), s);
    return only(slice(all, rank - 2, 0, 1) * 0.1 + slice(all, rank - 2, 1, 2), -2);
  }

  /// s v.
  Value read_by_values(Value s, Value v) {
    switch (word()) {
      case 0:
        return sum(s * matrix_row(v), Ints{s.shape().rank() - 1});
      case 1:
        return only(matmul(s, matrix_column(v)), -1);
      default:
        return only(matmul(matrix_row(v), turned(s)), -2);
    }
  }

  /// k u'.
  Value outer(Value k, Value u) {
    switch (word()) {
      case 0:
        return matrix_column(k) * matrix_row(u);
      case 1:
        return matmul(matrix_column(k), matrix_row(u));
      default:
        return turned(matmul(matrix_column(u), matrix_row(k)));
    }
  }

  Value bounded(Value x) { return chance(2) ? tanh(x) : x * 0.5; }

  /// What the matrix is multiplied by in a step: a number, along an axis, or each element.
  Value decay(Value s, Value k, Value v, Value g) {
    switch (draw(0, 4)) {
      case 0:
        return matrix_column(matrix_column(exp(neg(softplus(g)))));
      case 1:
        return matrix_column(sigmoid(k));
      case 2:
        return matrix_row(exp(neg(square(v))));
      case 3:
        return exp(neg(matrix_column(matrix_column(softplus(g))) * square(matrix_column(k))));
      default:
        return sigmoid(s * 0.3);
    }
  }

  /// The mask of a state of this rank, and whether it is a boolean.
  Value mask_for(Value s) {
    Value mask = given_;
    if (mask_ == RowMask::lengths) mask = less(index_, given_);
    Ints extents(size_t(s.shape().rank()), 1);
    extents[0] = batch_;
    return reshape(mask, Shape(extents));
  }

  Value held(Value next, Value s) {
    if (mask_ == RowMask::none) return next;
    const Value mask = mask_for(s);
    if (mask_ == RowMask::number) return mask * next + (1.0 - mask) * s;
    return select(mask, next, s);
  }

  GraphPtr make_body() {
    auto body = std::make_unique<Graph>("cell");
    const auto input = [&](const Shape& shape, const char* name, DType dtype = DType::f32) {
      return body->input({dtype, shape}, name);
    };
    // Keys of each head, of all heads side by side, or shared by them.
    const int form = rows_.size() > 1 ? draw(0, 3) : 0;
    const Shape shared{batch_, keys_};
    const Value k_given = input(form == 1 ? joined() : form == 2 ? shared : shape({keys_}), "k");
    const Value q = input(shape({keys_}), "q");
    const Value v = input(shape({values_}), "v"), g = input(shape(), "g");
    add_of_heads(*body);
    if (mask_ == RowMask::boolean) given_ = input({batch_}, "mask", DType::boolean);
    if (mask_ == RowMask::column) given_ = input({batch_, 1}, "mask", DType::boolean);
    if (mask_ == RowMask::number) given_ = input({batch_}, "mask");
    if (mask_ == RowMask::lengths) index_ = input({}, "t", DType::i32);
    streams_ = body->inputs().size();
    Values states{input(shape({keys_, values_}), "s")};
    const bool has_vector = chance(2), has_number = chance(3);
    if (has_vector) states.push_back(input(shape({values_}), "h"));
    if (has_number) states.push_back(input(shape(), "m"));
    carries_ = states.size();
    if (mask_ == RowMask::lengths) given_ = input({batch_}, "lengths", DType::i32);
    if (mask_ == RowMask::capture) given_ = input({batch_}, "mask", DType::boolean);

    const Value s = states[0];
    Value k = form == 1 ? divided(k_given, *body) : k_given;
    if (form == 2) k = reshape(k, {batch_, 1, keys_}) * matrix_column(sigmoid(g));
    Value read = read_by_keys(s, k);
    if (has_vector) read = read + product(*body, states[1]);
    const Value u = bounded(v - read);
    Value gate = g;
    if (has_number) gate = maximum(g, states.back() * 0.5);
    Value next = decay(s, k, v, gate) * s + outer(k * matrix_column(sigmoid(gate)), u);
    if (chance(3)) next = next - outer(read_by_values(s, v) * 0.1, bounded(v));
    if (of_heads_) next = next * sigmoid(of_heads_);
    if (chance(5)) next = next + sigmoid(next * learned(*body)) * 0.2;
    const Value out = query_of_group(next, q);
    Values results{held(next, s)};
    if (has_vector) results.push_back(held(tanh(out + states[1] * 0.2), states[1]));
    if (has_number) results.push_back(held(gate, states.back()));
    results.push_back(chance(3) ? bounded(out) * row_number(gate) : out);
    body->set_results(results);
    return freeze(std::move(body));
  }

  /// Sometimes a stream that has heads but no batch: a number or a vector of each, also side by
  /// side, in the shape that the matrix is multiplied with.
  void add_of_heads(Graph& body) {
    const int form = rows_.size() > 1 ? draw(0, 4) : 0;
    if (form == 0 || form > 3) return;
    const int64_t heads = rows_[1];
    const Shape shape = form == 1   ? Shape{heads}
                        : form == 2 ? Shape{heads, values_}
                                    : Shape{heads * values_};
    const Value stream = body.input({DType::f32, shape}, "d");
    of_heads_ = reshape(stream, {heads, 1, form == 1 ? 1 : values_});
  }

  /// Keys of all heads side by side.
  Shape joined() const { return {batch_, rows_[1] * keys_}; }

  /// These times a parameter, by head.
  Value divided(Value k, Graph& body) {
    const Value parameter = body.input({DType::f32, {k.shape()[1]}}, "r");
    return reshape(chance(2) ? k * parameter : tanh(k) + parameter, shape({keys_}));
  }

  /// A parameter of all rows or of each head: of an element, a row or a column of the matrix, or of
  /// all of it. Its derivative is a sum over rows.
  Value learned(Graph& body) {
    Ints extents(rows_.size() - 1);
    for (size_t axis = 0; axis < extents.size(); ++axis)
      extents[axis] = chance(2) ? 1 : rows_[axis + 1];
    extents.push_back(chance(2) ? 1 : keys_);
    extents.push_back(chance(2) ? 1 : values_);
    return body.input({DType::f32, Shape(extents)}, "p");
  }

  /// A number a row, for its vectors.
  static Value row_number(Value x) { return matrix_column(sigmoid(x)); }

  /// h times a matrix: one for all rows, or one a head.
  Value product(Graph& body, Value h) {
    if (rows_.size() == 1) return matmul(h, body.input({DType::f32, {values_, values_}}, "u"));
    const Value u = body.input({DType::f32, {rows_[1], values_, values_}}, "u");
    return transpose(matmul(transpose(h, {1, 0, 2}), u), {1, 0, 2});
  }

  std::mt19937 random_, words_;
  int64_t steps_ = 0, batch_ = 0, keys_ = 0, values_ = 0;
  Ints rows_;
  size_t streams_ = 0, carries_ = 0;
  bool reverse_ = false;
  RowMask mask_ = RowMask::none;
  Value given_, index_, of_heads_;
};

}  // namespace

GraphPtr random_matrix_cell(unsigned seed) { return training_graph(RandomMatrixCell(seed).loop()); }

}  // namespace graphc::core::testing
