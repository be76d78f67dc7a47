// SPDX-License-Identifier: Apache-2.0
// Compiled programs agree with the evaluator: fused and kernel by kernel, on every CPU level the
// host can run, with one thread and two, and bit for bit whatever the number of threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/target.h"
#include "codegen/targets/cpu/compiled_plan.h"
#include "ir/op.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/codegen/cpu/check_program.h"

namespace graphc::core {
namespace {

using testing::check;
using testing::check_graph;

TEST(ProgramCpu, Elementwise) {
  check(
      "graph (%x: f32[5,37], %y: f32[37], %z: f32[5,1]) { return add(mul(tanh(%x), %y), "
      "sigmoid(%z)) }");
}

TEST(ProgramCpu, Matmul) {
  check("graph (%x: f32[13,9], %w: f32[9,50]) { return matmul(%x, %w) }");
  check("graph (%x: f32[64,300], %w: f32[300,130]) { return matmul(%x, %w) }");
  check(
      "graph (%x: f32[4,7,9], %w: f32[33,9], %b: f32[33]) { return add(matmul(%x, %w) {transpose_b "
      "= true}, %b) }");
  check(
      "graph (%x: f32[2100,20], %w: f32[2100,70]) { return matmul(%x, %w) {transpose_a = true} }");
}

TEST(ProgramCpu, CutsThatAreNoParts) {
  check(R"(
    graph @f(%x: f32[5,8], %h0: f32[5,8]) {
      %y = tanh(%x)
      %one = slice %y {axis = 1, start = 3, limit = 4}
      %a, %b, %c, %d, %e, %f, %g, %h = split %y {axis = 1, parts = 8}
      %odd = slice %y {axis = 1, start = 3, limit = 5}
      return mul(%y, %one), add(%b, mul(%g, %h)), mul(%odd, %odd), mul(%one, %d)
    })");
  check(R"(
    graph @f(%x: f32[4,5,8], %h0: f32[5,8], %u: f32[8,8]) {
      %h.end = scan %x.t in %x carry %h = %h0 with %u {
        %z = add(%x.t, matmul(%h, %u))
        next %h = tanh(mul(%z, sigmoid(slice(%z) {axis = 1, start = 2, limit = 3})))
      }
      return %h.end
    })");
}

TEST(ProgramCpu, MatricesThatAreReadElementByElementToo) {
  check("graph (%x: f32[7,7], %y: f32[7,7]) { return mul(matmul(%x, %y), add(%y, %x)) }");
  check("graph (%x: f32[7,7]) { return sub(matmul(%x, %x), %x) }");
  check(R"(
    graph (%x: f32[3,3], %y: f32[3,1]) {
      return mul(tanh(matmul(%x, %y) {transpose_a = true}), %x)
    })");
}

TEST(ProgramCpu, LongProductsOfTransposedOperands) {
  // Pieces of k, chunks and groups of rows, blocks of columns: none comes out even.
  check(R"(
    graph @f(%a: f32[2100,271], %b: f32[2100,70], %c: f32[271,70]) {
      return add(matmul(%a, %b) {transpose_a = true}, %c), matmul(%b, %a) {transpose_a = true}
    })");
  check(R"(
    graph @f(%a: f32[3,2500], %b: f32[70,2500], %c: f32[1100,5], %d: f32[1100,66]) {
      return matmul(%a, %b) {transpose_b = true}, matmul(%c, %d) {transpose_a = true}
    })");
}

TEST(ProgramCpu, ProductsOfSeveralGroupsOfPanels) {
  // Last blocks of less than half their columns and of more; rows longer than a piece of k, and
  // parts of longer ones; one group of panels and several, of one piece and of several.
  check(R"(
    graph @f(%a: f32[20,2100], %b: f32[2100,330], %c: f32[300,2100], %d: f32[300]) {
      return matmul(%a, %b), relu(add(matmul(%a, %c) {transpose_b = true}, %d))
    })");
  check(R"(
    graph @f(%a: f32[900,27], %b: f32[900,360], %c: f32[15,3000], %d: f32[64,200]) {
      %part = slice(%c) {axis = 1, start = 700, limit = 764}
      return matmul(%a, %b) {transpose_a = true}, relu(matmul(%part, %d))
    })");
}

TEST(ProgramCpu, ProductsOfPiecesOfWhichTheLastFitsMorePanels) {
  // Pieces of 683 and 682 terms: half a megabyte has two panels of the first, three of the last.
  check(R"(
    graph @f(%a: f32[20,1365], %b: f32[1365,470], %c: f32[1365,20]) {
      return matmul(%a, %b), matmul(%c, %b) {transpose_a = true}
    })");
}

TEST(ProgramCpu, AHeadInChunks) {
  const GraphPtr head = parse_graph(R"(
    graph @head(%x: f32[5,3,4], %targets: i32[5,3], %w: f32[4,33], %b: f32[33], %m: f32[5,3]) {
      %losses = cross_entropy add(matmul(%x, %w), %b), %targets
      %total = sum(mul(%losses, %m)) {axes = [0,1]}
      %dx, %dw, %db = grad %total, %x, %w, %b
      return %total, %dx, %dw, %db, %losses
    })");
  for (const char* options : {"bytes=660,rows=1", "bytes=528,rows=1", "bytes=132,rows=1"}) {
    const std::string passes =
        fmt::format("simplify,cse,autodiff,expand,simplify,cse,chunk{{{}}},simplify", options);
    const GraphPtr graph = run_pipeline(head, parse_pipeline(passes)).graph;
    EXPECT_EQ(
        std::ranges::count_if(graph->nodes(), [](const Node& node) { return node.is(ops::scan); }),
        1);
    check_graph(graph, 33);
  }
}

TEST(ProgramCpu, Reductions) {
  check(
      "graph (%x: f32[19,37]) { return sum(%x) {axes = [0]}, sum(%x) {axes = [1]}, max(%x) {axes = "
      "[0,1]}, sum(%x) {axes = [0,1]} }");
  check(
      "graph (%x: f32[3,5,7]) { return sum(%x) {axes = [1]}, max(%x) {axes = [0,2]}, sum(%x) {axes "
      "= [0,1]} }");
  // Of axes with others in front, between and behind, which are columns of vectors or few.
  check(
      "graph (%x: f32[3,2,5,19], %y: f32[2,3,4,5], %z: f32[2,3,4,2,3]) { return sum(%x) {axes = "
      "[0,2]}, max(%x) {axes = [1]}, sum(%y) {axes = [1]}, sum(%y) {axes = [0,2]}, sum(%z) {axes = "
      "[1,3]}, max(%z) {axes = [0,2,3], keep = true}, sum(transpose(%x) {permutation = [2,0,1,3]}) "
      "{axes = [1]} }");
  check("graph (%x: f32[6,33]) { return softmax(%x), log_softmax(%x), layer_norm(%x) }");
}

TEST(ProgramCpu, ASoftmaxStoresItsExponentialsForTheNestThatDivides) {
  const std::string plan = targets::cpu.show(
      parse_graph("graph @f(%x: f32[6,33]) { return softmax(%x) }"), {.threads = 1}, "plan");
  EXPECT_THAT(plan, ::testing::HasSubstr("writes %e"));
  EXPECT_THAT(plan, ::testing::HasSubstr("reads %e"));
}

TEST(ProgramCpu, LstmScan) {
  check(
      R"(graph (%x: f32[7,6,5], %h0: f32[6,21], %c0: f32[6,21], %w: f32[5,84],
                  %u: f32[21,84], %b: f32[84]) {
    %xw = add matmul(%x, %w), %b
    %y, %h, %c = scan %xt in %xw carry %ht = %h0, %ct = %c0 with %u {
      %z = add %xt, matmul(%ht, %u)
      %i, %f, %g, %o = split %z {axis = 1, parts = 4}
      %c1 = add mul(%ct, sigmoid(%f)), mul(sigmoid(%i), tanh(%g))
      %h1 = mul tanh(%c1), sigmoid(%o)
      next %ht = %h1, %ct = %c1
      emit %h1
    }
    return %y, %h, %c
  })");
}

TEST(ProgramCpu, LstmBackward) {
  check(R"(graph (%z: f32[4,5,28], %cp: f32[4,5,7], %cs: f32[4,5,7], %dy: f32[5,7], %h: f32[4,5,7],
                  %u: f32[7,28], %zero: f32[5,7]) {
    %dz, %dh, %dc = scan {reverse = true} %zt in %z, %cpt in %cp, %ct in %cs
        carry %dht = %dy, %dct = %zero with %u {
      %i, %f, %g, %o = split %zt {axis = 1, parts = 4}
      %si = sigmoid(%i)  %sf = sigmoid(%f)  %tg = tanh(%g)  %so = sigmoid(%o)  %tc = tanh(%ct)
      %do = mul(mul(%dht, %tc), mul(%so, sub(1, %so)))
      %dc1 = add(%dct, mul(mul(%dht, %so), sub(1, mul(%tc, %tc))))
      %di = mul(mul(%dc1, %tg), mul(%si, sub(1, %si)))
      %dg = mul(mul(%dc1, %si), sub(1, mul(%tg, %tg)))
      %df = mul(mul(%dc1, %cpt), mul(%sf, sub(1, %sf)))
      %dzt = concat %di, %df, %dg, %do {axis = 1}
      %dh1 = matmul %dzt, %u {transpose_b = true}
      %dc0 = mul(%dc1, %sf)
      next %dht = %dh1, %dct = %dc0
      emit %dzt
    }
    %du = matmul(reshape(%h) {shape = [20,7]}, reshape(%dz) {shape = [20,28]}) {transpose_a = true}
    return %dz, %dh, %dc, %du, sum(%dz) {axes = [0,1]}
  })");
}

