// SPDX-License-Identifier: Apache-2.0
#include "passes/amplified.h"

#include <gtest/gtest.h>

#include "ir/op.h"
#include "ir/scan.h"
#include "ir/text.h"

namespace graphc::core::testing {
namespace {

/// What amplifies the rounding of %v, a product, on the way to what is computed: the name of an op,
/// or nothing.
std::string amplifier_in(const std::string& computed) {
  const GraphPtr graph = parse_graph(
      "graph @f(%x: f32[3,4], %w: f32[4,4], %o: f32[3,4]) {\n  %v = matmul(%x, %w)\n  return " +
      computed + "\n}");
  const Amplifiers amplifiers(*graph);
  for (const Node& node : graph->nodes()) {
    if (!node.is(ops::matmul) || node.operands[0].name() != "x") continue;
    const Node* found = amplifiers.of(node.result(0));
    return found == nullptr ? "" : std::string(found->op.name);
  }
  return "no product";
}

TEST(Amplifiers, AreExponentialsPeriodsInversesOfDifferencesAndChoices) {
  const std::pair<const char*, const char*> cases[] = {
      {"exp(%v)", "exp"},
      {"exp(sub(%v, maximum(%v, %o)))", "exp"},
      {"exp(mul(2., relu(%v)))", "exp"},
      {"exp(sub(%o, softplus(%v)))", "exp"},
      {"exp(log(sigmoid(%v)))", "exp"},
      {"exp(neg(square(sub(%v, %o))))", "exp"},
      {"expm1(abs(%v))", "expm1"},
      {"pow(2., %v)", "pow"},
      {"pow(sub(%v, %o), -1.)", "pow"},
      {"sin(%v)", "sin"},
      {"cos(%v)", "cos"},
      {"tan(%v)", "tan"},
      {"remainder(%v, 1.)", "remainder"},
      {"reciprocal(sub(%v, %o))", "reciprocal"},
      {"div(%o, add(%v, %o))", "div"},
      {"div(%o, sigmoid(%v))", "div"},
      {"rsqrt(add(square(%v), %o))", "rsqrt"},
      {"sqrt(sub(%v, %o))", "sqrt"},
      {"log(sub(1., %v))", "log"},
      {"log1p(%v)", "log1p"},
      {"reciprocal(softplus(%v))", "reciprocal"},
      {"reciprocal(sum(%v) {axes = [1]})", "reciprocal"},
      {"select(greater(%v, %o), %o, 0.)", "greater"},
      {"select(greater_equal(add(%v, %o), %o), %o, 0.)", "greater_equal"},
      {"exp(slice(concat(%o, %v) {axis = 1}) {axis = 1, start = 3, limit = 7})", "exp"},
  };
  for (const auto& [computed, wanted] : cases)
    EXPECT_EQ(amplifier_in(computed), wanted) << computed;
}

TEST(Amplifiers, AreNotWhatKeepsAnErrorInProportionOrIsFlat) {
  for (const char* computed : {
           "%v",
           "sigmoid(add(%v, %o))",
           "mul(tanh(%v), exp(%o))",
           "exp(sigmoid(%v))",
           "exp(neg(softplus(add(%v, %o))))",
           "exp(neg(square(%v)))",
           "reciprocal(%v)",
           "div(%v, %o)",
           "div(%o, %v)",
           "rsqrt(%v)",
           "sqrt(square(%v))",
           "pow(%v, -2.)",
           "log(%v)",
           "log(add(1., exp(neg(square(%v)))))",
           "log1p(square(%v))",
           "rsqrt(add(mul(sum(square(sub(%v, %o))) {axes = [1], keep = true}, 0.25), 1e-5))",
           "reciprocal(add(1., abs(%v)))",
           "select(greater(add(%v, %o), 0.), %o, 0.)",
           "select(less(sigmoid(%v), %o), %o, 0.)",
           "relu(sub(%v, %o))",
           "sin(tanh(%v))",
           "exp(matmul(%v, %w))",
           "exp(sum(%v) {axes = [0]})",
       })
    EXPECT_EQ(amplifier_in(computed), "") << computed;
}

TEST(Amplifiers, AreFoundThroughLoopsAndFromStepToStep) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%a: f32[5,3,4], %b: f32[5,3,4], %c: f32[5,3,4], %h0: f32[3,4]) {
      %old, %cs, %s.e, %k.e = scan %a.t in %a, %b.t in %b, %c.t in %c carry %s = %h0, %k = %h0 {
        next %s = add(tanh(%b.t), %k), %k = add(%k, %a.t)
        emit %s, %c.t
      }
      return mul(exp(%old), sigmoid(%k.e)), %cs, %s.e
    })");
  const Amplifiers amplifiers(*graph);
  const auto is_amplified = [&](size_t i) { return amplifiers.of(graph->inputs()[i]) != nullptr; };
  EXPECT_TRUE(is_amplified(0));
  EXPECT_FALSE(is_amplified(1));
  EXPECT_FALSE(is_amplified(2));
  for (const Node& node : graph->nodes()) {
    if (!node.is(ops::scan)) continue;
    const Scan scan(node);
    const Amplifiers& inside = amplifiers.inside(node);
    EXPECT_NE(inside.of(scan.body_streams()[0]), nullptr);
    EXPECT_EQ(inside.of(scan.body_streams()[1]), nullptr);
    EXPECT_NE(inside.of(scan.body_carries()[1]), nullptr);
  }
}

}  // namespace
}  // namespace graphc::core::testing
