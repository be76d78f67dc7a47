// SPDX-License-Identifier: Apache-2.0
// Loops whose rows carry a matrix as kernels whose blocks take rows through all steps: which loops
// are, and that they agree with the evaluator where threads, warps and blocks have parts of a row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/targets/cuda/launches/launches.h"
#include "codegen/targets/cuda/machine.h"
#include "ir/text.h"
#include "models/registry.h"
#include "tests/codegen/cuda/random_steps.h"
#include "tests/codegen/variants.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/testing/counts.h"
#include "tests/testing/samples.h"
#include "tests/testing/targets.h"

namespace graphc::core::testing {
namespace {

using cuda::Placement;
GraphPtr graph_of_cell(const std::string& cell, std::vector<std::string> parameters,
                       const char* name = "train") {
  parameters.push_back("cell=" + cell);
  const auto program = make_program("cell-layer", parameters);
  return program->model().trace(name, program->extents(name)).graph;
}

/// The launches of a graph's loops.
std::vector<cuda::Launch> loops_of(const GraphPtr& graph, std::optional<Placement> wanted = {}) {
  CompileReport report;
  const Plan plan = make_plan(*form_kernels_for(graph, {}, report), cuda::gpu_machine());
  std::vector<cuda::Launch> found;
  for (cuda::Launch& launch : cuda::make_launches(plan, {}, wanted).step) {
    if (launch.placement != nullptr) found.push_back(std::move(launch));
  }
  return found;
}

class RowsOfMatrices : public ::testing::Test {
 protected:
  /// Compiles and runs the graph twice, and compares with the evaluator.
  void expect_agreement(const GraphPtr& graph, std::optional<Placement> placement = {}) {
    const std::vector<TestTarget>& all = all_test_targets();
    const TestTarget* row = &*std::ranges::find(all, &targets::cuda, &TestTarget::target);
    EXPECT_EQ(first_difference(graph, ++seed_, Numbers::real, {{row, "", placement}},
                               {{"fused", "loop", {1}}}),
              "");
    count("graphs with rows of matrices in the emulator", 1);
  }

  /// The same, of a graph whose loops all have the placement.
  void expect_rows(const GraphPtr& graph) {
    for (const cuda::Launch& loop : loops_of(graph))
      EXPECT_EQ(loop.placement->placement, Placement::rows) << loop.note;
    expect_agreement(graph);
  }

  /// The loops of a graph are placed otherwise, and say why.
  static void expect_no_rows(const GraphPtr& graph, const std::string& reason) {
    const std::vector<cuda::Launch> loops = loops_of(graph);
    ASSERT_FALSE(loops.empty());
    for (const cuda::Launch& loop : loops) {
      EXPECT_NE(loop.placement->placement, Placement::rows);
      EXPECT_THAT(loop.note, ::testing::HasSubstr(reason));
    }
  }

  cuda::testing::MockDriver driver_;
  unsigned seed_ = 0;
};

TEST_F(RowsOfMatrices, AreOneKernelEachWay) {
  for (const std::string cell : {"gated-delta", "mlstm", "rwkv7", "selective-scan"}) {
    for (const char* size : {"size=test", "size=small", "size=medium"}) {
      SCOPED_TRACE(cell + " " + size);
      const std::vector<cuda::Launch> loops = loops_of(graph_of_cell(cell, {size}));
      ASSERT_EQ(loops.size(), 2u);
      for (const cuda::Launch& loop : loops)
        EXPECT_EQ(loop.placement->placement, Placement::rows) << loop.note;
    }
  }
}

TEST_F(RowsOfMatrices, OfSeveralWarpsAgreeWithTheEvaluator) {
  // Elements for several warps; extents that threads do not divide; vectors along both axes.
  int number = 0;
  for (const auto& [cell, extents] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"gated-delta", {"key=40", "value=24"}},
           {"mlstm", {"key=33", "value=34"}},
           {"rwkv7", {"key=32", "value=32"}},
           {"selective-scan", {"hidden=70", "state=9"}}}) {
    SCOPED_TRACE(cell);
    // Fewer steps than phases, as many, and more.
    std::vector<std::string> parameters{"size=test", fmt::format("steps={}", 2 + number++ % 6),
                                        "batch=2"};
    if (cell != "selective-scan") parameters.push_back("heads=1");
    parameters.insert(parameters.end(), extents.begin(), extents.end());
    expect_rows(graph_of_cell(cell, parameters));
  }
}

