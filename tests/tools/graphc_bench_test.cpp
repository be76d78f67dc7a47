// SPDX-License-Identifier: Apache-2.0
// The command line of graphc-bench: the table, the JSON, the exit codes. No speed is asserted: only
// that what is reported fits together.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/testing/temporary_folder.h"
#include "tests/tools/run_tool.h"
#include "tests/tools/shell.h"

namespace graphc::core {
namespace {

using graphc::core::testing::content;
using graphc::core::testing::Ran;
using graphc::core::testing::run_bash;
using graphc::core::testing::TemporaryFolder;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Ran bench(const std::string& arguments) {
  return graphc::core::testing::run_tool(GRAPHC_BENCH, arguments);
}

constexpr const char* kTiny =
    "lstm-layer hidden=16 steps=3 batch=4 --repeat=3 --compilations=2 --threads=1 ";

/// The results of a benchmark written to stdout.
json results(const std::string& arguments) {
  const Ran ran = bench(arguments + " --json=-");
  EXPECT_EQ(ran.code, 0) << ran.err;
  return ran.code == 0 ? json::parse(ran.out)["results"] : json::array();
}

/// A quantity with its least and largest reading.
void expect_summary(const json& row, const std::string& name) {
  ASSERT_TRUE(row.contains(name)) << name;
  EXPECT_GT(row[name + "_min"].get<double>(), 0) << name;
  EXPECT_LE(row[name + "_min"].get<double>(), row[name].get<double>()) << name;
  EXPECT_LE(row[name].get<double>(), row[name + "_max"].get<double>()) << name;
}

TEST(GraphcBenchCpu, TheTableHasARowForEachConfigurationInOrder) {
  const Ran ran = bench(
      "lstm-layer hidden=16,8 steps=3 batch=4,2 --variant=basic,fused --repeat=1 --compilations=1 "
      "--threads=1");
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::istringstream lines(ran.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_THAT(line, ContainsRegex("^Library +[|] Compile .s. [|] Train .ms.example. [|] Forw"));
  for (const char* hidden : {"16", "8"}) {
    for (const char* batch : {"4", "2"}) {
      for (const char* variant : {"basic", "fused"}) {
        ASSERT_TRUE(std::getline(lines, line));
        EXPECT_THAT(line, ContainsRegex(fmt::format(
                              "^graphc {} hidden={} steps=3 batch={} +([|] +[0-9.e-]+ ?){{3}}$",
                              variant, hidden, batch)));
      }
    }
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

TEST(GraphcBenchCpu, WaysToWriteLoopsOutAreRowsToo) {
  const Ran ran = bench(
      "lstm-layer hidden=8 batch=2 steps=3,1 --unroll=auto,full,2 --repeat=1 "
      "--compilations=1 --threads=1 --json=-");
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::vector<std::string> found;
  const json results = json::parse(ran.out)["results"];
  for (const json& row : results)
    found.push_back(fmt::format("{} {}", row["parameters"]["steps"].get<int>(),
                                row["unroll"].get<std::string>()));
  EXPECT_EQ(found,
            (std::vector<std::string>{"3 auto", "3 full", "3 2", "1 auto", "1 full", "1 2"}));
  // Three steps multiply by the matrix of the state twice, the first time by zeros; one step never.
  const double product = 2.0 * 2 * 8 * 32;
  EXPECT_EQ(results[0]["forward_product_flop"], 5 * product);
  EXPECT_EQ(results[3]["forward_product_flop"], product);
}

TEST(GraphcBenchCpu, TakesEveryFormOfAGraph) {
  const TemporaryFolder folder;
  const std::string graph =
      folder.add("f.graph", "graph @f(%x: f32[8]) { return tanh(%x) }").string();
  for (const auto& [form, ending] :
       {std::pair{"text", "pbtxt"}, std::pair{"binary", "pb"}, std::pair{"json", "json"}}) {
    const Ran written =
        testing::run_tool(GRAPHC_TOOL, fmt::format("dump {} --stage=proto --form={}", graph, form));
    ASSERT_EQ(written.code, 0) << written.err;
    const std::string file = folder.add(fmt::format("f.{}", ending), written.out).string();
    const Ran ran = bench(file + " --repeat=1 --compilations=1 --threads=1");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("graph=f"));
  }
}

TEST(GraphcBenchCpu, MarkdownIsATable) {
  const Ran ran = bench(std::string(kTiny) + "--markdown");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("| Library "));
  EXPECT_THAT(ran.out, HasSubstr("\n| --- | ---: | ---: | ---: |\n| graphc fused "));
}

TEST(GraphcBenchCpu, TheJsonHasEveryFieldThatApplies) {
  const Ran ran = bench(std::string(kTiny) + "--json=-");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json all = json::parse(ran.out);
  for (const char* name : {"cpu", "cores", "threads", "os", "compiler", "llvm", "graphc"})
    EXPECT_TRUE(all["environment"].contains(name)) << name;
  ASSERT_EQ(all["results"].size(), 1u);
  const json& row = all["results"][0];
  EXPECT_EQ(row["workload"], "lstm-layer");
  EXPECT_EQ(row["parameters"],
            json({{"hidden", 16}, {"steps", 3}, {"batch", 4}, {"cell", "lstm"}}));
  EXPECT_EQ(row["variant"], "fused");
  EXPECT_EQ(row["target"], "cpu");
  EXPECT_EQ(row["precision"], "f32");
  EXPECT_EQ(row["threads"], 1);
  EXPECT_EQ(row["repeat"], 3);
  for (const char* name :
       {"compile_s", "train_ms", "forward_ms", "train_step_ms", "forward_step_ms", "train_gflops",
        "forward_gflops", "train_fraction_of_peak", "forward_fraction_of_peak"})
    expect_summary(row, name);
  EXPECT_GT(row["peak_bytes"].get<int64_t>(), 0);
  EXPECT_FALSE(row.contains("words_per_s"));
}

TEST(GraphcBenchCpu, WhatIsReportedFitsTogether) {
  const json row = results(kTiny)[0];
  const auto number = [&](const char* name) { return row.at(name).get<double>(); };
  EXPECT_NEAR(number("train_step_ms"), 4 * number("train_ms"), 1e-9 * number("train_step_ms"));
  // W1: 2 T B (H + H) 4 H forward, and 2.5 times that to train, as its input needs no gradient.
  const double forward = 2.0 * 3 * 4 * 32 * 64;
  EXPECT_NEAR(number("forward_gflops"), forward / number("forward_step_ms") * 1e-6,
              1e-6 * number("forward_gflops"));
  EXPECT_NEAR(number("train_gflops"), 2.5 * forward / number("train_step_ms") * 1e-6,
              1e-6 * number("train_gflops"));
  for (const char* name : {"train_fraction_of_peak", "forward_fraction_of_peak"}) {
    EXPECT_GT(number(name), 0);
    EXPECT_LE(number(name), 1);
  }
  EXPECT_NEAR(number("train_fraction_of_peak"), number("train_gflops") / number("peak_gflops"),
              1e-9);
}

TEST(GraphcBenchCpu, ThePhasesAddUpToTheCompileTime) {
  // A larger model, so that the phases are milliseconds and a lost interval would be seen.
  for (const json& row :
       results("lstm-layer hidden=64 steps=20 batch=16 cell=lstm,gru --variant=fused,basic "
               "--threads=1 --repeat=1 --compilations=1")) {
    double sum = 0;
    for (const char* phase : {"trace_s", "passes_s", "plan_s", "emit_s", "codegen_s", "link_s",
                              "allocate_s", "first_step_s"}) {
      EXPECT_GT(row["compile"][phase].get<double>(), 0) << phase;
      sum += row["compile"][phase].get<double>();
    }
    const double compile = row["compile_s"];
    EXPECT_NEAR(sum, compile, 0.01 * compile + 2e-4);
    EXPECT_GT(row["compile"]["kernels"].get<int64_t>(), 0);
    EXPECT_EQ(row["compile"]["cache_hits"], 0);
  }
}

TEST(GraphcBenchCpu, AWarmCacheGeneratesNothing) {
  const json row = results(std::string(kTiny) + "--cache=warm")[0];
  EXPECT_EQ(row["compile"]["kernels"], 0);
  EXPECT_GT(row["compile"]["cache_hits"].get<int64_t>(), 0);
}

TEST(GraphcBenchCpu, KernelsOnDiskAreFoundByEveryCompilation) {
  const TemporaryFolder folder;
  const auto compile = [&](const std::string& cache) {
    const Ran ran = run_bash("export GRAPHC_CACHE=kept\n'" GRAPHC_BENCH "' " + std::string(kTiny) +
                                 "--json=- --cache=" + cache,
                             folder);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out)["results"][0]["compile"];
  };
  const auto kept = folder.path() / "kept";
  const json cold = compile("cold");
  EXPECT_GT(cold["kernels"], 0);
  EXPECT_FALSE(std::filesystem::exists(kept));
  const json disk = compile("disk");
  EXPECT_EQ(disk["kernels"], 0);
  EXPECT_EQ(disk["cache_hits"], cold["kernels"]);
  EXPECT_GT(disk["link_s"], 0) << "each compilation loads them";
  const auto refused = [&](const std::string& before, const std::string& options) {
    return run_bash(before + "\n'" GRAPHC_BENCH "' " + std::string(kTiny) + options, folder);
  };
  for (const char* word : {"none", "off"}) {
    const Ran none = refused(fmt::format("export GRAPHC_CACHE={}", word), "--cache=disk");
    EXPECT_EQ(none.code, 2);
    EXPECT_THAT(none.err,
                HasSubstr("--cache=disk: GRAPHC_CACHE names no folder to keep kernels in"));
  }
  const Ran nowhere = refused("export GRAPHC_CACHE=/proc/graphc", "--cache=disk");
  EXPECT_EQ(nowhere.code, 5);
  EXPECT_THAT(nowhere.err, HasSubstr("kernels were compiled: kernels are not kept: cannot make"));
  const Ran evaluator =
      bench("lstm-layer hidden=16 steps=3 batch=4 --cache=warm --target=reference");
  EXPECT_EQ(evaluator.code, 2);
  EXPECT_THAT(evaluator.err, HasSubstr("--cache=warm: target 'reference' has no kernels"));
  EXPECT_TRUE(std::filesystem::exists(kept));
}

TEST(GraphcBenchCpu, LanguageModelsNeedNoCorpusAndCountWords) {
  const json row = results(
      "ptb-lm size=test vocabulary=50 batch=5 --threads=1 --repeat=2 "
      "--compilations=2")[0];
  expect_summary(row, "words_per_s");
  // Two steps of five rows; the parameters that follow the size are there.
  EXPECT_NEAR(row["words_per_s"].get<double>(), 10 / row["train_step_ms"].get<double>() * 1e3,
              1e-6 * row["words_per_s"].get<double>());
  EXPECT_EQ(row["parameters"]["hidden"], 2);
  EXPECT_EQ(row["parameters"]["layers"], 1);
  EXPECT_NEAR(row["train_gflops"].get<double>() * row["train_step_ms"].get<double>(),
              3 * row["forward_gflops"].get<double>() * row["forward_step_ms"].get<double>(), 1e-9);
}

TEST(GraphcBenchCpu, ARandomGraphIsMeasuredForEachSize) {
  const json rows =
      results("random-graph nodes=40,80 seed=2 --repeat=1 --compilations=2 --threads=1");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["workload"], "random-graph");
  EXPECT_EQ(rows[1]["parameters"]["nodes"], 80);
  EXPECT_EQ(rows[1]["parameters"]["seed"], 2);
  EXPECT_EQ(bench("random-graph node=40").code, 2);
}

TEST(GraphcBenchCpu, AFileIsMeasuredGraphByGraph) {
  const TemporaryFolder folder;
  const auto file = folder.add("two.graph", R"(
graph @step(%x: f32[8]) state(%w: f32[8]) {
  %s = add %w, %x
  next %w = %s
  return %s
}
graph @look(%x: f32[8]) {
  %y = tanh %x
  return %y
})");
  const json rows = results(file.string() + " --threads=1 --repeat=2 --compilations=2");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["parameters"]["graph"], "step");
  expect_summary(rows[0], "train_step_ms");
  EXPECT_FALSE(rows[0].contains("forward_step_ms"));
  expect_summary(rows[1], "forward_step_ms");
  for (const char* absent : {"train_step_ms", "forward_gflops", "forward_fraction_of_peak"})
    EXPECT_FALSE(rows[1].contains(absent)) << absent;
}

