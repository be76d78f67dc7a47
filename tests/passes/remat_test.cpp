// SPDX-License-Identifier: Apache-2.0
// Loops that save every so many states: the gradients stay, what is saved becomes less.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/scan.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/random_cell.h"
#include "tests/testing/random_matrix_cell.h"
#include "tests/testing/samples.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kAutodiff = "autodiff,expand,simplify,cse";

GraphPtr with_remat(const GraphPtr& graph, std::string_view options) {
  return after(graph, fmt::format("simplify,cse,remat{{{}}},{}", options, kAutodiff));
}
GraphPtr without_remat(const GraphPtr& graph) {
  return after(graph, fmt::format("simplify,cse,{}", kAutodiff));
}

class RematOfCells : public ::testing::TestWithParam<Cell> {};

TEST_P(RematOfCells, KeepsTheGradients) {
  const GraphPtr graph = with_gradients(parse_cell(GetParam()));
  const GraphPtr plain = without_remat(graph);
  for (const int64_t steps : {1, 2, 3, 4}) {
    SCOPED_TRACE(steps);
    expect_same_values(plain, with_remat(graph, fmt::format("steps={}", steps)), 5, 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(Passes, RematOfCells, ::testing::ValuesIn(all_cells()),
                         [](const auto& cell) { return std::string(cell.param.name); });

TEST(Remat, KeepsTheGradientsOfRandomMatrixCells) {
  int loops = 0;
  for (unsigned seed = 1; seed <= half_of(60); ++seed) {
    SCOPED_TRACE(seed);
    const GraphPtr graph = random_matrix_cell(seed);
    const GraphPtr changed = with_remat(graph, fmt::format("steps={}", 1 + seed % 4));
    loops += count(*changed, "scan") > 2;
    const std::vector<Literal> inputs = random_cell_inputs(*graph, seed);
    const auto wanted = evaluate(*without_remat(graph), inputs, {}, Precision::f64).results;
    const auto found = evaluate(*changed, inputs, {}, Precision::f64).results;
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      for (int64_t k = 0; k < wanted[i].elements(); ++k) {
        const double x = wanted[i].element(k);
        ASSERT_NEAR(found[i].element(k), x, 1e-9 * std::max(1.0, std::abs(x))) << "result " << i;
      }
    }
  }
  EXPECT_GT(loops, int(half_of(60)) / 3);
}

/// A loop of 12 steps over a state of 40 numbers, with attributes of the scan.
GraphPtr twelve_steps(std::string_view attributes) {
  return parse_graph(fmt::format(R"(
    graph @cell(%x: f32[12,5,8], %h0: f32[5,8]) {{
      %y, %h.end = scan {} %x.t in %x carry %h = %h0 {{
        %h.1 = tanh(mul(add(%h, %x.t), tanh(%h)))
        next %h = %h.1
        emit sum(%h.1) {{axes = [1]}}
      }}
      %loss = sum(square(%y)) {{axes = [0,1]}}
      %dx, %dh = grad %loss, %x, %h0
      return %loss, %dx, %dh
    }})",
                                 attributes));
}

/// Numbers in the results of the forward loop, the first one: its own, and what it saves.
int64_t saved_numbers(const Graph& graph) {
  const auto loop =
      std::ranges::find_if(graph.nodes(), [](const Node& node) { return node.is(ops::scan); });
  int64_t numbers = 0;
  for (const Type& type : loop->types) numbers += type.shape.elements();
  return numbers;
}

TEST(Remat, SavesTheStatesOfEverySoManySteps) {
  const GraphPtr graph = twelve_steps("");
  const int64_t emitted = 12 * 5;
  EXPECT_GE(saved_numbers(*without_remat(graph)), emitted + 12 * 40);
  for (const int64_t steps : {2, 3, 4, 6}) {
    const GraphPtr changed = with_remat(graph, fmt::format("steps={}", steps));
    EXPECT_LE(saved_numbers(*changed), emitted + (12 / steps + 1) * 40) << print(*changed);
    EXPECT_EQ(count_here(*changed, "scan"), 2) << print(*changed);
    EXPECT_EQ(count(*changed, "scan"), 5) << print(*changed);
  }
}

TEST(Remat, DoesAsALoopSays) {
  const GraphPtr plain = without_remat(twelve_steps(""));
  for (const char* attributes : {"{save_every = 4}", "{save_every = 5}"}) {
    const GraphPtr changed = with_remat(twelve_steps(attributes), "");
    EXPECT_GE(count(*changed, "scan"), 5) << print(*changed);
    expect_same_values(plain, changed, 3, 1e-12);
  }
  const GraphPtr reversed = without_remat(twelve_steps("{reverse = true}"));
  expect_same_values(reversed, with_remat(twelve_steps("{reverse = true, save_every = 5}"), ""), 3,
                     1e-12);
}

TEST(Remat, LeavesOtherLoopsAlone) {
  const auto loops = [](const GraphPtr& graph, std::string_view options) {
    return count(*with_remat(graph, options), "scan");
  };
  EXPECT_EQ(loops(twelve_steps(""), ""), 2);
  EXPECT_EQ(loops(twelve_steps(""), "matrices"), 2) << "no matrix";
  EXPECT_EQ(loops(twelve_steps("{save_every = 12}"), ""), 2);
  EXPECT_EQ(loops(twelve_steps(""), "steps=12"), 2);
  const GraphPtr forward = parse_graph(R"(
    graph @sum(%x: f32[6,4], %a: f32[4]) {
      %s.e = scan {save_every = 2} %x.t in %x carry %s = %a { next %s = tanh(add(%s, %x.t)) }
      return %s.e
    })");
  EXPECT_EQ(count(*with_remat(forward, "steps=2"), "scan"), 1);
}

TEST(Remat, TakesLargeMatricesOfRowsWhereATargetKeepsThem) {
  const auto cell = [](int64_t width) {
    return parse_graph(fmt::format(R"(
      graph @cell(%k: f32[64,4,{0},1], %v: f32[64,4,1,{0}], %s0: f32[4,{0},{0}]) {{
        %o, %s.end = scan %k.t in %k, %v.t in %v carry %s = %s0 {{
          %s.1 = add(mul(%s, 0.9), mul(%k.t, %v.t))
          next %s = %s.1
          emit sum(mul(%s.1, %k.t)) {{axes = [1]}}
        }}
        %loss = sum(square(%o)) {{axes = [0,1,2]}}
        %dk, %dv = grad %loss, %k, %v
        return %dk, %dv
      }})",
                                   width));
  };
  const PipelineResult large =
      run_pipeline(cell(128), parse_pipeline("simplify,cse,remat{matrices}"));
  ASSERT_EQ(large.remarks.all().size(), 1u);
  EXPECT_EQ(large.remarks.all()[0].text,
            "the derivative keeps the carries of every 8 of 64 steps (262144 bytes each) and "
            "computes the others again");
  const PipelineResult small =
      run_pipeline(cell(64), parse_pipeline("simplify,cse,remat{matrices}"));
  EXPECT_EQ(small.remarks.all().size(), 0u);  // 4 MiB
}

