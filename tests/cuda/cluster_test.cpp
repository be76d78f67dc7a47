// SPDX-License-Identifier: Apache-2.0
// Clusters of blocks: their barrier, the shared memory that they reach of each other, and what is
// wrong with either.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/cuda/run_text.h"

namespace graphc::core::cuda_emulator {
namespace {

using testing::HasSubstr;

const std::string cluster_arrival =
    "asm volatile(\"barrier.cluster.arrive.release;\" : : : \"memory\");\n";
const std::string cluster_wait =
    "asm volatile(\"barrier.cluster.wait.acquire;\" : : : \"memory\");\n";
const std::string cluster_barrier = cluster_arrival + cluster_wait;

/// The shared memory of a block of the cluster: `float* NAME`.
std::string cluster_peer(const std::string& name, const std::string& own, const std::string& rank) {
  return "float* " + name + " = " + own + ";\nasm volatile(\"mapa.u64 %0, %1, %2;\" : \"=l\"(" +
         name + ") : \"l\"(" + own + "), \"r\"(" + rank + "));\n";
}

/// What is wrong with a launch of six blocks of 40 threads in clusters of three; "" if nothing is.
std::string cluster_fault(const std::string& body, uint64_t seed = 1, unsigned cluster = 3) {
  return message_of([&] {
    const Module module(kernel_text("float* out", body));
    DeviceMemory memory;
    Array<float> out(memory, "out", std::vector<float>(6 * 40));
    Launch launch = launch_of(6, 40, seed);
    launch.cluster = cluster;
    run_kernel(module, launch, memory, out.data());
  });
}

// Each block writes into the shared memory of the next one of its cluster, over and over.
std::string ring(const std::string& middle, const std::string& last) {
  return "__shared__ float box[2][40];\n"
         "const int t = threadIdx.x;\n"
         "const unsigned rank = blockIdx.x % 3, next = (rank + 1u) % 3u;\n"
         "box[0][t] = values[blockIdx.x * 40 + t];\nbox[1][t] = 0.0f;\n" +
         cluster_barrier + "for (int step = 0; step < steps; ++step) {\n" +
         cluster_peer("to", "&box[(step + 1) % 2][0]", "next") +
         "to[(t + 1) % 40] = box[step % 2][t] + 1.0f;\n" + middle + "}\n" +
         "values[blockIdx.x * 40 + t] = box[steps % 2][t];\n" + last;
}

void run_ring(const std::string& body, uint64_t seed) {
  const Module module(kernel_text("float* values, int steps", body));
  DeviceMemory memory;
  std::vector<float> first(6 * 40);
  std::iota(first.begin(), first.end(), 0.0f);
  Array<float> values(memory, "values", first);
  Launch launch = launch_of(6, 40, seed);
  launch.cluster = 3;
  const int steps = 4;
  run_kernel(module, launch, memory, values.data(), steps);
  const std::vector<float> found = values.read();
  for (int b = 0; b < 6; ++b) {
    for (int t = 0; t < 40; ++t) {
      const int from = b / 3 * 3 + (b % 3 - steps + 6) % 3, at = (t - steps + 40) % 40;
      EXPECT_EQ(found[size_t(b * 40 + t)], first[size_t(from * 40 + at)] + steps);
    }
  }
}

TEST(EmulatorCluster, BlocksWriteIntoEachOthersSharedMemory) {
  for (uint64_t seed = 0; seed < seeds; ++seed) run_ring(ring(cluster_barrier, ""), seed);
}

TEST(EmulatorCluster, WorkBetweenArrivalAndWaitIsInOrder) {
  const std::string middle =
      cluster_arrival + "float sum = 0.0f;\nsum = sum + 1.0f;\n" + cluster_wait;
  for (uint64_t seed = 0; seed < seeds; ++seed) run_ring(ring(middle, ""), seed);
}

TEST(EmulatorCluster, ARingWithoutItsBarrierIsARace) {
  for (uint64_t seed = 0; seed < 5; ++seed)
    EXPECT_THAT(message_of([&] { run_ring(ring("__syncthreads();\n", cluster_barrier), seed); }),
                HasSubstr("race: "));
}

TEST(EmulatorCluster, WhatIsDoneBetweenArrivalAndWaitIsNotOrderedByThem) {
  const auto body = [](const std::string& before, const std::string& between) {
    return "__shared__ float box[40];\nbox[threadIdx.x] = 0.0f;\n" + cluster_barrier +
           cluster_peer("to", "&box[0]", "(blockIdx.x + 1u) % 3u") + before + cluster_arrival +
           between + cluster_wait + "out[blockIdx.x * 40 + threadIdx.x] = box[threadIdx.x];\n" +
           cluster_barrier;
  };
  const std::string write = "to[threadIdx.x] = 1.0f;\n";
  for (uint64_t seed = 0; seed < 5; ++seed) {
    EXPECT_EQ(cluster_fault(body(write, ""), seed), "");
    EXPECT_THAT(cluster_fault(body("", write), seed), HasSubstr("race: "));
  }
}

TEST(EmulatorCluster, TheBarrierOrdersGlobalMemoryOfItsClusterAlone) {
  const auto body = [](const std::string& from) {
    return "out[blockIdx.x * 40 + threadIdx.x] = 1.0f;\n" + cluster_barrier + "float x = out[" +
           from + "];\n" + "if (x < 0.0f) out[0] = x;\n";
  };
  for (uint64_t seed = 0; seed < 5; ++seed) {
    EXPECT_EQ(cluster_fault(
                  body("blockIdx.x / 3 * 120 + (blockIdx.x * 40 + threadIdx.x + 57) % 120"), seed),
              "");
    EXPECT_THAT(cluster_fault(body("(blockIdx.x * 40 + threadIdx.x + 57) % 240"), seed),
                HasSubstr("race: "));
  }
}

TEST(EmulatorCluster, SharedMemoryOfABlockThatMayNotHaveBegunIsOutOfReach) {
  const std::string write = "__shared__ float box[40];\n" +
                            cluster_peer("to", "&box[0]", "(blockIdx.x + 1u) % 3u") +
                            "to[threadIdx.x] = 1.0f;\n";
  for (uint64_t seed = 0; seed < 5; ++seed) {
    EXPECT_THAT(cluster_fault(write + cluster_barrier, seed),
                HasSubstr("which may not have begun"));
    EXPECT_EQ(cluster_fault(cluster_barrier + write + cluster_barrier, seed), "");
  }
}

TEST(EmulatorCluster, ABlockEndsWhenNobodyReachesItsSharedMemoryAnyMore) {
  const std::string read = "__shared__ float box[40];\nbox[threadIdx.x] = 2.0f;\n" +
                           cluster_barrier +
                           cluster_peer("from", "&box[0]", "(blockIdx.x + 1u) % 3u") +
                           "out[blockIdx.x * 40 + threadIdx.x] = from[39 - threadIdx.x];\n";
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    EXPECT_EQ(cluster_fault(read + cluster_barrier, seed), "");
    EXPECT_THAT(
        cluster_fault(read, seed),
        testing::AnyOf(HasSubstr("the block is done while block ("), HasSubstr(", which is done")));
  }
}

TEST(EmulatorCluster, SharedMemoryOfOthersHasBoundsAndIsUnwrittenAtFirst) {
  const auto reads = [](const std::string& index) {
    return "__shared__ float box[40];\nif (threadIdx.x < 39) box[threadIdx.x] = 0.0f;\n" +
           cluster_barrier + cluster_peer("from", "&box[0]", "(blockIdx.x + 1u) % 3u") +
           "out[blockIdx.x * 40 + threadIdx.x] = from[" + index + "];\n" + cluster_barrier;
  };
  EXPECT_EQ(cluster_fault(reads("threadIdx.x % 39")), "");
  EXPECT_THAT(cluster_fault(reads("threadIdx.x")), HasSubstr("never written"));
  EXPECT_THAT(cluster_fault(reads("threadIdx.x + 1")),
              testing::AnyOf(HasSubstr("past the end of"), HasSubstr("never written")));
  EXPECT_THAT(cluster_fault("__shared__ float box[40];\n" + cluster_peer("to", "&box[0]", "3u")),
              HasSubstr("mapa to block 3 of a cluster of 3"));
  EXPECT_THAT(cluster_fault(cluster_peer("to", "out", "0u")),
              HasSubstr("mapa of an address outside"));
}

TEST(EmulatorCluster, DivergentBarriersAreErrors) {
  EXPECT_EQ(cluster_fault(cluster_barrier + cluster_barrier), "");
  EXPECT_THAT(
      cluster_fault("if (blockIdx.x % 3 == 1 && threadIdx.x == 7) return;\n" + cluster_barrier),
      HasSubstr("divergent barrier of a cluster: "));
  EXPECT_THAT(cluster_fault("if (threadIdx.x == 7) {\n" + cluster_barrier + "} else {\n" +
                            cluster_barrier + "}\n"),
              HasSubstr("divergent barrier of a cluster: others of it arrived at that of line "));
  EXPECT_THAT(cluster_fault("if (blockIdx.x % 3 == 1 && threadIdx.x == 7)\n__syncthreads();\n" +
                            cluster_barrier),
              HasSubstr("deadlock: it waits"));
  EXPECT_THAT(cluster_fault(cluster_arrival), HasSubstr("done without having waited"));
  EXPECT_THAT(cluster_fault(cluster_wait),
              HasSubstr("waits at the cluster's barrier without having arrived"));
  EXPECT_THAT(cluster_fault(cluster_arrival + cluster_arrival + cluster_wait),
              HasSubstr("again without having waited"));
}

TEST(EmulatorCluster, LaunchesAreOfWholeClusters) {
  EXPECT_EQ(cluster_fault(cluster_barrier, 1, 1), "");
  EXPECT_EQ(cluster_fault(cluster_barrier, 1, 6), "");
  EXPECT_THAT(cluster_fault(cluster_barrier, 1, 4), HasSubstr("6 blocks along x in clusters of 4"));
  EXPECT_THAT(cluster_fault(cluster_barrier, 1, 0), HasSubstr("in clusters of 0"));
}

TEST(EmulatorCluster, InstructionsAreWrittenAsTheCompilerNeedsThem) {
  const auto refused = [](const std::string& text) {
    return message_of([&] { const Module module(kernel_text("float* out, unsigned x", text)); });
  };
  EXPECT_THAT(refused("asm volatile(\"barrier.cluster.arrive.release;\" : :);"),
              HasSubstr("found ')', wanted ':'"));
  EXPECT_THAT(refused("asm volatile(\"barrier.cluster.wait.acquire;\" : : : \"cc\");"),
              HasSubstr("wanted \"memory\""));
  EXPECT_THAT(refused("asm volatile(\"mapa.u64 %0, %1, %2;\" : \"=l\"(out) : \"l\"(x), \"r\"(x));"),
              HasSubstr("found \"l\" of type unsigned, wanted unsigned long long"));
}

}  // namespace
}  // namespace graphc::core::cuda_emulator
