// SPDX-License-Identifier: Apache-2.0
// Loops in every placement: the same bits as streamed, in the emulator, where a barrier that lacks
// is a race and shared memory that nobody filled is unreadable; and what is chosen for which GPU.
#include "codegen/targets/cuda/loops/loop_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/target.h"
#include "codegen/targets/cuda/launches/launches.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/testing/counts.h"
#include "tests/testing/graph_file.h"
#include "tests/testing/heads.h"
#include "tests/testing/in_f64.h"
#include "tests/testing/random_cell.h"
#include "tests/testing/rounding_bound.h"
#include "tests/testing/samples.h"
#include "tests/testing/targets.h"
#include "tests/testing/wide_golden.h"

namespace graphc::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using cuda::Placement;

constexpr Placement kPlacements[] = {Placement::streamed, Placement::grid, Placement::cluster,
                                     Placement::block, Placement::launches};

Plan plan_of(const GraphPtr& graph, Precision precision = Precision::f32) {
  CompileReport report;
  return make_plan(
      *form_kernels_for(graph, {.precision = precision}, report, targets::cuda.kernels),
      cuda::gpu_machine(precision));
}

/// The notes of a graph's loops, for a GPU.
std::vector<std::string> notes(const GraphPtr& graph, std::optional<Placement> placement,
                               const cuda::Gpu& gpu = {}) {
  const Plan plan = plan_of(graph);
  std::vector<std::string> found;
  for (const cuda::Launch& launch : cuda::make_launches(plan, gpu, placement).step) {
    if (!launch.note.empty()) found.push_back(launch.note);
  }
  return found;
}

/// What two runs of the executable give, the second one's.
std::vector<Literal> results_of(const GraphPtr& graph, const std::vector<Literal>& inputs,
                                Placement placement, Precision precision = Precision::f32,
                                bool* has_fragments = nullptr) {
  all_test_targets();  // have the target's driver and compiler be those of the tests
  CompileReport report;
  CompileOptions options;
  options.cuda.placement = placement;
  options.precision = precision;
  const auto executable = compile(graph, targets::cuda, options, report);
  if (has_fragments != nullptr)
    *has_fragments = std::ranges::any_of(report.remarks, [](const Remark& remark) {
      return remark.text.find("as fragments") != std::string::npos;
    });
  std::vector<Tensor> arguments, outputs;
  for (size_t i = 0; i < inputs.size(); ++i)
    arguments.emplace_back(inputs[i].converted(graph->inputs()[i].dtype()));
  for (const Argument& output : executable->signature().outputs) outputs.emplace_back(output.type);
  executable->run(arguments, outputs);
  executable->run(arguments, outputs);
  std::vector<Literal> results;
  for (const Tensor& output : outputs) results.push_back(output.copy());
  return results;
}

/// Every placement gives the bits that streaming gives, unless blocks exchange fragments, whose
/// terms are in another order (counted_exchange.h): as those of f32 mostly do, those of f64 never.
std::vector<Literal> expect_same_bits(const GraphPtr& graph, const std::vector<Literal>& inputs,
                                      Precision precision = Precision::f32) {
  std::vector<Literal> wanted;
  for (const Placement placement : kPlacements) {
    SCOPED_TRACE(name_of(placement));
    bool has_fragments = false;
    std::vector<Literal> found = results_of(graph, inputs, placement, precision, &has_fragments);
    if (has_fragments) continue;
    if (wanted.empty()) wanted = found;
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(
          std::memcmp(found[i].bytes().data(), wanted[i].bytes().data(), wanted[i].bytes().size()),
          0)
          << "result " << i;
    }
  }
  return wanted;
}

