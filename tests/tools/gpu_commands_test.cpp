// SPDX-License-Identifier: Apache-2.0
// Commands for the target cuda, with the mocks of its driver and compiler: architectures behind its
// name, and the kernels that are kept on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kGraph = "graph @f(%x: f32[2]) { return tanh(%x) }";
constexpr const char* kModel = "lstm-layer hidden=4 steps=3 batch=2 ";

/// Runs a command where there are the mocks, or other libraries, and a cache in the folder.
Ran with_mocks(const TemporaryFolder& folder, const std::string& command,
               const std::string& libraries = GRAPHC_MOCK_FOLDER) {
  folder.add("f.graph", kGraph);
  return run_bash("export GRAPHC_CACHE=cache GRAPHC_CUDA_LIBRARIES='" + libraries + "'\n" + command,
                  folder);
}

int files_in(const std::filesystem::path& folder) {
  int count = 0;
  if (!std::filesystem::exists(folder)) return 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    count += entry.is_regular_file() ? 1 : 0;
  return count;
}

const std::string kCommands[] = {
    "graphc check f.graph --runs=1 --target=", "graphc run f.graph --input x=1 --target=",
    fmt::format("graphc train {} --max-steps=1 --target=", kModel),
    "graphc-bench f.graph --repeat=1 --target="};

TEST(GpuCommands, TakeTheArchitectureOfTheGpuAndNoOther) {
  const TemporaryFolder folder;
  for (const std::string& command : kCommands) {
    EXPECT_EQ(with_mocks(folder, command + "cuda:sm_90a").code, 0) << command;
    const Ran other = with_mocks(folder, command + "cuda:sm_80");
    EXPECT_EQ(other.code, 5) << command;
    EXPECT_THAT(other.err, HasSubstr("error: target 'cuda:sm_80' cannot run here: the GPU is of "
                                     "architecture sm_90\n"));
  }
}

TEST(GpuCommands, RefuseWhatIsNoArchitecture) {
  const TemporaryFolder folder;
  std::vector<std::string> commands(std::begin(kCommands), std::end(kCommands));
  commands.push_back(fmt::format("graphc dump {} --stage=cuda --target=", kModel));
  for (const std::string& command : commands) {
    const auto refused = [&](const std::string& target, const std::string& libraries) {
      const Ran ran = with_mocks(folder, command + target, libraries);
      EXPECT_EQ(ran.code, 2) << command << target;
      return ran.err;
    };
    EXPECT_THAT(refused("cuda:sm_999", GRAPHC_MOCK_FOLDER),
                HasSubstr("NVRTC 13.0 does not know sm_999; it compiles for sm_75, sm_80, "));
    EXPECT_THAT(refused("cuda:sm_80a", GRAPHC_MOCK_FOLDER),
                HasSubstr("'sm_80a' is no architecture; 'a' stands behind sm_90 and newer\n"));
    EXPECT_THAT(refused("cuda:sm_999", "none"),
                HasSubstr("'sm_999' is no architecture; there is sm_75, sm_80, sm_86, "));
    EXPECT_THAT(refused("cpu:sm_80", "none"),
                HasSubstr("target 'cpu' has no architectures: found 'cpu:sm_80'\n"));
  }
}

TEST(GpuCommands, WithoutAGpuItIsOneLineAndExitFive) {
  const TemporaryFolder folder;
  for (const std::string& command : kCommands) {
    const Ran ran = with_mocks(folder, command + "cuda", "none");
    EXPECT_EQ(ran.code, 5) << command;
    EXPECT_THAT(ran.err, HasSubstr("error: target 'cuda' cannot run here: no libcuda.so.1 was "
                                   "found\n"));
  }
}

TEST(GpuCommands, AWarmCacheIsOnDiskAndAColdOneIsNotLookedAt) {
  const TemporaryFolder folder;
  const auto bench = [&](const std::string& cache) {
    const Ran ran = with_mocks(
        folder, "graphc-bench f.graph --repeat=1 --target=cuda --json=- --cache=" + cache);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return Json::parse(ran.out)["results"][0]["compile"];
  };
  const auto cache = folder.path() / "cache";
  const Json cold = bench("cold");
  EXPECT_GT(cold["kernels"], 0);
  EXPECT_EQ(cold["cache_hits"], 0);
  EXPECT_EQ(files_in(cache), 0);
  EXPECT_EQ(bench("warm")["kernels"], 0);
  EXPECT_GE(files_in(cache), cold["kernels"].get<int>());
  EXPECT_EQ(bench("cold")["kernels"], cold["kernels"]);
}

TEST(GpuCommands, TheBenchmarkShowsWhatAClockThatDoesNotWaitWouldShow) {
  const TemporaryFolder folder;
  const Ran ran =
      with_mocks(folder, "graphc-bench f.graph --repeat=3 --target=cuda --json=- --cache=warm");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr(" ms enqueue only)"));
  const Json row = Json::parse(ran.out)["results"][0];
  EXPECT_GT(row["forward_enqueue_only_step_ms"], 0);
  EXPECT_LT(row["forward_enqueue_only_step_ms"], row["forward_step_ms"]);
  const Ran cpu = with_mocks(folder, "graphc-bench f.graph --repeat=3 --target=cpu --json=-");
  EXPECT_FALSE(Json::parse(cpu.out)["results"][0].contains("forward_enqueue_only_step_ms"));
  EXPECT_THAT(cpu.err, ::testing::Not(HasSubstr("enqueue")));
}

TEST(GpuCommands, TheBenchmarkHasRowsWithAndWithoutTheWayOfTheInputs) {
  const TemporaryFolder folder;
  for (const std::string what : {"f.graph", "lstm-layer hidden=3 steps=2 batch=2"}) {
    const Ran ran = with_mocks(folder, "graphc-bench " + what +
                                           " --repeat=3 --target=cuda --json=rows.json "
                                           "--io=host,device,ahead --compilations=1");
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("graphc fused io=device "));
    const Json rows = Json::parse(read_file(folder.path() / "rows.json"))["results"];
    ASSERT_EQ(rows.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(rows[i]["io"], std::vector({"host", "device", "ahead"})[i]);
      EXPECT_GT(rows[i]["forward_step_ms"], 0);
    }
  }
  for (const std::string wrong :
       {"--target=cuda --io=there", "--target=cpu --io=device", "--target=cpu --io=ahead",
        "--target=cuda --io=device --profile"}) {
    const Ran ran = with_mocks(folder, "graphc-bench f.graph " + wrong);
    EXPECT_EQ(ran.code, 2) << wrong;
    EXPECT_THAT(ran.err, HasSubstr("error: --io")) << wrong;
  }
}

TEST(GpuCommands, TwoProcessesFillOneCache) {
  const TemporaryFolder folder;
  const Ran ran = with_mocks(folder, kCommands[0] + "cuda & " + kCommands[0] + "cuda && wait $!");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const int kept = files_in(folder.path() / "cache");
  EXPECT_GT(kept, 0);
  EXPECT_EQ(with_mocks(folder, kCommands[0] + "cuda").code, 0);
  EXPECT_EQ(files_in(folder.path() / "cache"), kept);
}

}  // namespace
}  // namespace graphc::core::testing