TEST(ProgramCpu, LstmTrainingStep) {
  const GraphPtr traced = parse_graph(
      R"(graph (%x: f32[6,5,4], %h0: f32[5,7], %c0: f32[5,7], %w: f32[4,28], %u: f32[7,28],
                %b: f32[28], %target: f32[5,7]) {
    %y, %h, %c = scan %xt in %x carry %ht = %h0, %ct = %c0 with %w, %u, %b {
      %z = add add(matmul(%xt, %w), %b), matmul(%ht, %u)
      %i, %f, %g, %o = split %z {axis = 1, parts = 4}
      %c1 = add mul(%ct, sigmoid(%f)), mul(sigmoid(%i), tanh(%g))
      %h1 = mul tanh(%c1), sigmoid(%o)
      next %ht = %h1, %ct = %c1
      emit %h1
    }
    %loss = mse %h, %target
    %dw, %du, %db, %dh0 = grad %loss, %w, %u, %b, %h0
    return %loss, %dw, %du, %db, %dh0
  })");
  check_graph(run_pipeline(traced, standard_pipeline("fused")).graph);
}

TEST(ProgramCpu, CellsOfSeveralStages) {
  // GRU with the reset before its product: a product of a value computed in the step.
  check(R"(graph (%xrz: f32[5,6,26], %xn: f32[5,6,13], %h0: f32[6,13], %u: f32[13,26],
                  %v: f32[13,13]) {
    %y, %h = scan %a in %xrz, %b in %xn carry %ht = %h0 with %u, %v {
      %r, %z = split sigmoid(add(%a, matmul(%ht, %u))) {axis = 1, parts = 2}
      %n = tanh(add(%b, matmul(mul(%r, %ht), %v)))
      %h1 = add(mul(sub(1, %z), %n), mul(%z, %ht))
      next %ht = %h1
      emit %h1
    }
    return %y, %h
  })");
  // Layer norm inside the step: sums along the row.
  check(R"(graph (%x: f32[5,6,40], %h0: f32[6,20], %c0: f32[6,20], %u: f32[20,40], %g: f32[20]) {
    %y, %h, %c = scan %a in %x carry %ht = %h0, %ct = %c0 with %u, %g {
      %i, %f = split sigmoid(add(%a, matmul(%ht, %u))) {axis = 1, parts = 2}
      %c1 = add(mul(%f, %ct), %i)
      %h1 = tanh(mul(layer_norm(%c1), %g))
      next %ht = %h1, %ct = %c1
      emit %h1
    }
    return %y, %h, %c
  })");
}

