// SPDX-License-Identifier: Apache-2.0
// tools/gpu-check on the mock driver: all of its work, its results, and that it can be interrupted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/files/files.h"
#include "tests/testing/source_tree.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::json;

std::string programs() { return std::filesystem::path(GRAPHC_TOOL).parent_path().string(); }

/// Leaks are looked for elsewhere: a hundred processes would do so at their end.
constexpr const char* kNoLeaks =
    "export ASAN_OPTIONS=detect_leaks=0:malloc_context_size=0:$ASAN_OPTIONS\n";

/// gpu-check of the source tree, with results in results/.
std::string gpu_check(const std::string& arguments, const std::string& with = programs()) {
  return fmt::format("{}'{}' --output=results --programs='{}' {}", kNoLeaks,
                     source_path("tools/gpu-check"), with, arguments);
}

Ran dry_run(const TemporaryFolder& folder, const std::string& arguments,
            const std::string& before = "") {
  // Dozens of commands, each of which has tests of its own that look for leaks.
  const std::string environment = "export ASAN_OPTIONS=detect_leaks=0:${ASAN_OPTIONS-}\n";
  return run_bash(environment + before + "\n" + gpu_check("--dry-run " + arguments), folder);
}

Json results(const TemporaryFolder& folder) {
  return Json::parse(read_file(folder.path() / "results" / "gpu-check.json"));
}

Json items_of(const Json& all, const std::string& part) {
  for (const Json& each : all.at("parts")) {
    if (each.at("name") == part) return each.at("items");
  }
  ADD_FAILURE() << "no part " << part;
  return Json::array();
}

std::vector<std::string> states_of(const Json& all, const std::string& part) {
  std::vector<std::string> states;
  for (const Json& item : items_of(all, part)) states.push_back(item.at("state"));
  return states;
}

