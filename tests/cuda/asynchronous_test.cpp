// SPDX-License-Identifier: Apache-2.0
// mbarriers and asynchronous writes: a ring and an exchange that are right in every order, and what
// is wrong with them when a wait, a count or a fence is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <regex>

#include "tests/cuda/run_text.h"

namespace graphc::core::cuda_emulator {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

/// The functions that the kernels of this file call.
const std::string counted_functions = R"(
__device__ unsigned address_of(const void* at) {
  unsigned long long address = 0ull;
  asm volatile("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(at));
  return (unsigned)address;
}
__device__ unsigned peer(unsigned address, unsigned rank) {
  unsigned there = 0u;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}
__device__ void begin_count(unsigned counter, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
               : : "r"(counter), "r"(arrivals) : "memory");
}
__device__ void expect(unsigned counter, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               : : "r"(counter), "r"(bytes) : "memory");
}
__device__ void await(unsigned counter, unsigned parity) {
  unsigned done_value = 0u;
  while (done_value == 0u)
    asm volatile("{ .reg .pred done; mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2; "
                 "selp.u32 %0, 1, 0, done; }"
                 : "=r"(done_value) : "r"(counter), "r"(parity) : "memory");
}
__device__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release;" : : : "memory");
  asm volatile("barrier.cluster.wait.acquire;" : : : "memory");
}
)";

/// Every step each thread of a block sends a number to the same thread of all blocks of its
/// cluster, and adds up what it gets. Two boxes and two mbarriers take turns. `values`: of each
/// thread, its number.
const std::string exchange_body = R"(
  __shared__ float box[2][3][40];
  __shared__ unsigned long long counters[2];
  const int t = threadIdx.x;
  const unsigned rank = blockIdx.x % 3;
  const unsigned first_counter = address_of(&counters[0]);
  if (t == 0) {
    for (unsigned i = 0u; i < 2u; ++i) {
      begin_count(first_counter + 8u * i, 1u);
      asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
      expect(first_counter + 8u * i, 480u);
    }
  }
  cluster_barrier();
  float value = values[blockIdx.x * 40 + t];
  for (int step = 0; step < steps; ++step) {
    const unsigned slot = (unsigned)(step % 2), counter = first_counter + 8u * slot;
    const unsigned to = address_of(&box[slot][rank][t]);
    for (unsigned other = 0u; other < 3u; ++other) {
      const unsigned there = peer(to, other), counter_there = peer(counter, other);
      asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                   : : "r"(there), "r"(__float_as_uint(value)), "r"(counter_there) : "memory");
    }
    await(counter, (unsigned)(step / 2 % 2));
    if (t == 0 && step + 2 < steps) expect(counter, 480u);
    value = box[slot][0][39 - t] + box[slot][1][39 - t] + box[slot][2][39 - t];
  }
  values[blockIdx.x * 40 + t] = value;
)";

std::string run_exchange(const std::string& body, uint64_t seed) {
  return message_of([&] {
    const Module module(counted_functions + kernel_text("float* values, int steps", body));
    DeviceMemory memory;
    std::vector<float> first(6 * 40);
    std::iota(first.begin(), first.end(), 0.0f);
    Array<float> values(memory, "values", first);
    Launch launch = launch_of(6, 40, seed);
    launch.cluster = 3;
    launch.most_instructions = 1'000'000;
    const int steps = 5;
    run_kernel(module, launch, memory, values.data(), steps);
    std::vector<float> wanted = first;
    for (int step = 0; step < steps; ++step) {
      const std::vector<float> before = wanted;
      for (size_t b = 0; b < 6; ++b) {
        for (size_t t = 0; t < 40; ++t) {
          const size_t at = b / 3 * 120 + 39 - t;
          wanted[b * 40 + t] = before[at] + before[at + 40] + before[at + 80];
        }
      }
    }
    if (values.read() != wanted) throw Error(ErrorKind::internal, {}, "other numbers");
  });
}

std::string exchanged_for(const std::string& from, const std::string& to) {
  const std::string body = exchanged(exchange_body, from, to);
  EXPECT_NE(body, "") << from;
  return body;
}

TEST(EmulatorAsynchronous, CountedWritesArriveInEveryOrder) {
  for (uint64_t seed = 0; seed < seeds; ++seed) EXPECT_EQ(run_exchange(exchange_body, seed), "");
}

/// Each damage is found whatever the order is.
TEST(EmulatorAsynchronous, ADamagedExchangeIsFound) {
  const std::pair<std::string, std::string> damages[] = {
      {"    await(counter, (unsigned)(step / 2 % 2));\n", ""},
      {"(unsigned)(step / 2 % 2)", "(unsigned)((step / 2 + 1) % 2)"},
      {"expect(first_counter + 8u * i, 480u)", "expect(first_counter + 8u * i, 476u)"},
      {"expect(first_counter + 8u * i, 480u)", "expect(first_counter + 8u * i, 484u)"},
      {"      asm volatile(\"fence.mbarrier_init.release.cluster;\" : : : \"memory\");\n", ""},
      {"  cluster_barrier();\n", "  __syncthreads();\n"},
      {"other < 3u", "other < 2u"},
      {"if (t == 0 && step + 2 < steps) expect(counter, 480u);", ""},
      {"const unsigned slot = (unsigned)(step % 2)", "const unsigned slot = 0u"},
      {"box[slot][rank][t]", "box[slot][0][t]"},
      {"begin_count(first_counter + 8u * i, 1u)", "begin_count(first_counter + 8u * i, 2u)"},
  };
  for (const auto& [from, to] : damages) {
    const std::string body = exchanged_for(from, to);
    for (uint64_t seed = 0; seed < 10; ++seed)
      EXPECT_NE(run_exchange(body, seed), "") << from << " -> " << to;
  }
}

