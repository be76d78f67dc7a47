// SPDX-License-Identifier: Apache-2.0
// The model of speed: three cases by hand, and what holds whatever its figures are.
#include "codegen/targets/cuda/launches/speed_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/target.h"
#include "ir/text.h"
#include "models/registry.h"
#include "tests/testing/in_f64.h"

namespace graphc::core::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A plan with its launches for an H200, and what the model says of them.
struct Predicted {
  Plan plan;
  Launches launches;
  StepTime step;
};

Predicted predicted(const GraphPtr& graph, std::optional<Placement> placements = {}) {
  CompileReport report;
  Predicted all;
  const GpuFigures& figures = *gpu_figures("sm_90a");
  all.plan = make_plan(*form_kernels_for(graph, {}, report), gpu_machine());
  all.launches = make_launches(all.plan, figures.gpu, placements);
  all.step = predict(all.plan, all.launches, figures);
  return all;
}

GraphPtr layer(int64_t hidden, int64_t steps, int64_t batch, const char* graph) {
  const auto program =
      make_program("lstm-layer", {fmt::format("hidden={}", hidden), fmt::format("steps={}", steps),
                                  fmt::format("batch={}", batch)});
  return program->model().trace(graph, program->extents(graph)).graph;
}

GraphPtr product(int64_t rows, int64_t k, int64_t columns) {
  return parse_graph(
      fmt::format("graph @f(%x: f32[{0},{1}], %w: f32[{1},{2}]) {{ return matmul(%x, %w) }}", rows,
                  k, columns));
}

/// What the H200's record says, spelled out: the cases below are computed with these.
constexpr double kMultiprocessors = 132, kClock = 1755, kMemory = 4.3e6, kLatency = 0.6,
                 kBarrier = 1.3, kLaunch = 1;

TEST(SpeedModel, KnowsTheFiguresOfTwo) {
  const GpuFigures& h200 = *gpu_figures("sm_90a");
  EXPECT_EQ(h200.gpu.multiprocessors, kMultiprocessors);
  EXPECT_EQ(h200.gpu.clock_per_us, kClock);
  EXPECT_EQ(h200.gpu.memory_latency_us, kLatency);
  EXPECT_EQ(h200.gpu.barrier_us, kBarrier);
  EXPECT_EQ(h200.memory_per_us, kMemory);
  EXPECT_EQ(h200.launch_us, kLaunch);
  EXPECT_NEAR(h200.f32_per_us(), 59.3e6, 0.1e6);
  EXPECT_NEAR(gpu_figures("sm_80")->f32_per_us(), 19.5e6, 0.1e6);
  EXPECT_EQ(gpu_figures("sm_70"), nullptr);
  EXPECT_EQ(known_gpu_figures(), "sm_80 (A100 80 GB), sm_90a (H200)");
}

TEST(SpeedModel, AMapIsItsBytes) {
  const Predicted all = predicted(parse_graph(
      "graph @f(%x: f32[1000,1000], %y: f32[1000,1000]) { return mul(add(%x, %y), %x) }"));
  ASSERT_EQ(all.step.launches.size(), 1u);
  const LaunchTime& map = all.step.launches[0];
  // Two operands read and a result written, each once.
  EXPECT_DOUBLE_EQ(map.bytes, 3 * 4e6);
  EXPECT_DOUBLE_EQ(map.memory_us, 12e6 / kMemory);
  EXPECT_DOUBLE_EQ(map.flop, 0);
  EXPECT_EQ(map.limit(), Limit::memory);
  EXPECT_NEAR(map.total_us(), 12e6 / kMemory + kLaunch, 1e-9);
}