TEST(GraphcBenchCpu, OfAFileProductsCountAndLoopsInPiecesAreNamed) {
  const TemporaryFolder folder;
  const auto file = folder.add("f.graph", R"(graph @f(%x: f32[3,8,8], %h0: f32[8,8], %u: f32[8,8]) {
  %h.end = scan %x.t in %x carry %h = %h0 with %u { next %h = matmul(%x.t, matmul(%u, %h)) }
  return %h.end
})");
  const Ran ran = bench(file.string() + " --repeat=1 --compilations=1 --threads=1 --json=-");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_GT(json::parse(ran.out)["results"][0]["forward_gflops"].get<double>(), 0);
  EXPECT_THAT(ran.err, HasSubstr("f.graph:2: remark: fuse: %h.end: a loop, not one recurrent"));
}

TEST(GraphcBenchCpu, AFileTakesItsInputsAndDrawsIndicesInsideTheirTables) {
  const TemporaryFolder folder;
  const auto file = folder.add("rows.graph", R"(
graph @rows(%t: f32[1,3], %i: i32[4], %n: i32[]) { return gather(%t, add(%i, %n)) }
)");
  const std::string measure = file.string() + " --threads=1 --repeat=2 --input ";
  EXPECT_EQ(bench(measure + "n=0 --scale=0.5").code, 0);
  const Ran outside = bench(measure + "n=1");
  EXPECT_EQ(outside.code, 3);
  EXPECT_THAT(outside.err, HasSubstr("index"));
  EXPECT_EQ(bench(measure + "m=1").code, 2);
  EXPECT_EQ(bench("lstm-layer hidden=3 --input x=1").code, 2);
}

