// SPDX-License-Identifier: Apache-2.0
// The parts of graphc-bench by themselves: lists, summaries, fractions, and what a row measures.
#include <gmock/gmock.h>

#include "ir/op.h"
#include "ir/text.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/kernel_folder.h"
#include "tools/bench/bandwidth.h"
#include "tools/bench/peak_meter.h"
#include "tools/bench/profile.h"
#include "tools/bench/report.h"
#include "tools/bench/subject.h"
#include "tools/bench/sweep.h"

namespace graphc::core::bench {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BenchSweep, HasABoundedNumberOfRows) {
  const std::vector<std::string> many(8, "a=1,2,3,4");
  EXPECT_EQ(testing::error_of(ErrorKind::usage, [&] { bench::combinations(many); }),
            "a sweep has at most 10000 rows: 'a' makes 16384");
}

TEST(Sweep, TheFirstParameterChangesSlowest) {
  EXPECT_THAT(combinations({"a=1,2", "b=x", "c=3,4"}),
              ElementsAre(ElementsAre("a=1", "b=x", "c=3"), ElementsAre("a=1", "b=x", "c=4"),
                          ElementsAre("a=2", "b=x", "c=3"), ElementsAre("a=2", "b=x", "c=4")));
  EXPECT_THAT(combinations({}), ElementsAre(ElementsAre()));
  EXPECT_EQ(error_of(ErrorKind::usage, [] { combinations({"a=1,,2"}); }),
            "a: a list is written a,b,c: found '1,,2'");
}

TEST(RandomGraph, IsAGraphOfAboutSoManyNodesDrawnByTheSeed) {
  for (int64_t nodes : {50, 500, 5000}) {
    const std::string text = random_graph_text(nodes, 3);
    EXPECT_EQ(text, random_graph_text(nodes, 3));
    EXPECT_NE(text, random_graph_text(nodes, 4));
    const GraphPtr graph = parse_graph(text);
    int64_t count = 0, loops = 0;
    for (const Node& node : graph->nodes()) {
      ++count;
      loops += node.is(ops::scan) ? 1 : 0;
      for (const GraphPtr& region : node.regions) count += int64_t(region->nodes().size());
    }
    EXPECT_GT(loops, 0);
    EXPECT_FALSE(graph->next().empty());
    // The loss and the updates come on top.
    EXPECT_GE(count, nodes);
    EXPECT_LE(count, 3 * nodes + 50);
  }
}

TEST(Statistics, TheMedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  const Summary even = summarize({4, 1, 2, 10});
  EXPECT_EQ(even.median, 3);
  EXPECT_EQ(even.min, 1);
  EXPECT_EQ(even.max, 10);
  EXPECT_EQ(summarize({4, 1, 2}).median, 2);
  const Summary speed = even.divide(20);
  EXPECT_EQ(speed.min, 2);
  EXPECT_EQ(speed.max, 20);
  EXPECT_DOUBLE_EQ(speed.median, 20.0 / 3);
}

Row row_of(double train_s) {
  Row row{.work = Work{.examples = 2, .forward_flop = 1e9, .train_flop = 3e9}};
  row.configuration = {.workload = "w", .given = "hidden=2", .target = "cpu"};
  row.compile_s = {0.5, 0.5, 0.5};
  row.train = Timed{.step_s = {train_s, train_s, train_s}, .steps = 1};
  return row;
}

TEST(Report, FasterThanThePeakIsAFailedCheck) {
  const Row row = row_of(0.5);
  EXPECT_DOUBLE_EQ(speed_of(row, Call::train, 60)->gflops.median, 6);
  EXPECT_DOUBLE_EQ(speed_of(row, Call::train, 60)->fraction.median, 0.1);
  EXPECT_FALSE(speed_of(row, Call::forward, 60));
  check_fractions(std::span(&row, 1), 6);
  EXPECT_EQ(error_of(ErrorKind::check, [&] { check_fractions(std::span(&row, 1), 5.9); }),
            "graphc fused hidden=2: 6.0 GFLOP/s is more than the measured peak of 5.9");
}

