// SPDX-License-Identifier: Apache-2.0
// The multiply-add loop, one version per instruction set, chosen by the CPU's features.
//
// A multiply-add has a latency of about four cycles and a core issues two per cycle: eight
// independent chains saturate it, and more do no harm while they fit the registers. With the chosen
// numbers `x = x a + b` converges to 1, so no chain becomes denormal.
#include "runtime/peak.h"

#include <algorithm>
#include <array>
#include <vector>

#include "ir/error.h"
#include "runtime/clock.h"
#include "runtime/matrix_tiles.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace graphc::core {
namespace {

constexpr double kSeconds = 0.030;
/// The best window counts: if other processes share the core, some windows of a millisecond run
/// undisturbed even if no 30 milliseconds do.
constexpr double kWindowSeconds = 0.001;
constexpr int kIterations = 2000;
constexpr float kFactor = 0.999f;
constexpr float kTerm = 0.001f;

struct Loop {
  /// Runs kIterations rounds of multiply-adds and returns their sum, which keeps them from being
  /// optimised away.
  float (*run)();
  double flops_per_iteration;
  MatrixTiles tiles = MatrixTiles::none;
};

#if defined(__x86_64__)

float sum_of(const float* lanes, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += lanes[i];
  return sum;
}

__attribute__((target("avx512f"), noinline)) float run_avx512() {
  constexpr int chains = 24;
  const __m512 factor = _mm512_set1_ps(kFactor), term = _mm512_set1_ps(kTerm);
  __m512 x[chains];
#pragma GCC unroll 24
  for (int i = 0; i < chains; ++i) x[i] = _mm512_set1_ps(float(i));
  for (int n = 0; n < kIterations; ++n) {
#pragma GCC unroll 24
    for (int i = 0; i < chains; ++i) x[i] = _mm512_fmadd_ps(x[i], factor, term);
  }
  __m512 sum = x[0];
#pragma GCC unroll 24
  for (int i = 1; i < chains; ++i) sum = _mm512_add_ps(sum, x[i]);
  float lanes[16];
  _mm512_storeu_ps(lanes, sum);
  return sum_of(lanes, 16);
}

__attribute__((target("avx512f,avx512bf16"), noinline)) float run_avx512_bf16() {
  constexpr int chains = 24;
  // Pairs of bf16: x += a b + a b, with terms so small that the sums stay far from infinity.
  const __m512 small = _mm512_set1_ps(0x1p-20f);
  const __m512bh factor = _mm512_cvtne2ps_pbh(small, small);
  __m512 x[chains];
#pragma GCC unroll 24
  for (int i = 0; i < chains; ++i) x[i] = _mm512_set1_ps(float(i));
  for (int n = 0; n < kIterations; ++n) {
#pragma GCC unroll 24
    for (int i = 0; i < chains; ++i) x[i] = _mm512_dpbf16_ps(x[i], factor, factor);
  }
  __m512 sum = x[0];
#pragma GCC unroll 24
  for (int i = 1; i < chains; ++i) sum = _mm512_add_ps(sum, x[i]);
  float lanes[16];
  _mm512_storeu_ps(lanes, sum);
  return sum_of(lanes, 16);
}

/// Four accumulators and two tiles of each operand. The numbers are nonzero: products of zeros are
/// faster, because real data lowers the clock.
__attribute__((target("amx-tile,amx-bf16"), noinline)) float run_matrix_tiles() {
  alignas(64) std::array<uint16_t, kTileBytes / 2> numbers;
  for (size_t i = 0; i < numbers.size(); ++i)  // from 2^-20 to 2^-19, of both signs
    numbers[i] = uint16_t(0x3580 | (i * 37 & 0x7f) | (i * 11 & 1) << 15);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, numbers.data(), kTileRowBytes);
  _tile_loadd(5, numbers.data(), kTileRowBytes);
  _tile_loadd(6, numbers.data(), kTileRowBytes);
  _tile_loadd(7, numbers.data(), kTileRowBytes);
  for (int n = 0; n < kIterations; ++n) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  alignas(64) float sums[kTileBytes / 4];
  float sum = 0;
  _tile_stored(0, sums, kTileRowBytes);
  sum += sum_of(sums, kTileBytes / 4);
  _tile_stored(3, sums, kTileRowBytes);
  return sum + sum_of(sums, kTileBytes / 4);
}

