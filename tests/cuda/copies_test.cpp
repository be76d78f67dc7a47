// SPDX-License-Identifier: Apache-2.0
// Copies from global to shared memory that their thread waits for, and matrices from there to
// registers: a pipeline that is right in every order, and what is wrong when a wait, a barrier or a
// group is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/cuda/run_text.h"

namespace graphc::core::cuda_emulator {
namespace {

using testing::ContainsRegex;

const std::string copying_functions = R"(
__device__ unsigned address_of(const void* at) {
  unsigned long long address = 0ull;
  asm volatile("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(at));
  return (unsigned)address;
}
__device__ void copy(unsigned to, const void* from, unsigned bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               : : "r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ void copy_8(unsigned to, const void* from, unsigned bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
               : : "r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ void copy_4(unsigned to, const void* from, unsigned bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
               : : "r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ void end_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }
)";

/// Every step a thread copies four numbers for its neighbour, two steps ahead into three places.
const std::string pipeline_body = R"(
  __shared__ float pieces[3][40][4];
  const int t = threadIdx.x;
  for (int step = 0; step < 2; ++step) {
    copy(address_of(&pieces[step][t][0]), &values[(step * 40 + t) * 4], 16u);
    end_copies();
  }
  float sum = 0.0f;
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group 1;" : : : "memory");
    __syncthreads();
    if (step + 2 < steps)
      copy(address_of(&pieces[(step + 2) % 3][t][0]), &values[((step + 2) * 40 + t) * 4], 16u);
    end_copies();
    for (int i = 0; i < 4; ++i) sum = sum * 2.0f + pieces[step % 3][39 - t][i];
  }
  sums[t] = sum;
)";

std::string run_pipeline(const std::string& body, uint64_t seed) {
  return message_of([&] {
    const Module module(copying_functions +
                        kernel_text("float* values, float* sums, int steps", body));
    constexpr int steps = 4;
    DeviceMemory memory;
    std::vector<float> first(steps * 160);
    std::iota(first.begin(), first.end(), 0.0f);
    Array<float> values(memory, "values", first), sums(memory, "sums", 40);
    run_kernel(module, launch_of(1, 40, seed), memory, values.data(), sums.data(), steps);
    std::vector<float> wanted(40);
    for (size_t t = 0; t < 40; ++t) {
      for (size_t i = 0; i < 4 * steps; ++i)
        wanted[t] = wanted[t] * 2 + first[(i / 4 * 40 + 39 - t) * 4 + i % 4];
    }
    if (sums.read() != wanted) throw Error(ErrorKind::internal, {}, "other numbers");
  });
}

TEST(EmulatorCopies, ArriveInEveryOrder) {
  for (uint64_t seed = 0; seed < seeds; ++seed) EXPECT_EQ(run_pipeline(pipeline_body, seed), "");
}

/// Each damage is found whatever the order is.
TEST(EmulatorCopies, WhatIsMissingIsFound) {
  const struct {
    const char *from, *to, *found;
  } damages[] = {
      {R"(    asm volatile("cp.async.wait_group 1;" : : : "memory");)", "",
       "that the asynchronous copy of line"},
      {"cp.async.wait_group 1;", "cp.async.wait_group 2;", "that the asynchronous copy of line"},
      {"    __syncthreads();\n", "", "read of 4 bytes"},
      {"(step + 2) % 3]", "(step + 3) % 3]", "that the asynchronous copy of line|race: "},
      // A group too few: the last is never waited for.
      {"    end_copies();\n    for", "    for", "that the asynchronous copy of line"},
      {"steps; ++step) {\n    asm", "steps - 1; ++step) {\n    asm", "is on its way"},
      {"    for (int i", "    values[(79 - t) * 4] = -1.0f;\n    for (int i",
       "what an asynchronous copy reads was overwritten"},
      {"    end_copies();\n    for",
       "    values[((step + 2) % 4 * 40 + t) * 4] = -1.0f;\n"
       "    end_copies();\n    for",
       "what an asynchronous copy reads was overwritten"},
      {"    end_copies();\n    for",
       "    pieces[(step + 2) % 3][t][3] = 1.0f;\n"
       "    end_copies();\n    for",
       "was written before the asynchronous copy there was waited for"},
      {"* 4], 16u);\n    end_copies();\n  }", "* 4 + 1], 16u);\n    end_copies();\n  }",
       "wanted multiples of 16"},
      {"* 4], 16u);\n    end_copies();\n  }", "* 4], 17u);\n    end_copies();\n  }",
       "a copy of 16 bytes that reads 17"},
      {"[step][t][0])", "[step][t][0]) + 1920u", "of shared memory, which has 1920"},
  };
  for (const auto& [from, to, found] : damages) {
    const std::string body = exchanged(pipeline_body, from, to);
    ASSERT_NE(body, "") << from;
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      const std::string message = run_pipeline(body, seed);
      EXPECT_THAT(message, ContainsRegex(found)) << from << " -> " << to;
    }
  }
}