TEST(LoopPlacement, RandomCellsGiveTheSameBitsInEach) {
  // What the emulator takes for one seed is a second or more.
  const unsigned seeds = whole_samples() ? 20 : 5;
  std::map<Placement, int> loops;  // by placement
  for (unsigned seed = 0; seed < seeds; ++seed) {
    const GraphPtr traced = random_cell(seed), of_f64 = in_f64(traced);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, print(*traced)));
    const std::vector<Literal> inputs = random_cell_inputs(*traced, seed);
    const std::vector<Literal> found = expect_same_bits(traced, inputs);
    const GraphPtr plain = run_pipeline(traced, parse_pipeline("autodiff")).graph;
    ASSERT_EQ(beyond_bound(found, evaluate_with_bounds(*plain, inputs)), "");
    expect_same_bits(of_f64, inputs);
    for (const Placement placement : {Placement::grid, Placement::cluster, Placement::block}) {
      for (const std::string& note : notes(of_f64, placement))
        loops[placement] += note.find("in shared memory") != std::string::npos;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(loops[Placement::grid], int(seeds));
  EXPECT_GT(loops[Placement::cluster], int(seeds));
  EXPECT_GT(loops[Placement::block], int(seeds));
  count("loops in every placement with the same bits", loops[Placement::grid]);
}

/// A step multiplies by a matrix with many rows: several pieces of 256 terms lie in shared memory
/// at a time, and warps that have no part of the tile take in pieces of their own. Terms that are
/// no multiple of what an instruction takes in, rows and columns of none of a tile. Rows have a
/// maximum, so that blocks exchange no fragments.
TEST(LoopPlacement, PiecesAtATimeGiveTheSameBits) {
  const GraphPtr graph = parse_graph(R"(
    graph @g(%x: f32[2,3,590], %h0: f32[3,18], %u: f32[18,590], %v: f32[590,18]) {
      %h.e = scan %x.t in %x carry %h = %h0 with %u, %v {
        %p = tanh(matmul(tanh(add(%x.t, matmul(%h, %u))), %v))
        next %h = sub(%p, reshape(max(%p) {axes = [1]}) {shape = [3,1]})
      }
      return %h.e
    })");
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::tf32x3}) {
    SCOPED_TRACE(name_of(precision));
    expect_same_bits(graph, random_cell_inputs(*graph, 3), precision);
  }
  std::string text;
  for (const auto& kernel :
       cuda::make_launches(plan_of(graph, Precision::bf16), {}, Placement::grid).kernels)
    text += kernel.text;
  EXPECT_THAT(text, HasSubstr("in_turn = warp / "));
}

/// Of three gates a block brings a number of words of a matrix at a time that is no power of two.
TEST(LoopPlacement, MatricesOfThreeGatesInPairsGiveTheSameBits) {
  for (const int hidden : {44, 72}) {
    const WideCase c{"gru", 2, 2, hidden};
    SCOPED_TRACE(c.name());
    for (const Precision precision : {Precision::bf16, Precision::fp16})
      expect_same_bits(wide_layer(c, Derivatives::without), wide_inputs(c), precision);
  }
}

void expect_blocks_of_heads(const GraphPtr& graph, int heads) {
  SCOPED_TRACE(print(*graph));
  const std::vector<Literal> inputs = random_cell_inputs(*graph, 5);
  const std::vector<Literal> found = expect_same_bits(graph, inputs);
  const GraphPtr plain = run_pipeline(graph, parse_pipeline("autodiff")).graph;
  EXPECT_EQ(beyond_bound(found, evaluate_with_bounds(*plain, inputs)), "");
  expect_same_bits(in_f64(graph), inputs);
  for (const Placement placement : {Placement::grid, Placement::cluster, Placement::block}) {
    const std::vector<std::string> all = notes(graph, placement);
    EXPECT_EQ(all.size(), 2u);
    for (const std::string& note : all)
      EXPECT_THAT(note, HasSubstr(fmt::format("for each of {} groups of rows: ", heads)));
  }
}

TEST(LoopPlacement, HeadsHaveBlocksOfTheirOwn) {
  for (const auto& [heads, batch, units] : {std::tuple{3, 5, 10}, {2, 20, 33}}) {
    for (const GraphPtr& graph :
         {cell_with_heads(heads, batch, units), cell_with_heads_in_a_vector(heads, batch, units)}) {
      expect_blocks_of_heads(graph, heads);
    }
  }
}

