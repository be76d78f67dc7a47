// SPDX-License-Identifier: Apache-2.0
// What a loop that is differentiated saves for its backward loop.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/scan.h"
#include "ir/text.h"
#include "passes/cut.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"

namespace graphc::core::testing {
namespace {

constexpr std::string_view kWithHoist =
    "simplify,cse,pack-matmuls,hoist,simplify,cse,autodiff,simplify,cse";

struct Loops {
  GraphPtr graph;
  const Node* forward = nullptr;
  const Node* backward = nullptr;

  /// The types that the forward loop emits.
  std::vector<std::string> emitted() const {
    std::vector<std::string> types;
    for (size_t i = 0; i < Scan(*forward).emits().size(); ++i)
      types.push_back(to_string(forward->types[i]));
    return types;
  }
};

/// The loop of a graph's gradients and the one that reads what it saves.
Loops loops_of(const GraphPtr& graph, std::string_view passes) {
  Loops loops{after(with_gradients(graph), passes)};
  for (const Node& node : loops.graph->nodes()) {
    if (!node.is(ops::scan)) continue;
    const bool reads_loop = std::ranges::any_of(
        node.operands, [&](Value operand) { return operand.node == loops.forward; });
    (loops.forward == nullptr || !reads_loop ? loops.forward : loops.backward) = &node;
  }
  return loops;
}

/// How many functions that are dear, such as activations, a step of the loop computes.
int64_t dear_functions(const Node& scan) {
  return std::ranges::count_if(Scan(scan).body().nodes(),
                               [](const Node& node) { return cost_of_repeating(node) > 0; });
}

using Types = std::vector<std::string>;

TEST(DividedStep, SavesGatesSideBySideWherePreGatesAreReadLast) {
  const Loops loops = loops_of(parse_cell(all_cells()[0]), kWithHoist);
  ASSERT_NE(loops.backward, nullptr);
  // h, which is emitted anyway, c and the gates.
  EXPECT_EQ(loops.emitted(), (Types{"f32[4,3,5]", "f32[4,3,5]", "f32[4,3,20]"}));
  const Value gates = Scan(*loops.forward).emits()[2];
  ASSERT_TRUE(gates.node->is(ops::concat)) << print(*loops.graph);
  for (Value gate : gates.node->operands)
    EXPECT_TRUE(gate.node->is(ops::sigmoid) || gate.node->is(ops::tanh)) << print(*loops.graph);
  EXPECT_EQ(dear_functions(*loops.backward), 1) << "the tanh of c and no gate";
}

TEST(DividedStep, SavesGatesApartWhereNoStreamCanGiveItsPlace) {
  const Types apart{"f32[4,3,5]", "f32[4,3,5]", "f32[4,3,5]",
                    "f32[4,3,5]", "f32[4,3,5]", "f32[4,3,5]"};
  // First the product of the input is inside of the loop, then its result is read behind it, too.
  EXPECT_EQ(loops_of(parse_cell(all_cells()[0]), "simplify,cse,autodiff,simplify,cse").emitted(),
            apart);
  const GraphPtr read_again = parse_graph(R"(
    graph @f(%x: f32[4,3,20], %u: f32[5,20], %h0: f32[3,5], %c0: f32[3,5]) {
      %z = mul %x, 2
      %y, %h.e, %c.e = scan %z.t in %z carry %h = %h0, %c = %c0 with %u {
        %i, %f, %g, %o = split(add(%z.t, matmul(%h, %u))) {axis = 1, parts = 4}
        %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
        %h.1 = mul(sigmoid(%o), tanh(%c.1))
        next %h = %h.1, %c = %c.1
        emit %h.1
      }
      return %y, exp(%z)
    })");
  EXPECT_EQ(loops_of(read_again, "autodiff,simplify,cse").emitted(), apart);
}

TEST(DividedStep, ComputesCheapThingsFromGatesThatLieSideBySide) {
  // Both steps want 1 - z; the backward one computes it from the saved z.
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[4,3,10], %u: f32[5,10], %h0: f32[3,5]) {
      %a = mul %x, 2
      %y, %h.e = scan %a.t in %a carry %h = %h0 with %u {
        %p, %q = split(add(%a.t, matmul(%h, %u))) {axis = 1, parts = 2}
        %z = sigmoid(%p)
        %n = tanh(%q)
        %h.1 = add(mul(sub(1, %z), %n), mul(%z, %h))
        next %h = %h.1
        emit %h.1
      }
      return %y
    })");
  const Loops loops = loops_of(graph, "autodiff,simplify,cse");
  EXPECT_EQ(loops.emitted(), (Types{"f32[4,3,5]", "f32[4,3,10]"})) << print(*loops.graph);
  EXPECT_EQ(dear_functions(*loops.backward), 0);
  EXPECT_GT(expect_gradients(graph, "autodiff", 5), 1e-3);
}

TEST(DividedStep, SavesWhatANormalisationHasOfEachRow) {
  // The gradient wants the deviation of each row, of which the forward step has the sums.
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[4,3,5], %u: f32[5,5], %h0: f32[3,5]) {
      %y, %h.e = scan %x.t in %x carry %h = %h0 with %u {
        next %h = tanh(layer_norm(add(%x.t, matmul(%h, %u))))
        emit %h
      }
      return %y, %h.e
    })");
  const Loops loops = loops_of(graph, "autodiff,expand,simplify,cse");
  // h, the normalised rows and their inverse deviations.
  EXPECT_EQ(std::ranges::count(loops.emitted(), "f32[4,3,1]"), 1) << print(*loops.graph);
  const GraphPtr kept = after(loops.graph, "hoist");
  EXPECT_EQ(count_here(*kept, "rsqrt"), 0) << print(*kept);
  EXPECT_GT(expect_gradients(graph, "autodiff", 7), 1e-3);
}

TEST(DividedStep, KeepsApartWhatAProductLiesBetween) {
  // r is stored before the second product of a step, n behind it.
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[4,3,10], %u: f32[5,5], %v: f32[5,5], %h0: f32[3,5]) {
      %a = mul %x, 2
      %y, %h.e = scan %a.t in %a carry %h = %h0 with %u, %v {
        %p, %q = split(%a.t) {axis = 1, parts = 2}
        %r = sigmoid(add(%p, matmul(%h, %u)))
        %n = tanh(add(%q, matmul(mul(%r, %h), %v)))
        next %h = add(%n, %h)
        emit mul(%n, %n)
      }
      return %y, %h.e
    })");
  const Loops loops = loops_of(graph, "autodiff,simplify,cse");
  EXPECT_EQ(std::ranges::count(loops.emitted(), "f32[4,3,10]"), 0) << print(*loops.graph);
  EXPECT_GT(expect_gradients(graph, "autodiff", 6), 1e-3);
}

}  // namespace
}  // namespace graphc::core::testing
