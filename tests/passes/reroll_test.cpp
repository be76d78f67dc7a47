// SPDX-License-Identifier: Apache-2.0
// Loops that are written out become loops again, however they are written, and what only looks like
// copies stays as it is; in both cases with the values of before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "ir/scan.h"
#include "ir/text.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"
#include "tests/testing/counts.h"
#include "tests/testing/random_cell.h"

namespace graphc::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int64_t> steps_of_loops(const Graph& graph) {
  std::vector<int64_t> steps;
  for (const Node& node : graph.nodes()) {
    if (node.is(ops::scan)) steps.push_back(Scan(node).steps());
  }
  return steps;
}

/// The graph after the pass, with exactly the same values.
GraphPtr rerolled(const GraphPtr& graph) {
  const GraphPtr changed = after(graph, "reroll");
  expect_same_values(graph, changed, 5, 0);
  // The passes behind it find nothing that they would not find in a loop.
  expect_same_values(graph, after(changed, "simplify,cse,pack-matmuls,hoist,simplify,cse"), 6);
  return changed;
}

/// A plain RNN of some steps, written out by a person.
struct Written {
  int steps = 6;
  std::string input = "f32[6,3,4]";
  /// The lines that take step {0} of %x as %x{0}.
  std::string take =
      "%x{0} = reshape(slice(%x) {{axis = 0, start = {0}, limit = {1}}}) "
      "{{shape = [3,4]}}\n";
  /// The new state %h{1} from %h{0} and %x{0}.
  std::string cell = "%h{1} = tanh(add(matmul(%x{0}, %w), matmul(%h{0}, %u)))\n";
  std::string before, behind = "return %h6";
  bool takes_first = false;  ///< all steps, before the first copy
  bool backwards = false;

  GraphPtr graph() const {
    std::string text = "graph @g(%x: " + input +
                       ", %h0: f32[3,5]) state (%w: f32[4,5], %u: f32[5,5], %v: f32[5,5]) {\n";
    text += before;
    std::string copies;
    for (int i = 0; i < steps; ++i) {
      const int at = backwards ? steps - 1 - i : i;
      std::string step = fmt::format(fmt::runtime(take), at, at + 1);
      if (takes_first) text += std::exchange(step, "");
      std::string copy = fmt::format(fmt::runtime(cell), i, i + 1);
      if (backwards) {
        const std::string name = fmt::format("%x{},", i);
        copy.replace(copy.find(name), name.size(), fmt::format("%x{},", at));
      }
      copies += step + copy;
    }
    return parse_graph(text + copies + behind + "\n}");
  }
};

TEST(Reroll, CopiesOfACellAreALoop) {
  const GraphPtr loop = rerolled(Written().graph());
  EXPECT_THAT(steps_of_loops(*loop), ElementsAre(6));
  EXPECT_EQ(count_here(*loop, "matmul"), 0);
  EXPECT_EQ(count_here(*loop, "slice"), 0) << "the sequence is the stream";
}

TEST(Reroll, HoweverStepsAreTaken) {
  const std::string parts = "%s0, %s1, %s2, %s3, %s4, %s5 = split(%x) {axis = 0, parts = 6}\n";
  const Written all[] = {
      {.takes_first = true},
      {.take = "%x{0} = reshape(%s{0}) {{shape = [3,4]}}\n", .before = parts},
      {.input = "f32[3,6,4]",
       .take = "%x{0} = reshape(slice(%x) {{axis = 1, start = {0}, limit = {1}}}) "
               "{{shape = [3,4]}}\n"},
      {.backwards = true},
      // Six of nine steps, from the third on.
      {.input = "f32[9,3,4]",
       .take = "%x{0} = reshape(slice(%part) {{axis = 0, start = {0}, limit = {1}}}) "
               "{{shape = [3,4]}}\n",
       .before = "%part = slice(%x) {axis = 0, start = 3, limit = 9}\n"},
      {.take = "%x{0} = reshape(reshape(slice(%x) {{axis = 0, start = {0}, limit = {1}}}) "
               "{{shape = [3,4]}}) {{shape = [3,4]}}\n"},
      {.input = "f32[3,6]",
       .take = "%x{0} = mul(slice(%x) {{axis = 1, start = {0}, limit = {1}}}, %x.wide)\n",
       .before = "%x.wide = iota {axis = 1, dtype = f32, shape = [3,4]}\n"},
  };
  for (const Written& written : all) {
    SCOPED_TRACE(print(*written.graph()));
    const GraphPtr loop = rerolled(written.graph());
    EXPECT_THAT(steps_of_loops(*loop), ElementsAre(6));
    EXPECT_EQ(count_here(*loop, "matmul"), 0);
  }
}