TEST(EmulatorCopies, WhatIsNotReadIsZero) {
  const Module module(copying_functions + kernel_text("const float* values, float* found", R"(
  __shared__ float pieces[8];
  const int t = threadIdx.x;
  const unsigned to = address_of(&pieces[0]);
  if (t == 0) copy(to, &values[0], 6u);
  if (t == 1) copy_8(to + 16u, &values[2], 4u);
  if (t == 2) copy_4(to + 24u, &values[3], 4u);
  if (t == 3) copy_4(to + 28u, &values[100], 0u);
  end_copies();
  asm volatile("cp.async.wait_group 0;" : : : "memory");
  __syncthreads();
  for (int i = 0; i < 2; ++i) found[2 * t + i] = pieces[2 * t + i];
)"));
  DeviceMemory memory;
  Array<float> values(memory, "values", {1, 2.0078125f, 3, 4}), found(memory, "found", 8);
  run_kernel(module, launch_of(1, 4), memory, values.data(), found.data());
  // The lower half of 2.0078125, 0x40008000.
  EXPECT_EQ(found.read(), (std::vector<float>{1, 0x1p-134f, 0, 0, 3, 0, 4, 0}));
}

TEST(EmulatorCopies, MatricesComeByRowsOrColumns) {
  for (const bool transposed : {false, true}) {
    const Module module(copying_functions +
                        kernel_text("unsigned* found", fmt::format(R"(
  __shared__ unsigned numbers[128];
  const int t = threadIdx.x;
  for (int i = 0; i < 4; ++i) {{
    const unsigned first = (unsigned)(8 * t + 2 * i);
    numbers[4 * t + i] = first | (first + 1u) << 16;
  }}
  __syncthreads();
  const unsigned row = address_of(&numbers[4 * t]);
  unsigned of[4] = {{}};
  asm volatile("ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{%0, %1, %2, %3}}, [%4];"
               : "=r"(of[0]), "=r"(of[1]), "=r"(of[2]), "=r"(of[3]) : "r"(row) : "memory");
  for (int i = 0; i < 4; ++i) found[i * 32 + t] = of[i];
)",
                                                                   transposed ? ".trans" : "")));
    DeviceMemory memory;
    Array<uint32_t> found(memory, "found", 128);
    run_kernel(module, launch_of(1, 32), memory, found.data());
    const std::vector<uint32_t> all = found.read();
    for (uint32_t matrix = 0; matrix < 4; ++matrix) {
      for (uint32_t lane = 0; lane < 32; ++lane) {
        // Element [row, column] of a matrix is row * 8 + column, and 64 more in each next one.
        const uint32_t group = lane / 4, first = lane % 4 * 2;
        const auto at = [&](uint32_t which) {
          return 64 * matrix +
                 (transposed ? (first + which) * 8 + group : group * 8 + first + which);
        };
        EXPECT_EQ(all[matrix * 32 + lane], at(0) | at(1) << 16) << transposed << matrix << lane;
      }
    }
  }
}

}  // namespace
}  // namespace graphc::core::cuda_emulator
