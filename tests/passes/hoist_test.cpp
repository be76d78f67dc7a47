// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>

#include "ir/scan.h"
#include "ir/text.h"
#include "passes/passes.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"

namespace graphc::core::testing {
namespace {

constexpr std::string_view forward_passes = "simplify,cse,pack-matmuls,hoist,simplify,cse";
constexpr std::string_view training_passes =
    "simplify,cse,pack-matmuls,hoist,autodiff,expand,simplify,cse,hoist,simplify,cse";

std::vector<Scan> scans_of(const Graph& graph) {
  std::vector<Scan> scans;
  for (const Node& node : graph.nodes()) {
    if (node.is(ops::scan)) scans.emplace_back(node);
  }
  return scans;
}

class HoistCells : public ::testing::TestWithParam<Cell> {};

TEST_P(HoistCells, KeepTheirValues) {
  const GraphPtr graph = parse_cell(GetParam());
  expect_same_values(graph, after(graph, forward_passes), 5, 1e-9, {-1, 1, 7});
  expect_same_values(graph, after(graph, "hoist"), 6, 1e-9, {-1, 1, 7});
}

TEST_P(HoistCells, KeepTheirGradients) {
  EXPECT_GT(expect_gradients(parse_cell(GetParam()), training_passes, 5, {-1, 1, 7}), 1e-3);
  EXPECT_GT(expect_gradients(parse_cell(GetParam()), "hoist,autodiff,hoist", 6, {-1, 1, 7}), 1e-3);
}

/// No weight gradient is left in a loop, and the backward loop has the products of the forward one.
TEST_P(HoistCells, KeepOnlyTheirOwnProductsInTheLoops) {
  const GraphPtr graph = after(with_gradients(parse_cell(GetParam())), training_passes);
  for (const Scan& scan : scans_of(*graph)) {
    EXPECT_EQ(count_here(scan.body(), "matmul"), GetParam().products) << print(*graph);
    EXPECT_EQ(count_here(scan.body(), "scatter_add") + count_here(scan.body(), "gather"), 0);
    if (GetParam().name == "nested") continue;
    for (const Node& node : scan.body().nodes())
      EXPECT_FALSE(node.attributes.get_bool("transpose_a", false)) << print(*graph);
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, HoistCells, ::testing::ValuesIn(all_cells()),
                         [](const auto& cell) { return std::string(cell.param.name); });

/// The training step of W1: what the kernels of the next passes are made of.
TEST(Hoist, LeavesOfAnLstmTrainingStepOneProductInEachLoop) {
  const GraphPtr graph = after(parse_graph(R"(
    graph @step(%x: f32[30,8,16], %y: f32[8,16], %rate: f32[])
        state (%w: f32[16,64], %u: f32[16,64], %b: f32[64]) {
      %zero = constant {dtype = f32, shape = [8,16], value = 0.}
      %h.e, %c.e = scan %x.t in %x carry %h = %zero, %c = %zero with %w, %u, %b {
        %z = add(add(matmul(%x.t, %w), matmul(%h, %u)), %b)
        %i, %f, %g, %o = split %z {axis = 1, parts = 4}
        %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
        next %h = mul(sigmoid(%o), tanh(%c.1)), %c = %c.1
      }
      %loss = mse(%h.e, %y)
      %dw, %du, %db = grad %loss, %w, %u, %b
      next %w = sub(%w, mul(%dw, %rate)), %u = sub(%u, mul(%du, %rate)),
           %b = sub(%b, mul(%db, %rate))
      return %loss
    })"),
                               training_passes);
  const std::vector<Scan> scans = scans_of(*graph);
  ASSERT_EQ(scans.size(), 2u) << print(*graph);
  const Scan &forward = scans[0], &backward = scans[1];

  // xW over all steps, before the loop, is its only stream.
  ASSERT_EQ(forward.streams().size(), 1u);
  EXPECT_TRUE(forward.streams()[0].node->is(ops::matmul));
  EXPECT_EQ(to_string(forward.streams()[0].type()), "f32[30,8,64]");
  EXPECT_FALSE(forward.reverse());
  EXPECT_EQ(count_here(forward.body(), "matmul"), 1);
  // It emits h, c and z, each once and z in one piece.
  std::vector<std::string> emitted;
  for (size_t i = 0; i < forward.emits().size(); ++i)
    emitted.push_back(to_string(forward.emitted(i).type()));
  std::sort(emitted.begin(), emitted.end());
  EXPECT_EQ(emitted, (std::vector<std::string>{"f32[30,8,16]", "f32[30,8,16]", "f32[30,8,64]"}));

  EXPECT_TRUE(backward.reverse());
  EXPECT_EQ(count_here(backward.body(), "matmul"), 1);
  EXPECT_EQ(count_here(backward.body(), "sum"), 0);
  ASSERT_EQ(backward.emits().size(), 1u);
  EXPECT_EQ(to_string(backward.emitted(0).type()), "f32[30,8,64]");
  EXPECT_EQ(backward.initial().size(), 2u);
  EXPECT_EQ(backward.captures().size(), 1u);
  EXPECT_EQ(backward.streams().size(), 3u);  // z, c and what c was

  // Outside: xW and two weight gradients, one over 30 * 8 rows of x, one over those of h but for
  // the zeros before the first step; the bias gradient and the loss.
  EXPECT_EQ(count_here(*graph, "matmul"), 3) << print(*graph);
  EXPECT_EQ(count_here(*graph, "sum"), 2);
  std::multiset<int64_t> rows;
  for (const Node& node : graph->nodes()) {
    if (!node.is(ops::matmul) || !node.attributes.get_bool("transpose_a", false)) continue;
    rows.insert(node.operands[0].shape()[0]);
  }
  EXPECT_EQ(rows, (std::multiset<int64_t>{29 * 8, 30 * 8}));
}

TEST(Hoist, MakesALoopOfEachLayer) {
  const GraphPtr graph = after(parse_cell(all_cells()[9]), forward_passes);
  const std::vector<Scan> scans = scans_of(*graph);
  ASSERT_EQ(scans.size(), 2u) << print(*graph);
  for (const Scan& scan : scans) EXPECT_EQ(count_here(scan.body(), "matmul"), 1);
  EXPECT_EQ(count_here(*graph, "matmul"), 2);  // the input products of both layers
  EXPECT_EQ(scans_of(*after(parse_cell(all_cells()[9]), "hoist{distribute=false}")).size(), 1u);
}

TEST(Hoist, MovesTablesBeforeAndOutputsAfterTheLoop) {
  const GraphPtr graph = after(parse_graph(R"(
    graph @decoder(%tokens: i32[4,3], %h0: f32[3,5], %table: f32[7,5], %u: f32[5,5], %v: f32[5,7]) {
      %logits, %h.e = scan %t in %tokens carry %h = %h0 with %table, %u, %v {
        %h.1 = tanh(add(gather(%table, %t), matmul(%h, %u)))
        next %h = %h.1
        emit log_softmax(matmul(%h.1, %v))
      }
      return %logits
    })"),
                               "hoist");
  const std::vector<Scan> scans = scans_of(*graph);
  ASSERT_EQ(scans.size(), 1u);
  EXPECT_EQ(count_here(scans[0].body(), "matmul"), 1);
  EXPECT_EQ(count_here(scans[0].body(), "gather") + count_here(scans[0].body(), "log_softmax"), 0);
  EXPECT_EQ(count_here(*graph, "gather"), 1);
  EXPECT_EQ(count_here(*graph, "matmul"), 1);
  EXPECT_EQ(count_here(*graph, "log_softmax"), 1);
}

TEST(Hoist, SumsOfProductsOfACarryTakeWhatItWasInEachStep) {
  // Once what the carry was before the step, once what it is after it; from either end.
  for (const char* reverse : {"false", "true"}) {
    const GraphPtr graph = parse_graph(fmt::format(R"(
      graph @f(%x: f32[4,3,2], %h0: f32[3,5], %b0: f32[5,2], %a0: f32[5,2], %u: f32[5,5]) {{
        %h.e, %b.e, %a.e = scan {{reverse = {}}} %x.t in %x
            carry %h = %h0, %before = %b0, %after = %a0 with %u {{
          %h.1 = tanh(matmul(%h, %u))
          next %h = %h.1,
               %before = add(%before, matmul(%h, %x.t) {{transpose_a = true}}),
               %after = add(%after, matmul(%h.1, %x.t) {{transpose_a = true}})
        }}
        return %h.e, %b.e, %a.e
      }})",
                                                   reverse));
    const GraphPtr result = after(graph, "hoist");
    const std::vector<Scan> scans = scans_of(*result);
    ASSERT_EQ(scans.size(), 1u);
    EXPECT_EQ(count_here(scans[0].body(), "matmul"), 1) << print(*result);
    EXPECT_EQ(count_here(*result, "matmul"), 2) << print(*result);
    expect_same_values(graph, result, 8, 1e-12);
  }
}

TEST(Hoist, SumsOfProductsOfEachHeadAreOneProductOfEachHead) {
  // Of [2,3,5] and [2,3,4], the rows contracted, however the operands lie.
  for (const bool ta : {true, false}) {
    for (const bool tb : {true, false}) {
      const GraphPtr graph = parse_graph(fmt::format(
          R"(
        graph @f(%x: f32[6,{}], %h0: f32[2,3,5], %a0: f32[2,5,4], %u: f32[2,5,5]) {{
          %h.e, %a.e = scan %x.t in %x carry %h = %h0, %a = %a0 with %u {{
            %h.1 = tanh(matmul(%h, %u))
            %left = transpose %h.1 {{permutation = {}}}
            next %h = %h.1,
                 %a = add(%a, matmul(%left, %x.t) {{transpose_a = {}, transpose_b = {}}})
          }}
          return %h.e, %a.e
        }})",
          tb ? "2,4,3" : "2,3,4", ta ? "[0,1,2]" : "[0,2,1]", ta, tb));
      const GraphPtr result = after(graph, "hoist,simplify");
      const std::vector<Scan> scans = scans_of(*result);
      ASSERT_EQ(scans.size(), 1u);
      EXPECT_EQ(scans[0].initial().size(), 1u) << print(*result);
      EXPECT_EQ(count_here(scans[0].body(), "matmul"), 1) << print(*result);
      EXPECT_EQ(count_here(*result, "matmul"), 1) << print(*result);
      expect_same_values(graph, result, 3, 1e-12, {-1, 1, 7});
    }
  }
}

TEST(Hoist, MakesMasksOfRowsColumnsBeforeTheLoop) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[6,4,3], %s: i32[6], %n: i32[4], %h0: f32[4,3]) {
      %h.e = scan %x.t in %x, %s.t in %s carry %h = %h0 with %n {
        %k = reshape(less(%s.t, %n)) {shape = [4,1]}
        next %h = select(%k, tanh(add(%h, %x.t)), %h)
      }
      return %h.e
    })");
  const GraphPtr result = after(graph, "hoist");
  const std::vector<Scan> scans = scans_of(*result);
  ASSERT_EQ(scans.size(), 1u);
  EXPECT_EQ(count_here(scans[0].body(), "reshape") + count_here(scans[0].body(), "less"), 0)
      << print(*result);
  expect_same_values(graph, result, 3, 1e-12, {-1, 1, 7});
}