TEST(Reroll, WhatIsPutTogetherIsTheHistory) {
  for (const int axis : {0, 1, 2}) {
    for (const bool is_inside : {false, true}) {
      std::string rows, operands;
      const std::string shape = axis == 0 ? "[1,3,5]" : axis == 1 ? "[3,1,5]" : "[3,5,1]";
      for (int i = 1; i <= 6; ++i) {
        rows += fmt::format("%y{0} = reshape(%h{0}) {{shape = {1}}}\n", i, shape);
        operands += fmt::format("{}%y{}", i > 1 ? ", " : "", i);
      }
      Written written;
      if (is_inside) written.cell += "%y{1} = reshape(%h{1}) {{shape = " + shape + "}}\n";
      written.behind =
          fmt::format("{}return concat({}) {{axis = {}}}", is_inside ? "" : rows, operands, axis);
      SCOPED_TRACE(written.behind);
      const GraphPtr loop = after(rerolled(written.graph()), "simplify");
      EXPECT_THAT(steps_of_loops(*loop), ElementsAre(6));
      EXPECT_EQ(count_here(*loop, "concat") + count_here(*loop, "slice"), 0) << print(*loop);
    }
  }
  // In another order, in part, and each by itself; copies that nobody needs are none.
  const std::pair<const char*, int64_t> others[] = {
      {"return concat(%h6, %h5, %h4, %h3, %h2, %h1) {axis = 0}", 6},
      {"%y1 = reshape(%h2) {shape = [1,3,5]}\n%y2 = reshape(%h3) {shape = [1,3,5]}\n"
       "%y3 = reshape(%h5) {shape = [1,3,5]}\n%y4 = reshape(%h0) {shape = [1,3,5]}\n"
       "return concat(%y4, %y1, %y2, %y3, %y1) {axis = 0}",
       5},
      {"return add(%h2, %h3), %h6, %h6, %h0", 6},
      {"next %w = mul(%w, 2.), %u = matmul(%h3, %h4) {transpose_a = true}\nreturn %h1", 4}};
  for (const auto& [behind, steps] : others) {
    SCOPED_TRACE(behind);
    Written written;
    written.behind = behind;
    EXPECT_THAT(steps_of_loops(*rerolled(written.graph())), ElementsAre(steps));
  }
}

TEST(Reroll, StepsOfAReverseLoopLieAtTheirIndex) {
  Written written{.backwards = true};
  written.behind = "return concat(%h6, %h5, %h4, %h3, %h2, %h1) {axis = 1}, %h2, %h6";
  EXPECT_THAT(steps_of_loops(*rerolled(written.graph())), ElementsAre(6));
}

TEST(Reroll, CellsOfSeveralStatesLayersAndConstants) {
  const std::string cells[] = {
      // Two layers in each copy, with one weight for both.
      "%a{1} = tanh(add(matmul(%x{0}, %w), matmul(%a{0}, %u)))\n"
      "%h{1} = tanh(add(matmul(%a{1}, %v), matmul(%h{0}, %u)))\n",
      // Two that are exchanged.
      "%a{1} = tanh(add(matmul(%x{0}, %w), matmul(%h{0}, %u)))\n%h{1} = mul(%a{0}, 0.5)\n",
      // A state that is another copy's whole, a constant in each, and one element of a state.
      "%k{0} = constant {{dtype = f32, shape = [3,5], value = 0.25}}\n"
      "%e{0} = slice(%h{0}) {{axis = 1, start = 2, limit = 3}}\n"
      "%h{1} = tanh(add(add(matmul(%x{0}, %w), matmul(add(%h{0}, %k{0}), %u)), %e{0}))\n",
      // Its result goes into two places of the next copy.
      "%h{1} = tanh(add(matmul(%x{0}, %w), matmul(add(%h{0}, mul(%h{0}, %h0)), %u)))\n"};
  for (const std::string& cell : cells) {
    SCOPED_TRACE(cell);
    Written written{.cell = cell, .before = "%a0 = mul(%h0, 2.)\n"};
    if (cell.starts_with("%a")) written.behind = "return add(%h6, %a6)";
    EXPECT_THAT(steps_of_loops(*rerolled(written.graph())), ElementsAre(6));
  }
}

TEST(Reroll, ALayerAfterALayerIsTwoLoops) {
  Written written;
  for (int i = 0; i < 6; ++i) {
    written.behind = (i == 0 ? "" : written.behind) +
                     fmt::format("%g{1} = tanh(add(matmul(%h{1}, %v), {2}))\n", i, i + 1,
                                 i == 0 ? std::string("%h0") : fmt::format("matmul(%g{}, %u)", i));
  }
  written.behind += "return %g6, %h6";
  // The first copy of the second layer has no product with a state.
  EXPECT_THAT(steps_of_loops(*rerolled(written.graph())), ElementsAre(6, 5));
}

