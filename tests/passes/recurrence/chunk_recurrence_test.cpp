// SPDX-License-Identifier: Apache-2.0
// Linear recurrences in chunks of steps: values and gradients stay, whatever the lengths.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ir/build.h"
#include "ir/scan.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "passes/recurrence/chunk_products.h"
#include "tests/passes/values.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/linear_cells.h"
#include "tests/testing/random_cell.h"
#include "tests/testing/random_matrix_cell.h"
#include "tests/testing/samples.h"

namespace graphc::core::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::string_view kClean = "simplify,cse";

PipelineResult in_chunks(const GraphPtr& graph, std::string_view options) {
  return run_pipeline(
      graph, parse_pipeline(fmt::format("{0},chunk-recurrence{{{1}}},{0}", kClean, options)));
}

/// The remarks of the pass.
std::vector<std::string> said(const PipelineResult& result) {
  std::vector<std::string> texts;
  for (const Remark& remark : result.remarks.all()) {
    if (remark.pass == "chunk-recurrence") texts.push_back(remark.text);
  }
  return texts;
}

/// The most steps that a loop at the top of the graph has.
int64_t longest_loop(const Graph& graph) {
  int64_t steps = 0;
  for (const Node& node : graph.nodes()) {
    if (node.is(ops::scan)) steps = std::max(steps, Scan(node).steps());
  }
  return steps;
}

/// Whether a loop of the graph, at any depth, has steps that a derivative computes again.
bool has_steps_to_repeat(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    if (node.is(ops::scan) && Scan(node).save_every() > 0) return true;
    return std::ranges::any_of(node.regions,
                               [](const GraphPtr& region) { return has_steps_to_repeat(*region); });
  });
}

class ChunksOfCells : public ::testing::TestWithParam<LinearCell> {};

TEST_P(ChunksOfCells, KeepValuesAndGradients) {
  for (const int64_t steps : {2, 3, 7, 12}) {
    const GraphPtr graph = with_gradients(graph_of(GetParam(), steps));
    const GraphPtr plain = after(graph, "simplify,cse,autodiff,expand");
    for (const int64_t length : {2, 3, 4, 32}) {
      SCOPED_TRACE(fmt::format("{} steps, {} in a chunk", steps, length));
      const PipelineResult result = in_chunks(graph, fmt::format("steps={}", length));
      ASSERT_EQ(said(result), std::vector<std::string>{fmt::format(
                                  "{} steps are computed in chunks of {}", steps, length)});
      expect_same_values(plain, after(result.graph, "autodiff,expand"), 7, 1e-9);
    }
  }
}

TEST_P(ChunksOfCells, KeepValuesAndGradientsInSegments) {
  for (const int64_t steps : {5, 8}) {
    const GraphPtr graph = with_gradients(graph_of(GetParam(), steps));
    const GraphPtr plain = after(graph, "simplify,cse,autodiff,expand");
    for (const int64_t segment : {1, 3, 4}) {
      SCOPED_TRACE(fmt::format("{} steps, {} in a segment", steps, segment));
      const PipelineResult result = in_chunks(graph, fmt::format("steps=2,segment={}", segment));
      ASSERT_EQ(said(result),
                (std::vector<std::string>{
                    fmt::format("{} steps are computed in chunks of 2", steps),
                    fmt::format("the derivative computes segments of {} steps again", segment)}));
      EXPECT_TRUE(has_steps_to_repeat(*result.graph));
      for (const char* passes : {"autodiff,expand",
                                 "autodiff,expand,simplify,cse,hoist,simplify,"
                                 "cse,unroll{auto},simplify,cse"})
        expect_same_values(plain, after(result.graph, passes), 7, 1e-9);
    }
  }
}