TEST(Hoist, LeavesElementwiseWorkOnStreamsInTheLoop) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[4,3], %h0: f32[3]) {
      %h.e = scan %x.t in %x carry %h = %h0 {
        next %h = mul(%h, sigmoid(exp(%x.t)))
      }
      return %h.e
    })");
  EXPECT_TRUE(equal(*graph, *after(graph, "hoist"))) << print(*after(graph, "hoist"));
}

TEST(Hoist, RecomputesWhatIsLocalInStreamsAndEmitsAfterTheLoop) {
  // The peephole weights' gradients are sums of d.f * c: parts of the emitted dz, and the stream c.
  const GraphPtr graph = after(with_gradients(parse_cell(all_cells()[3])), training_passes);
  const std::vector<Scan> scans = scans_of(*graph);
  ASSERT_EQ(scans.size(), 2u);
  EXPECT_EQ(scans[1].emits().size(), 1u) << print(*graph);
}

/// Two products a step of which each has gradients of its own, and gains.
constexpr std::string_view kGainedProducts = R"(
  graph @f(%x: f32[4,3,5], %u: f32[5,10], %a: f32[10], %b: f32[10], %h0: f32[3,5]) {
    %y, %h.e = scan %x.t in %x carry %h = %h0 with %u, %a, %b {
      %p = matmul(%h, %u)
      %i, %g = split(add(mul(%p, %a), %b)) {axis = 1, parts = 2}
      %h.1 = add(mul(sigmoid(%i), tanh(%g)), %x.t)
      next %h = %h.1
      emit %h.1
    }
    return %y, %h.e
  })";