/// With one box the next write may come before a peer has read the last one.
TEST(EmulatorAsynchronous, AnOverwriteOfWhatAPeerMayStillReadIsARace) {
  std::string body =
      exchanged_for("address_of(&box[slot][rank][t])", "address_of(&box[0][rank][t])");
  body = std::regex_replace(body, std::regex(R"(box\[slot\](\[\d\]\[39))"), "box[0]$1");
  for (uint64_t seed = 0; seed < 10; ++seed)
    EXPECT_THAT(run_exchange(body, seed), HasSubstr("race: "));
}

TEST(EmulatorAsynchronous, ABlockEndsWhenAllThatIsSentToItHasCome) {
  const std::string body = exchanged_for("    await(counter, (unsigned)(step / 2 % 2));\n",
                                         "    if (step + 1 < steps)\n"
                                         "      await(counter, (unsigned)(step / 2 % 2));\n"
                                         "    else return;\n");
  for (uint64_t seed = 0; seed < 10; ++seed)
    EXPECT_THAT(run_exchange(body, seed),
                AnyOf(HasSubstr("the block is done"), HasSubstr(", which is done")));
}

/// A block sends what it staged to the next one of its cluster; by one copy.
const std::string copy_body = R"(
  __shared__ float stage[64];
  __shared__ float box[64];
  __shared__ unsigned long long counters[1];
  const int t = threadIdx.x;
  const unsigned rank = blockIdx.x % 3;
  const unsigned counter = address_of(&counters[0]);
  if (t == 0) {
    begin_count(counter, 1u);
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
    expect(counter, 160u);
  }
  cluster_barrier();
  stage[t] = values[blockIdx.x * 40 + t] + (float)steps;
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
  __syncthreads();
  if (t == 0) {
    const unsigned next = (rank + 1u) % 3u;
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
        "[%0], [%1], %2, [%3];"
        : : "r"(peer(address_of(&box[0]), next)), "r"(address_of(&stage[0])), "r"(160u),
            "r"(peer(counter, next)) : "memory");
  }
  await(counter, 0u);
  const float got = box[39 - t];
  cluster_barrier();
  values[blockIdx.x * 40 + t] = got;
)";

std::string run_copy(const std::string& from, const std::string& to, uint64_t seed) {
  std::string body = copy_body;
  if (!from.empty()) body.replace(body.find(from), from.size(), to);
  return message_of([&] {
    const Module module(counted_functions + kernel_text("float* values, int steps", body));
    DeviceMemory memory;
    std::vector<float> first(6 * 40);
    std::iota(first.begin(), first.end(), 0.0f);
    Array<float> values(memory, "values", first);
    Launch launch = launch_of(6, 40, seed);
    launch.cluster = 3;
    launch.most_instructions = 1'000'000;
    const int steps = 3;
    run_kernel(module, launch, memory, values.data(), steps);
    for (size_t b = 0; b < 6; ++b) {
      for (size_t t = 0; t < 40; ++t)
        if (values.read()[b * 40 + t] != first[(b / 3 * 3 + (b + 2) % 3) * 40 + 39 - t] + 3)
          throw Error(ErrorKind::internal, {}, "other numbers");
    }
  });
}

TEST(EmulatorAsynchronous, ACopyTakesWhatWasStagedAndFenced) {
  for (uint64_t seed = 0; seed < seeds; ++seed) EXPECT_EQ(run_copy("", "", seed), "");
  const std::pair<std::string, std::string> damages[] = {
      {"  asm volatile(\"fence.proxy.async.shared::cta;\" : : : \"memory\");\n", ""},
      {"  __syncthreads();\n", ""},
      {"  await(counter, 0u);\n", ""},
      {"\"r\"(160u)", "\"r\"(144u)"},
      {"\"r\"(160u)", "\"r\"(176u)"},
      {"address_of(&stage[0]))", "address_of(&stage[1]))"},
  };
  for (const auto& [from, to] : damages) {
    for (uint64_t seed = 0; seed < 10; ++seed)
      EXPECT_NE(run_copy(from, to, seed), "") << from << " -> " << to;
  }
  EXPECT_THAT(
      run_copy("  asm volatile(\"fence.proxy.async.shared::cta;\" : : : \"memory\");\n", "", 1),
      HasSubstr("no fence.proxy.async after it"));
}

TEST(EmulatorAsynchronous, InstructionsAreWrittenAsTheCompilerNeedsThem) {
  const auto refused = [](const std::string& text) {
    return message_of([&] { const Module module(kernel_text("unsigned x", text)); });
  };
  EXPECT_THAT(refused("asm volatile(\"mbarrier.init.shared::cta.b64 %0, %1;\" : : \"r\"(x), "
                      "\"r\"(x) : \"memory\");"),
              HasSubstr("wanted '['"));
  EXPECT_THAT(refused("asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 [%0], %1;\" : : "
                      "\"r\"(x), \"r\"(x) : \"memory\");"),
              HasSubstr("wanted '_'"));
  EXPECT_THAT(refused("asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" : : \"r\"(x), "
                      "\"r\"(x));"),
              HasSubstr("wanted ':'"));
  EXPECT_THAT(
      refused("asm volatile(\"mbarrier.try_wait.parity.shared::cta.b64 %0, [%1], %2;\" : \"=r\"(x) "
              ": \"r\"(x), \"r\"(x) : \"memory\");"),
      HasSubstr("wanted one that declares its predicate"));
}

}  // namespace
}  // namespace graphc::core::cuda_emulator