/// Segments of chunks add three axes to what a step has.
TEST(ChunkRecurrence, OfValuesOfSixAxesIsDifferentiatedInOnePiece) {
  const LinearCell cell{"six_axes", R"(
graph @cell(%k: f32[<T>,1,2,1,2,4,1], %v: f32[<T>,1,2,1,2,1,3], %s0: f32[1,2,1,2,4,3]) {
  %o, %s.end = scan %k.t in %k, %v.t in %v carry %s = %s0 {
    %s.1 = add(mul(%s, 0.5), mul(%k.t, %v.t))
    next %s = %s.1
    emit sum(mul(%s.1, %k.t)) {axes = [4]}
  }
  return %o, %s.end
})"};
  const GraphPtr graph = with_gradients(graph_of(cell, 5));
  const PipelineResult result = in_chunks(graph, "steps=2,segment=3");
  EXPECT_EQ(said(result), std::vector<std::string>{"5 steps are computed in chunks of 2"});
  EXPECT_FALSE(has_steps_to_repeat(*result.graph));
  expect_same_values(after(graph, "simplify,cse,autodiff,expand"),
                     after(result.graph, "autodiff,expand"), 7, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Passes, ChunksOfCells, ::testing::ValuesIn(linear_cells()),
                         [](const auto& cell) { return std::string(cell.param.name); });

TEST(ChunkRecurrence, LeavesNoLoopOverAllSteps) {
  for (const LinearCell& cell : linear_cells()) {
    SCOPED_TRACE(cell.name);
    const GraphPtr graph = graph_of(cell, 64);
    EXPECT_EQ(longest_loop(*graph), 64);
    // The other carries of an mLSTM go step by step.
    if (cell.name == "mlstm") continue;
    EXPECT_EQ(longest_loop(*in_chunks(graph, "steps=8").graph), 8);
    EXPECT_EQ(longest_loop(*in_chunks(graph, "steps=4").graph), 16);
  }
}

TEST(ChunkRecurrence, SaysWhyALoopGoesStepByStep) {
  for (const LinearCell& cell : other_cells()) {
    SCOPED_TRACE(cell.name);
    const GraphPtr graph = graph_of(cell, 6);
    const PipelineResult result = in_chunks(graph, "steps=2");
    const std::vector<std::string> wanted(cell.why_not.empty() ? 0 : 1, std::string(cell.why_not));
    EXPECT_EQ(said(result), wanted);
    EXPECT_EQ(print(*result.graph), print(*after(graph, kClean)));
  }
}

TEST(ChunkRecurrence, KeepsTheGradientsOfRandomMatrixCells) {
  int divided = 0;
  for (unsigned seed = 1; seed <= half_of(200); ++seed) {
    SCOPED_TRACE(seed);
    const GraphPtr graph = random_matrix_cell(seed);
    const PipelineResult result = in_chunks(after(graph, "simplify,cse,vector-products"),
                                            fmt::format("steps={}", 2 + seed % 3));
    const std::vector<std::string> remarks = said(result);
    if (remarks.empty() || remarks[0].find("in chunks") == std::string::npos) continue;
    ++divided;
    const std::vector<Literal> inputs = random_cell_inputs(*graph, seed);
    const auto wanted =
        evaluate(*after(graph, "autodiff,expand"), inputs, {}, Precision::f64).results;
    const auto found =
        evaluate(*after(result.graph, "autodiff,expand"), inputs, {}, Precision::f64).results;
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      for (int64_t k = 0; k < wanted[i].elements(); ++k) {
        const double x = wanted[i].element(k);
        ASSERT_NEAR(found[i].element(k), x, 1e-9 * std::max(1.0, std::abs(x))) << "result " << i;
      }
    }
  }
  EXPECT_GT(divided, int(half_of(200)) / 20);
}

TEST(ChunkRecurrence, InvertsUnitLowerTriangularMatrices) {
  for (const int64_t n : {1, 2, 5, 16, 17, 24, 32, 64, 96}) {
    SCOPED_TRACE(n);
    auto graph = std::make_unique<Graph>("inverse");
    const Value x = graph->input({DType::f32, {3, n, n}}, "x");
    const Value lower = cast(less(iota(*graph, {1, n}, 1), iota(*graph, {n, 1}, 0)), DType::f32);
    const Value l = x * lower * (1.0 / double(n));
    const Value one = cast(equal(iota(*graph, {n, 1}, 0), iota(*graph, {1, n}, 1)), DType::f32);
    const Value inverse = inverse_of_unit_lower(l);
    const Value difference = abs(matmul(inverse, one - l) - one);
    graph->set_results({max(difference, {0, 1, 2}), max(abs(inverse - one), {0, 1, 2})});
    const GraphPtr frozen = freeze(std::move(graph));
    const Arguments arguments = random_arguments(*frozen, 3);
    const auto found = evaluate(*frozen, arguments.inputs, {}, Precision::f64).results;
    EXPECT_LT(found[0].element(0), 1e-12);
    EXPECT_EQ(found[1].element(0) > 0, n > 1);
  }
}

/// A training graph of a gated linear attention: its decay a number a row, or one for each key.
GraphPtr attention(int64_t steps, int64_t width, std::string_view decay, bool training = true,
                   std::string_view attributes = "", std::string_view written = "%v.t") {
  return parse_graph(fmt::format(
      R"(
    graph @cell(%k: f32[{0},2,{1},1], %v: f32[{0},2,1,{1}], %g: f32[{0},2,{2},1],
                %s0: f32[2,{1},{1}]) {{
      %o, %s.end = scan {4} %k.t in %k, %v.t in %v, %g.t in %g carry %s = %s0 {{
        %s.1 = add(mul(%s, sigmoid(%g.t)), mul(%k.t, {5}))
        next %s = %s.1
        emit sum(mul(%s.1, %k.t)) {{axes = [1]}}
      }}
      %loss = sum(square(%o)) {{axes = [0,1,2]}}
      {3}
    }})",
      steps, width, decay,
      training ? "%dk, %dg = grad %loss, %k, %g\n return %dk, %dg" : "return %loss", attributes,
      written));
}

