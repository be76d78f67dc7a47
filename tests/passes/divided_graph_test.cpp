// SPDX-License-Identifier: Apache-2.0
// A graph with gradients in two parts: together they compute what it computes, and nothing dear
// twice.
#include "passes/divided_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/region.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/random_cell.h"
#include "tests/testing/random_matrix_cell.h"
#include "tests/testing/samples.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;

struct Joint {
  GraphPtr graph;
  size_t results = 0, late = 0;
};

/// The results of a graph, a cotangent of each as a late input, and the gradients of all inputs and
/// states.
Joint joint_of(const Graph& graph) {
  Joint joint;
  auto to = std::make_unique<Graph>(graph.name());
  ValueMap known(graph);
  Values leaves;
  for (Value input : graph.inputs()) known.set(input, to->input(input.type(), input.name()));
  for (Value state : graph.states()) known.set(state, to->state(state.type(), state.name()));
  for (const Values& arguments : {graph.inputs(), graph.states()}) {
    for (Value argument : arguments) {
      if (is_floating(argument.dtype())) leaves.push_back(known(argument));
    }
  }
  Values results = copy_cone(graph, known, graph.results(), *to), operands;
  Value loss;
  for (Value result : results) {
    if (!is_floating(result.dtype())) continue;
    const Value cotangent = to->input(result.type(), fmt::format("late.{}", joint.late++));
    const Value term = sum(result * cotangent);
    loss = loss ? loss + term : term;
  }
  joint.results = results.size();
  operands.push_back(loss);
  operands.insert(operands.end(), leaves.begin(), leaves.end());
  for (Value gradient : results_of(to->add(ops::grad, operands))) results.push_back(gradient);
  to->set_results(results);
  joint.graph = freeze(std::move(to));
  return joint;
}

/// The results of both parts, one after the other.
std::vector<Literal> run(const DividedGraph& parts, const Joint& joint,
                         const Arguments& arguments) {
  const std::vector<Literal> early(arguments.inputs.begin(),
                                   arguments.inputs.end() - long(joint.late));
  std::vector<Literal> all =
      evaluate(*parts.first, early, arguments.states, Precision::f64).results;
  EXPECT_EQ(all.size(), joint.results + parts.saved);
  std::vector<Literal> given;
  for (const auto& [from, index] : parts.handed) {
    using From = HandedOver::From;
    given.push_back(from == From::input    ? early[index]
                    : from == From::result ? all[index]
                                           : all[joint.results + index]);
  }
  given.insert(given.end(), arguments.inputs.end() - long(joint.late), arguments.inputs.end());
  all.resize(joint.results);
  for (Literal& one : evaluate(*parts.second, given, arguments.states, Precision::f64).results)
    all.push_back(std::move(one));
  return all;
}

constexpr std::string_view kLists[] = {
    "simplify,cse,autodiff,expand,simplify,cse",
    "reroll,simplify,cse,pack-matmuls,simplify,cse,hoist,simplify,cse,outline,remat,autodiff,"
    "expand,simplify,cse,hoist,simplify,cse,sparse-rows",
};

void expect_division(const GraphPtr& graph, std::vector<Literal> inputs = {}) {
  const Joint joint = joint_of(*graph);
  for (const std::string_view passes : kLists) {
    SCOPED_TRACE(passes);
    const GraphPtr whole = after(joint.graph, passes);
    const DividedGraph parts = divided(*whole, joint.results, joint.late);
    verify(*parts.first);
    verify(*parts.second);
    for (const char* op : {"matmul", "scan", "gather"})
      EXPECT_EQ(count(*parts.first, op) + count(*parts.second, op), count(*whole, op)) << op;
    Arguments arguments = random_arguments(*whole, 7);
    std::ranges::copy(inputs, arguments.inputs.begin());
    const auto wanted =
        evaluate(*whole, arguments.inputs, arguments.states, Precision::f64).results;
    const auto found = run(parts, joint, arguments);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_EQ(found[i], wanted[i]) << "result " << i << "\n" << print(*parts.second);
  }
}

class DividedCells : public ::testing::TestWithParam<Cell> {};

TEST_P(DividedCells, HaveTheSameResultsAndGradients) { expect_division(parse_cell(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Passes, DividedCells, ::testing::ValuesIn(all_cells()),
                         [](const auto& cell) { return std::string(cell.param.name); });

TEST(DividedGraph, OfRandomMatrixCells) {
  for (unsigned seed = 1; seed <= half_of(40); ++seed) {
    SCOPED_TRACE(seed);
    const GraphPtr graph = random_matrix_cell(seed);
    expect_division(graph, random_cell_inputs(*graph, seed));
  }
}

TEST(DividedGraph, SavesGatesAndReadsResultsAndInputsWhereTheyAre) {
  const Joint joint = joint_of(*parse_graph(R"(
    graph @cell(%x: f32[6,5,7], %h: f32[5,8], %w: f32[7,8], %u: f32[8,8]) {
      %y, %e = scan %x.t in %x carry %s = %h with %w, %u {
        %s.1 = tanh(add(matmul(%x.t, %w), matmul(%s, %u)))
        next %s = %s.1
        emit %s.1
      }
      return %y, %e
    })"));
  const GraphPtr whole = after(joint.graph, kLists[1]);
  const DividedGraph parts = divided(*whole, joint.results, joint.late);
  // tanh' is of y; x, u and h are inputs.
  EXPECT_EQ(parts.saved, 0u) << print(*parts.first);
  EXPECT_EQ(parts.first->results().size(), 2u);
}

TEST(DividedGraph, SavesStatesThatTheFirstPartAssigns) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[3], %late: f32[3]) state (%kept: f32[3], %moved: f32[3]) {
      %y = mul(%x, %moved)
      %d = mul(mul(%late, %moved), %kept)
      next %moved = add(%moved, %x)
      return %y, %d
    })");
  const DividedGraph parts = divided(*graph, 1, 1);
  EXPECT_EQ(parts.saved, 1u);
  ASSERT_EQ(parts.second->states().size(), 1u);
  EXPECT_EQ(parts.second->states()[0].name(), "kept");
  EXPECT_EQ(parts.first->next().size(), 1u);
  EXPECT_TRUE(parts.second->next().empty());
}

TEST(DividedGraph, RefusesFirstResultsOfLateInputs) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[3], %late: f32[3]) state (%s: f32[3]) {
      %y = mul(%x, %late)
      next %s = %y
      return %y, %x
    })");
  EXPECT_THAT(error_of(ErrorKind::input, [&] { divided(*graph, 1, 1); }),
              HasSubstr("result 0 depends on an input that is known later"));
}

}  // namespace
}  // namespace graphc::core::testing
