// SPDX-License-Identifier: Apache-2.0
// Sums, matrix products and cumulative sums. Sums are accumulated in f64 and rounded once.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "ir/evaluate_ops.h"
#include "ir/op.h"

namespace graphc::core::evaluation {
namespace {

/// Folds x into `result`, which holds the initial values. `strides` are the strides of `result`
/// along x's axes, 0 along a reduced axis. Elements are taken in row-major order.
template <typename T, typename Function>
void fold(const Shape& shape, const std::vector<int64_t>& strides, const T* x, T* result,
          Function function) {
  const int64_t run = shape.rank() == 0 ? 1 : shape[-1];
  const int64_t step = shape.rank() == 0 ? 0 : strides.back();
  const int64_t runs = run == 0 ? 0 : shape.elements() / run;
  std::vector<int64_t> index(strides.size(), 0);
  int64_t offset = 0;
  for (int64_t r = 0; r < runs; ++r, x += run) {
    if (step == 0) {
      T value = result[offset];
      for (int64_t i = 0; i < run; ++i) value = function(value, x[i]);
      result[offset] = value;
    } else {
      for (int64_t i = 0; i < run; ++i) {
        result[offset + i * step] = function(result[offset + i * step], x[i]);
      }
    }
    for (int axis = shape.rank() - 2; axis >= 0; --axis) {
      offset += strides[size_t(axis)];
      if (++index[size_t(axis)] < shape[axis]) break;
      offset -= shape[axis] * strides[size_t(axis)];
      index[size_t(axis)] = 0;
    }
  }
}

/// Strides along the axes of `shape` of a value without the axes `reduced`.
std::vector<int64_t> strides_without(const Shape& shape, const std::vector<int64_t>& reduced) {
  std::vector<int64_t> strides(size_t(shape.rank()), 0);
  int64_t stride = 1;
  for (int axis = shape.rank(); axis-- > 0;) {
    if (std::find(reduced.begin(), reduced.end(), axis) != reduced.end()) continue;
    strides[size_t(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

/// A matrix anywhere in memory, with row and column strides in elements.
struct Matrix {
  const double* elements;
  int64_t row_stride, column_stride;
};

constexpr int64_t kTile = 4, kDepth = 512;
// Two doubles: the widest vector that every x86-64 CPU has, for the same bits on all of them.
using Pair = double __attribute__((vector_size(16)));

/// Packs rows first .. first + 3 of a matrix, columns k0 .. k0 + depth - 1, as [depth][4], with
/// zeros for missing rows.
void pack_rows(const Matrix& from, int64_t first, int64_t rows, int64_t k0, int64_t depth,
               double* to) {
  const int64_t present = std::min(kTile, rows - first);
  for (int64_t k = 0; k < depth; ++k) {
    const double* column = from.elements + first * from.row_stride + (k0 + k) * from.column_stride;
    for (int64_t i = 0; i < kTile; ++i) {
      to[k * kTile + i] = i < present ? column[i * from.row_stride] : 0;
    }
  }
}

/// sum[i][j] += a[k][i] * b[k][j], in ascending k.
void multiply_tile(const double* a, const double* b, int64_t depth, double (&sum)[kTile][kTile]) {
  Pair y[kTile][2];
  std::memcpy(y, sum, sizeof y);
  for (int64_t k = 0; k < depth; ++k, a += kTile, b += kTile) {
    Pair right[2];
    std::memcpy(right, b, sizeof right);
    for (int i = 0; i < kTile; ++i) {
      const Pair left{a[i], a[i]};
      y[i][0] += left * right[0];
      y[i][1] += left * right[1];
    }
  }
  std::memcpy(sum, y, sizeof y);
}

/// c[m, n] = a[m, k] b[k, n], each element summed in ascending k.
void multiply(int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, double* c) {
  std::fill_n(c, m * n, 0.0);
  const Matrix columns{b.elements, b.column_stride, b.row_stride};
  const int64_t panels = (m + kTile - 1) / kTile;
  std::vector<double> packed_a(size_t(panels * kTile * std::min(k, kDepth)));
  std::vector<double> packed_b(size_t(kTile * std::min(k, kDepth)));
  for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
    const int64_t depth = std::min(kDepth, k - k0);
    for (int64_t p = 0; p < panels; ++p) {
      pack_rows(a, p * kTile, m, k0, depth, packed_a.data() + p * kTile * depth);
    }
    for (int64_t j = 0; j < n; j += kTile) {
      pack_rows(columns, j, n, k0, depth, packed_b.data());
      const int64_t width = std::min(kTile, n - j);
      for (int64_t p = 0; p < panels; ++p) {
        const int64_t height = std::min(kTile, m - p * kTile);
        double sum[kTile][kTile] = {};
        double* corner = c + p * kTile * n + j;
        for (int64_t i = 0; i < height; ++i) std::copy_n(corner + i * n, width, sum[i]);
        multiply_tile(packed_a.data() + p * kTile * depth, packed_b.data(), depth, sum);
        for (int64_t i = 0; i < height; ++i) std::copy_n(sum[i], width, corner + i * n);
      }
    }
  }
}

}  // namespace

Array product_of(const Node& node, const Array& x, Precision precision) {
  Array result(node.types[0]);
  const auto strides = strides_without(x.shape(), node.attributes.get_ints("axes"));
  if (x.floating()) {
    std::fill_n(result.floats(), result.elements(), 1.0);
    fold(x.shape(), strides, x.floats(), result.floats(), std::multiplies<double>());
    round_floats(result.dtype(), precision, result.floats(), result.elements());
  } else {
    std::fill_n(result.integers(), result.elements(), 1);
    fold(x.shape(), strides, x.integers(), result.integers(),
         [](int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); });
    wrap_integers(result.dtype(), result.integers(), result.elements());
  }
  return result;
}

Array cumsum_of(const Node& node, const Array& x, Precision precision) {
  Array result(node.types[0]);
  const int axis = int(node.attributes.get_int("axis", 0));
  const bool reverse = node.attributes.get_bool("reverse", false);
  const int64_t extent = x.shape()[axis], inner = x.shape().strides()[size_t(axis)];
  const int64_t step = reverse ? -inner : inner;
  for (int64_t i = 0; i < x.elements(); ++i) {
    // Each line along the axis starts at the first element to be summed.
    if (i / inner % extent != (reverse ? extent - 1 : 0)) continue;
    for (int64_t k = 0, at = i; k < extent; ++k, at += step) {
      if (x.floating()) {
        result.floats()[at] = x.floats()[at] + (k > 0 ? result.floats()[at - step] : 0);
      } else {
        const int64_t before = k > 0 ? result.integers()[at - step] : 0;
        result.integers()[at] = int64_t(uint64_t(x.integers()[at]) + uint64_t(before));
      }
    }
  }
  if (x.floating()) {
    round_floats(result.dtype(), precision, result.floats(), result.elements());
  } else {
    wrap_integers(result.dtype(), result.integers(), result.elements());
  }
  return result;
}

Array reduction_of(const Node& node, const Array& x, Precision precision) {
  Array result(node.types[0]);
  const bool sums = node.is(ops::sum);
  const auto strides = strides_without(x.shape(), node.attributes.get_ints("axes"));
  if (x.floating()) {
    std::fill_n(result.floats(), result.elements(), sums ? 0.0 : -HUGE_VAL);
    if (sums) {
      fold(x.shape(), strides, x.floats(), result.floats(),
           [](double a, double b) { return a + b; });
      round_floats(x.dtype(), precision, result.floats(), result.elements());
    } else {
      fold(x.shape(), strides, x.floats(), result.floats(), larger);
    }
    return result;
  }
  std::fill_n(result.integers(), result.elements(), sums ? 0 : INT64_MIN);
  if (sums) {
    fold(x.shape(), strides, x.integers(), result.integers(),
         [](int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); });
    wrap_integers(x.dtype(), result.integers(), result.elements());
  } else {
    fold(x.shape(), strides, x.integers(), result.integers(),
         [](int64_t a, int64_t b) { return std::max(a, b); });
  }
  return result;
}

Array size_of_axes(const Node& node, const Array& x, Precision precision) {
  int64_t count = 1;
  for (int64_t axis : node.attributes.get_ints("axes")) count *= x.shape()[int(axis)];
  Array result(node.types[0]);
  if (result.floating()) {
    result.floats()[0] = double(count);
    round_floats(result.dtype(), precision, result.floats(), 1);
  } else {
    result.integers()[0] = count;
    wrap_integers(result.dtype(), result.integers(), 1);
  }
  return result;
}

Array matmul_of(const Node& node, const Array& a, const Array& b, Precision precision) {
  Array result(node.types[0]);
  const bool ta = node.attributes.get_bool("transpose_a", false);
  const bool tb = node.attributes.get_bool("transpose_b", false);
  int64_t m = result.shape()[-2];
  const int64_t n = result.shape()[-1], k = a.shape()[ta ? -2 : -1];
  int64_t batches = m * n == 0 ? 0 : result.elements() / (m * n);
  const bool shared = b.shape().rank() == 2;
  if (shared && !ta) {
    m *= batches;
    batches = std::min<int64_t>(batches, 1);
  }
  for (int64_t batch = 0; batch < batches; ++batch) {
    const double* left = a.floats() + batch * m * k;
    const double* right = b.floats() + (shared ? 0 : batch * k * n);
    multiply(m, n, k, ta ? Matrix{left, 1, m} : Matrix{left, k, 1},
             tb ? Matrix{right, 1, k} : Matrix{right, n, 1}, result.floats() + batch * m * n);
  }
  round_floats(result.dtype(), precision, result.floats(), result.elements());
  return result;
}

}  // namespace graphc::core::evaluation
