// SPDX-License-Identifier: Apache-2.0
#include "ir/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "ir/verify.h"

namespace graphc::core {
namespace {

/// Parses, verifies, prints, and checks both laws of ir/text.h.
std::string canonical(const std::string& text) {
  const GraphPtr graph = parse_graph(text);
  verify(*graph);
  const std::string printed = print(*graph);
  const GraphPtr again = parse_graph(printed);
  EXPECT_TRUE(equal(*again, *graph)) << printed;
  EXPECT_EQ(print(*again), printed);
  return printed;
}

void expect_round_trip(const Graph& graph) {
  const std::string printed = print(graph);
  const GraphPtr again = parse_graph(printed);
  EXPECT_TRUE(equal(*again, graph)) << printed;
  EXPECT_EQ(print(*again), printed);
}

TEST(Text, TypesAreOptionalAndPrinted) {
  EXPECT_EQ(canonical("graph @f(%x: f32[2,3], %w: f32[3,4]) { %y = matmul %x, %w return %y }"),
            R"(graph @f (%x: f32[2,3], %w: f32[3,4]) {
  %y = matmul %x, %w : f32[2,4]
  return %y
}
)");
}

TEST(Text, CanonicalTextIsUnchanged) {
  const std::string text =
      R"(graph @step (%x: f32[6,2,3], %t: i64[]) state (%w: f32[3,3], %n: i64[]) {
  %h0 = constant {dtype = f32, shape = [2,3], value = 0.} : f32[2,3]
  %y, %h.end = scan {reverse = true} %x.t in %x carry %h = %h0 with %w, %step = %t {
    %xw = matmul %x.t, %w {transpose_b = true} : f32[2,3]
    %h.1 = add %xw, %h : f32[2,3]
    %a, %b, %c = split %h.1 {axis = 1, parts = 3} : f32[2,1] x 3
    %half = mul %a, 0.5 : f32[2,1]
    next %h = %h.1
    emit %half
  } : f32[6,2,1], f32[2,3]
  %g = mul %w, 2 : f32[3,3]
  %n.1 = add %n, 1 : i64[]
  next %w = %g, %n = %n.1
  return %y, %h.end
}
)";
  EXPECT_EQ(canonical(text), text);
}

TEST(Text, NestedOperandsBecomeLines) {
  EXPECT_EQ(canonical(R"(
graph (%x: f32[2,12]) {                # a comment
  %a, %b = split add(%x, tanh(%x)) {axis = 1, parts = 2}
  %s = add sum(%a) {axes = [0, 1]}, 1.5
  return mul(%s, sum(%b) {axes = [0,1]})
})"),
            R"(graph (%x: f32[2,12]) {
  %tanh = tanh %x : f32[2,12]
  %add = add %x, %tanh : f32[2,12]
  %a, %b = split %add {axis = 1, parts = 2} : f32[2,6] x 2
  %sum = sum %a {axes = [0,1]} : f32[]
  %s = add %sum, 1.5 : f32[]
  %sum.1 = sum %b {axes = [0,1]} : f32[]
  %mul = mul %s, %sum.1 : f32[]
  return %mul
}
)");
}

TEST(Text, NamesOfLinesWinOverNamesOfNestedOperands) {
  EXPECT_EQ(canonical("graph (%x: f32[]) { %y = add tanh(%x), 1 %tanh = exp %y return %tanh }"),
            R"(graph (%x: f32[]) {
  %tanh.1 = tanh %x : f32[]
  %y = add %tanh.1, 1 : f32[]
  %tanh = exp %y : f32[]
  return %tanh
}
)");
}

TEST(Text, NumbersTakeTheDtypeOfTheFirstValue) {
  const GraphPtr graph = parse_graph(R"(graph (%x: f64[2], %n: i32[2], %c: bool[2]) {
    %y = mul %x, div(1., 3)
    %m = add 2, %n
    %s = select %c, 0., %y
    %o = logical_or %c, true
    return %y, %m, %s, %o
  })");
  EXPECT_EQ(graph->results()[0].node->operands[1].type(), (Type{DType::f64, {}}));
  EXPECT_EQ(graph->results()[1].node->operands[0].type(), (Type{DType::i32, {}}));
  EXPECT_EQ(graph->results()[2].node->operands[1].type(), (Type{DType::f64, {}}));
  EXPECT_EQ(graph->results()[3].node->operands[1].type(), (Type{DType::boolean, {}}));
  expect_round_trip(*graph);
}