/// Where heads read each other's state, no block may keep those of one head alone.
TEST(LoopPlacement, HeadsThatAreJoinedHaveNoBlocksOfTheirOwn) {
  const GraphPtr graph = cell_with_heads(3, 5, 10, "sum(%h) {axes = [1,2], keep = true}");
  const std::vector<Literal> inputs = random_cell_inputs(*graph, 5);
  const GraphPtr plain = run_pipeline(graph, parse_pipeline("autodiff")).graph;
  EXPECT_EQ(beyond_bound(results_of(graph, inputs, Placement::grid),
                         evaluate_with_bounds(*plain, inputs)),
            "");
  for (const std::string& note : notes(graph, Placement::grid))
    EXPECT_THAT(note, ::testing::Not(HasSubstr("groups of rows")));
}

/// Nests with axes around their rows are divided along those, beside nests divided by columns.
TEST(LoopPlacement, StepsWithValuesOfSeveralShapesAreOneKernelOfAGrid) {
  size_t number = 0, loops = 0;
  for (const GraphPtr& graph : graphs_of_tests("tests/codegen/mixed_cells.graph")) {
    for (const std::string& note : notes(graph, Placement::grid)) {
      EXPECT_THAT(note, HasSubstr("blocks own rows x columns"));
      ++loops;
    }
    if (!is_sampled(number++, 3)) continue;
    SCOPED_TRACE(print(*graph));
    const std::vector<Literal> inputs = random_cell_inputs(*graph, 5);
    const std::vector<Literal> found = expect_same_bits(graph, inputs);
    const GraphPtr plain = run_pipeline(graph, parse_pipeline("autodiff")).graph;
    EXPECT_EQ(beyond_bound(found, evaluate_with_bounds(*plain, inputs)), "");
  }
  EXPECT_GE(loops, 2 * number);
}

/// Attention over three rows of memory. Scores and contexts are of (sequence, row of memory), its
/// softmax is of sequences.
GraphPtr attention_over_memory(int64_t batch) {
  return parse_graph(fmt::format(R"(
    graph @g(%x: f32[2,{0},16], %h0: f32[{0},16], %keys: f32[{0},3,16],
             %u: f32[16,16], %w: f32[16,16]) {{
      %h.e = scan %x.t in %x carry %h = %h0 with %keys, %u, %w {{
        %query = reshape(matmul(%h, %u)) {{shape = [{0},1,16]}}
        %scores = sum(tanh(add(%keys, %query))) {{axes = [2]}}
        %weights = reshape(softmax(%scores)) {{shape = [{0},3,1]}}
        %context = sum(mul(%keys, %weights)) {{axes = [1]}}
        next %h = tanh(add(%x.t, matmul(%context, %w)))
      }}
      return %h.e
    }})",
                                 batch));
}