TEST(Report, WhatAStepLeavesOutIsNotFasterThanThePeak) {
  // Two thirds of the counted work are done.
  Row row = row_of(0.5);
  row.train->product_flop = 2e9;
  check_fractions(std::span(&row, 1), 4);
  EXPECT_EQ(error_of(ErrorKind::check, [&] { check_fractions(std::span(&row, 1), 3.9); }),
            "graphc fused hidden=2: 4.0 GFLOP/s is more than the measured peak of 3.9");
  // What is computed a second time is no faster for it.
  row.train->product_flop = 4e9;
  check_fractions(std::span(&row, 1), 6);
  const nlohmann::ordered_json json = to_json(std::span(&row, 1), 6)["results"][0];
  EXPECT_EQ(json["train_product_flop"], 4e9);
  EXPECT_FALSE(json.contains("forward_product_flop"));
}

TEST(Report, WhatHasNoPeakIsComparedWithNone) {
  const Row row = row_of(0.5);
  check_fractions(std::span(&row, 1), 0);
  const nlohmann::ordered_json json = to_json(std::span(&row, 1), 0)["results"][0];
  EXPECT_DOUBLE_EQ(json["train_gflops"], 6);
  EXPECT_FALSE(json.contains("train_fraction_of_peak"));
  EXPECT_FALSE(json.contains("peak_gflops"));
}

TEST(Report, TheTableIsPerExampleAndSaysWhatDoesNotApply) {
  const std::vector<Row> rows{row_of(0.5), row_of(0.25)};
  EXPECT_EQ(
      table(rows, false),
      "Library               | Compile (s) | Train (ms/example) | Forward only (ms/example)\n"
      "graphc fused hidden=2 |         0.5 |                250 |                         -\n"
      "graphc fused hidden=2 |         0.5 |                125 |                         -\n");
  const nlohmann::ordered_json json = to_json(rows, 0)["results"][0];
  EXPECT_EQ(json["examples_per_step"], 2);
  EXPECT_EQ(json["train_ms"], 250);
  EXPECT_EQ(json["train_step_ms"], 500);
}

TEST(Report, TheTableOfAFileIsPerStepAndSaysSo) {
  Row row = row_of(0.5);
  row.work.reset();
  EXPECT_EQ(table(std::span(&row, 1), true),
            "| Library               | Compile (s) | Train (ms/step) | Forward only (ms/step) |\n"
            "| --- | ---: | ---: | ---: |\n"
            "| graphc fused hidden=2 |         0.5 |             500 |                      - |\n");
  const nlohmann::ordered_json json = to_json(std::span(&row, 1), 0)["results"][0];
  EXPECT_FALSE(json.contains("examples_per_step"));
  EXPECT_EQ(json["train_step_ms"], 500);
}

TEST(Profile, HasALineForEachKernelAndItsSpeeds) {
  const CallProfile profile{
      .configuration = {.workload = "w", .given = "hidden=2", .target = "cpu"},
      .call = Call::forward,
      .runs = 3,
      .kernels = {{{"add", "map", {}, 4, 0.001, 0, 5e6}, {0.001, 0.001, 0.002}},
                  {{"y", "gemm", {"w.cpp", 7}, 1, 0.003, 6e9, 12e6}, {0.003, 0.002, 0.004}},
                  {{"dy", "gemm", Where{"w.cpp", 7}.derivative(), 1, 0.001, 0, 0}, {}}}};
  EXPECT_EQ(text_of(profile),
            "fused w hidden=2, forward\n"
            "share        ms   calls  GFLOP/s     GB/s  kernel    line\n"
            "60.0%    3.0000       1   2000.0      4.0  gemm %y   w.cpp:7\n"
            "20.0%    1.0000       4        -      5.0  map %add  -\n"
            "20.0%    1.0000       1        -        -  gemm %dy  w.cpp:7 backward\n"
            "all      5.0000\n");
  const nlohmann::ordered_json json = to_json(std::span(&profile, 1), 0)["profiles"][0];
  EXPECT_EQ(json["call"], "forward");
  EXPECT_FALSE(json.contains("peak_gflops"));
  EXPECT_EQ(json["kernels"][0].dump(),
            R"({"name":"add","kind":"map","calls":4,"seconds":0.001,"seconds_min":0.001,)"
            R"("seconds_max":0.002,"flop":0.0,"bytes":5000000.0})");
  EXPECT_EQ(json["kernels"][1]["file"], "w.cpp");
  EXPECT_EQ(json["kernels"][1]["backward"], false);
  EXPECT_EQ(json["kernels"][2]["backward"], true);
  EXPECT_EQ(to_json(std::span(&profile, 1), 5)["profiles"][0]["peak_gflops"], 5);
}

