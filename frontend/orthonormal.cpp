// SPDX-License-Identifier: Apache-2.0
// The Gram-Schmidt process on panels of rows. Projecting a panel onto the rows above takes two
// matrix products, which threads share; within a panel, one thread processes row after row. The
// summation order does not depend on tiles or threads.
#include "frontend/orthonormal.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "ir/denormals.h"
#include "ir/error.h"
#include "runtime/philox.h"
#include "runtime/thread_team.h"

namespace graphc::core {
namespace {

constexpr int64_t kPanel = 16;               // rows
constexpr int64_t kBlock = 32;               // rows above that are subtracted together
constexpr int64_t kChunk = 256;              // columns of such a block, which stay in cache
constexpr int64_t kTile = 4;                 // rows or columns per register tile
constexpr double kProductOfOneThread = 5e6;  // operations below which one thread is faster

using Pair = double __attribute__((vector_size(16)));

Pair load(const double* numbers) {
  Pair pair;
  __builtin_memcpy(&pair, numbers, sizeof pair);
  return pair;
}
void store(Pair pair, double* numbers) { __builtin_memcpy(numbers, &pair, sizeof pair); }

/// The rows during orthonormalisation. Each row is padded with zeros to a multiple of kTile, and
/// further to keep rows out of the same cache sets.
class Rows {
 public:
  Rows(int64_t count, int64_t columns)
      : count_(count),
        columns_(columns),
        width_((columns + kTile - 1) / kTile * kTile),
        stride_((width_ + 7) / 8 * 8 + 8),
        numbers_(size_t(count * stride_)),
        shared_(size_t(kPanel * count)) {}

  int64_t count() const { return count_; }
  const double* row(int64_t i) const { return &numbers_[size_t(i * stride_)]; }

  /// Draws row `i`: independent normal numbers, none of them 0.
  void draw(int64_t key, int64_t i);
  /// Orthonormalises all rows; called by every thread of the team.
  void orthonormalize(ThreadTeam& team, int thread);

 private:
  double* row(int64_t i) { return &numbers_[size_t(i * stride_)]; }
  double& shared(int64_t of_panel, int64_t above) {
    return shared_[size_t(above * kPanel + of_panel)];
  }
  template <int rows, int others>
  void multiply(const double* a, const double* b, double* products) const;
  void find_shared(int64_t first, int64_t count, int64_t begin, int64_t end);
  void subtract_shared(int64_t first, int64_t count, int64_t begin, int64_t end);
  template <int rows>
  void subtract(int64_t first, int64_t of_panel, int64_t above, int64_t blocks, int64_t column);
  void finish_panel(int64_t first, int64_t count);