TEST(GraphcBenchCpu, AProfileAsJsonHasTheFiguresOfEveryKernel) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "profile.json").string();
  const Ran ran =
      bench("lstm-layer hidden=16 steps=3 batch=4 --threads=1 --profile --json=" + file);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("GFLOP/s     GB/s  kernel"));
  const json all = json::parse(content(file));
  EXPECT_TRUE(all["environment"].contains("cpu"));
  ASSERT_EQ(all["profiles"].size(), 2u);
  const json& forward = all["profiles"][1];
  EXPECT_EQ(forward["workload"], "lstm-layer");
  EXPECT_EQ(forward["parameters"]["hidden"], 16);
  EXPECT_EQ(forward["call"], "forward");
  EXPECT_EQ(forward["runs"], 5);
  EXPECT_GT(forward["peak_gflops"], 0);
  bool has_product = false;
  for (const json& kernel : forward["kernels"]) {
    expect_summary(kernel, "seconds");
    EXPECT_GE(kernel["calls"], 1);
    EXPECT_GT(kernel["bytes"], 0);
    if (kernel["kind"] != "gemm") continue;
    // x [3, 4, 16] by w [16, 64], with b [64].
    EXPECT_EQ(kernel["flop"], 2 * 12 * 16 * 64);
    EXPECT_EQ(kernel["bytes"], 4 * (12 * 16 + 16 * 64 + 64 + 12 * 64));
    EXPECT_THAT(kernel["file"].get<std::string>(), HasSubstr("cells.cpp"));
    EXPECT_GT(kernel["line"], 0);
    has_product = true;
  }
  EXPECT_TRUE(has_product) << forward.dump(1);
  std::string loops;  // of the step, then of the forward call: (f)orward, (b)ackward
  for (const json& profile : all["profiles"])
    for (const json& kernel : profile["kernels"])
      if (kernel["kind"] == "recurrent") loops += kernel["backward"] ? 'b' : 'f';
  EXPECT_EQ(loops, "fbf");
  const Ran alone = bench("lstm-layer hidden=4 steps=2 batch=2 --threads=1 --profile --json=-");
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(json::parse(alone.out)["profiles"].size(), 2u);
}

