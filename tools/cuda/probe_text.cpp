// SPDX-License-Identifier: Apache-2.0
#include "tools/cuda/probe_text.h"

#include <fmt/format.h>

#include "runtime/cuda/nvrtc.h"

namespace graphc::core::probe {
namespace {

/// "<first>, <second>, ..." of `count` items, each written by `one`.
template <typename One>
std::string listed(int count, One one) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", one(i));
  return text;
}

/// Functions that read and write words other blocks wait for. The emulator has them built in.
std::string flags_prelude() {
  return fmt::format(R"({}
__device__ __forceinline__ unsigned load_acquire(const unsigned* flag) {{
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}}
__device__ __forceinline__ void store_release(unsigned* flag, unsigned value) {{
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(flag), "r"(value) : "memory");
}}
{}
)",
                     cuda::kPreludeBegin, cuda::kPreludeEnd);
}

}  // namespace

std::string read_text() {
  return R"(// Eight loads of a thread are under way at a time.
extern "C" __global__ void __launch_bounds__(256) read_all(
    const unsigned long long* values, unsigned long long* sums, long long count) {
  const long long threads = (long long)gridDim.x * blockDim.x;
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long sum = 0;
  long long i = thread;
  for (; i + 7 * threads < count; i += 8 * threads) {
    const unsigned long long a = values[i], b = values[i + threads];
    const unsigned long long c = values[i + 2 * threads], d = values[i + 3 * threads];
    const unsigned long long e = values[i + 4 * threads], f = values[i + 5 * threads];
    const unsigned long long g = values[i + 6 * threads], h = values[i + 7 * threads];
    sum += a + b + c + d + e + f + g + h;
  }
  for (; i < count; i += threads) sum += values[i];
  sums[thread] = sum;
}
)";
}

std::string copy_text() {
  return R"(extern "C" __global__ void __launch_bounds__(256) copy_all(
    const unsigned long long* from, unsigned long long* to, long long count) {
  const long long threads = (long long)gridDim.x * blockDim.x;
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (; i + 3 * threads < count; i += 4 * threads) {
    const unsigned long long a = from[i], b = from[i + threads];
    const unsigned long long c = from[i + 2 * threads], d = from[i + 3 * threads];
    to[i] = a;
    to[i + threads] = b;
    to[i + 2 * threads] = c;
    to[i + 3 * threads] = d;
  }
  for (; i < count; i += threads) to[i] = from[i];
}
)";
}

std::string ingest_text() {
  return R"(// __ldcg() reads past the multiprocessor's own cache. `count` is a power of two.
// A block begins elsewhere than its neighbours, and elsewhere in each round.
extern "C" __global__ void __launch_bounds__(256) read_again(
    const unsigned long long* values, unsigned long long* sums, long long count,
    long long rounds) {
  const unsigned last = (unsigned)count - 1u;
  unsigned long long sum = 0;
  for (long long round = 0; round < rounds; ++round) {
    const unsigned first = (blockIdx.x * 7u + (unsigned)round) * 256u + threadIdx.x;
    for (unsigned i = 0u; i < (unsigned)count; i += 1024u) {
      const unsigned at = first + i;
      sum += __ldcg(values + (at & last)) + __ldcg(values + ((at + 256u) & last));
      sum += __ldcg(values + ((at + 512u) & last)) + __ldcg(values + ((at + 768u) & last));
    }
  }
  sums[(long long)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
)";
}

std::string multiply_add_text() {
  constexpr int kSums = 16;
  std::string begin, turn;
  for (int i = 0; i < kSums; ++i) {
    begin += fmt::format("  float sum_{0} = {0}.0f;\n", i);
    for (int again = 0; again < kMultiplyAdds / kSums; ++again)
      turn += fmt::format("    sum_{0} = fmaf(sum_{0}, factor, 1.0f);\n", i);
  }
  std::string end = "  sums[thread] = sum_0";
  for (int i = 1; i < kSums; ++i) end += fmt::format(" + sum_{}", i);
  return fmt::format(R"(extern "C" __global__ void __launch_bounds__(256) multiply_adds(
    float* sums, long long turns, float factor) {{
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
{}  for (long long turn = 0; turn < turns; ++turn) {{
{}  }}
{};
}}
)",
                     begin, turn, end);
}

std::string tile_product_text(const TileProduct& product) {
  const int left = product.left_registers, right = product.right_registers;
  const auto operands = [](int from, int count) {
    return listed(count, [&](int i) { return fmt::format("%{}", from + i); });
  };
  std::string text = fmt::format(
      R"({}
__device__ __forceinline__ void multiply_tiles(float* sums, {}, {}) {{
  asm volatile("mma.sync.aligned.{} {{{}}}, {{{}}}, {{{}}}, {{{}}};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : {}, {});
}}
{}
)",
      cuda::kPreludeBegin, listed(left, [](int i) { return fmt::format("unsigned a{}", i); }),
      listed(right, [](int i) { return fmt::format("unsigned b{}", i); }), product.instruction,
      operands(0, 4), operands(4, left), operands(4 + left, right), operands(0, 4),
      listed(left, [](int i) { return fmt::format("\"r\"(a{})", i); }),
      listed(right, [](int i) { return fmt::format("\"r\"(b{})", i); }), cuda::kPreludeEnd);
  text += fmt::format(R"(extern "C" __global__ void __launch_bounds__(256) {}(
    float* sums, long long turns) {{
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned bits = (unsigned)threadIdx.x;
  float tiles[{}][4];
  for (int tile = 0; tile < {}; ++tile)
    for (int i = 0; i < 4; ++i) tiles[tile][i] = 0.0f;
  for (long long turn = 0; turn < turns; ++turn) {{
#pragma unroll
    for (int tile = 0; tile < {}; ++tile) multiply_tiles(tiles[tile], {}, {});
  }}
  float sum = 0.0f;
  for (int tile = 0; tile < {}; ++tile)
    for (int i = 0; i < 4; ++i) sum += tiles[tile][i];
  sums[thread] = sum;
}}
)",
                      product.name, kTilesOfWarp, kTilesOfWarp, kTilesOfWarp,
                      listed(left, [](int) { return "bits"; }),
                      listed(right, [](int) { return "bits"; }), kTilesOfWarp);
  return text;
}

std::string counter_barrier_text() {
  return R"(extern "C" __global__ void __launch_bounds__(256) meet_often(
    unsigned* arrived, long long barriers) {
  for (long long barrier = 1; barrier <= barriers; ++barrier) {
    const unsigned wanted = (unsigned)barrier * gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(arrived, 1u);
      unsigned polls = 0u;
      while (atomicAdd(arrived, 0u) < wanted) {
        polls = polls + 1u;
        if (polls == 400000000u) __trap();
      }
      __threadfence();
    }
    __syncthreads();
  }
}
)";
}

std::string flag_barrier_text() {
  return flags_prelude() + R"(// Each thread polls the flags of a few blocks.
extern "C" __global__ void __launch_bounds__(256) meet_often(
    unsigned* flags, long long barriers) {
  for (long long barrier = 1; barrier <= barriers; ++barrier) {
    __syncthreads();
    if (threadIdx.x == 0) store_release(flags + blockIdx.x, (unsigned)barrier);
    for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) {
      unsigned polls = 0u;
      while (load_acquire(flags + block) < (unsigned)barrier) {
        polls = polls + 1u;
        if (polls == 400000000u) __trap();
      }
    }
    __syncthreads();
  }
}
)";
}

std::string empty_text() {
  return "extern \"C\" __global__ void __launch_bounds__(256) nothing() {}\n";
}

}  // namespace graphc::core::probe