  int64_t count_, columns_, width_, stride_;
  std::vector<double> numbers_;
  std::vector<double> shared_;  ///< products of a panel's rows with the rows above
};

void Rows::draw(int64_t key, int64_t i) {
  const int64_t blocks = (columns_ + kNumbersOfBlock - 1) / kNumbersOfBlock;
  std::vector<float> uniform(size_t(blocks * kNumbersOfBlock));
  fill_uniform(key, i * blocks, uniform);
  double* const numbers = row(i);
  // The Box-Muller transform. At half a step from 0 and 1, neither logarithm nor cosine is 0.
  constexpr double half_step = 0x1p-25;
  for (int64_t j = 0; j < columns_; j += 2) {
    const double u = double(uniform[size_t(j)]) + half_step;
    const double angle = 2 * std::numbers::pi * (double(uniform[size_t(j + 1)]) + half_step);
    const double radius = std::sqrt(-2 * std::log(u));
    numbers[j] = radius * std::cos(angle);
    if (j + 1 < columns_) numbers[j + 1] = radius * std::sin(angle);
  }
}

/// products[o * kPanel + r] of the rows at `a` with the rows at `b`.
template <int rows, int others>
void Rows::multiply(const double* a, const double* b, double* products) const {
  Pair sums[rows][others] = {};
  for (int64_t j = 0; j < width_; j += 2) {
    Pair right[others];
    for (int o = 0; o < others; ++o) right[o] = load(b + o * stride_ + j);
    for (int r = 0; r < rows; ++r) {
      const Pair left = load(a + r * stride_ + j);
      for (int o = 0; o < others; ++o) sums[r][o] += left * right[o];
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int o = 0; o < others; ++o) products[o * kPanel + r] = sums[r][o][0] + sums[r][o][1];
  }
}

/// The products of `count` rows starting at `first` with the rows begin..end.
void Rows::find_shared(int64_t first, int64_t count, int64_t begin, int64_t end) {
  for (; begin < end; begin += 2) {
    const bool two = begin + 1 < end;
    for (int64_t i = 0; i < count;) {
      const auto find = i + kTile <= count
                            ? two ? &Rows::multiply<kTile, 2> : &Rows::multiply<kTile, 1>
                        : two ? &Rows::multiply<1, 2>
                              : &Rows::multiply<1, 1>;
      (this->*find)(row(first + i), row(begin), &shared(i, begin));
      i += i + kTile <= count ? kTile : 1;
    }
  }
}

/// Subtracts the projection onto the rows above, for `rows` rows of the panel at `first` and kTile
/// columns.
template <int rows>
void Rows::subtract(int64_t first, int64_t of_panel, int64_t above, int64_t end, int64_t column) {
  Pair left[rows][2];
  for (int r = 0; r < rows; ++r) {
    for (int lane = 0; lane < 2; ++lane)
      left[r][lane] = load(row(first + of_panel + r) + column + 2 * lane);
  }
  for (; above < end; ++above) {
    const double* const others = row(above) + column;
    const double* const factors = &shared(of_panel, above);
    for (int lane = 0; lane < 2; ++lane) {
      const Pair other = load(others + 2 * lane);
      for (int r = 0; r < rows; ++r) left[r][lane] -= factors[r] * other;
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int lane = 0; lane < 2; ++lane)
      store(left[r][lane], row(first + of_panel + r) + column + 2 * lane);
  }
}

/// The same for `count` rows in the columns begin..end.
void Rows::subtract_shared(int64_t first, int64_t count, int64_t begin, int64_t end) {
  for (int64_t chunk = begin; chunk < end; chunk += kChunk) {
    const int64_t chunk_end = std::min(end, chunk + kChunk);
    for (int64_t above = 0; above < first; above += kBlock) {
      const int64_t block_end = std::min(first, above + kBlock);
      int64_t i = 0;
      for (; i + kTile <= count; i += kTile) {
        for (int64_t column = chunk; column < chunk_end; column += kTile)
          subtract<kTile>(first, i, above, block_end, column);
      }
      for (; i < count; ++i) {
        for (int64_t column = chunk; column < chunk_end; column += kTile)
          subtract<1>(first, i, above, block_end, column);
      }
    }
  }
}

/// Orthonormalises the rows of a panel among themselves.
void Rows::finish_panel(int64_t first, int64_t count) {
  for (int64_t i = first; i < first + count; ++i) {
    double* const done = row(i);
    double square = 0;
    multiply<1, 1>(done, done, &square);
    GRAPHC_CHECK(square > 0, "row {} of a normal matrix depends on those above", i);
    const double inverse = 1 / std::sqrt(square);
    for (int64_t j = 0; j < width_; ++j) done[j] *= inverse;
    for (int64_t below = i + 1; below < first + count; ++below) {
      double* const rest = row(below);
      double product = 0;
      multiply<1, 1>(done, rest, &product);
      for (int64_t j = 0; j < width_; ++j) rest[j] -= product * done[j];
    }
  }
}

void Rows::orthonormalize(ThreadTeam& team, int thread) {
  const int64_t threads = team.size();
  const auto begin_of = [&](int64_t part, int64_t count, int64_t unit) {
    return std::min(count, (count + unit * threads - 1) / (unit * threads) * unit * part);
  };
  for (int64_t first = 0; first < count_; first += kPanel) {
    const int64_t count = std::min(kPanel, count_ - first);
    // The rounding error grows with the ratio of a row's length to its distance from the span of
    // the rows above. Only the last row of a square matrix may be close to that span (10^-7 of its
    // length, with probability 10^-7), so its remainder is orthogonalised again.
    const int times = first + kPanel < count_ ? 1 : 2;
    for (int time = 0; time < times; ++time) {
      find_shared(first, count, begin_of(thread, first, 1), begin_of(thread + 1, first, 1));
      team.barrier(thread);
      subtract_shared(first, count, begin_of(thread, width_, kTile),
                      begin_of(thread + 1, width_, kTile));
      team.barrier(thread);
      if (thread == 0) finish_panel(first, count);
      team.barrier(thread);
    }
  }
}

}  // namespace

Literal orthonormal_matrix(int64_t key, const Shape& shape, double gain, int threads) {
  const bool wide = shape[1] > shape[0];
  const int64_t few = wide ? shape[0] : shape[1], many = wide ? shape[1] : shape[0];
  Rows rows(few, many);
  Literal matrix({DType::f32, shape});
  const std::span<float> numbers = matrix.mutable_data<float>();
  const double operations = 4. * double(few) * double(few) * double(many);
  ThreadTeam team(int(std::clamp(operations / kProductOfOneThread, 1., double(threads))));
  team.run([&](int thread) {
    const UsualArithmetic mode;
    for (int64_t i = thread; i < few; i += team.size()) rows.draw(key, i);
    team.barrier(thread);
    rows.orthonormalize(team, thread);
    for (int64_t i = thread; i < few; i += team.size()) {
      for (int64_t j = 0; j < many; ++j)
        numbers[size_t(wide ? i * many + j : j * few + i)] =
            float(gain * std::as_const(rows).row(i)[j]);
    }
  });
  return matrix;
}

}  // namespace graphc::core