TEST(Text, ConstantsThatCannotBeNumbersAreLines) {
  Graph* graph = new Graph("g");
  std::unique_ptr<Graph> owner(graph);
  const Value x = graph->input({DType::f32, {2}}, "x");
  const Value a = scalar_constant(*graph, 1.5, DType::f32);
  const Value i = scalar_constant(*graph, 3, DType::i32);
  const Value table = graph->input({DType::f32, {5}}, "table");
  const Value true_ = scalar_constant(*graph, 1, DType::boolean);
  graph->set_results({x * a, cast(i, DType::f32), gather(table, i), a + a,
                      select(true_, x, Operand(a)), scalar_constant(*graph, 7)});
  const GraphPtr frozen = freeze(std::move(owner));
  expect_round_trip(*frozen);
  const std::string text = print(*frozen);
  for (const char* line : {"mul %x, %constant ", "cast %constant.1 {",
                           "gather %table, %constant.1 ", "select %constant.2, %x, %constant "})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

TEST(Text, KindsOfConstantsSurvive) {
  const std::string text = R"(graph (%x: f32[2]) {
  %a = add %x, 2 : f32[2]
  %b = add %a, 2. : f32[2]
  %c = add %b, -inf : f32[2]
  %d = add %c, nan : f32[2]
  %e = add %d, -0. : f32[2]
  %f = add %e, 1e-300 : f32[2]
  %i = constant {dtype = f32, shape = [2], value = [1,2]} : f32[2]
  %j = constant {dtype = f32, shape = [2], value = [1.,inf]} : f32[2]
  %k = constant {dtype = f32, shape = [0], value = [.]} : f32[0]
  %l = constant {dtype = f32, shape = [0], value = []} : f32[0]
  return %f, %i, %j, %k, %l
}
)";
  EXPECT_EQ(canonical(text), text);
  const GraphPtr graph = parse_graph(text);
  const auto kind = [&](const char* name, size_t operand) {
    const Node* node = graph->find(name).node;
    if (!node->is(ops::constant)) node = node->operands[operand].node;
    return node->attributes.find("value")->index();
  };
  EXPECT_EQ(kind("a", 1), Attribute(int64_t{2}).index());
  EXPECT_EQ(kind("b", 1), Attribute(2.0).index());
  EXPECT_EQ(kind("i", 0), Attribute(std::vector<int64_t>{}).index());
  EXPECT_EQ(kind("k", 0), Attribute(std::vector<double>{}).index());
  EXPECT_EQ(kind("l", 0), Attribute(std::vector<int64_t>{}).index());
}

TEST(Text, EveryKindOfAttributeRoundTrips) {
  const std::string text = R"(graph (%x: f32[2]) {
  %y = kernel {a = true, b = -3, c = 1e+20, d = "q\"\\\n#", e = bf16, "kebab-case" = 1} (%z = %x) {
    %t = tanh %z : f32[2]
    return %t
  } : f32[2]
  %u = kernel {f = [1,-2], g = [0.5,nan]} (%z = %y) {
    return %z
  } : f32[2]
  return %u
}
)";
  EXPECT_EQ(canonical(text), text);
}

TEST(Text, OddNamesAreQuoted) {
  Graph* graph = new Graph("a graph");
  std::unique_ptr<Graph> owner(graph);
  const Value x = graph->input({DType::f32, {}}, "my input: \"x\"");
  const Value w = graph->state({DType::f32, {}}, "layers/0.w-1");
  graph->set_results({x + w});
  const GraphPtr frozen = freeze(std::move(owner));
  expect_round_trip(*frozen);
  EXPECT_NE(print(*frozen).find("%layers/0.w-1: f32[]"), std::string::npos);
  EXPECT_EQ(parse_graph(print(*frozen))->inputs()[0].name(), "my input: \"x\"");
}

TEST(Text, ScansWithoutStreamsAndWithoutEmits) {
  const std::string text = R"(graph (%x: f32[2]) {
  %i, %s.end = scan {steps = 4} carry %s = %x {
    %s.1 = mul %s, 2. : f32[2]
    next %s = %s.1
    emit %s
  } : f32[4,2], f32[2]
  %t.end, %u.end = scan %y in %i carry %t = %x, %u = %s.end {
    %t.1 = add %t, %y : f32[2]
    next %t = %u, %u = %t.1
  } : f32[2] x 2
  %e = scan %y in %i {
    emit %y
  } : f32[4,2]
  return %t.end, %u.end, %e
}
)";
  EXPECT_EQ(canonical(text), text);
  const GraphPtr graph = parse_graph(text);
  const Scan scan(*graph->find("t.end").node);
  EXPECT_EQ(scan.steps(), 4);
  EXPECT_EQ(scan.streams().size(), 1u);
  EXPECT_EQ(scan.next()[0], scan.body_carries()[1]);
}

TEST(Text, ScansNestAndListWhatTheyUse) {
  const std::string text = R"(graph (%x: f32[3,4,2], %w: f32[2]) {
  %y = scan %row in %x with %w {
    %sum, %s.end = scan %e in %row carry %s = %w with %gain = %w {
      %scaled = mul %e, %gain : f32[2]
      %s.1 = add %s, %scaled : f32[2]
      next %s = %s.1
      emit %s.1
    } : f32[4,2], f32[2]
    emit %s.end
  } : f32[3,2]
  return %y
}
)";
  EXPECT_EQ(canonical(text), text);
}

TEST(Text, SharedRegionsArePrintedOnceAndParsedAsOneObject) {
  const std::string text = R"(region @inner (%v: f32[2]) {
  %t = tanh %v : f32[2]
  return %t
}