TEST(ProgramCpu, LoopsThatCarryNumbersForAllRows) {
  // A thread that went through the steps of its rows alone would write them before others read.
  check(R"(
    graph @f(%x: f32[40,90,17], %h0: f32[90,17], %s0: f32[], %c0: f32[17]) {
      %y, %h.e, %s.e, %c.e = scan %x.t in %x carry %h = %h0, %s = %s0, %c = %c0 {
        %h.1 = tanh(add(mul(%h, %s), add(%x.t, %c)))
        next %h = %h.1, %s = tanh(add(%s, 0.5)), %c = sigmoid(mul(%c, %s))
        emit mul(%h.1, %c)
      }
      return %y, %h.e, %s.e, %c.e
    })");
}

TEST(ProgramCpu, LoopsWhoseRowsHaveSeveralAxes) {
  // %a repeats along the first of them: rows cannot be numbered through.
  check(R"(
    graph @f(%x: f32[4,5,60,8], %a: f32[60,8], %h0: f32[5,60,8]) {
      %y, %h.e = scan %x.t in %x carry %h = %h0 with %a {
        %h.1 = tanh(add(mul(%h, %a), %x.t))
        next %h = %h.1
        emit mul(%h, %h.1)
      }
      return %y, %h.e
    })");
}

TEST(ProgramCpu, ColumnsOfExtentOneHaveAnyStride) {
  check("graph (%x: f32[2,1,5]) { return transpose(%x) {permutation = [2,0,1]} }");
  check("graph (%x: f32[7,1]) { return tanh(transpose(%x) {permutation = [1,0]}), neg(%x) }");
}