TEST(Hoist, StoresInTheLoopWhatProductsBehindItRead) {
  const GraphPtr graph = parse_graph(kGainedProducts);
  const GraphPtr result = after(with_gradients(graph), training_passes);
  const std::vector<Scan> scans = scans_of(*result);
  ASSERT_EQ(scans.size(), 2u);
  // The gradient of the product, and that of its gates for the sums: no part of a gate is computed
  // again for all steps.
  const std::span<const Value> emits = scans[1].emits();
  EXPECT_EQ(std::ranges::count(emits, Shape{3, 10}, &Value::shape), 2) << print(*result);
  EXPECT_EQ(count_here(*result, "sigmoid") + count_here(*result, "concat"), 1)
      << "the history of h alone\n" + print(*result);
  EXPECT_GT(expect_gradients(graph, training_passes, 5), 1e-3);
}

TEST(Hoist, SlicesGatesOutOfARowThatTheLoopEmits) {
  // Of three gates' gradients, which the loop emits in one row for x W, one product reads two.
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[4,3,15], %u: f32[5,10], %v: f32[5,5], %h0: f32[3,5]) {
      %y, %h.e = scan %x.t in %x carry %h = %h0 with %u, %v {
        %a, %b, %c = split(%x.t) {axis = 1, parts = 3}
        %p, %q = split(matmul(%h, %u)) {axis = 1, parts = 2}
        %z = sigmoid(add(%a, %p))
        %r = sigmoid(add(%b, %q))
        %n = tanh(add(%c, matmul(mul(%r, %h), %v)))
        %h.1 = add(mul(%z, %h), mul(sub(1, %z), %n))
        next %h = %h.1
        emit %h.1
      }
      return %y, %h.e
    })");
  const GraphPtr result = after(with_gradients(graph), training_passes);
  const std::vector<Scan> scans = scans_of(*result);
  ASSERT_EQ(scans.size(), 2u);
  EXPECT_EQ(scans[1].emits().size(), 1u) << print(*result);
  EXPECT_GT(expect_gradients(graph, training_passes, 5), 1e-3);
}