TEST_F(RowsOfMatrices, AreDividedAmongBlocksWhereNoStepNeedsASumOverTheAxis) {
  int number = 0;
  for (const char* graph_name : {"forward", "train"}) {
    for (const auto& [cell, extents] :
         std::vector<std::pair<std::string, std::vector<std::string>>>{
             {"gated-delta", {"key=30", "value=64"}},
             {"mlstm", {"key=28", "value=64"}},
             {"rwkv7", {"key=28", "value=64"}},
             {"selective-scan", {"hidden=128", "state=12"}}}) {
      SCOPED_TRACE(cell + " " + graph_name);
      std::vector<std::string> parameters{"size=test", fmt::format("steps={}", 2 + number++ % 6)};
      parameters.insert(parameters.end(), extents.begin(), extents.end());
      const GraphPtr graph = graph_of_cell(cell, parameters, graph_name);
      const std::vector<cuda::Launch> loops = loops_of(graph);
      ASSERT_FALSE(loops.empty());
      for (const cuda::Launch& loop : loops)
        EXPECT_GE(loop.placement->column_groups, 2) << loop.note;
      expect_rows(graph);
    }
  }
}

/// A decayed sum of outer products that emits what `use` makes of %r, the sum of each row of the
/// matrix times a vector of that many columns, and of `more`.
GraphPtr with_row_sum(int columns, std::string_view more, std::string_view use) {
  return parse_graph(fmt::format(
      R"(graph @g(%x: f32[4,3,5], %y: f32[4,3,{0}], %s0: f32[3,5,{0}]) {{
       %o, %e = scan %x.t in %x, %y.t in %y carry %s = %s0 {{
         %k = reshape %x.t {{shape = [3,5,1]}}
         %v = reshape %y.t {{shape = [3,1,{0}]}}
         %r = sum(mul(%s, %v)) {{axes = [2]}}
         {1}
         next %s = add(mul(%s, 0.5), mul(%k, %v))
         emit {2}
       }}
       return %o, %e
     }})",
      columns, more, use));
}

TEST_F(RowsOfMatrices, AreWholeWhereAStepNeedsMoreThanSharesOfSums) {
  // What is done with the sum over the columns, and whether blocks may have shares of it.
  for (const auto& [use, may_be_shared] :
       std::vector<std::pair<const char*, bool>>{{"%r", true},
                                                 {"neg(%r)", true},
                                                 {"mul(%r, %x.t)", true},
                                                 {"sub(%r, mul(%r, %x.t))", true},
                                                 {"sum(mul(%r, %x.t)) {axes = [1]}", true},
                                                 {"tanh(%r)", false},
                                                 {"mul(%r, %r)", false},
                                                 {"add(%r, %x.t)", true},
                                                 {"select(less(%x.t, 0.), %r, 1.)", true},
                                                 {"div(%r, add(mul(%x.t, %x.t), 1.))", true},
                                                 {"div(%x.t, add(mul(%r, %r), 1.))", false},
                                                 {"maximum(%r, 0.)", false}}) {
    SCOPED_TRACE(use);
    const GraphPtr graph = with_row_sum(32, "", use);
    const std::vector<cuda::Launch> loops = loops_of(graph);
    ASSERT_EQ(loops.size(), 1u);
    EXPECT_EQ(loops[0].placement->placement, Placement::rows);
    EXPECT_EQ(loops[0].placement->column_groups > 1, may_be_shared) << loops[0].note;
    expect_rows(graph);
  }
}

/// What is whole is added to small shares last, and rounds their sum once.
TEST_F(RowsOfMatrices, AddWholeNumbersToSumsOfSharesOnce) {
  for (const char* use :
       {"add(%q, %w)", "add(%w, %q)", "sub(%q, %w)", "sub(%w, %q)", "add(mul(%q, %x.t), %w)",
        "sub(%w, mul(%q, %x.t))", "add(%q, mul(%w, %x.t))", "sub(mul(%w, %x.t), %q)"}) {
    SCOPED_TRACE(use);
    const GraphPtr graph =
        with_row_sum(64, "%w = add(mul(%x.t, 0.1), 1.) %q = mul(%r, 0.001)", use);
    const std::vector<cuda::Launch> loops = loops_of(graph);
    ASSERT_EQ(loops.size(), 1u);
    EXPECT_GT(loops[0].placement->column_groups, 2) << loops[0].note;
    for (int i = 0; i < 8; ++i) expect_rows(graph);
  }
}