/// A block that owns one row, or one index around the rows of other nests, computes all of it up to
/// the next product: the same block reads what it has written.
TEST(LoopPlacement, BlocksMeetForProductsOnly) {
  EXPECT_THAT(notes(attention_over_memory(16), Placement::grid),
              ElementsAre(HasSubstr("; 3 barriers a step")));
  const GraphPtr layer_norm = in_f64(parse_graph(R"(
    graph @g(%x: f32[3,16,512], %h0: f32[16,128], %c0: f32[16,128], %u: f32[128,512]) {
      %h.e, %c.e = scan %x.t in %x carry %h = %h0, %c = %c0 with %u {
        %i, %f, %g, %o = split(add(%x.t, layer_norm(matmul(%h, %u)))) {axis = 1, parts = 4}
        %c1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
        next %h = mul(sigmoid(%o), tanh(layer_norm(%c1))), %c = %c1
      }
      return %h.e
    })"));
  EXPECT_THAT(notes(layer_norm, Placement::grid), ElementsAre(HasSubstr("; 2 barriers a step")));
  expect_same_bits(layer_norm, random_cell_inputs(*layer_norm, 5));
}

/// A block's indices around the rows are not those of its rows then.
TEST(LoopPlacement, BlocksWithSeveralRowsMeet) {
  const GraphPtr attention = attention_over_memory(140);
  EXPECT_THAT(notes(attention, Placement::grid), ElementsAre(HasSubstr("; 5 barriers a step")));
  const std::vector<Literal> inputs = random_cell_inputs(*attention, 5);
  EXPECT_EQ(
      beyond_bound(expect_same_bits(attention, inputs), evaluate_with_bounds(*attention, inputs)),
      "");
}

class LoopPlacementOf : public ::testing::TestWithParam<std::string> {};

TEST_P(LoopPlacementOf, LayersGiveTheSameBitsInEach) {
  // Cells take turns of the sizes.
  const std::vector<std::string> cells = wide_cells();
  size_t turn = size_t(std::ranges::find(cells, GetParam()) - cells.begin()) + 1;
  for (const auto& [batch, hidden] : {std::pair{3, 5}, std::pair{9, 21}}) {
    if (!is_sampled(turn++, 3)) continue;
    const WideCase c{GetParam(), 3, batch, hidden};
    SCOPED_TRACE(c.name());
    expect_same_bits(in_f64(wide_layer(c, Derivatives::with)), wide_inputs(c));
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, LoopPlacementOf, ::testing::ValuesIn(wide_cells()),
                         [](const auto& cell) { return cell.param; });

GraphPtr lstm(int64_t batch, int64_t hidden, Derivatives derivatives = Derivatives::with) {
  return wide_layer({"lstm", 30, batch, hidden}, derivatives);
}

/// An H100 but for its clusters.
cuda::Gpu without_clusters() {
  cuda::Gpu gpu;
  gpu.capability = 89;
  return gpu;
}

TEST(LoopPlacement, SmallMatricesStayInOneBlockAndNobodyMeets) {
  for (const std::string& note : notes(in_f64(lstm(128, 64)), std::nullopt, without_clusters()))
    EXPECT_THAT(note, ::testing::AllOf(HasSubstr(" x 1 blocks"), HasSubstr("in shared memory"),
                                       HasSubstr("no barrier")));
}

TEST(LoopPlacement, LargerOnesStayInTheGridWithOneBarrierAStep) {
  const std::vector<std::string> found = notes(lstm(128, 512), std::nullopt);
  ASSERT_EQ(found.size(), 2u) << "forward and backward";
  for (const std::string& note : found)
    EXPECT_THAT(note,
                ::testing::AllOf(HasSubstr(" shared memory"), HasSubstr("; 1 barrier a step")));
}

TEST(LoopPlacement, WhatTheChipCannotHoldIsNotHeld) {
  cuda::Gpu small;
  small.multiprocessors = 8;
  small.shared_bytes = 64 << 10;
  for (const std::string& note : notes(lstm(128, 512), std::nullopt, small))
    EXPECT_THAT(note, ::testing::Not(HasSubstr("in shared memory")));
}

/// Blocks that wait for each other all run at a time.
TEST(LoopPlacement, NoMoreBlocksMeetThanTheGpuHas) {
  for (int multiprocessors : {1, 2, 7, 40, 132}) {
    cuda::Gpu gpu;
    gpu.multiprocessors = multiprocessors;
    for (const std::optional<Placement> placement :
         {std::optional<Placement>(), std::optional(Placement::grid),
          std::optional(Placement::cluster), std::optional(Placement::block)}) {
      // A cluster holds all matrices, or is refused.
      for (const GraphPtr& graph :
           {lstm(20, placement == Placement::cluster ? 40 : 300), cell_with_heads(3, 20, 40)}) {
        const Plan plan = plan_of(graph);
        for (const cuda::Launch& launch : cuda::make_launches(plan, gpu, placement).step) {
          EXPECT_EQ(launch.grid.blocks[0] % launch.cluster, 0u);
          if ((launch.barrier_groups == 0 && launch.cluster == 1) || launch.any_blocks) continue;
          EXPECT_LE(launch.grid.blocks[0], unsigned(multiprocessors));
          EXPECT_LE(launch.shared_bytes, size_t(gpu.shared_bytes));
        }
      }
    }
  }
}

}  // namespace
}  // namespace graphc::core::testing
