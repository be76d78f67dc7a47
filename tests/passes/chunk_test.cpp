// SPDX-License-Identifier: Apache-2.0
// Which products are kept for some rows at a time, and that nothing changes by it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/scan.h"
#include "ir/text.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "tests/passes/values.h"

namespace graphc::core::testing {
namespace {

constexpr Ranges kLabels{-1, 1, 33};
constexpr std::string_view kPrepare = "simplify,cse,autodiff,expand,simplify,cse";

/// A vocabulary projection, its loss and all gradients, at 15 rows of 33 columns. `weigh` makes
/// %total of %losses.
GraphPtr head(std::string_view weigh = "%total = mul(sum(%losses) {axes = [0,1]}, 0.2)",
              std::string_view results = "") {
  return parse_graph(fmt::format(R"(
    graph @head(%x: f32[5,3,4], %targets: i32[5,3], %w: f32[4,33], %b: f32[33], %m: f32[5,1]) {{
      %logits = add(matmul(%x, %w), %b)
      %losses = cross_entropy %logits, %targets
      {}
      %dx, %dw, %db = grad %total, %x, %w, %b
      return %total, %dx, %dw, %db, %losses{}
    }})",
                                 weigh, results));
}

int64_t largest(const Graph& graph) {
  int64_t elements = 0;
  for (const Node& node : graph.nodes()) {
    for (const Type& type : node.types) elements = std::max(elements, type.shape.elements());
    for (const GraphPtr& region : node.regions) elements = std::max(elements, largest(*region));
  }
  return elements;
}

PipelineResult chunked(const GraphPtr& graph, std::string_view options) {
  return run_pipeline(graph, parse_pipeline(fmt::format("chunk{{{}}}", options)));
}

void expect_chunks(const GraphPtr& graph, int64_t rows, std::string_view remark) {
  const GraphPtr before = after(graph, kPrepare);
  const PipelineResult result = chunked(before, fmt::format("bytes={},rows=1", rows * 33 * 4));
  ASSERT_EQ(result.remarks.all().size(), 1u);
  EXPECT_EQ(result.remarks.all()[0].text, remark);
  EXPECT_EQ(count_here(*result.graph, "scan"), 1);
  EXPECT_EQ(largest(*before), 15 * 33);
  EXPECT_LE(largest(*result.graph), std::max<int64_t>(rows * 33, 4 * 33)) << print(*result.graph);
  expect_same_values(before, result.graph, 3, 1e-12, kLabels);
}

void expect_whole(const GraphPtr& graph, std::string_view reason) {
  const GraphPtr before = after(graph, kPrepare);
  const PipelineResult result = chunked(before, "bytes=1000,rows=1");
  EXPECT_EQ(result.graph, before);
  ASSERT_EQ(result.remarks.all().size(), 1u);
  EXPECT_EQ(result.remarks.all()[0].text, "kept whole: " + std::string(reason));
}

TEST(Chunk, KeepsNoLogitsOfAHead) { expect_chunks(head(), 5, "in chunks of 5 of 15 rows"); }

TEST(Chunk, DoesARemainderBehindTheLoop) {
  expect_chunks(head(), 2, "in chunks of 2 of 15 rows");
  expect_chunks(head(), 7, "in chunks of 5 of 15 rows");
  expect_chunks(head(), 8, "in chunks of 8 of 15 rows");
}

TEST(Chunk, TakesFewerRowsWhereThenNoneAreLeft) {
  expect_chunks(head(), 4, "in chunks of 3 of 15 rows");
}

TEST(Chunk, TakesWeightsAndMasksOfRows) {
  expect_chunks(head("%total = sum(mul(%losses, %m)) {axes = [0,1]}"), 5,
                "in chunks of 5 of 15 rows");
  expect_chunks(head("%total = sum(select(greater(%m, 0.), %losses, 0.)) {axes = [0,1]}"), 6,
                "in chunks of 5 of 15 rows");
}

TEST(Chunk, DoesAForwardGraph) {
  expect_chunks(parse_graph(R"(
    graph @forward(%x: f32[15,4], %w: f32[4,33], %targets: i32[15]) {
      return cross_entropy(matmul(%x, %w), %targets), sum(softmax(matmul(%x, %w))) {axes = [0]}
    })"),
                5, "in chunks of 5 of 15 rows");
}

TEST(Chunk, LeavesAResultWhole) {
  expect_whole(head("%total = sum(%losses) {axes = [0,1]}", ", %logits"), "%logits is a result");
}

TEST(Chunk, LeavesALossThatWeighsItsOwnGradientWhole) {
  expect_whole(head("%total = exp(sum(%losses) {axes = [0,1]})"), "%total needs all of its rows");
}

TEST(Chunk, LeavesANormalisationOverRowsWhole) {
  expect_whole(parse_graph(R"(
    graph @forward(%x: f32[15,4], %w: f32[4,33]) {
      %y = matmul %x, %w
      return sum(sub(%y, max(%y) {axes = [0], keep = true})) {axes = [1]}
    })"),
               "%max needs all of its rows");
}

TEST(Chunk, LeavesWhatFitsAlone) {
  const GraphPtr graph = after(head(), kPrepare);
  EXPECT_EQ(after(graph, "chunk"), graph);
  EXPECT_EQ(after(graph, "chunk{bytes=1980}"), graph);
}

TEST(Chunk, MakesNoChunksOfFewerRowsThanAsked) {
  const GraphPtr graph = after(head(), kPrepare);
  const PipelineResult result = chunked(graph, "bytes=500,rows=20");
  EXPECT_EQ(result.graph, graph);
  EXPECT_EQ(result.remarks.all().at(0).text, "kept whole: 15 rows are too few for chunks of 20");
}

}  // namespace
}  // namespace graphc::core::testing