TEST(Remat, SaysWhereItHasNoEffect) {
  const auto said = [](const GraphPtr& graph) {
    const std::vector<Remark> all =
        run_pipeline(graph, parse_pipeline("simplify,cse,remat")).remarks.all();
    return all.size() == 1 ? all[0].text : fmt::format("{} remarks", all.size());
  };
  EXPECT_EQ(said(twelve_steps("{save_every = 12}")),
            "save_every = 12 has no effect: the loop has 12 steps");
  EXPECT_EQ(
      said(parse_graph(R"(
    graph @nested(%x: f32[3,4,5], %h0: f32[5]) {
      %h.end = scan %x.t in %x carry %h = %h0 {
        %g.end = scan {save_every = 2} %x.u in %x.t carry %g = %h {
          next %g = tanh(add(%g, %x.u))
        }
        next %h = %g.end
      }
      %dh = grad sum(square(%h.end)) {axes = [0]}, %h0
      return %dh
    })")),
      "save_every = 2 has no effect inside another loop: only a loop outside of all others is "
      "split");
  EXPECT_EQ(said(twelve_steps("")), "0 remarks");
}

TEST(Remat, SaysWhatItWants) {
  EXPECT_THAT(error_of(ErrorKind::usage, [] { after(twelve_steps(""), "remat{steps=0}"); }),
              HasSubstr("remat: steps is at least 1: found 0"));
  EXPECT_THAT(error_of(ErrorKind::input, [] { twelve_steps("{save_every = 0}"); }),
              HasSubstr("scan: attribute 'save_every' is at least 1: found 0"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { standard_pipeline("fused", "auto", "0"); }),
              HasSubstr("remat is auto, off or a number of steps: found '0'"));
  EXPECT_THAT(to_text(standard_pipeline("basic", "auto", "5")), HasSubstr(",remat{steps=5},"));
  EXPECT_EQ(to_text(standard_pipeline("fused", "auto", "off")).find("remat"), std::string::npos);
}

}  // namespace
}  // namespace graphc::core::testing
