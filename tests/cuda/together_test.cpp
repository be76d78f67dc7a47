// SPDX-License-Identifier: Apache-2.0
// Threads that work together: barriers, shuffles, votes, atomics, flags between blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/cuda/run_text.h"

namespace graphc::core::cuda_emulator {
namespace {

using testing::HasSubstr;

std::vector<float> random_floats(size_t size) {
  std::mt19937 random(7);
  std::vector<float> values(size);
  for (float& value : values) value = float(random() % 1000) / 64 - 5;
  return values;
}

const char* const block_sum =
    "__shared__ float sums[256];\n"
    "const int t = threadIdx.x;\n"
    "float sum = 0.0f;\n"
    "for (int k = t; k < n; k += blockDim.x) sum += in[blockIdx.x * n + k];\n"
    "sums[t] = sum;\n"
    "__syncthreads();\n"
    "for (int half = blockDim.x / 2; half > 0; half >>= 1) {\n"
    "  if (t < half) sums[t] += sums[t + half];\n"
    "  __syncthreads();\n"
    "}\n"
    "if (t == 0) out[blockIdx.x] = sums[0];";

TEST(EmulatorTogether, BlocksSumInSharedMemory) {
  const Module module(kernel_text("const float* in, float* out, int n", block_sum));
  const int n = 777;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    DeviceMemory memory;
    Array<float> in(memory, "in", random_floats(5 * size_t(n))), out(memory, "out", 5);
    run_kernel(module, launch_of(5, 256, seed), memory, in.data(), out.data(), n);
    for (size_t b = 0; b < 5; ++b) {
      const auto first = in.values().begin() + std::ptrdiff_t(b) * n;
      EXPECT_EQ(out.read()[b], std::accumulate(first, first + n, 0.0f));  // exact in f32
    }
  }
}

TEST(EmulatorTogether, WarpsSumByShuffles) {
  for (const char* way :
       {"for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xFFFFFFFFu, v, d);",
        "for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xFFFFFFFFu, v, d);"
        " v = __shfl_sync(0xFFFFFFFFu, v, 0);",
        "for (int d = 1; d < 32; d *= 2) { float w = __shfl_up_sync(0xFFFFFFFFu, "
        "v, d); if ((threadIdx.x & 31) >= d) v += w; } "
        "v = __shfl_sync(0xFFFFFFFFu, v, 31);"}) {
    const Module module(
        kernel_text("const float* in, float* out",
                    "float v = in[threadIdx.x]; " + std::string(way) + " out[threadIdx.x] = v;"));
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      DeviceMemory memory;
      Array<float> in(memory, "in", random_floats(96)), out(memory, "out", 96);
      run_kernel(module, launch_of(1, 96, seed), memory, in.data(), out.data());
      for (size_t t = 0; t < 96; ++t) {
        const auto first = in.values().begin() + std::ptrdiff_t(t / 32 * 32);
        EXPECT_EQ(out.read()[t], std::accumulate(first, first + 32, 0.0f)) << way;
      }
    }
  }
}

TEST(EmulatorTogether, LanesShuffleEachTypeAndVote) {
  const Module module(kernel_text(
      "long long* out",
      "const int t = threadIdx.x;\n"
      "long long v = 0;\n"
      "if (t < 8) {\n"
      "  v = __shfl_xor_sync(0xFFu, t * 10000000000ll, 1) + __shfl_sync(0xFFu, t * 3u, 7);\n"
      "  v += (long long)__shfl_xor_sync(0xFFu, t * 0.5, 2) + (long long)__shfl_sync(0xFFu, 2.0f, "
      "t);\n"
      "} else {\n"
      "  v = __ballot_sync(0xFFFFFF00u, t % 3 == 0) + __any_sync(0xFFFFFF00u, t == 31) * 5 +\n"
      "      __all_sync(0xFFFFFF00u, t > 7) * 7 + __all_sync(0xFFFFFF00u, t > 8) * 11;\n"
      "}\n"
      "out[t] = v;"));
  long long threes = 0;
  for (int t = 8; t < 32; ++t) threes |= t % 3 == 0 ? 1LL << t : 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    DeviceMemory memory;
    Array<long long> out(memory, "out", 32);
    run_kernel(module, launch_of(1, 32, seed), memory, out.data());
    for (int t = 0; t < 32; ++t)
      EXPECT_EQ(out.read()[size_t(t)],
                t < 8 ? (t ^ 1) * 10000000000LL + 21 + (t ^ 2) / 2 + 2 : threes + 5 + 7);
  }
}

TEST(EmulatorTogether, BlocksAgreeByOr) {
  const Module module(kernel_text("int* out, int who",
                                  "int any = __syncthreads_or(threadIdx.x == who);\n"
                                  "out[threadIdx.x] = any;"));
  DeviceMemory memory;
  Array<int> out(memory, "out", 100);
  run_kernel(module, launch_of(1, 100), memory, out.data(), 70);
  EXPECT_EQ(out.read(), std::vector<int>(100, 1));
  run_kernel(module, launch_of(1, 100), memory, out.data(), 100);
  EXPECT_EQ(out.read(), std::vector<int>(100, 0));
}

