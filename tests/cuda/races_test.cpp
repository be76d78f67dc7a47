// SPDX-License-Identifier: Apache-2.0
// Races are found in any order of a run, and what is ordered is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cuda/run_text.h"

namespace graphc::core::cuda_emulator {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

std::string run_once(const std::string& body, unsigned blocks, unsigned threads, uint64_t seed) {
  const Module module(kernel_text("int* data, unsigned* flags, unsigned char* bytes", body));
  return message_of([&] {
    DeviceMemory memory;
    Array<int> data(memory, "data", std::vector<int>(4096, 3));
    Array<unsigned> flags(memory, "flags", std::vector<unsigned>(8));
    Array<unsigned char> bytes(memory, "bytes", std::vector<unsigned char>(4096));
    Launch launch = launch_of(blocks, threads, seed);
    launch.cooperative = true;
    run_kernel(module, launch, memory, data.data(), flags.data(), bytes.data());
  });
}

/// A reader that comes before the writer finds what was never written, if nothing was there.
void expect_race(const std::string& body, unsigned blocks, unsigned threads,
                 const std::string& part = "race: ") {
  for (uint64_t seed = 0; seed < seeds; ++seed)
    EXPECT_THAT(run_once(body, blocks, threads, seed),
                AnyOf(HasSubstr(part), HasSubstr("never written")))
        << body;
}

void expect_none(const std::string& body, unsigned blocks, unsigned threads) {
  for (uint64_t seed = 0; seed < seeds; ++seed)
    EXPECT_EQ(run_once(body, blocks, threads, seed), "") << body;
}

TEST(EmulatorRaces, WithinABlock) {
  const std::string parts[] = {"__shared__ int s[64]; const int t = threadIdx.x;\ns[t] = t;\n",
                               "__syncthreads();", "\ndata[t] = s[63 - t];"};
  expect_none(parts[0] + parts[1] + parts[2], 1, 64);
  expect_race(parts[0] + parts[2], 1, 64);
  // A warp's barrier orders its lanes and no others.
  expect_race(parts[0] + "__syncwarp(0xFFFFFFFFu);" + parts[2], 1, 64);
  expect_none(parts[0] + "__syncwarp(0xFFFFFFFFu);\ndata[t] = s[t ^ 31];", 1, 64);
  expect_race(parts[0] + "\ndata[t] = s[t ^ 31];", 1, 64);
  expect_none(
      "__shared__ int s[64]; const int t = threadIdx.x;\ns[t] = t;\n"
      "if (t < 8) { __syncwarp(0xFFu);\ndata[t] = s[t ^ 7]; }",
      1, 64);
  expect_race(
      "__shared__ int s[64]; const int t = threadIdx.x;\ns[t] = t;\n"
      "if (t < 8) { __syncwarp(0xFFu);\ndata[t] = s[t ^ 8]; }",
      1, 32);
  // A shuffle orders nothing.
  expect_race(parts[0] + "int k = __shfl_sync(0xFFFFFFFFu, t, 1);\ndata[t] = s[t ^ 31] + k;", 1,
              32);
}

TEST(EmulatorRaces, SayWhoAndWhere) {
  const std::string message = run_once(
      "if (threadIdx.x == 0)\ndata[5] = 1;\nif (threadIdx.x == 40)\ndata[5] = 2;", 1, 64, 3);
  EXPECT_THAT(message, HasSubstr("race: a write of 4 bytes at byte 20 of 'data' and a write by "));
  EXPECT_THAT(message, HasSubstr("block (0,0,0) thread (40,0,0)"));
  EXPECT_THAT(message, HasSubstr("block (0,0,0) thread (0,0,0)"));
  EXPECT_THAT(message, HasSubstr("line 3"));
  EXPECT_THAT(message, HasSubstr("line 5"));
}

TEST(EmulatorRaces, ReadersBeforeAWriter) {
  const std::string read = "const int t = threadIdx.x; int sum = data[9] + data[t];\n";
  const std::string write = "if (t == 33) data[9] = sum;";
  expect_race(read + write, 1, 64);
  expect_none(read + "__syncthreads();" + write, 1, 64);
  expect_race(read + "__syncthreads();" + write, 2, 64);
  expect_race(
      "const int t = threadIdx.x; __shared__ int s[2]; if (t == 0) s[0] = 5; "
      "__syncthreads(); int k = s[0]; if (t == 3) s[0] = k + 1;",
      1, 8);
  expect_none(
      "const int t = threadIdx.x; __shared__ int s[2]; if (t == 0) s[0] = 5; "
      "__syncthreads(); int k = s[0]; __syncwarp(0xFFu); if (t == 3) s[0] = k + 1;",
      1, 8);
}

TEST(EmulatorRaces, AnUpdateAfterAllBlocksHaveReadAndMet) {
  const std::string read =
      "const int t = threadIdx.x; const int b = blockIdx.x; int sum = data[9] + data[t];\n";
  const std::string meet =
      "__syncthreads(); if (t == 0) { __threadfence(); atomicAdd(flags, 1u);\n"
      "while (atomicAdd(flags, 0u) < gridDim.x) { sum = sum + 0; }\n"
      "__threadfence(); } __syncthreads();\n";
  const std::string update = "if (b == 0 && t == 0) data[9] = data[9] + sum;";
  expect_none(read + meet + update, 3, 64);
  expect_race(read + update, 3, 64);
  expect_race(read + meet + "if (b == 1) sum = data[9];\n" + update, 3, 64);
  expect_race(read + meet + "if (b == 0 && t == 40) sum = data[9];\n" + update, 3, 64);
}

TEST(EmulatorRaces, BetweenBlocks) {
  const std::string i = "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n";
  expect_none(i + "data[i] += 1; bytes[i] = (unsigned char)data[i];", 4, 64);
  expect_race(i + "data[i / 2] = i;", 4, 64);
  expect_race(i + "data[i] = data[(i + 1) % 256];", 4, 64);
  expect_race(i + "data[threadIdx.x] = i;", 2, 1);
  // Bytes of a word belong to different threads.
  expect_none(i + "bytes[i] = (unsigned char)i; bytes[i + 1024] = bytes[i];", 3, 40);
  expect_race(i + "bytes[i] = (unsigned char)i; if (i == 8) ((unsigned*)bytes)[1] = 1u;", 1, 32);
  // The same value by the same line is none, by another it is one.
  expect_none(i + "data[7] = 1;", 4, 64);
  expect_race(i + "if (i & 1)\ndata[7] = 1;\nelse\ndata[7] = 1;", 1, 64);
}

TEST(EmulatorRaces, AtomicsAgainstOthers) {
  expect_none("atomicAdd(data, 1); atomicMax(data + 1, (int)threadIdx.x);", 3, 64);
  expect_race("atomicAdd(data, 1); if (threadIdx.x == 5) data[1] = data[0];", 1, 64);
  expect_race("if (threadIdx.x == 5) data[0] = 7; atomicAdd(data, 1);", 1, 64);
  expect_none(
      "if (threadIdx.x == 5) data[0] = 7; __syncthreads(); atomicAdd(data, 1); "
      "__syncthreads(); int k = data[0];",
      1, 64);
  expect_race("if (threadIdx.x == 0) flags[0] = 1u; if (threadIdx.x == 1) atomicOr(flags, 4u);", 1,
              2);
}

const char* const handed_over =
    "const int t = threadIdx.x;\n"
    "if (blockIdx.x == 0) {\n"
    "  data[t] = t; SYNC\n"
    "  if (t == 0) RELEASE\n"
    "} else {\n"
    "  if (t == 0) while (ACQUIRE == 0u) grid_wait_hint();\n"
    "  AGAIN data[t + 64] = data[63 - t];\n"
    "}";

std::string with(std::string text, const std::vector<std::pair<std::string, std::string>>& parts) {
  for (const auto& [name, part] : parts) text.replace(text.find(name), name.size(), part);
  return text;
}

TEST(EmulatorRaces, FlagsHandOver) {
  const std::string barrier = "__syncthreads();", release = "store_release(flags, 1u);";
  const std::string acquire = "load_acquire(flags)";
  expect_none(
      with(handed_over,
           {{"SYNC", barrier}, {"RELEASE", release}, {"ACQUIRE", acquire}, {"AGAIN", barrier}}),
      2, 64);
  expect_none(with(handed_over, {{"SYNC", barrier},
                                 {"RELEASE", "{ __threadfence(); atomicExch(flags, 1u); }"},
                                 {"ACQUIRE", acquire},
                                 {"AGAIN", barrier}}),
              2, 64);
  expect_race(with(handed_over,
                   {{"SYNC", ""}, {"RELEASE", release}, {"ACQUIRE", acquire}, {"AGAIN", barrier}}),
              2, 64, "race: ");
  expect_race(with(handed_over,
                   {{"SYNC", barrier}, {"RELEASE", release}, {"ACQUIRE", acquire}, {"AGAIN", ""}}),
              2, 64, "race: ");
  expect_race(with(handed_over, {{"SYNC", barrier},
                                 {"RELEASE", "atomicExch(flags, 1u);"},
                                 {"ACQUIRE", acquire},
                                 {"AGAIN", barrier}}),
              2, 64, "race: a read");
  expect_race(with(handed_over, {{"SYNC", barrier},
                                 {"RELEASE", release},
                                 {"ACQUIRE", "atomicAdd(flags, 0u)"},
                                 {"AGAIN", barrier}}),
              2, 64, "race: a read");
  // One warp hands over by its own barrier.
  std::string warps = with(handed_over, {{"SYNC", "__syncwarp(0xFFFFFFFFu);"},
                                         {"RELEASE", release},
                                         {"ACQUIRE", acquire},
                                         {"AGAIN", "__syncwarp(0xFFFFFFFFu);"}});
  warps.replace(warps.find("63 - t"), 6, "31 - t");
  expect_none(warps, 2, 32);
}

TEST(EmulatorRaces, KernelsThatAnIndexWasExchangedInAreFound) {
  const std::string transpose =
      "__shared__ int tile[16][17];\n"
      "const int x = threadIdx.x % 16, y = threadIdx.x / 16;\n"
      "for (int step = 0; step < 3; ++step) {\n"
      "  tile[y][x] = data[y * 16 + x + 256 * step];\n"
      "  __syncthreads();\n"
      "  data[1024 + y * 16 + x + 256 * step] = tile[x][y];\n"
      "  __syncthreads();\n"
      "}";
  expect_none(transpose, 1, 256);
  std::string broken = transpose;
  broken.replace(broken.rfind("__syncthreads();"), 16, "");
  expect_race(broken, 1, 256);
  broken = transpose;
  broken.replace(broken.find("tile[y][x]"), 10, "tile[x % 8][y]");
  expect_race(broken, 1, 256);
}

}  // namespace
}  // namespace graphc::core::cuda_emulator
