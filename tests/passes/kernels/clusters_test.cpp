// SPDX-License-Identifier: Apache-2.0
// What goes into one kernel and what does not: a graph for each decision of
// passes/kernels/clusters.cpp.
#include "passes/kernels/clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/op.h"
#include "ir/text.h"
#include "passes/kernels/fuse.h"
#include "passes/kernels/kernel.h"
#include "tests/passes/values.h"

namespace graphc::core::testing {
namespace {

/// The graph's kernels: their family and ops, and what stays outside in brackets.
std::string kernels_in(const Graph& graph) {
  std::vector<std::string> parts;
  for (const Node& node : graph.nodes()) {
    if (node.is(ops::input) || node.is(ops::constant)) continue;
    if (!node.is(ops::kernel)) {
      parts.push_back(fmt::format("[{}]", node.op.name));
      continue;
    }
    std::vector<std::string_view> ops;
    for (const Node& inner : node.region().nodes()) {
      if (!inner.is(ops::input)) ops.push_back(inner.op.name);
    }
    parts.push_back(fmt::format("{}: {}", name_of(Kernel(node).family()), fmt::join(ops, " ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string kernels_of(const std::string& text, const std::string& passes = "fuse") {
  return kernels_in(*after(parse_graph("graph @f" + text), passes));
}

struct Decision {
  const char* decision;
  const char* graph;
  const char* kernels;
};

const Decision kDecisions[] = {
    // --- what joins
    {"elementwise nodes of the same rows and columns", "(%x: f32[3,4]) { return tanh(sin(%x)) }",
     "map: sin tanh"},
    {"numbers are cloned into the kernels that compute with them",
     "(%x: f32[3,4]) { return mul(sin(%x), 2.) }", "map: sin constant mul"},
    {"a sum along the row with what it sums and what reads it",
     "(%x: f32[3,4]) { %e = exp(%x) return div(%e, sum(%e) {axes = [1], keep = true}) }",
     "map: exp sum div"},
    {"what follows a product element by element",
     "(%x: f32[3,4], %u: f32[4,5], %b: f32[5]) { return tanh(add(matmul(%x, %u), %b)) }",
     "gemm: matmul add tanh"},
    {"parts of a product and their concatenation",
     "(%x: f32[3,4], %u: f32[4,8]) { %a, %b = split(matmul(%x, %u)) {axis = 1, parts = 2} "
     "return concat(tanh(%a), sin(%b)) {axis = 1} }",
     "gemm: matmul split tanh sin concat"},
    {"clusters that a node reads become one",
     "(%x: f32[3,4], %y: f32[3,4]) { return mul(sin(%x), cos(%y)) }", "map: sin cos mul"},
    // --- what follows a product, and is with its readers: the product alone is stored
    {"what two sums and an update are made of",
     "(%x: f32[3,4], %u: f32[4,5], %m: f32[3,5], %v: f32[3,5]) { %g = matmul(%x, %u) "
     "%s = square(%g) return add(mul(0.9, %m), mul(0.1, %g)), add(mul(0.8, %v), mul(0.2, %s)), "
     "sum(%s) {axes = [1], keep = true} }",
     "gemm: matmul; map: constant mul constant mul add; "
     "map: square constant mul constant mul add sum"},
    {"a value made for one reader stays behind the product",
     "(%x: f32[3,4], %u: f32[4,5], %b: f32[5], %v: f32[2,5]) { "
     "return matmul(tanh(add(matmul(%x, %u), %b)), %v) {transpose_b = true} }",
     "gemm: matmul add tanh; gemm: matmul"},
    {"values with readers in several kernels stay behind the product",
     "(%x: f32[3,4], %u: f32[4,5], %w: f32[3,5]) { %g = matmul(%x, %u) %a = sin(%g) %b = cos(%g) "
     "%z = sum(%w) {axes = [1], keep = true} %r = mul(add(%a, %z), add(%b, %z)) "
     "%t = transpose(exp(transpose(%r) {permutation = [1,0]})) {permutation = [1,0]} "
     "return add(%a, mul(%b, %t)) }",
     "gemm: matmul sin cos; map: sum add add mul; [transpose]; map: exp; [transpose]; map: mul "
     "add"},
    {"results that are stored anyway stay behind the product",
     "(%x: f32[3,4], %u: f32[4,5]) { %g = matmul(%x, %u) return sin(%g), cos(%g) }",
     "gemm: matmul sin cos"},
    // --- sums over the rows
    {"what a sum over the rows alone reads",
     "(%x: f32[3,4], %y: f32[3,4]) { return sum(mul(sin(%x), %y)) {axes = [0]} }",
     "reduction: sin mul sum"},
    {"the same through a view, which stays outside",
     "(%x: f32[2,3,4], %y: f32[2,3,4]) { "
     "return sum(reshape(mul(%x, %y)) {shape = [6,4]}) {axes = [0]} }",
     "[reshape]; [reshape]; reduction: mul sum"},
    {"sums that read the same rows, also as they are",
     "(%d: f32[3,4], %x: f32[3,4], %y: f32[3,4], %g: f32[4]) { "
     "return sum(mul(%d, %x)) {axes = [0]}, sum(%d) {axes = [0]}, "
     "sum(mul(mul(%d, %g), %y)) {axes = [0]} }",
     "reduction: mul sum sum mul mul sum"},
    {"of four values at most",
     "(%a: f32[3,4], %b: f32[3,4], %c: f32[3,4], %d: f32[3,4], %e: f32[3,4]) { "
     "return sum(mul(%a, %b)) {axes = [0]}, sum(mul(%a, %c)) {axes = [0]}, "
     "sum(mul(%a, %d)) {axes = [0]}, sum(mul(%a, %e)) {axes = [0]}, sum(%e) {axes = [0]} }",
     "reduction: mul sum mul sum mul sum; reduction: mul sum sum"},
    {"a sum that reads another one's result is not with it",
     "(%x: f32[3,4]) { %a = sum(%x) {axes = [0]} return sum(mul(%x, %a)) {axes = [0]} }",
     "reduction: sum; reduction: mul sum"},
    {"what a dead view reads too",
     "(%x: f32[2,3,4]) { %a = cos(%x) %dead = reshape(%a) {shape = [1,6,4]} "
     "return sum(reshape(%a) {shape = [6,4]}) {axes = [0]} }",
     "[reshape]; reduction: cos sum"},
    {"not what is a result too, or read by others",
     "(%x: f32[3,4], %y: f32[3,4], %u: f32[4,5]) { %a = mul(%x, %y) %b = mul(%a, 2.) "
     "return sum(%a) {axes = [0]}, %a, sum(%b) {axes = [0]}, matmul(%b, %u) }",
     "map: mul constant mul; reduction: sum; reduction: sum; gemm: matmul"},
    {"with a number for each row, and what is computed of it",
     "(%x: f32[3,4], %y: f32[3,1]) { return sum(mul(%x, neg(%y))) {axes = [0]} }",
     "reduction: neg mul sum"},
    {"what several sums read, with all of them",
     "(%x: f32[3,4], %y: f32[3,4], %z: f32[3,4]) { %a = mul(%x, %y) %b = mul(%a, %z) "
     "return sum(%a) {axes = [0]}, sum(%b) {axes = [0]}, sum(mul(%b, %x)) {axes = [0]} }",
     "reduction: mul mul sum sum mul sum"},
    {"not what something else reads beside them",
     "(%x: f32[3,4], %y: f32[3,4], %z: f32[4,3]) { %a = mul(%x, %y) %b = mul(%a, %x) "
     "return sum(%a) {axes = [0]}, sum(%b) {axes = [0]}, "
     "add(transpose(%b) {permutation = [1,0]}, %z) }",
     "map: mul mul; reduction: sum; reduction: sum; [transpose]; map: add"},
    {"not of more than four values",
     "(%a: f32[3,4], %b: f32[3,4], %c: f32[3,4], %d: f32[3,4], %e: f32[3,4]) { "
     "%p = add(add(mul(%a, %b), mul(%c, %d)), %e) "
     "return sum(%p) {axes = [0]}, sum(mul(%p, %a)) {axes = [0]} }",
     "map: mul mul add add mul; reduction: sum; reduction: sum"},
    {"not with a sum that one of its readers reads",
     "(%x: f32[3,4], %y: f32[3,4]) { %a = sum(%y) {axes = [0]} %b = mul(%x, %a) "
     "return %a, sum(%b) {axes = [0]}, sum(mul(%b, %y)) {axes = [0]} }",
     "reduction: sum; reduction: mul sum mul sum"},
    {"not through a view that changes the columns",
     "(%x: f32[3,4]) { return sum(reshape(sin(%x)) {shape = [6,2]}) {axes = [0]} }",
     "map: sin; [reshape]; reduction: sum"},
    {"not long work, which would stand in it several times",
     "(%x: f32[3,4]) { return sum(sin(sin(%x))) {axes = [0]} }", "map: sin sin; reduction: sum"},
    {"not what a product's kernel stores, nor a maximum",
     "(%x: f32[3,4], %u: f32[4,5]) { %y = matmul(%x, %u) "
     "return max(sin(%x)) {axes = [0]}, sum(sin(%y)) {axes = [0]}, %y }",
     "map: sin; reduction: max; gemm: matmul; reduction: sin sum"},
    // --- sums over the rows of matrices
    {"what a sum over the rows of matrices reads",
     "(%a: f32[2,3,4], %k: f32[2,3,1]) { return sum(mul(%a, %k)) {axes = [1]} }",
     "inner_reduction: mul sum"},
    {"also what is a result",
     "(%a: f32[2,3,4], %k: f32[2,3,1]) { %s = mul(%a, %k) return %s, sum(%s) {axes = [1]} }",
     "inner_reduction: mul sum"},
    {"not a sum along the rows",
     "(%a: f32[2,3,4], %x: f32[2,3,4]) { return sum(mul(%a, %x)) {axes = [2], keep = true}, "
     "sum(sin(%a)) {axes = [1]} }",
     "map: mul sum; inner_reduction: sin sum"},
    {"not what reads the sum",
     "(%a: f32[4,3,4], %k: f32[3,4]) { %s = sum(%a) {axes = [1]} return mul(%s, 2.) }",
     "inner_reduction: sum; map: constant mul"},
    // --- what does not
    {"rows that differ", "(%x: f32[3,4], %y: f32[5,4]) { return sin(%x), sin(%y) }",
     "map: sin; map: sin"},
    {"a value of fewer rows is read from memory",
     "(%x: f32[3,4], %y: f32[4]) { return mul(%x, sin(%y)) }", "map: sin; map: mul"},
    {"a sum along the row behind a product",
     "(%x: f32[3,4], %u: f32[4,5]) { %y = matmul(%x, %u) "
     "return sub(%y, sum(%y) {axes = [1], keep = true}) }",
     "gemm: matmul; map: sum sub"},
    {"what is only summed belongs to the sum, not behind the product",
     "(%x: f32[3,4], %u: f32[4,5]) { return sum(square(matmul(%x, %u))) {axes = [1], keep = true} "
     "}",
     "gemm: matmul; map: square sum"},
    {"two products", "(%x: f32[3,4], %u: f32[4,4]) { return matmul(matmul(%x, %u), %u) }",
     "gemm: matmul; gemm: matmul"},
    {"what reads the product's matrix",
     "(%x: f32[4,4], %u: f32[4,4]) { return add(matmul(%x, %u), %u) }", "gemm: matmul; map: add"},
    {"what reads the transposed left operand",
     "(%x: f32[4,4], %u: f32[4,4]) { return add(matmul(%x, %u) {transpose_a = true}, %x) }",
     "gemm: matmul; map: add"},
    {"a batched product", "(%x: f32[2,3,4], %u: f32[2,4,5]) { return tanh(matmul(%x, %u)) }",
     "batched_gemm: matmul; map: tanh"},
    {"rows of a table", "(%x: f32[3,4], %i: i32[2]) { return tanh(gather(%x, %i)) }",
     "table: gather; map: tanh"},
    {"a concatenation of parts that are no multiples of the narrowest",
     "(%x: f32[3,4], %y: f32[3,6]) { return concat(sin(%x), %y) {axis = 1} }",
     "map: sin; concat: concat"},
    {"one column is a number for each row, not a part",
     "(%x: f32[3,1], %y: f32[3,6]) { return concat(sin(%x), %y) {axis = 1} }",
     "map: sin; concat: concat"},
    {"more than 64 parts",
     "(%x: f32[3,2], %y: f32[3,128]) { return concat(sin(%x), %y) {axis = 1} }",
     "map: sin; concat: concat"},
    {"64 parts", "(%x: f32[3,2], %y: f32[3,126]) { return concat(sin(%x), %y) {axis = 1} }",
     "map: sin concat"},
    {"a view that begins inside a part",
     "(%x: f32[3,8]) { return tanh(slice(sin(%x)) {axis = 1, start = 2, limit = 6}) }",
     "map: sin; [slice]; map: tanh"},
    {"a view that nobody in the kernel reads",
     "(%x: f32[3,8]) { return slice(sin(%x)) {axis = 1, start = 0, limit = 4} }",
     "map: sin; [slice]"},
    {"a path that leaves and comes back",
     "(%x: f32[3,4]) { %a = sin(%x) return mul(%a, transpose(cos(transpose(%a) {permutation = "
     "[1,0]})) "
     "{permutation = [1,0]}) }",
     "map: sin; [transpose]; map: cos; [transpose]; map: mul"},
    {"values of no elements", "(%x: f32[0,4]) { return tanh(sin(%x)) }", "map: sin; map: tanh"},
};

TEST(Clusters, AreWhatTheDecisionsSay) {
  for (const Decision& each : kDecisions)
    EXPECT_EQ(kernels_of(each.graph), each.kernels) << each.decision;
}

TEST(Clusters, AreSingleNodesWhereThatIsAskedFor) {
  EXPECT_EQ(kernels_of("(%x: f32[3,4]) { return tanh(sin(%x)) }", "fuse{single=true}"),
            "map: sin; map: tanh");
}

const Decision kSiblings[] = {
    {"what has the same rows", "(%x: f32[3,4], %y: f32[3,4]) { return sin(%x), cos(%y) }",
     "map: sin cos"},
    {"sums along rows",
     "(%x: f32[3,4], %y: f32[3,4]) { return sum(%x) {axes = [1], keep = true}, "
     "sum(mul(%x, %y)) {axes = [1], keep = true} }",
     "map: sum mul sum"},
    {"not what has other rows or columns",
     "(%x: f32[3,4], %y: f32[5,4], %z: f32[3,5]) { return sin(%x), cos(%y), tanh(%z) }",
     "map: sin; map: cos; map: tanh"},
    {"not sums over rows",
     "(%x: f32[2,3,4], %y: f32[2,3,4]) { return sum(mul(%x, %y)) {axes = [1]}, sin(%x) }",
     "inner_reduction: mul sum; map: sin"},
    {"not one that waits for what reads the other",
     "(%x: f32[3,4], %y: f32[3,4]) { %s = sin(%x) %t = reverse(%s) {axes = [0]} "
     "return %s, cos(%t) }",
     "map: sin; [reverse]; map: cos"},
    {"not more than four values of full rows",
     "(%x: f32[3,4], %y: f32[3,4], %z: f32[3,4]) { return sin(%x), cos(%y), tanh(%z) }",
     "map: sin cos; map: tanh"},
};

TEST(Clusters, AreOneForSiblings) {
  for (const Decision& each : kSiblings) {
    const GraphPtr graph = parse_graph(fmt::format("graph @f{}", each.graph));
    EXPECT_EQ(kernels_in(*form_kernels(graph, {.siblings = true})), each.kernels) << each.decision;
    // Only where they are asked for.
    EXPECT_THAT(kernels_in(*form_kernels(graph, {})), ::testing::HasSubstr("; "));
  }
}

}  // namespace
}  // namespace graphc::core::testing