TEST(EmulatorTogether, AtomicsOfAllThreadsCount) {
  const Module module(
      kernel_text("int* sums, unsigned* most, unsigned long long* least",
                  "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "atomicAdd(&sums[i % 3], i);\n"
                  "atomicAdd(sums + 3, -1);\n"
                  "atomicMax(most, (unsigned)(i * 7919 % 1000));\n"
                  "atomicOr(most + 1, 1u << i % 20);\n"
                  "atomicMin(least, 5000ull - i);\n"
                  "if (atomicCAS(most + 2, 0u, 1u) == 0u) atomicExch(most + 3, 42u);"));
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    DeviceMemory memory;
    Array<int> sums(memory, "sums", std::vector<int>(4));
    Array<unsigned> most(memory, "most", std::vector<unsigned>(4));
    Array<unsigned long long> least(memory, "least", std::vector<unsigned long long>{9999});
    run_kernel(module, launch_of(4, 64, seed), memory, sums.data(), most.data(), least.data());
    std::vector<int> wanted(4);
    unsigned largest = 0;
    for (int i = 0; i < 256; ++i) {
      wanted[size_t(i) % 3] += i;
      largest = std::max(largest, unsigned(i * 7919 % 1000));
    }
    wanted[3] = -256;
    EXPECT_EQ(sums.read(), wanted);
    EXPECT_EQ(most.read(), (std::vector<unsigned>{largest, (1u << 20) - 1, 1, 42}));
    EXPECT_EQ(least.read()[0], 5000u - 255u);
  }
}

// A barrier of all blocks by a counter and a flag; each step reads what another block wrote.
std::string grid_barrier(const std::string& arrive, const std::string& wait) {
  return kernel_text(
      "int* values, unsigned* flags, int steps",
      "const int blocks = gridDim.x, threads = blockDim.x, t = threadIdx.x;\n"
      "for (int step = 0; step < steps; ++step) {\n"
      "  int* to = values + (step & 1) * blocks * threads;\n"
      "  const int* from = values + (1 - (step & 1)) * blocks * threads;\n"
      "  const int next = ((int)blockIdx.x + 1) % blocks;\n"
      "  to[blockIdx.x * threads + t] = from[next * threads + (t + 1) % threads] + 1;\n"
      "  __syncthreads();\n"
      "  if (t == 0) {\n" +
          arrive + wait + "  }\n  __syncthreads();\n}");
}

const char* const arrive_by_fence =
    "__threadfence();\n"
    "if (atomicAdd(flags, 1u) == (unsigned)(blocks * (step + 1) - 1)) {\n"
    "  __threadfence(); store_release(flags + 1, (unsigned)step + 1u); }\n";
const char* const wait_by_acquire =
    "while (load_acquire(flags + 1) < (unsigned)step + 1u) grid_wait_hint();\n";

void run_grid_barrier(const std::string& text, uint64_t seed) {
  const Module module(text);
  DeviceMemory memory;
  const int blocks = 7, threads = 40, steps = 5;
  std::vector<int> first(2 * blocks * threads);
  std::iota(first.begin(), first.end(), 0);
  Array<int> values(memory, "values", first);
  Array<unsigned> flags(memory, "flags", std::vector<unsigned>(2));
  Launch launch = launch_of(blocks, threads, seed);
  launch.cooperative = true;
  run_kernel(module, launch, memory, values.data(), flags.data(), steps);
  const std::vector<int> found = values.read();
  for (int b = 0; b < blocks; ++b)
    for (int t = 0; t < threads; ++t) {
      const int from = (b + steps) % blocks * threads + (t + steps) % threads;
      EXPECT_EQ(found[size_t(b * threads + t)], blocks * threads + from + steps);
    }
}

TEST(EmulatorTogether, BlocksWaitForEachOtherByFlags) {
  for (uint64_t seed = 0; seed < seeds; ++seed)
    run_grid_barrier(grid_barrier(arrive_by_fence, wait_by_acquire), seed);
}

TEST(EmulatorTogether, GridBarriersWithoutTheirPartsAreRaces) {
  const std::string without_fence = std::string(arrive_by_fence).substr(17);
  EXPECT_THAT(
      message_of([&] { run_grid_barrier(grid_barrier(without_fence, wait_by_acquire), 1); }),
      HasSubstr("race: "));
  EXPECT_THAT(message_of([&] { run_grid_barrier(grid_barrier(arrive_by_fence, ""), 1); }),
              HasSubstr("race: "));
  std::string text = grid_barrier(arrive_by_fence, wait_by_acquire);
  text.replace(text.find("__syncthreads();"), 16, "");
  EXPECT_THAT(message_of([&] { run_grid_barrier(text, 1); }), HasSubstr("race: "));
}

