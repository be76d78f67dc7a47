// SPDX-License-Identifier: Apache-2.0
// graphc dump --stage=dot: pictures in which nothing hangs in the air.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "ir/text.h"
#include "tests/testing/random_graph.h"
#include "tests/tools/shell.h"

namespace graphc::core {
namespace {

using testing::graphc;
using testing::Ran;
using ::testing::StartsWith;

/// A picture as it is written: a line for each node and edge.
struct Picture {
  std::map<std::string, std::string> nodes;  ///< line by name
  std::multimap<std::string, std::string> edges;
  std::vector<std::string> lines;
  int open = 0;

  int count(const std::string& text) const {
    return int(std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(text) != line.npos; }));
  }
};

Picture picture_of(const std::string& text) {
  static const std::regex edge("^ *(\\w+) -> (\\w+) \\[.*\\];$"),
      node("^ *(\\w+) \\[label=.*\\];$");
  Picture picture;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::smatch found;
    picture.lines.push_back(line);
    picture.open += line.ends_with('{') ? 1 : line.ends_with('}') ? -1 : 0;
    if (std::regex_match(line, found, edge)) {
      picture.edges.emplace(found[1], found[2]);
    } else if (std::regex_match(line, found, node)) {
      EXPECT_TRUE(picture.nodes.emplace(found[1], line).second) << line << " is there twice";
    }
  }
  return picture;
}

/// The carries of all loops, those inside loops included, that the graph needs.
int carries_of(const Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  int count = 0;
  for (const Node& node : graph.nodes()) {
    if (!live[size_t(node.id)]) continue;
    if (node.is(ops::scan)) count += int(Scan(node).initial().size());
    for (const GraphPtr& region : node.regions) count += carries_of(*region);
  }
  return count;
}

void expect_whole(const Graph& graph) {
  const Ran ran = graphc("dump - --stage=dot", print(graph));
  ASSERT_EQ(ran.code, 0) << ran.err;
  ASSERT_THAT(ran.out, StartsWith("digraph"));
  const Picture picture = picture_of(ran.out);
  EXPECT_EQ(picture.open, 0);
  for (const auto& [from, to] : picture.edges) {
    for (const std::string& end : {from, to}) {
      EXPECT_TRUE(picture.nodes.contains(end)) << end << " is no node of\n" << ran.out;
    }
  }
  EXPECT_EQ(picture.count("next step\""), carries_of(graph)) << ran.out;
  EXPECT_EQ(picture.count("first step\""), carries_of(graph)) << ran.out;
  EXPECT_EQ(picture.count("next call\""), int(graph.next().size())) << ran.out;
  EXPECT_EQ(picture.count("label=\"return "), int(graph.results().size())) << ran.out;
}

TEST(Dot, DrawsALoopWithItsWeightsOnceAndItsRecurrentEdges) {
  const char* text = R"(
    graph @layer(%x: f32[5,8,6], %h0: f32[8,4]) state (%w: f32[6,8], %u: f32[4,8], %n: f32[]) {
      %y, %h.end = scan %x.t in %x carry %h = %h0 with %w, %u {
        %f, %g = split(add(matmul(%x.t, %w), matmul(%h, %u))) {axis = 1, parts = 2}
        %h.1 = mul(sigmoid(%f), add(%h, mul(tanh(%g), 0.5)))
        next %h = %h.1
        emit %h.1
      }
      %more = add %n, 1.
      next %n = %more
      return %y, %h.end
    })";
  const GraphPtr graph = parse_graph(text);
  expect_whole(*graph);
  const Picture picture = picture_of(graphc("dump - --stage=dot", text).out);
  EXPECT_EQ(picture.count("subgraph"), 1);
  EXPECT_EQ(picture.count("label=\"scan: 5 steps\""), 1);
  for (const char* weight : {"w\\nf32[6,8]", "u\\nf32[4,8]"}) EXPECT_EQ(picture.count(weight), 1);
  EXPECT_EQ(picture.count("label=\"each step\""), 1);
  EXPECT_EQ(picture.count("label=\"f\""), 1) << "edges say which part they are";
  EXPECT_EQ(picture.count("mul _, 0.5\\n"), 1) << "a number is in its user";
  EXPECT_EQ(picture.count("y: of all steps"), 1);
  EXPECT_EQ(picture.count("h.end: after the last step"), 1);
}

TEST(Dot, LeavesNoEdgeOfARandomGraphInTheAir) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    expect_whole(
        *testing::random_graph(seed, {.nodes = 20, .loop = true, .gradient = seed % 2 == 1}));
  }
}

}  // namespace
}  // namespace graphc::core