TEST(GraphcBenchCpu, BandwidthIsThatOfEachMemory) {
  const Ran ran = bench("--bandwidth --threads=1 --json=-");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json all = json::parse(ran.out);
  EXPECT_EQ(all["threads"], 1);
  EXPECT_GT(all["caches"]["second_level"], 0);
  ASSERT_EQ(all["bandwidth"].size(), 3u);
  int64_t smaller = 0;
  for (const json& each : all["bandwidth"]) {
    EXPECT_GT(each["gb_per_s"], 0) << each;
    EXPECT_GT(each["bytes_of_thread"], smaller) << each;
    smaller = each["bytes_of_thread"];
  }
  EXPECT_EQ(all["bandwidth"][2]["from"], "memory");
  EXPECT_GT(all["barrier_us"], 0);
}

TEST(GraphcBenchCpu, AJsonFileComesBesideTheTable) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "rows.json";
  const Ran ran = bench(std::string(kTiny) + "--json=" + file.string());
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("Library"));
  EXPECT_EQ(json::parse(content(file))["results"].size(), 1u);
  EXPECT_EQ(bench(std::string(kTiny) + "--json=" + (folder.path() / "no" / "f").string()).code, 5);
}

TEST(GraphcBench, AWrongCommandLineIsTwoBeforeAnythingIsMeasured) {
  for (const char* wrong : {"",
                            "lstn-layer",
                            "lstm-layer hiden=16",
                            "lstm-layer hidden=16,,32",
                            "lstm-layer hidden=",
                            "lstm-layer hidden",
                            "lstm-layer hidden=16 hidden=8",
                            "lstm-layer hidden=16,no",
                            "lstm-layer --variant=fused,fuzed",
                            "lstm-layer --repeat=0",
                            "lstm-layer --threads=0",
                            "lstm-layer --cache=hot",
                            "lstm-layer --unroll=twice",
                            "lstm-layer --target=abacus",
                            "lstm-layer --peers=abacus",
                            "lstm-layer --json=- --markdown",
                            "lstm-layer --bandwidth",
                            "--bandwidth --profile",
                            "--bandwidth --target=cuda",
                            "--bandwidth --unroll=2",
                            "--bandwidth --threads=4000",
                            "--bandwidth --peers=torch",
                            "lstm-layer --cpu=z80",
                            "lstm-layer --precision=f16",
                            "f.graph hidden=3"}) {
    const Ran ran = bench(wrong);
    EXPECT_EQ(ran.code, 2) << wrong << ran.err;
    EXPECT_THAT(ran.out, IsEmpty()) << wrong;
    EXPECT_THAT(ran.err, HasSubstr("error: ")) << wrong;
  }
  EXPECT_EQ(bench("missing.graph").code, 3);
  EXPECT_EQ(bench("--help").code, 0);
}

TEST(GraphcBench, OptionsThatTheTargetLacksAreTwo) {
  for (const char* option : {"threads=1", "variant=basic,fused", "unroll=auto", "cpu=x86-64"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find('='));
    const Ran ran = bench(fmt::format("lstm-layer hidden=3 --target=reference --{}", option));
    EXPECT_EQ(ran.code, 2) << option;
    EXPECT_THAT(ran.out, IsEmpty()) << option;
    EXPECT_EQ(ran.err, fmt::format("error: --{}: target 'reference' has no such option\n", name));
  }
  EXPECT_EQ(bench("lstm-layer hidden=3 steps=2 batch=2 --target=reference --repeat=1").code, 0);
}

}  // namespace
}  // namespace graphc::core