TEST(Hoist, MovesWhatProductsReadOfStreamsBehindTheLoop) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[4,3,2], %a0: f32[2,2]) {
      %a.e = scan %x.t in %x carry %a = %a0 {
        next %a = add(%a, matmul(tanh(%x.t), %x.t) {transpose_a = true})
      }
      return %a.e
    })");
  const GraphPtr result = after(graph, "hoist");
  EXPECT_EQ(scans_of(*result).size(), 0u) << print(*result);
  expect_same_values(graph, result, 3, 1e-12);
}

TEST(Hoist, LeavesTheReadingOfAMatrixMemoryInTheLoop) {
  const auto cell = [](const std::string& emitted) {
    return parse_graph(R"(
      graph @f(%k: f32[6,4,8,1], %v: f32[6,4,1,8], %q: f32[6,4,1,8], %w: f32[8,8]) {
        %zero = constant {dtype = f32, shape = [4,8,8], value = 0.}
        %y, %m.e = scan %k.t in %k, %v.t in %v, %q.t in %q carry %m = %zero with %w {
          %n = add(mul(%m, 0.5), mul(%k.t, %v.t))
          next %m = %n
          emit )" + emitted +
                       R"(
        }
        return %y, %m.e
      })");
  };
  const auto products_left = [](const GraphPtr& graph) {
    const GraphPtr hoisted = after(graph, forward_passes);
    expect_same_values(graph, hoisted, 5, 1e-6, {-1, 1, 7});
    const std::vector<Scan> scans = scans_of(*hoisted);
    return scans.size() == 1 ? count_here(scans[0].body(), "matmul") : -1;
  };
  // Behind the loop it would need the memory of all steps.
  EXPECT_EQ(products_left(cell("matmul(%q.t, %n)")), 1);
  // What all steps multiply by is one product of more rows.
  EXPECT_EQ(products_left(cell("matmul(matmul(%q.t, %n), %w)")), 1);
  // Products of streams need nothing of the loop.
  EXPECT_EQ(products_left(cell("matmul(%q.t, mul(%k.t, %v.t))")), 0);
}