TEST(SpeedModel, AProductIsSharedOutToWholeBlocks) {
  const Predicted all = predicted(product(256, 512, 384));
  ASSERT_EQ(all.step.launches.size(), 1u);
  const LaunchTime& time = all.step.launches[0];
  const auto& call = std::get<NestCall>(all.plan.records[0].call);
  const ProductTile tile = product_tile(all.plan.programs[0], form_of(call));
  const double down = std::ceil(256.0 / tile.block_rows());
  const double across = std::ceil(384.0 / tile.block_columns());
  const double blocks = down * across;
  ASSERT_LT(blocks, kMultiprocessors) << "all at a time, one a multiprocessor";
  const double terms = 256.0 * 512 * 384;
  EXPECT_DOUBLE_EQ(time.flop, 2 * terms);
  EXPECT_NEAR(time.arithmetic_us, 2 * terms / (2 * 128 * kClock * blocks), 1e-9);
  // A thread loads tile.rows + tile.columns for tile.rows x tile.columns terms.
  const double loads = double(tile.rows + tile.columns) / (tile.rows * tile.columns);
  EXPECT_NEAR(time.shared_us, terms * loads * 4 / (128 * kClock * blocks), 1e-9);
  const double taken_in = 4 * (256.0 * 512 * across + 512.0 * 384 * down + 256.0 * 384);
  EXPECT_NEAR(time.ingest_us, taken_in / (58 * kClock * blocks), 1e-9);
  const double waits = std::ceil(512.0 / tile.k) + 1;
  EXPECT_NEAR(time.latency_us, waits * kLatency, 1e-9);
  const double longest =
      std::max({time.arithmetic_us, time.shared_us, time.ingest_us, time.memory_us});
  EXPECT_NEAR(time.total_us(), longest + waits * kLatency + kLaunch, 1e-9);
}

TEST(SpeedModel, TensorCoresHaveARateForEachPrecision) {
  const GpuFigures& figures = *gpu_figures("sm_90a");
  // Whole rounds of blocks.
  const GraphPtr graph = product(64 * 132, 512, 256);
  const auto arithmetic = [&](Precision precision) {
    CompileReport report;
    const Plan plan = make_plan(*form_kernels_for(graph, {}, report), gpu_machine(precision));
    const Launches launches = make_launches(plan, figures.gpu);
    return predict(plan, launches, figures).launches.back().arithmetic_us;
  };
  const double flop = 2.0 * 64 * 132 * 512 * 256;
  EXPECT_NEAR(arithmetic(Precision::f32), flop / figures.f32_per_us(), 1e-6);
  EXPECT_NEAR(arithmetic(Precision::tf32), flop / 330e6, 1e-6);
  EXPECT_NEAR(arithmetic(Precision::tf32x3), 3 * flop / 330e6, 1e-6);
  EXPECT_NEAR(arithmetic(Precision::bf16), flop / 560e6, 1e-6);
  EXPECT_NEAR(arithmetic(Precision::fp16), flop / 560e6, 1e-6);
}

TEST(SpeedModel, AStreamedLoopIsItsStepsAndBarriers) {
  const Predicted all = predicted(layer(256, 30, 64, "forward"), Placement::streamed);
  const auto loop = std::ranges::find(all.step.launches, 30, &LaunchTime::steps);
  ASSERT_NE(loop, all.step.launches.end());
  EXPECT_EQ(loop->launches, 1);
  EXPECT_DOUBLE_EQ(loop->flop, 30 * 2.0 * 64 * 256 * 4 * 256);
  // One nest, after which all blocks meet.
  EXPECT_EQ(loop->barriers, 30);
  EXPECT_NEAR(loop->barriers_us, 30 * kBarrier, 1e-9);
  EXPECT_NEAR(loop->total_us(), loop->busy_us + 30 * kBarrier + kLaunch, 1e-9);
  // From memory come the four pre-gates of each step: h and c take turns in two places, which the
  // cache has, and so has it the matrix that each step reads again.
  EXPECT_NEAR(loop->memory_us, 30 * 4.0 * 64 * 4 * 256 / kMemory, 1e-9);
  EXPECT_GT(loop->bytes, 30 * 4.0 * 256 * 4 * 256);
}

TEST(SpeedModel, BlocksOfAClusterMeetFasterAndReadNoCarries) {
  const GraphPtr graph = core::testing::in_f64(layer(128, 30, 64, "forward"));
  const auto loop = [&](Placement placement) {
    const Predicted all = predicted(graph, placement);
    return *std::ranges::find(all.step.launches, 30, &LaunchTime::steps);
  };
  const LaunchTime cluster = loop(Placement::cluster), grid = loop(Placement::grid);
  EXPECT_EQ(cluster.barriers, 30);
  EXPECT_NEAR(cluster.barriers_us, 30 * 0.35, 1e-9);
  // In every step the product reads h of the step before.
  EXPECT_NEAR(grid.bytes - cluster.bytes, 30 * 8.0 * 64 * 128, 1);
  EXPECT_LT(cluster.ingest_us, grid.ingest_us);
  EXPECT_LT(cluster.latency_us, grid.latency_us);
}