TEST(Reroll, CopiesThatDifferStayWhereTheyAre) {
  // The first copy is another, and one in the middle has another constant: loops of those between.
  Written written{.steps = 12, .input = "f32[12,3,4]"};
  written.cell =
      "%k{0} = constant {{dtype = f32, shape = [5], value = 0.5}}\n"
      "%h{1} = mul(tanh(add(matmul(%x{0}, %w), matmul(%h{0}, %u))), %k{0})\n";
  written.behind = "return %h12";
  std::string text = print(*written.graph());
  const size_t at = text.find("%k5 = constant");
  ASSERT_NE(at, text.npos);
  text.replace(text.find("0.5", at), 3, "0.7");
  const GraphPtr changed = rerolled(parse_graph(text));
  EXPECT_THAT(steps_of_loops(*changed), ElementsAre(5, 6));
  EXPECT_EQ(count_here(*changed, "matmul"), 2);
}

TEST(Reroll, WhatOnlyLooksLikeCopiesIsLeftAlone) {
  const Written all[] = {
      {.steps = 3, .input = "f32[3,3,4]", .behind = "return %h3"},
      // No product.
      {.input = "f32[6,3,5]",
       .take = "%x{0} = reshape(slice(%x) {{axis = 0, start = {0}, limit = {1}}}) "
               "{{shape = [3,5]}}\n",
       .cell = "%h{1} = tanh(add(%x{0}, %h{0}))\n"},
      // Every tenth step.
      {.input = "f32[160,3,4]",
       .take = "%x{0} = reshape(slice(%x) {{axis = 0, start = 1{0}5, limit = 1{0}6}}) "
               "{{shape = [3,4]}}\n"},
  };
  for (const Written& written : all)
    EXPECT_THAT(steps_of_loops(*rerolled(written.graph())), IsEmpty());
}

TEST(Reroll, TheStateBeforeTheLastIsNoCarry) {
  Written written;
  written.behind = "return add(%h6, %h3)";
  std::string text = print(*written.graph());
  // The fourth copy reads what the second gave.
  const size_t at = text.find("matmul %h3");
  ASSERT_NE(at, text.npos);
  text.replace(at, 10, "matmul %h2");
  EXPECT_THAT(steps_of_loops(*rerolled(parse_graph(text))), IsEmpty()) << "too few are left";
}

TEST(Reroll, GradientsGoThroughTheLoop) {
  Written written;
  written.behind =
      "%l = sum(square(add(%h3, %h6))) {axes = [0,1]}\n"
      "%dx, %dh, %dw, %du = grad %l, %x, %h0, %w, %u\nreturn %l, %dx, %dh, %dw, %du";
  const GraphPtr graph = written.graph(), loop = after(graph, "reroll");
  EXPECT_THAT(steps_of_loops(*loop), ElementsAre(6));
  expect_same_values(after(graph, "autodiff"), after(loop, "autodiff"), 3, 1e-12);
  // A value that a gradient is taken of is no copy's.
  written.cell =
      "%m{1} = watch(matmul(%h{0}, %u))\n"
      "%h{1} = tanh(add(matmul(%x{0}, %w), %m{1}))\n";
  written.behind = "%l = sum(%h6) {axes = [0,1]}\n%d = grad %l, %m2\nreturn %d";
  EXPECT_THAT(steps_of_loops(*after(written.graph(), "reroll")), IsEmpty());
}

TEST(Reroll, UndoesWhatUnrollDoes) {
  int found = 0;
  for (const Cell& cell : all_cells()) {
    SCOPED_TRACE(cell.name);
    const GraphPtr graph = parse_cell(cell);
    const GraphPtr out = after(graph, "unroll{full=true}");
    const GraphPtr again = after(out, "reroll");
    expect_same_values(graph, again, 4, 1e-12);
    if (steps_of_loops(*graph).empty() || count(*graph, "matmul") == 0) continue;
    bool is_long = true;
    for (const int64_t steps : steps_of_loops(*graph)) is_long = is_long && steps >= 4;
    if (!is_long) continue;
    EXPECT_FALSE(steps_of_loops(*again).empty()) << print(*out);
    ++found;
  }
  EXPECT_GE(found, 5) << "cells with four steps or more";
  count("loops written out and made again", found);
}

/// Random cells, written out, with their gradients.
TEST(Reroll, FindsRandomCells) {
  int found = 0;
  constexpr unsigned kCells = 60;
  for (unsigned seed = 1; seed <= kCells; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const GraphPtr graph = random_cell(seed);
    const GraphPtr loop = after(graph, "unroll{full=true},reroll");
    found += steps_of_loops(*loop) == steps_of_loops(*graph);
    expect_same_values(after(graph, "autodiff"), after(loop, "autodiff"), seed, 1e-9);
  }
  EXPECT_GE(found, int(kCells) / 2);
  count("random cells written out and made loops again", found);
}

TEST(Reroll, ALongChainIsOneLoopOfOneBody) {
  Written written{.steps = 3000, .input = "f32[3000,3,4]"};
  written.behind = "return %h3000";
  const GraphPtr loop = after(written.graph(), "reroll");
  EXPECT_THAT(steps_of_loops(*loop), ElementsAre(3000));
  EXPECT_LT(loop->nodes().size(), 10u);
}

}  // namespace
}  // namespace graphc::core::testing