TEST(BandwidthTable, HasALineForEachMemory) {
  const MachineSpeed all{{{{"shared cache", 16'000'000}, 57.66}, {{"memory", 256'000'000}, 9}},
                         0.25e-6};
  EXPECT_EQ(table(all, false),
            "Read from          | A thread (kB) |   GB/s\n"
            "shared cache       |         16000 |   57.7\n"
            "memory             |        256000 |    9.0\n"
            "\nA barrier of all threads takes 0.25 us.\n");
  EXPECT_EQ(table(all, true),
            "| Read from          | A thread (kB) |   GB/s |\n"
            "| --- | ---: | ---: |\n"
            "| shared cache       |         16000 |   57.7 |\n"
            "| memory             |        256000 |    9.0 |\n"
            "\nA barrier of all threads takes 0.25 us.\n");
  EXPECT_EQ(to_json(all, 2, {})["caches"].dump(),
            R"({"second_level":1048576,"second_level_assumed":true})");
}

TEST(PeakMeterCpu, ReadsFiveTimesSpreadOverTheRows) {
  for (const int rows : {1, 3}) {
    PeakMeter meter(1, rows, Precision::f32);
    for (int i = 0; i < PeakMeter::kStops * rows; ++i) {
      EXPECT_EQ(meter.readings(), (i + rows - 1) / rows);
      meter.stop();
    }
    meter.stop();
    EXPECT_EQ(meter.readings(), 5);
    EXPECT_GT(meter.best_gflops(), 0);
  }
}

TEST(MeasureCpu, KernelsAreMadeWhileCompilingAndNoneInTheFirstStep) {
  testing::KernelFolder::choose("none");  // other tests may have kept the same kernels
  CompileOptions options;
  options.threads = 1;
  const auto subject =
      model_subject("lstm-layer", {"hidden=8", "steps=3", "batch=2"}, "cpu", options);
  int stops = 0;
  const int64_t before = objects_made();
  const Row row = measure(*subject, {.repeat = 2}, [&] { ++stops; });
  EXPECT_EQ(stops, PeakMeter::kStops);
  // Each of the compilations began with empty caches.
  EXPECT_GT(row.compile.kernels, 0);
  EXPECT_GE(objects_made() - before, row.compile.kernels);
  EXPECT_EQ(row.compile.cache_hits, 0);
  EXPECT_EQ(row.first_step_kernels, 0);
  EXPECT_EQ(row.train->steps, 2);
  EXPECT_EQ(row.forward->steps, 2);
}

TEST(MeasureCpu, ARowStopsWhenItsTimeIsUp) {
  CompileOptions options;
  options.threads = 1;
  const auto subject =
      model_subject("lstm-layer", {"hidden=8", "steps=3", "batch=2"}, "cpu", options);
  const Row row = measure(*subject, {.repeat = 1000000, .row_seconds = 0.02}, [] {});
  EXPECT_GE(row.train->steps, 1);
  EXPECT_LT(row.train->steps, 1000000);
  EXPECT_GE(row.forward->steps, 1);
}

}  // namespace
}  // namespace graphc::core::bench