TEST(ProgramCpu, LoopsWithoutProducts) {
  check(R"(graph (%x: f32[5,7,33], %h0: f32[7,33], %u: f32[33]) {
    %y, %h = scan %a in %x carry %ht = %h0 with %u {
      %h1 = tanh(add(%a, mul(%ht, %u)))
      next %ht = %h1
      emit %h1
    }
    return %y, %h
  })");
  check(R"(graph (%x: f32[5,9], %h0: f32[9]) {
    %h = scan %a in %x carry %ht = %h0 { %h1 = add(%a, mul(%ht, 0.5)) next %ht = %h1 }
    return %h
  })");
}

TEST(ProgramCpu, MatricesOfOneShapeInOneLoop) {
  check(R"(graph (%x: f32[4,6,13], %h0: f32[6,13], %g0: f32[6,13], %u: f32[13,13],
                  %v: f32[13,13]) {
    %y, %h, %g = scan %a in %x carry %ht = %h0, %gt = %g0 with %u, %v {
      %h1 = tanh(add(%a, matmul(%ht, %u)))
      %g1 = tanh(add(%h1, matmul(%gt, %v)))
      next %ht = %h1, %gt = %g1
      emit %g1
    }
    return %y, %h, %g
  })");
}

TEST(ProgramCpu, MaskedStepsHoldWhatTheyCarry) {
  check(R"(graph (%x: f32[5,6,13], %m: bool[5,6,1], %h0: f32[6,13], %u: f32[13,13]) {
    %y, %h = scan %a in %x, %mt in %m carry %ht = %h0 with %u {
      %h1 = select(%mt, tanh(add(%a, matmul(%ht, %u))), %ht)
      next %ht = %h1
      emit select(%mt, %h1, 0.)
    }
    return %y, %h
  })");
}

TEST(ProgramCpu, LoopsOverACarryOfALoop) {
  // The first iteration of the outer loop reads the initial value, at every step of the inner one.
  check(R"(graph (%x: f32[4,3,5], %h0: f32[3,5], %s0: f32[5]) {
    %y, %h = scan %a in %x carry %ht = %h0 with %s0 {
      %rows, %s = scan %r in %ht, %b in %a carry %st = %s0 {
        %s1 = add(mul(%st, 0.5), mul(%r, %b))
        next %st = %s1
        emit %s1
      }
      next %ht = tanh(%rows)
      emit %s
    }
    return %y, %h
  })");
}