TEST(SpeedModel, WhatStaysOnTheChipIsNotReadAgain) {
  const GraphPtr graph = layer(256, 30, 64, "forward");
  const auto bytes = [&](Placement placement) {
    const Predicted all = predicted(graph, placement);
    return std::ranges::find(all.step.launches, 30, &LaunchTime::steps)->bytes;
  };
  // In every step the product reads the matrix, and h, which blocks hand on as fragments: they
  // count as a part of the exchange.
  const double matrix = 30 * 4.0 * 256 * 4 * 256, h = 30 * 4.0 * 64 * 256;
  EXPECT_NEAR(bytes(Placement::streamed) - bytes(Placement::grid), matrix + h, 1e-6 * matrix);
}

/// Tiles of eight rows and columns have some that are not there: 37 rows are 40, of six units
/// eight.
TEST(SpeedModel, FusedMultiplyAddsOfTilesTakeTheirTime) {
  const auto us = [](int64_t hidden, int64_t batch) {
    const Predicted all = predicted(layer(hidden, 30, batch, "forward"), Placement::grid);
    return std::ranges::find(all.step.launches, 30, &LaunchTime::steps)->arithmetic_us;
  };
  EXPECT_GT(us(512, 128), 1.05 * 30 * 2.0 * 128 * 512 * 2048 / gpu_figures("sm_90a")->f32_per_us());
  EXPECT_GT(us(512, 128), us(512, 120));
  EXPECT_GT(us(132 * 6, 20), 1.3 * us(132 * 4, 20));
}

TEST(SpeedModel, MoreTakesLonger) {
  const auto us = [](const GraphPtr& graph) {
    return predicted(graph, Placement::streamed).step.total_us();
  };
  for (int64_t n = 64; n <= 4096; n *= 2) {
    EXPECT_LE(us(product(n, 256, 256)), us(product(2 * n, 256, 256))) << n << " rows";
    EXPECT_LE(us(product(256, n, 256)), us(product(256, 2 * n, 256))) << n << " terms";
    EXPECT_LE(us(product(256, 256, n)), us(product(256, 256, 2 * n))) << n << " columns";
  }
  const double least = us(layer(64, 10, 16, "train"));
  EXPECT_LT(least, us(layer(128, 10, 16, "train")));
  EXPECT_LT(least, us(layer(64, 20, 16, "train")));
  EXPECT_LE(least, us(layer(64, 10, 32, "train")));
}

TEST(SpeedModel, SumsAgree) {
  for (const char* variant : {"fused", "basic"}) {
    CompileReport report;
    const GpuFigures& figures = *gpu_figures("sm_80");
    const auto program = make_program("ptb-lm", {"size=small", "hidden=64", "vocabulary=500"});
    const GraphPtr graph = program->model().trace("train", program->extents("train")).graph;
    const Plan plan =
        make_plan(*form_kernels_for(graph, {.variant = variant}, report), gpu_machine());
    const Launches launches = make_launches(plan, figures.gpu);
    const StepTime step = predict(plan, launches, figures);
    double sum = 0;
    int64_t count = 0;
    for (const LaunchTime& each : step.launches) {
      EXPECT_TRUE(std::isfinite(each.total_us()) && each.busy_us >= 0) << each.name;
      sum += each.total_us();
      if (!each.name.starts_with("form ")) count += each.launches;
      EXPECT_DOUBLE_EQ(each.launch_us, double(each.launches) * figures.launch_us) << each.name;
    }
    EXPECT_DOUBLE_EQ(step.total_us(), sum);
    EXPECT_EQ(count, int64_t(launches.step.size())) << variant;
    for (const Launch& launch : launches.step) EXPECT_NE(launch.record, nullptr);
  }
}

TEST(SpeedModel, IsPrintedBehindThePlan) {
  const auto shown = [](const char* architecture) {
    CompileOptions options;
    options.architecture = architecture;
    return targets::cuda.show(layer(64, 5, 8, "train"), options, "plan");
  };
  EXPECT_THAT(shown("sm_80"),
              AllOf(HasSubstr("plan @train: "),
                    HasSubstr("\nmodel, not measured: a step on sm_80 (A100 80 GB) in "
                              "microseconds\n      us  launches  steps")));
  EXPECT_EQ(shown(""), shown("sm_90a"));
  CompileOptions options;
  options.precision = Precision::bf16;
  EXPECT_THAT(targets::cuda.show(layer(64, 5, 8, "train"), options, "plan"),
              HasSubstr("\nmodel, not measured: a step on sm_90a (H200)"));
  EXPECT_THAT(shown("sm_70"), HasSubstr("\nno model of the speed of sm_70: there are sm_80 (A100 "
                                        "80 GB), sm_90a (H200)\n"));
}

}  // namespace
}  // namespace graphc::core::cuda