/// The most elements that a loop at the top of the graph gives, and how many steps it has.
std::pair<int64_t, int64_t> largest_given(const Graph& graph) {
  std::pair<int64_t, int64_t> largest;
  for (const Node& node : graph.nodes()) {
    if (!node.is(ops::scan)) continue;
    int64_t elements = 0;
    for (const Type& type : node.types) elements += type.shape.elements();
    largest = std::max(largest, std::pair(elements, Scan(node).steps()));
  }
  return largest;
}

TEST(ChunkRecurrence, SavesTheStateOfEverySegment) {
  // A derivative that keeps chunks would keep 2 GB.
  constexpr int64_t kSteps = 1 << 18, kRows = 2, kWidth = 32;
  const PipelineResult result = in_chunks(attention(kSteps, kWidth, "1"), "differentiated");
  EXPECT_THAT(said(result), Contains(HasSubstr("segments of")));
  const GraphPtr graph =
      after(result.graph, "autodiff,expand,simplify,cse,hoist,unroll{auto},simplify,cse");
  const auto [elements, segments] = largest_given(*graph);
  EXPECT_GT(segments, 1);
  EXPECT_LT(segments, kSteps / 256);
  // The outputs or the derivatives by keys and decays, and the states.
  EXPECT_LE(elements, kSteps * kRows * (kWidth + 1) + (segments + 1) * kRows * kWidth * kWidth);
  // A loop that needs none is in one piece.
  EXPECT_EQ(said(in_chunks(attention(64, kWidth, "1"), "differentiated")).size(), 1u);
}

TEST(ChunkRecurrence, TakesByItselfWhatIsFaster) {
  const auto divides = [](const GraphPtr& graph) {
    const PipelineResult result = in_chunks(graph, "differentiated");
    const std::vector<std::string> remarks = said(result);
    return !remarks.empty() && remarks[0].ends_with("in chunks of 32");
  };
  EXPECT_TRUE(divides(attention(64, 32, "1")));
  EXPECT_FALSE(divides(attention(64, 32, "1", false))) << "no gradient";
  EXPECT_FALSE(divides(attention(64, 32, "32"))) << "decays of keys";
  EXPECT_FALSE(divides(attention(63, 32, "1"))) << "few steps";
  EXPECT_FALSE(divides(attention(64, 31, "1"))) << "small matrices";
  EXPECT_TRUE(divides(attention(1 << 20, 32, "1"))) << "much to keep";
  EXPECT_FALSE(divides(attention(64, 32, "1", true, "{save_every = 8}")))
      << "asked for less memory";
  EXPECT_TRUE(said(in_chunks(attention(64, 32, "1"), "")).empty()) << "not asked for";
  constexpr std::string_view kDelta = "sub(%v.t, sum(mul(%s, %k.t)) {axes = [1], keep = true})";
  EXPECT_FALSE(divides(attention(64, 64, "1", true, "", kDelta))) << "steps in the cache";
  EXPECT_TRUE(divides(attention(64, 65, "1", true, "", kDelta)));
}

TEST(ChunkRecurrence, SaysThatStatesAreSavedOtherwiseThanALoopAsks) {
  const std::vector<Remark> all =
      in_chunks(attention(64, 32, "1", true, "{save_every = 8}"), "steps=16").remarks.all();
  const auto notice = std::ranges::find(all, true, &Remark::is_notice);
  ASSERT_NE(notice, all.end());
  EXPECT_THAT(notice->text, HasSubstr("save_every = 8 has no effect"));
}

TEST(ChunkRecurrence, IsAnOptionOfPipelines) {
  const auto passes = [](std::string_view recurrence) {
    return to_text(standard_pipeline("fused", "auto", "auto", recurrence));
  };
  EXPECT_THAT(passes("auto"),
              HasSubstr(",outline,split-axes,align-axes,chunk-recurrence,simplify,cse,remat,"));
  EXPECT_EQ(passes("steps").find("chunk-recurrence"), std::string::npos);
  EXPECT_THAT(passes("chunks"), HasSubstr(",chunk-recurrence{steps=32},simplify,cse,remat,"));
  EXPECT_THAT(passes("chunks=8"), HasSubstr(",chunk-recurrence{steps=8},simplify,cse,remat,"));
  EXPECT_THAT(to_text(standard_pipeline("basic", "auto", "off", "chunks=8")),
              HasSubstr("chunk-recurrence{steps=8},simplify,cse,autodiff"));
  for (const char* wrong : {"", "chunks=1", "chunks=", "chunks=x", "8", "chunk"}) {
    EXPECT_THAT(
        error_of(ErrorKind::usage, [&] { passes(wrong); }),
        HasSubstr(fmt::format("recurrence is auto, steps, chunks or chunks=N, of 2 steps or "
                              "more: found '{}'",
                              wrong)));
  }
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [] { after(attention(64, 32, "1"), "chunk-recurrence{steps=1}"); }),
              HasSubstr("chunk-recurrence: wanted chunks of 2 steps or more: found 1"));
}

}  // namespace
}  // namespace graphc::core::testing
