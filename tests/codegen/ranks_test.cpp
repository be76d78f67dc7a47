// SPDX-License-Identifier: Apache-2.0
// Ranks on targets: graphs shared out among threads, each with an executable of its own, against
// the evaluator; what of a step runs beside a collective; and plans replayed.
#include <gtest/gtest.h>

#include "codegen/lower/collectives.h"
#include "codegen/lower/lower.h"
#include "codegen/plan/moves.h"
#include "codegen/step/collectives.h"
#include "codegen/target.h"
#include "codegen/targets/cpu/options.h"
#include "ir/text.h"
#include "tests/codegen/rank_runs.h"
#include "tests/codegen/replay_plan.h"
#include "tests/passes/values.h"
#include "tests/testing/counts.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/samples.h"
#include "tests/testing/targets.h"

namespace graphc::core::testing {
namespace {

TEST(RanksOnTargets, TrainALanguageModelAsOneProcessDoes) {
  const GraphPtr graph = parse_graph(kTwoLayers);
  const Arguments arguments = arguments_of(*graph, 1);
  for (const Target* target : {&targets::cpu, &targets::reference}) {
    const After wanted = run_on(*target, graph, {.threads = 1}, arguments, 3);
    for (const char* variant : {"fused", "basic", "unrolled"}) {
      if (target == &targets::reference && variant != std::string("fused")) continue;
      for (const int ranks : {2, 4}) {
        for (const int threads : {1, 2}) {
          SCOPED_TRACE(
              fmt::format("{}, {}, {} ranks of {} threads", target->name, variant, ranks, threads));
          const auto found = run_ranks_on(*target, graph, {.variant = variant, .threads = threads},
                                          ranks, 0, kAxes, arguments, 3);
          expect_near(found[0], wanted);
          for (const After& each : found) EXPECT_TRUE(each == found[0]) << "other bits";
        }
      }
    }
  }
}

TEST(RanksOnTargets, TrainWithGradientsInBf16) {
  const GraphPtr graph = parse_graph(kTwoLayers);
  const Arguments arguments = arguments_of(*graph, 1);
  for (const Target* target : {&targets::cpu, &targets::reference}) {
    for (const int ranks : {1, 2, 4}) {
      for (const int threads : {1, 2}) {
        SCOPED_TRACE(fmt::format("{}, {} ranks of {} threads", target->name, ranks, threads));
        const auto run = [&](DType gradients) {
          return run_ranks_on(*target, graph, {.threads = threads}, ranks, 0, kAxes, arguments, 3,
                              gradients);
        };
        const auto wide = run(DType::f32), narrow = run(DType::bf16);
        expect_near(narrow[0], wide[0], 5e-3);
        for (const After& each : narrow) EXPECT_TRUE(each == narrow[0]) << "other bits";
        for (const char* state : {"table", "w", "u", "w2", "u2", "v"}) {
          EXPECT_EQ(narrow[0].states.at(state) == wide[0].states.at(state), ranks == 1)
              << state << " is rounded where ranks exchange its gradient, and nowhere else";
        }
      }
    }
  }
}

/// No bit depends on how many ranks have the shards.
TEST(RanksOnTargets, HaveTheBitsOfTheirShards) {
  const GraphPtr graph = parse_graph(kTwoLayers);
  const Arguments arguments = arguments_of(*graph, 2);
  const After plain = run_on(targets::cpu, graph, {.threads = 1}, arguments, 4);
  for (const int shards : {2, 4, 8}) {
    std::optional<After> first;
    for (int ranks = 1; ranks <= shards; ranks *= 2) {
      for (const int threads : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} ranks of {} shards, {} threads", ranks, shards, threads));
        const auto found = run_ranks_on(targets::cpu, graph, {.threads = threads}, ranks, shards,
                                        kAxes, arguments, 4);
        if (!first) first = found[0];
        for (const After& each : found) EXPECT_TRUE(each == *first) << "other bits";
      }
    }
    expect_near(*first, plain);
  }
}

TEST(RanksOnTargets, ComputeRandomGraphs) {
  int64_t tried = 0;
  for (unsigned seed = 1; seed <= half_of(120) && !HasFailure(); ++seed) {
    const std::optional<RankCase> drawn = random_rank_case(seed);
    if (!drawn) continue;
    SCOPED_TRACE(drawn->text);
    const auto found = run_ranks_on(targets::cpu, drawn->graph, {.threads = 1 + int(seed % 2)},
                                    drawn->ranks, 0, drawn->axes, drawn->arguments);
    expect_case(*drawn, found);
    ++tried;
  }
  EXPECT_GE(tried, half_of(40));
  count("graphs run by ranks", tried);
}

GraphPtr kernels_of_rank(const GraphPtr& graph, int ranks, int rank) {
  CompileOptions options;
  options.ranks = {.count = ranks, .rank = rank, .axes = kAxes};
  CompileReport report;
  return form_kernels_for(graph_of_rank(graph, options, report), options, report);
}

Machine machine_with_ranks(int workers, int64_t bucket_bytes) {
  Machine machine = machine_like(0, workers);
  machine.lower_external = lower_collective;
  machine.bucket_bytes = bucket_bytes;
  return machine;
}

/// How many records with products stand between the begin of a sum and the wait for it.
int64_t beside_sums(const Plan& plan) {
  int64_t open = 0, beside = 0;
  for (const Record& record : plan.records) {
    const auto* call = std::get_if<ExternCall>(&record.call);
    if (call == nullptr) {
      beside += open > 0 && std::holds_alternative<LoopCall>(record.call) ? 1 : 0;
    } else {
      open += is_wait(*call) ? -1 : 1;
    }
  }
  EXPECT_EQ(open, 0);
  return beside;
}

/// The graph with gradients divided by their norm.
std::string with_norm(std::string text) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replace("mul(%rate,", "mul(div(%rate, %norm),");
  const size_t next = text.find("  next %table");
  text.insert(next,
              "  %norm = sqrt(add(add(sum(square(%dv)) {axes = [0, 1]}, sum(square(%du2)) {axes = "
              "[0, 1]}), add(sum(square(%dw2)) {axes = [0, 1]}, sum(square(%dw)) {axes = [0, "
              "1]})))\n");
  return text;
}