/// Programs of NVIDIA that are not here: what they would run is run.
constexpr const char* kTools = R"(mkdir tools
cat > tools/nsys <<'END'
#!/bin/bash
while (($#)); do case $1 in */graphc) exec "$@" ;; esac; shift; done
exit 9
END
cp tools/nsys tools/compute-sanitizer
printf '#!/bin/bash\necho "a GPU, 1, 2"\n' > tools/nvidia-smi
chmod +x tools/*
export PATH=$PWD/tools:$PATH)";

void expect_everything(const Json& all) {
  EXPECT_EQ(all.at("schema"), "graphc-gpu-check/1");
  EXPECT_EQ(all.at("dry_run"), true);
  EXPECT_THAT(all.at("gpu").get<std::string>(), HasSubstr("emulator"));
  for (const char* state : {"failed", "unfinished", "left"})
    EXPECT_THAT(all.at(state), IsEmpty()) << state;
  for (const char* part : {"machine", "conformance", "sanitizer", "speed", "training"}) {
    EXPECT_THAT(states_of(all, part), AllOf(Not(IsEmpty()), Each("done"))) << part;
  }
  EXPECT_GT(items_of(all, "conformance").size(), 30u);
  for (const Json& item : items_of(all, "speed")) {
    EXPECT_GT(item.at("results").at(0).at("train_step_ms").get<double>(), 0) << item.at("name");
    EXPECT_FALSE(item.at("results").at(0).contains("peak_gflops")) << "the processor's peak";
  }
  const Json probes = items_of(all, "probes").at(0).at("probes");
  EXPECT_GT(probes.size(), 10u);
  for (const Json& probe : probes)
    EXPECT_TRUE(probe.contains("median") != probe.contains("absent")) << probe;
  const Json events = items_of(all, "training").at(0).at("events");
  EXPECT_EQ(std::ranges::count(events, "step", [](const Json& each) { return each["event"]; }), 3);
}

TEST(GpuCheck, DryRunGoesThroughAllOfIt) {
  const TemporaryFolder folder;
  const Ran ran = dry_run(folder, "", kTools);
  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_everything(results(folder));
  const std::string table = read_file(folder.path() / "results" / "gpu-check.md");
  EXPECT_THAT(table,
              AllOf(HasSubstr("figures of speed mean nothing"),
                    HasSubstr("\n| part | what | figure | note |\n| --- | --- | --- | --- |\n"),
                    HasSubstr("\n| probes | counter-barrier | "),
                    HasSubstr("\n| conformance | lstm train | agrees | "),
                    HasSubstr("\n| sanitizer | racecheck ptb-lm | clean | "),
                    HasSubstr("\n| speed | W2 small fused fp16, inputs on the host | train "),
                    HasSubstr("\n| peers | torch W1 H512 T30")));
  EXPECT_THAT(table, Not(HasSubstr("Failed")));
}

TEST(GpuCheck, InterruptedItGoesOnWhereItWas) {
  const TemporaryFolder folder;
  const std::string only = "--only=probes,training";
  const Ran ran = run_bash(gpu_check("--dry-run " + only) +
                               " & pid=$!\nwhile kill -0 $pid && ! [ -e "
                               "results/items/probes/probes.json ]; do sleep 0.02; done\n"
                               "kill -TERM $pid; wait $pid",
                           folder);
  EXPECT_EQ(ran.code, 130) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("call again to go on"));
  EXPECT_THAT(results(folder).at("left"), Contains("training/steps"));
  // What is done is not done again: a mark in it stays.
  const auto kept = folder.path() / "results/items/probes/probes.json";
  Json marked = Json::parse(read_file(kept));
  marked["mark"] = "kept";
  write_file_atomically(kept, marked.dump());
  EXPECT_EQ(dry_run(folder, only).code, 0);
  EXPECT_EQ(items_of(results(folder), "probes").at(0).at("mark"), "kept");
  EXPECT_EQ(states_of(results(folder), "training").at(0), "done");
  // Unless it is asked for.
  EXPECT_EQ(dry_run(folder, only + " --again").code, 0);
  EXPECT_FALSE(items_of(results(folder), "probes").at(0).contains("mark"));
}

TEST(GpuCheck, ThePlanOfTargetsComparesWithTheBestOfPyTorch) {
  const TemporaryFolder folder;
  // As if PyTorch had been measured before.
  folder.add("results/items/best-of-pytorch/torch_W1_H512_T30.json", R"({
    "name": "torch W1 H512 T30", "state": "done", "seconds": 1, "rows": [
      {"mode": "graph", "precision": "bf16", "version": "torch 2", "train_step_ms": 40},
      {"mode": "parameters", "precision": "bf16", "version": "torch 2", "train_step_ms": 20},
      {"mode": "graph", "precision": "tf32", "absent": "no memory"}]})");
  const Ran ran = dry_run(folder, "--plan=targets --minutes=6");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Json all = results(folder);
  // An LSTM in six placements and three precisions.
  EXPECT_THAT(states_of(all, "placements"), AllOf(SizeIs(18), Each("done")));
  EXPECT_THAT(states_of(all, "targets"), AllOf(SizeIs(31), Each("done")));
  double own = 0;
  for (const Json& item : items_of(all, "targets")) {
    for (const Json& row : item.at("results")) {
      if (item.at("name") == "W1 H512 T30 fused bf16" && row.at("io") == "device")
        own = row.at("train_step_ms");
    }
  }
  ASSERT_GT(own, 0);
  const std::string table = read_file(folder.path() / "results" / "gpu-check.md");
  EXPECT_THAT(table, HasSubstr("\n| W1 H512 T30 | bf16 | "));
  EXPECT_THAT(table, HasSubstr(fmt::format(" | 20 | parameters | {:.4g} | 2.3 |\n", 20 / own)));
  EXPECT_THAT(table, HasSubstr(" | not measured |  | not measured | 2.0 |\n"));
  EXPECT_THAT(table, HasSubstr("\n| W5 gru H512 T30 | bf16 | "));
  EXPECT_EQ(dry_run(folder, "--plan=nothing").code, 2);
  const Ran other = dry_run(folder, "--plan=targets --only=speed");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("'speed': there are machine, targets, best-of-pytorch"));
}

TEST(GpuCheck, SaysWhatItHadNoTimeFor) {
  const TemporaryFolder folder;
  const Ran ran = dry_run(folder, "--only=conformance --minutes=0.02");
  EXPECT_EQ(ran.code, 5) << ran.err;
  const Json all = results(folder);
  EXPECT_GT(all.at("left").size(), 10u);
  EXPECT_THAT(read_file(folder.path() / "results" / "gpu-check.md"),
              HasSubstr("Not begun, for want of time: "));
  EXPECT_THAT(ran.err, HasSubstr("left: conformance/"));
}

TEST(GpuCheck, FailsWhenATargetDoesNotAgree) {
  const TemporaryFolder folder;
  // A graphc that finds a difference in whatever it checks.
  const std::string other = fmt::format(R"(mkdir -p other/bin
ln -s '{0}'/graphc-* other/bin/
ln -s '{0}/../mock' other/mock
cat > other/bin/graphc <<'END'
#!/bin/bash
[ "$1" != check ] || {{ echo "@train: cuda, fused: %loss: element 0 is 1 for 2"; exit 4; }}
exec '{0}/graphc' "$@"
END
chmod +x other/bin/graphc
)",
                                        programs());
  const Ran ran = run_bash(
      other + gpu_check("--dry-run --only=conformance --minutes=0.1", "other/bin"), folder);
  EXPECT_EQ(ran.code, 4) << ran.err;
  const Json item = items_of(results(folder), "conformance").at(0);
  EXPECT_EQ(item.at("state"), "failed");
  EXPECT_EQ(item.at("code"), 4);
  EXPECT_THAT(item.at("reason").get<std::string>(), HasSubstr("element 0 is 1 for 2"));
  EXPECT_THAT(read_file(folder.path() / "results" / "gpu-check.md"),
              HasSubstr("\nFailed: conformance/lstm train"));
}

/// A source tree whose programs are `programs()`, in build/release without the mock.
std::string tree_without_mock() {
  return fmt::format(
      R"(mkdir -p tree/tools tree/build/release/bin tree/build/dev
cp -r '{0}' '{1}' tree/tools
ln -s '{2}'/graphc* tree/build/release/bin/
)",
      source_path("tools/gpu-check"), source_path("tools/gpu_check"), programs());
}

/// A dry run of that tree, which has to find its programs by itself.
std::string dry_run_of_tree() {
  return fmt::format("{}tree/tools/gpu-check --dry-run --only=machine --output=results", kNoLeaks);
}

TEST(GpuCheck, DryRunWantsTheMockAndSaysWhatBuildsIt) {
  const TemporaryFolder folder;
  const Ran ran = run_bash(tree_without_mock() + dry_run_of_tree(), folder);
  EXPECT_EQ(ran.code, 5) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("no libcuda.so.1 in "));
  EXPECT_THAT(ran.err, HasSubstr("build/release/mock; tools/test builds one in build/dev/mock"));
}

TEST(GpuCheck, DryRunTakesTheBuildThatHasTheMock) {
  const TemporaryFolder folder;
  const std::string dev = fmt::format(
      "ln -s '{0}' tree/build/dev/bin\nln -s '{0}/../mock' tree/build/dev/mock\n", programs());
  const Ran ran = run_bash(tree_without_mock() + dev + dry_run_of_tree(), folder);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(states_of(results(folder), "machine"), Contains("done"));
}

TEST(GpuCheck, RefusesWhatItCannotDo) {
  const TemporaryFolder folder;
  const Ran unknown = dry_run(folder, "--only=nothing");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("no part is called 'nothing': there are machine, probes"));
  const Ran missing =
      run_bash("export GRAPHC_CUDA_LIBRARIES=none\n" + gpu_check("--only=machine"), folder);
  EXPECT_EQ(missing.code, 5);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("no libcuda.so.1 was found"), HasSubstr("--dry-run")));
  folder.add("results/subject.json", R"({"gpu": "another"})");
  const Ran mixed = dry_run(folder, "--only=machine");
  EXPECT_EQ(mixed.code, 2);
  EXPECT_THAT(mixed.err, HasSubstr("name another folder with --output"));
}

}  // namespace
}  // namespace graphc::core::testing