/// A decayed sum of outer products, with the names of its inputs given.
GraphPtr sum_of_products(const std::array<const char*, 5>& names, const char* steps = "4") {
  return parse_graph(fmt::format(
      R"(graph @g(%{0}: f32[{5},3,4], %{1}: f32[{5},3,6], %{2}: f32[{5},3], %{3}: f32[3,4,6]) {{
       %{4}, %e = scan %x.t in %{0}, %y.t in %{1}, %z.t in %{2} carry %s = %{3} {{
         %k = reshape %x.t {{shape = [3,4,1]}}
         %v = reshape %y.t {{shape = [3,1,6]}}
         %d = reshape(sigmoid(%z.t)) {{shape = [3,1,1]}}
         next %s = add(mul(%s, %d), mul(%k, %v))
         emit sum(mul(%s, %k)) {{axes = [1]}}
       }}
       return %{4}, %e
     }})",
      names[0], names[1], names[2], names[3], names[4], steps));
}

TEST_F(RowsOfMatrices, MayHaveTheNamesOfTheTextsOwnVariables) {
  expect_rows(sum_of_products({"q", "w", "g", "a", "b"}));
  for (const auto& names : std::vector<std::array<const char*, 5>>{
           {"i", "j", "row", "lane", "turn"},
           {"first_row", "first_column", "from", "to", "other"},
           {"k", "k_in_1", "k_base", "k_at", "all_k"},
           {"steps", "iteration", "warp", "part", "lanes"},
           {"lane_of_rows", "warp_of_columns", "meeting_f32", "blockIdx", "threadIdx"}}) {
    SCOPED_TRACE(names[0]);
    expect_rows(sum_of_products(names));
  }
}

TEST_F(RowsOfMatrices, OfOneStepAndOfTwoAgreeWithTheEvaluator) {
  for (const char* steps : {"1", "2", "3"}) {
    SCOPED_TRACE(steps);
    expect_agreement(sum_of_products({"q", "w", "g", "a", "b"}, steps));
  }
}

TEST_F(RowsOfMatrices, MayBePlacedOtherwise) {
  const GraphPtr graph = sum_of_products({"q", "w", "g", "a", "b"});
  for (const cuda::Launch& loop : loops_of(graph, Placement::streamed))
    EXPECT_EQ(loop.placement->placement, Placement::streamed);
  expect_agreement(graph, Placement::streamed);
  expect_agreement(graph, Placement::rows);
}

TEST_F(RowsOfMatrices, MayCarryTwoValuesThatGoOnAlike) {
  expect_rows(parse_graph(R"(
    graph @g(%x: f32[3,2,3,5], %k: f32[3,2,3], %a: f32[2,3,5], %b: f32[2,3,5], %c: f32[2,3],
             %d: f32[2,3]) {
      %g, %o, %w, %e0, %e1, %e2, %e3 = scan %t in %x, %kt in %k
          carry %s = %a, %r = %b, %v = %c, %z = %d {
        %kc = reshape(%kt) {shape = [2,3,1]}
        %u = sum(mul(%r, %kc)) {axes = [1]}
        %n = add(mul(%s, 0.5), mul(%t, reshape(%u) {shape = [2,1,5]}))
        %m = add(mul(%v, %kt), sum(%n) {axes = [2]})
        next %s = %n, %r = %n, %v = %m, %z = %m
        emit %n, %u, sub(%z, %kt)
      }
      return %g, %o, %w, %e0, %e3
    })"));
}

TEST_F(RowsOfMatrices, OfMoreElementsThanRegistersHoldAreNot) {
  const auto graph = [](int extent) {
    return parse_graph(fmt::format(
        R"(graph @g(%x: f32[4,3,{0}], %s0: f32[3,{0},{0}]) {{
         %e = scan %x.t in %x carry %s = %s0 {{
           %k = reshape %x.t {{shape = [3,{0},1]}}
           %u = reshape(sum(mul(%s, %k)) {{axes = [1]}}) {{shape = [3,1,{0}]}}
           next %s = add(mul(%s, %k), %u)
         }}
         return %e
       }})",
        extent));
  };
  EXPECT_EQ(loops_of(graph(128))[0].placement->placement, Placement::rows);
  expect_no_rows(graph(2048), "elements of a matrix of 2048 x 2048");
}