/// Twelve chains and two operands fit the sixteen registers of AVX2; spills would be measured too.
__attribute__((target("avx2,fma"), noinline)) float run_avx2() {
  constexpr int chains = 12;
  const __m256 factor = _mm256_set1_ps(kFactor), term = _mm256_set1_ps(kTerm);
  __m256 x[chains];
#pragma GCC unroll 12
  for (int i = 0; i < chains; ++i) x[i] = _mm256_set1_ps(float(i));
  for (int n = 0; n < kIterations; ++n) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) x[i] = _mm256_fmadd_ps(x[i], factor, term);
  }
  __m256 sum = x[0];
#pragma GCC unroll 12
  for (int i = 1; i < chains; ++i) sum = _mm256_add_ps(sum, x[i]);
  float lanes[8];
  _mm256_storeu_ps(lanes, sum);
  return sum_of(lanes, 8);
}

#endif

/// Four floats per vector on any CPU, with separate multiply and add.
__attribute__((noinline)) float run_baseline() {
  using Vector = float __attribute__((vector_size(16)));
  constexpr int chains = 12;
  Vector x[chains];
#pragma GCC unroll 12
  for (int i = 0; i < chains; ++i) x[i] = Vector{} + float(i);
  for (int n = 0; n < kIterations; ++n) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) x[i] = x[i] * kFactor + kTerm;
  }
  Vector sum = x[0];
#pragma GCC unroll 12
  for (int i = 1; i < chains; ++i) sum += x[i];
  return sum[0] + sum[1] + sum[2] + sum[3];
}

Loop loop_for([[maybe_unused]] DType dtype) {
#if defined(__x86_64__)
  if (dtype == DType::bf16 && has_matrix_tiles()) {
    constexpr double product = 2.0 * kTileRows * kTileColumns * kTileK;
    return {run_matrix_tiles, 4 * product, MatrixTiles::hardware};
  }
  if (dtype == DType::bf16 && __builtin_cpu_supports("avx512bf16")) {
    return {run_avx512_bf16, 24 * 16 * 4};
  }
  if (__builtin_cpu_supports("avx512f")) return {run_avx512, 24 * 16 * 2};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {run_avx2, 12 * 8 * 2};
  }
#endif
  return {run_baseline, 12 * 4 * 2};
}

struct alignas(128) Reading {
  double gflops = 0;
  float sum = 0;
};

}  // namespace

double measure_peak_gflops(ThreadTeam& team, DType dtype) {
  if (dtype != DType::f32 && dtype != DType::bf16) {
    throw input_error({}, "the peak is measured for f32 and bf16: found {}", name_of(dtype));
  }
  const Loop loop = loop_for(dtype);
  std::vector<Reading> readings(static_cast<size_t>(team.size()));
  team.run([&](int thread) {
    const MatrixTileScope tiles(loop.tiles);
    Reading& reading = readings[size_t(thread)];
    reading.sum += loop.run();
    team.barrier(thread);
    const double begin = steady_seconds();
    double window = begin, now = begin, iterations = 0;
    while (now - begin < kSeconds) {
      reading.sum += loop.run();
      iterations += kIterations;
      now = steady_seconds();
      if (now - window < kWindowSeconds) continue;
      const double gflops = iterations * loop.flops_per_iteration / (now - window) * 1e-9;
      reading.gflops = std::max(reading.gflops, gflops);
      window = now;
      iterations = 0;
    }
  });
  double gflops = 0;
  for (const Reading& reading : readings) {
    GRAPHC_CHECK(reading.sum > 0, "the multiply-adds of the peak loop were not run");
    gflops += reading.gflops;
  }
  return gflops;
}

}  // namespace graphc::core