region @cell (%x: f32[2], %h: f32[2]) {
  %a = kernel {family = "map"} (%v = %x) @inner : f32[2]
  %h.1 = add %a, %h : f32[2]
  return %h.1, %a
}

graph @two (%x: f32[5,2], %y: f32[2]) {
  %e, %h.end = scan %x in %x carry %h = %y @cell : f32[5,2], f32[2]
  %p, %q = kernel {family = "map"} (%x = %y, %h = %h.end) @cell : f32[2] x 2
  %r = kernel {family = "map"} (%v = %q) @inner : f32[2]
  return %e, %p, %r
}
)";
  EXPECT_EQ(canonical(text), text);
  const GraphPtr graph = parse_graph(text);
  const Node &scan = *graph->find("e").node, &kernel = *graph->find("p").node;
  EXPECT_EQ(scan.regions[0], kernel.regions[0]);
  EXPECT_EQ(scan.region().find("a").node->regions[0], graph->find("r").node->regions[0]);
  EXPECT_EQ(scan.attributes.get_int("carries", -1), 1);
}

TEST(Text, SharedRegionsWithOneNameGetDistinctNames) {
  Graph* graph = new Graph("g");
  std::unique_ptr<Graph> owner(graph);
  const Value x = graph->input({DType::f32, {}}, "x");
  const GraphPtr a = parse_graph("graph @k(%x: f32[]) { return tanh(%x) }");
  const GraphPtr b = parse_graph("graph @k(%x: f32[]) { return exp(%x) }");
  Value y = x;
  for (const GraphPtr& region : {a, b, a, b})
    y = graph->add(ops::kernel, {y}, {{"family", std::string("map")}}, {region}).result();
  graph->set_results({y});
  const GraphPtr frozen = freeze(std::move(owner));
  expect_round_trip(*frozen);
  const std::string text = print(*frozen);
  EXPECT_NE(text.find("region @k ("), std::string::npos);
  EXPECT_NE(text.find("region @k.1 ("), std::string::npos);
}

TEST(Text, ModulesKeepGraphsStatesAndNames) {
  const std::string text = R"(module @model
state %seed: i64[]
state %w: f32[2]
state %m: f32[2]

graph @train (%x: f32[2]) state (%m: f32[2], %w: f32[2]) {
  %w.1 = add %w, %x : f32[2]
  next %w = %w.1
}

graph @eval (%x: f32[2]) state (%w: f32[2]) {
  %y = mul %x, %w : f32[2]
  return %y
}
)";
  const Module module = parse(text);
  EXPECT_EQ(print(module), text);
  EXPECT_EQ(module.name, "model");
  ASSERT_EQ(module.states.size(), 3u);
  EXPECT_EQ(module.states[2].first, "m");
  EXPECT_EQ(module.graphs.size(), 2u);
  verify(module);
  // In the order of the graphs the states need no lines.
  const Module plain = parse(text.substr(text.find("graph")));
  EXPECT_EQ(print(plain), text.substr(text.find("graph")));
  EXPECT_EQ(plain.states[0].first, "m");
}

TEST(Text, LocationsPrintAsComments) {
  const GraphPtr graph =
      parse_graph("graph (%x: f32[]) {\n  %y = tanh %x\n  return %y\n}\n", "a.graph");
  const std::string text = print(*graph, {.locations = true});
  EXPECT_NE(text.find("%y = tanh %x : f32[]  # a.graph:2\n"), std::string::npos) << text;
  EXPECT_TRUE(equal(*parse_graph(text), *graph));
}

TEST(Text, OneNodePrintsAsALine) {
  const GraphPtr graph = parse_graph(
      "graph (%x: f32[3,2]) { %y = scan %t in %x { emit exp(%t) } %z = mul %y, 2. return %z }");
  EXPECT_EQ(print(*graph->find("y").node), "%y = scan %t in %x { ... } : f32[3,2]");
  EXPECT_EQ(print(*graph->find("z").node), "%z = mul %y, %constant : f32[3,2]");
}

TEST(Text, EverySampleOfEveryOpRoundTrips) {
  int count = 0;
  for (const Op* op : all_ops()) {
    if (op->samples == nullptr) continue;
    for (const Sample& sample : op->samples()) {
      auto graph = std::make_unique<Graph>(std::string(op->name));
      Values operands;
      for (const Type& type : sample.operands) operands.push_back(graph->input(type, "x"));
      const Node& node = graph->add(*op, operands, sample.attributes);
      Values results;
      for (int i = 0; i < node.results(); ++i) results.push_back(node.result(i));
      graph->set_results(results);
      const GraphPtr frozen = freeze(std::move(graph));
      verify(*frozen);
      expect_round_trip(*frozen);
      ++count;
    }
  }
  EXPECT_GT(count, 60);
}

TEST(Text, ALongChainPrintsAndParses) {
  Graph* graph = new Graph("chain");
  std::unique_ptr<Graph> owner(graph);
  Value y = graph->input({DType::f32, {}}, "x");
  for (int i = 0; i < 20000; ++i) y = y * 0.5;
  graph->set_results({y});
  expect_round_trip(*freeze(std::move(owner)));
}

}  // namespace
}  // namespace graphc::core