TEST(EmulatorTogether, TheLastBlockSumsWhatOthersWrote) {
  const std::string text =
      kernel_text("float* sums, unsigned* count, float* out",
                  "__shared__ bool last;\n"
                  "if (threadIdx.x == 0) { sums[blockIdx.x] = blockIdx.x * 0.5f; __threadfence();\n"
                  "  last = atomicAdd(count, 1u) == gridDim.x - 1u; __threadfence(); }\n"
                  "__syncthreads();\n"
                  "if (last && threadIdx.x == 5) { float sum = 0.0f;\n"
                  "  for (int b = 0; b < gridDim.x; ++b) sum += sums[b];\n"
                  "  *out = sum; }");
  const auto run_it = [](const std::string& kernel, uint64_t seed) {
    DeviceMemory memory;
    Array<float> sums(memory, "sums", 9), out(memory, "out", 1);
    Array<unsigned> count(memory, "count", std::vector<unsigned>{0});
    run_kernel(Module(kernel), launch_of(9, 64, seed), memory, sums.data(), count.data(),
               out.data());
    EXPECT_EQ(out.read()[0], 18.0f);
  };
  for (uint64_t seed = 0; seed < seeds; ++seed) run_it(text, seed);
  std::string broken = text;
  broken.replace(broken.find("__threadfence();"), 16, "");
  EXPECT_THAT(message_of([&] { run_it(broken, 3); }), HasSubstr("race: a read"));
  broken = text;
  broken.replace(broken.rfind("__threadfence();"), 16, "");
  EXPECT_THAT(message_of([&] { run_it(broken, 3); }), HasSubstr("race: a read"));
}

TEST(EmulatorTogether, DivergentBarriersAreErrors) {
  const auto error = [](const std::string& body, unsigned threads = 64) {
    const Module module(kernel_text("int* out", body));
    return message_of([&] {
      DeviceMemory memory;
      Array<int> out(memory, "out", std::vector<int>(1024));
      run_kernel(module, launch_of(1, threads), memory, out.data());
    });
  };
  EXPECT_THAT(error("if (threadIdx.x == 40) return;\n__syncthreads();"),
              HasSubstr("divergent __syncthreads: "));
  EXPECT_THAT(error("if (threadIdx.x < 32) __syncthreads();\nelse\n__syncthreads();"),
              HasSubstr("divergent __syncthreads: others of the block wait at that of line "));
  EXPECT_THAT(error("if (threadIdx.x < 7)\n__shfl_sync(0xFFu, 1, 0);"),
              HasSubstr("line 3, block (0,0,0) thread (0,0,0): the mask 0xff names lanes that "
                        "never come: "));
  EXPECT_THAT(error("__shfl_sync(0xFFu, 1, 0);"), HasSubstr("does not name the lane itself"));
  EXPECT_THAT(error("__syncwarp(0xFFFFFFFFu);", 31), HasSubstr("names lanes that never come"));
  EXPECT_THAT(error("if (threadIdx.x < 4) __shfl_sync(0xFu, 1, 5);"),
              HasSubstr("a shuffle from lane 5, which the mask 0xf lacks"));
  EXPECT_THAT(error("if (threadIdx.x < 32) __syncthreads();\nelse if (threadIdx.x == 40)\n"
                    "__syncwarp(0xFF00u);\nelse __syncthreads();"),
              HasSubstr("divergent __syncthreads"));
  EXPECT_THAT(error("if (threadIdx.x < 4) __syncwarp(0xFFu); else if (threadIdx.x < 8) "
                    "__syncwarp(0xF0u | 0xFu);",
                    32),
              HasSubstr("deadlock: it waits for the lanes 0xff of its warp"));
}

TEST(EmulatorTogether, DeadlocksAreErrors) {
  const auto error = [](const std::string& body) {
    const Module module(kernel_text("unsigned* flag", body));
    return message_of([&] {
      DeviceMemory memory;
      Array<unsigned> flag(memory, "flag", std::vector<unsigned>{0});
      Launch launch = launch_of(2, 33);
      launch.cooperative = true;
      run_kernel(module, launch, memory, flag.data());
    });
  };
  EXPECT_THAT(error("if (threadIdx.x == 1)\nwhile (load_acquire(flag) == 0u) grid_wait_hint();\n"
                    "__syncthreads();"),
              HasSubstr("thread (1,0,0): deadlock: it polls what nobody "
                        "changes any more"));
  EXPECT_THAT(error("while (atomicCAS(flag, 0u, 1u) != 0u) ;"), HasSubstr("deadlock: it polls"));
  // A lock that is given back, taken by lanes of one warp: threads go on independently.
  EXPECT_EQ(
      error("while (atomicCAS(flag, 0u, 1u) != 0u) ;\n__threadfence();\natomicExch(flag, 0u);"),
      "");
  EXPECT_THAT(message_of([] {
                DeviceMemory memory;
                Launch launch = launch_of(1, 1);
                launch.most_instructions = 100000;
                run_kernel(Module(kernel_text("", "while (true) ;")), launch, memory);
              }),
              HasSubstr("goes on for ever"));
}

}  // namespace
}  // namespace graphc::core::cuda_emulator