int64_t sums_of(const Plan& plan) {
  return std::ranges::count_if(plan.records, [](const Record& record) {
    const ExternCall* call = collective_of(record);
    return call != nullptr && call->function == kAllReduce;
  });
}

TEST(Overlap, SumsOfALayerRunBesideTheBackwardLoopBelowIt) {
  const GraphPtr kernels = kernels_of_rank(parse_graph(kTwoLayers), 2, 0);
  const Plan plan = make_plan(*kernels, machine_with_ranks(2, 0));
  EXPECT_GE(beside_sums(plan), 2) << print(plan);
  // With the norm of all gradients, which is computed where they are.
  const GraphPtr clipped = parse_graph(with_norm(kTwoLayers));
  EXPECT_GE(beside_sums(make_plan(*kernels_of_rank(clipped, 2, 0), machine_with_ranks(2, 0))), 2);
  EXPECT_GE(sums_of(plan), 6) << print(plan);
  // Small ones become one operation.
  const Plan together = make_plan(*kernels, machine_with_ranks(2, 1 << 20));
  EXPECT_LT(sums_of(together), sums_of(plan)) << print(together);
}

/// A step changes a table in its place, as one of a single process does: it is not copied before
/// the rows of the others are there.
TEST(Overlap, TablesAreUpdatedInTheirPlaces) {
  std::string text = kTwoLayers;
  const auto grow = text.find("%table: f32[50,16]");
  text.replace(grow, 18, "%table: f32[500,16]");
  const GraphPtr kernels = kernels_of_rank(parse_graph(text), 2, 0);
  const Plan plan = make_plan(*kernels, machine_with_ranks(1, 1 << 20));
  const auto scatters = [](const Record& record) {
    const auto* call = std::get_if<TableCall>(&record.call);
    return call != nullptr && call->op == TableOp::scatter;
  };
  EXPECT_EQ(std::ranges::count_if(plan.records, scatters), 1) << print(plan);
  for (const Record& record : plan.records) {
    EXPECT_FALSE(whole_copy(plan, record)) << print(plan);
  }
}

/// All ranks begin the same operations in the same order.
TEST(Overlap, EveryRankHasTheSameOrder) {
  const GraphPtr graph = parse_graph(kTwoLayers);
  const auto text_of = [&](int rank) {
    std::string text;
    const GraphPtr kernels = kernels_of_rank(graph, 4, rank);
    for (const Record& record : make_plan(*kernels, machine_with_ranks(3, 4096)).records) {
      const ExternCall* call = collective_of(record);
      if (call == nullptr) continue;
      text += call->function;
      for (const ExternOperand& operand : call->operands) text += fmt::format(" {}", operand.bytes);
    }
    return text;
  };
  const std::string first = text_of(0);
  EXPECT_FALSE(first.empty());
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(text_of(rank), first);
}

/// With the mutant `waits_left_to_the_end` a record reads a sum that nobody has waited for.
TEST(Overlap, PlansAreReplayed) {
  const GraphPtr graph = parse_graph(kTwoLayers);
  for (const int ranks : {2, 4}) {
    for (const int workers : {1, 2, 3}) {
      for (const int64_t bucket : {0, 4096, 1 << 20}) {
        EXPECT_EQ(
            replay(*kernels_of_rank(graph, ranks, ranks - 1), machine_with_ranks(workers, bucket)),
            "")
            << ranks << " ranks, " << workers << " workers, buckets of " << bucket;
      }
    }
  }
}

TEST(RanksOnTargets, ATargetRefusesGraphsOfOtherNumbersOfRanks) {
  const GraphPtr graph = parse_graph(kTwoLayers);
  CompileOptions options;
  options.ranks = {.count = 2, .rank = 0, .axes = kAxes};
  CompileReport report;
  EXPECT_NE(error_of(ErrorKind::input, [&] { compile(graph, targets::cpu, options, report); })
                .find("one of 2 ranks: found 1"),
            std::string::npos);
  all_test_targets();  // gives the CUDA target its libraries
  EXPECT_NE(error_of(ErrorKind::input, [&] { compile(graph, targets::cuda, options, report); })
                .find("one of 2 ranks: found 1"),
            std::string::npos);
}

}  // namespace
}  // namespace graphc::core::testing