TEST(ProgramCpu, ProductsOfBatches) {
  check("graph (%x: f32[5,13,9], %y: f32[5,9,50]) { return matmul(%x, %y) }");
  check(
      "graph (%x: f32[2,3,7,9], %y: f32[2,3,19,9]) { return matmul(%x, %y) {transpose_b = true} }");
  check("graph (%x: f32[3,9,7], %y: f32[3,9,33]) { return matmul(%x, %y) {transpose_a = true} }");
  check("graph (%x: f32[3,9,7], %y: f32[9,33]) { return matmul(%x, %y) {transpose_a = true} }");
  check("graph (%x: f32[4,70,9]) { return matmul(%x, %x) {transpose_b = true} }");
  check("graph (%x: f32[2,3,600], %y: f32[2,600,40]) { return matmul(%x, %y) }");
  check("graph (%x: f32[0,3,4], %y: f32[0,4,5]) { return matmul(%x, %y) }");
  check("graph (%x: f32[2,3,0], %y: f32[2,0,5]) { return matmul(%x, %y) }");
  // Attention: what stands before and behind the products is in kernels of their own; and views.
  check(R"(graph (%q: f32[6,3,8], %k: f32[6,3,8], %v: f32[6,3,8], %b: f32[6]) {
    %qt = transpose %q {permutation = [1,0,2]}
    %kt = transpose tanh(%k) {permutation = [1,0,2]}
    %vt = transpose %v {permutation = [1,0,2]}
    %s = add(mul(matmul(%qt, %kt) {transpose_b = true}, 0.25), %b)
    return matmul(softmax(%s), %vt), %s
  })");
  // In a loop, one matrix a step and a batch.
  check(R"(graph (%x: f32[4,3,5,7], %h0: f32[3,5,7], %w: f32[3,7,7]) {
    %y, %h = scan %a in %x carry %ht = %h0 with %w {
      %h1 = tanh(add(%a, matmul(%ht, %w)))
      next %ht = %h1
      emit %h1
    }
    return %y, %h
  })");
  // A carry that only its product reads is not replaced while it is read.
  check(R"(graph (%x: f32[4,2,5,5], %h0: f32[2,5,5]) {
    %h = scan %a in %x carry %ht = %h0 { next %ht = matmul(%ht, %a) {transpose_a = true} }
    return %h
  })");
}

TEST(ProgramCpu, GradientsOfProductsOfBatches) {
  const GraphPtr traced = parse_graph(R"(graph (%x: f32[3,5,4], %y: f32[3,6,4], %z: f32[3,5,6]) {
    %p = tanh(matmul(%x, %y) {transpose_b = true})
    %loss = mse %p, %z
    %dx, %dy = grad %loss, %x, %y
    return %loss, %dx, %dy
  })");
  for (const char* variant : {"fused", "basic"})
    check_graph(run_pipeline(traced, standard_pipeline(variant)).graph);
}

TEST(ProgramCpu, RowsOfEqualIndexAreAddedInOneOrder) {
  // Many rows for few places: another order with more threads would show in the bits.
  check(
      "graph (%base: f32[5,19], %i: i32[60], %rows: f32[60,19]) { return scatter_add(%base, %i, "
      "%rows) }",
      5);
}

TEST(ProgramCpu, AResultIsWrittenOverAnOperandOnlyWhenThatWasRead) {
  // %x dies in the kernel of %y and %z: it is read for %z alone, after %y was made.
  check(R"(graph (%a: f32[6,20], %table: f32[9,20], %i: i32[6], %w: f32[20,7]) {
    %x = gather(%table, %i)
    %y = tanh(%a)
    %z = mul(%y, %x)
    return matmul(%y, %w), matmul(%z, %w)
  })",
        9);
}

TEST(ProgramCpu, KernelsThatDifferInOrderAlone) {
  // Of the same loads and operations: the second must not be the first from the cache.
  check("graph (%x: f32[5,37], %y: f32[5,37]) { return sub(mul(%x, %y), %x) }");
  check("graph (%x: f32[5,37], %y: f32[5,37]) { return sub(%x, mul(%x, %y)) }");
}

TEST(ProgramCpu, BroadcastsByThemselves) {
  check(
      "graph (%x: f32[3,1], %y: f32[4]) { return broadcast_to(%x) {shape = [2,3,5]}, "
      "broadcast_to(%y) {shape = [4,4]} }");
}

TEST(ProgramCpu, SumsOfNothing) {
  check("graph (%x: f32[3,0]) { return sum(%x) {axes = [1]}, sum(%x) {axes = [0,1]} }");
  check("graph (%x: f32[0,4]) { return sum(%x) {axes = [0]}, add(%x, 1) }");
  check("graph (%x: f32[3,0], %y: f32[0,5]) { return matmul(%x, %y) }");
}

}  // namespace
}  // namespace graphc::core