/// A function of one number of each row, beside a matrix, is computed for all steps at once; one of
/// a vector of the row stays, and so does a matrix that is made with it. In a loop inside a loop,
/// all stay.
TEST(Hoist, MovesFunctionsOfNumbersBeforeALoopWithMatrices) {
  const std::string step = R"(
      %decay = reshape(exp(%g.t)) {shape = [6,1,1]}
      %s.1 = add(mul(%s, %decay), add(mul(%m.t, %decay), reshape(tanh(%k.t)) {shape = [6,5,1]}))
      next %s = %s.1
      emit sum(%s.1) {axes = [1]}
    })";
  const GraphPtr graph = parse_graph(
      "graph @f(%g: f32[4,6,1], %k: f32[4,6,5], %m: f32[4,6,5,7], %s0: f32[6,5,7]) {"
      "%o, %e = scan %g.t in %g, %k.t in %k, %m.t in %m carry %s = %s0 {" +
      step + " return %o, %e }");
  const GraphPtr hoisted = after(graph, "hoist");
  expect_same_values(graph, hoisted, 5, 1e-12);
  std::vector<Scan> scans = scans_of(*hoisted);
  ASSERT_EQ(scans.size(), 1u) << print(*hoisted);
  EXPECT_EQ(count_here(*hoisted, "exp"), 1) << print(*hoisted);
  EXPECT_EQ(count_here(scans[0].body(), "exp"), 0) << print(*hoisted);
  EXPECT_EQ(count_here(scans[0].body(), "tanh"), 1) << print(*hoisted);
  EXPECT_EQ(count_here(*hoisted, "mul"), 0) << print(*hoisted);

  const GraphPtr nested = after(
      parse_graph(
          "graph @f(%g: f32[2,4,6,1], %k: f32[2,4,6,5], %m: f32[2,4,6,5,7], %s0: f32[6,5,7]) {"
          "%all, %end = scan %gs in %g, %ks in %k, %ms in %m carry %r = %s0 {"
          "%o, %e = scan %g.t in %gs, %k.t in %ks, %m.t in %ms carry %s = %r {" +
          step + " next %r = %e emit %o } return %all, %end }"),
      "hoist");
  scans = scans_of(*nested);
  ASSERT_EQ(scans.size(), 1u) << print(*nested);
  EXPECT_EQ(count_here(scans[0].body(), "exp"), 0) << print(*nested);
  scans = scans_of(scans[0].body());
  ASSERT_EQ(scans.size(), 1u) << print(*nested);
  EXPECT_EQ(count_here(scans[0].body(), "exp"), 1) << print(*nested);
}

TEST(Hoist, ScattersAndSumsOverStepsOnce) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%i: i32[4,3], %x: f32[4,3,2], %a0: f32[7,2], %s0: f32[], %e0: f32[3,2]) {
      %a.e, %s.e, %e.e = scan %i.t in %i, %x.t in %x carry %a = %a0, %s = %s0, %e = %e0 {
        next %a = scatter_add(%a, %i.t, mul(%x.t, 2.)),
             %s = add(mul(sum(%x.t) {axes = [0,1]}, 3.), %s),
             %e = add(%e, mul(%x.t, %x.t))
      }
      return %a.e, %s.e, %e.e
    })");
  const GraphPtr result = after(graph, "hoist,simplify");
  expect_same_values(graph, result, 1, 1e-9, {-1, 1, 7});
  EXPECT_EQ(count_here(*result, "scatter_add"), 1);
  EXPECT_EQ(count_here(*result, "sum"), 1);
  // A sum of elementwise work only stays a carry.
  const std::vector<Scan> scans = scans_of(*result);
  ASSERT_EQ(scans.size(), 1u);
  EXPECT_EQ(scans[0].initial().size(), 1u);
}

}  // namespace
}  // namespace graphc::core::testing
