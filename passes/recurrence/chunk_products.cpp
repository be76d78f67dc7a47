// SPDX-License-Identifier: Apache-2.0
#include "passes/recurrence/chunk_products.h"

#include <memory>
#include <numeric>
#include <vector>

#include "ir/build.h"
#include "ir/scan.h"

namespace graphc::core {
namespace {

/// Blocks of a triangular matrix this large are inverted by powers.
constexpr int64_t kBlock = 16;

/// Moves an axis to the front.
Value axis_first(Value x, int axis) {
  std::vector<int64_t> order{axis};
  for (int i = 0; i < x.shape().rank(); ++i) {
    if (i != axis) order.push_back(i);
  }
  return transpose(x, order);
}

/// Moves the first axis to a place.
Value first_to(Value x, int axis) {
  std::vector<int64_t> order(size_t(x.shape().rank()) - 1);
  std::iota(order.begin(), order.end(), 1);
  order.insert(order.begin() + axis, 0);
  return transpose(x, order);
}

/// 1 where column j of row i is before it, j < i, else 0: [length, length].
Value lower_triangle(Graph& graph, int64_t length, DType dtype) {
  const Value row = iota(graph, {length, 1}, 0), column = iota(graph, {1, length}, 1);
  return cast(less(column, row), dtype);
}

/// What the loop over a chunk's steps leaves of decays that are one number.
struct DecaysOfNumbers {
  Value between;  ///< d_(j+1) ... d_(i-1) for j < i, else 0: [..., i, j]
  Value before;   ///< d_0 ... d_(i-1): [..., i, 1]
  Value after;    ///< d_(i+1) ... d_(length-1): [..., i, 1]
  Value all;      ///< [..., 1, 1]
};

/// One step: row i of `between` and `before` as they are before it, then both times d_i, and a one
/// for the step itself.
DecaysOfNumbers decays_of_numbers(Value decay) {
  const Shape& shape = decay.shape();  // [chunks, rows, length, 1]
  const int64_t length = shape[2];
  Graph& to = *decay.node->graph;
  const Type row{decay.dtype(), {shape[0], shape[1], length}};
  const Type number{decay.dtype(), {shape[0], shape[1], 1}};
  auto body = std::make_unique<Graph>("decays");
  const Value d = body->input(number, "decay");
  const Value step = body->input({DType::i32, {}}, "step");
  const Value between = body->input(row, "between"), before = body->input(number, "before");
  const Value own = cast(equal(iota(*body, {length}), step), decay.dtype());
  body->set_results({between * d + own, before * d, between, before});
  const Node& loop = add_scan(to, {.streams = {axis_first(decay, 2), iota(to, {length})},
                                   .initial = {splat(to, 0, row), splat(to, 1, number)},
                                   .captures = {},
                                   .body = freeze(std::move(body)),
                                   .steps = length});
  const Scan scan(loop);
  return {.between = first_to(scan.emitted(0), 2),
          .before = first_to(scan.emitted(1), 2),
          .after = reshape(scan.final(0), {shape[0], shape[1], length, 1}),
          .all = reshape(scan.final(1), {shape[0], shape[1], 1, 1})};
}

DecaysOfNumbers no_decay(Value like) {
  Graph& to = *like.node->graph;
  const Value one = splat(to, 1, {like.dtype(), {1, 1, 1, 1}});
  return {lower_triangle(to, like.shape()[2], like.dtype()), one, one, one};
}

ChunkProducts products_of_numbers(const DecaysOfNumbers& decays, const Values& reads,
                                  const Values& writes) {
  ChunkProducts products;
  for (Value y : reads) {
    Values& weights = products.weights.emplace_back();
    for (Value x : writes) weights.push_back(matmul(y, x, false, true) * decays.between);
    products.reads.push_back(y * decays.before);
  }
  for (Value x : writes) products.writes.push_back(x * decays.after);
  products.decay = decays.all;
  return products;
}

/// The loop over a chunk's steps carries what is left of every write, [length, keys] in every row,
/// and of the matrix that the chunk starts from, [keys].
ChunkProducts products_of_keys(Value decay, const Values& reads, const Values& writes) {
  const Shape& shape = decay.shape();  // [chunks, rows, length, keys]
  const int64_t length = shape[2];
  Graph& to = *decay.node->graph;
  const Shape row{shape[0], shape[1], shape[3]};
  const Shape matrix{shape[0], shape[1], length, shape[3]};
  const Type of_row{decay.dtype(), row}, of_matrix{decay.dtype(), matrix};
  const auto as_row = [&](Value x) { return reshape(x, {shape[0], shape[1], 1, shape[3]}); };
  auto body = std::make_unique<Graph>("decays");
  ScanParts parts{.streams = {axis_first(decay, 2)}, .initial = {}, .captures = {}};
  const Value d = as_row(body->input(of_row, "decay"));
  Values x, y, left, next, emits;
  for (Value write : writes) {
    parts.streams.push_back(axis_first(write, 2));
    x.push_back(as_row(body->input(of_row, "write")));
  }
  for (Value read : reads) {
    parts.streams.push_back(axis_first(read, 2));
    y.push_back(as_row(body->input(of_row, "read")));
  }
  parts.streams.push_back(iota(to, {length}));
  const Value step = body->input({DType::i32, {}}, "step");
  const Value own = cast(equal(iota(*body, {length, 1}), step), decay.dtype());
  for (size_t n = 0; n < writes.size(); ++n) {
    left.push_back(body->input(of_matrix, "left"));
    parts.initial.push_back(splat(to, 0, of_matrix));
    next.push_back(left[n] * d + own * x[n]);
  }
  const Value before = body->input(of_row, "before");
  parts.initial.push_back(splat(to, 1, of_row));
  next.push_back(before * reshape(d, row));
  for (Value read : y) {
    for (Value write : left) emits.push_back(sum(write * read, 3));
  }
  emits.push_back(before);
  next.insert(next.end(), emits.begin(), emits.end());
  body->set_results(next);
  parts.body = freeze(std::move(body));
  parts.steps = length;
  const Scan scan(add_scan(to, std::move(parts)));
  ChunkProducts products;
  for (size_t m = 0; m < reads.size(); ++m) {
    Values& weights = products.weights.emplace_back();
    for (size_t n = 0; n < writes.size(); ++n)
      weights.push_back(first_to(scan.emitted(m * writes.size() + n), 2));
    products.reads.push_back(reads[m] * first_to(scan.emitted(reads.size() * writes.size()), 2));
  }
  for (size_t n = 0; n < writes.size(); ++n) products.writes.push_back(scan.final(n));
  products.decay = reshape(scan.final(writes.size()), {shape[0], shape[1], shape[3], 1});
  return products;
}

/// I + l + l^2 + ... + l^(n-1) by squaring.
Value inverse_by_powers(Value l) {
  const int64_t n = l.shape()[-1];
  Graph& to = *l.node->graph;
  const Value one = cast(equal(iota(to, {n, 1}, 0), iota(to, {1, n}, 1)), l.dtype());
  Value sum = l + one, power = l;
  for (int64_t known = 2; known < n; known *= 2) {
    power = matmul(power, power);
    sum = sum + matmul(power, sum);
  }
  return sum;
}

}  // namespace

Value Chunks::of_steps(Value coefficient, int64_t width, double filler) const {
  const bool same_in_all = coefficient.shape()[0] == 1;
  const int64_t missing = count() * length - steps;
  Value x = broadcast_to(coefficient, {same_in_all ? steps + missing : steps, rows, width});
  if (same_in_all && missing > 0) {
    const Value step = iota(*x.node->graph, {steps + missing, 1, 1});
    x = select(less(step, steps), x, filler);
  } else {
    if (reverse && !same_in_all) x = core::reverse(x, {0});
    if (missing > 0) x = pad(x, {0, 0, 0}, {missing, 0, 0}, filler);
  }
  return transpose(reshape(x, {count(), length, rows, width}), {0, 2, 1, 3});
}

Value Chunks::to_steps(Value chunks) const {
  const int64_t width = chunks.shape()[3];
  Value x = reshape(transpose(chunks, {0, 2, 1, 3}), {count() * length, rows, width});
  if (count() * length > steps) x = slice(x, 0, 0, steps);
  return reverse ? core::reverse(x, {0}) : x;
}

ChunkProducts chunk_products(Value decay, const Values& reads, const Values& writes) {
  if (!decay) return products_of_numbers(no_decay(writes[0]), reads, writes);
  if (decay.shape()[3] > 1) return products_of_keys(decay, reads, writes);
  return products_of_numbers(decays_of_numbers(decay), reads, writes);
}

Value inverse_of_unit_lower(Value l) {
  const int64_t n = l.shape()[-1], half = n / 2;
  const int rank = l.shape().rank();
  if (n <= kBlock || n % 2 != 0) return inverse_by_powers(l);
  const Value upper = slice(l, rank - 2, 0, half), lower = slice(l, rank - 2, half, n);
  const Value both = concat({slice(upper, rank - 1, 0, half), slice(lower, rank - 1, half, n)}, 0);
  const Values inverse = split(inverse_of_unit_lower(both), 2, 0);
  const Value below = matmul(inverse[1], matmul(slice(lower, rank - 1, 0, half), inverse[0]));
  const Value none = splat(*l.node->graph, 0, inverse[0].type());
  return concat({concat({inverse[0], none}, rank - 1), concat({below, inverse[1]}, rank - 1)},
                rank - 2);
}

}  // namespace graphc::core