TEST_F(RowsOfMatrices, OfTwoExtentsAreNot) {
  const GraphPtr graph = parse_graph(R"(
    graph @g(%x: f32[4,3,4], %s0: f32[3,4,5], %r0: f32[3,4,2]) {
      %s.e, %r.e = scan %x.t in %x carry %s = %s0, %r = %r0 {
        %k = reshape %x.t {shape = [3,4,1]}
        next %s = add(%s, %k), %r = mul(%r, %k)
      }
      return %s.e, %r.e
    })");
  expect_no_rows(graph, "not by rows, since it has matrices of 4 x 5 and of 4 x 2");
  expect_agreement(graph);
}

TEST_F(RowsOfMatrices, LoadTheStatesBeforeAndAfterAStepOnce) {
  for (const char* cell : {"gated-delta", "mlstm", "rwkv7"}) {
    SCOPED_TRACE(cell);
    const std::vector<cuda::Launch> loops = loops_of(graph_of_cell(cell, {"size=small"}));
    ASSERT_EQ(loops.size(), 2u);
    constexpr double kState = 8 * 64 * 64 * sizeof(float);
    // Forward stores each state, backward loads it; the rest are vectors.
    for (const cuda::Launch& loop : loops) {
      EXPECT_GT(loop.placement->step_bytes, kState) << loop.note;
      EXPECT_LT(loop.placement->step_bytes, 1.5 * kState) << loop.note;
    }
  }
}

/// Products that are added, subtracted, subtracted from, and summed; `more` is a further emit.
GraphPtr products_in_sums(const char* more) {
  return parse_graph(fmt::format(
      R"(graph @g(%x: f32[4,3,20], %y: f32[4,3,64], %s0: f32[3,20,64]) {{
         %a, %b, %c, %d, %e = scan %x.t in %x, %y.t in %y carry %s = %s0 {{
           %k = reshape %x.t {{shape = [3,20,1]}}
           %v = reshape %y.t {{shape = [3,1,64]}}
           %p = sub(mul(%s, %k), %v)
           %q = sub(%p, mul(%s, %v))
           next %s = add(mul(%q, 0.25), mul(%k, %v))
           emit sum(mul(%s, %k)) {{axes = [1]}}, sum(mul(%s, %v)) {{axes = [2]}},
             add(%x.t, mul(sum(mul(%s, %v)) {{axes = [2]}}, %x.t)), {}
         }}
         return %a, %b, %c, %d, %e
       }})",
      more));
}

TEST_F(RowsOfMatrices, RoundAProductWithItsSumOnce) {
  const auto contractions = [](const GraphPtr& graph) {
    const std::vector<cuda::Launch> loops = loops_of(graph);
    EXPECT_EQ(loops.size(), 1u);
    EXPECT_EQ(loops[0].placement->placement, Placement::rows) << loops[0].note;
    CompileReport report;
    const Plan plan = make_plan(*form_kernels_for(graph, {}, report), cuda::gpu_machine());
    std::string text;
    for (const cuda::KernelText& kernel : cuda::make_launches(plan, {}, {}).kernels)
      text += kernel.text;
    size_t count = 0;
    for (size_t at = text.find("fmaf("); at != std::string::npos; at = text.find("fmaf(", at + 1))
      ++count;
    return count;
  };
  const GraphPtr graph = products_in_sums("%y.t");
  EXPECT_GE(contractions(graph), 5u);
  expect_rows(graph);
  // Not where something looks for a maximum (codegen/lower/contraction.h).
  const GraphPtr maximum = products_in_sums("max(%s) {axes = [1]}");
  EXPECT_EQ(contractions(maximum), 0u);
  expect_rows(maximum);
}

TEST_F(RowsOfMatrices, OfRandomStepsAgreeWithTheEvaluator) {
  int rows = 0, divided = 0, others = 0;
  for (unsigned seed = 0; seed < (whole_samples() ? 400u : 16u); ++seed) {
    const GraphPtr graph = RandomSteps(seed).graph(seed % 2 == 1);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, print(*graph)));
    for (const cuda::Launch& loop : loops_of(graph)) {
      const bool is_rows = loop.placement->placement == Placement::rows;
      ++(is_rows ? rows : others);
      divided += int(is_rows && loop.placement->column_groups > 1);
    }
    expect_agreement(graph);
    if (HasFailure()) return;
  }
  EXPECT_GT(rows, 2 * others);
  EXPECT_GT(divided, 0);
  count("random loops whose blocks take rows", rows);
  count("random loops whose blocks divide rows", divided);
}

}  // namespace
}  // namespace graphc::core::testing
