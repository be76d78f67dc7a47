// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ir/op.h"
#include "ir/text.h"
#include "tests/passes/values.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;

const Node& first_node(const GraphPtr& graph) { return *graph->results()[0].node; }

/// A graph of one kernel with these attributes around `body`, as a user may write it.
GraphPtr graph_of(const std::string& attributes, const std::string& body) {
  return parse_graph(fmt::format(R"(graph @f(%x: f32[3,2,4], %h: f32[2,4]) {{
    %a = kernel {} (%t = %x, %k = %h) {{
      {}
    }}
    return %a
  }})",
                                 attributes, body));
}

constexpr const char* kScan =
    "%y = scan %s in %t carry %c = %k { next %c = tanh(add(%c, %s)) }\n      return %y";

/// A body of each family, as a graph whose operands are %x and what it needs besides.
struct FamilyBody {
  const char* graph;
  Family family;
};
constexpr FamilyBody kBodies[] = {
    {"(%x: f32[3,4]) { return tanh(%x) }", Family::map},
    {"(%x: f32[3,4]) { return sum(%x) {axes = [1], keep = true} }", Family::map},
    {"(%x: f32[3,4], %u: f32[4,5]) { return matmul(%x, %u) }", Family::gemm},
    {"(%x: f32[3,4], %u: f32[4,5]) { return tanh(matmul(%x, %u)) }", Family::gemm},
    {"(%x: f32[2,3,4], %u: f32[2,4,5]) { return matmul(%x, %u) }", Family::batched_gemm},
    {"(%x: f32[3,4]) { return sum(%x) {axes = [0]} }", Family::reduction},
    {"(%x: f32[3,4]) { return max(%x) {axes = [0]} }", Family::reduction},
    {"(%x: f32[3,4], %y: f32[3,4]) { return sum(mul(%x, %y)) {axes = [0]} }", Family::reduction},
    {"(%x: f32[2,3,4]) { return sum(%x) {axes = [1]} }", Family::inner_reduction},
    {"(%x: f32[2,3,4]) { %s = sin(%x) return %s, sum(%s) {axes = [1]} }", Family::inner_reduction},
    {"(%x: f32[3,4]) { return concat(%x, %x) {axis = 0} }", Family::concat},
    {"(%x: f32[3,4], %i: i32[2]) { return gather(%x, %i) }", Family::table},
    {R"((%h: f32[3,4]) {
      %y = scan {steps = 2} carry %c = %h { next %c = tanh(%c) } return %y })",
     Family::recurrent},
};

TEST(Kernel, OfFuseHasTheFamilyOfItsBody) {
  std::set<Family> seen;
  for (const FamilyBody& each : kBodies) {
    SCOPED_TRACE(each.graph);
    const GraphPtr graph = after(parse_graph(std::string("graph @f") + each.graph), "fuse");
    const Kernel kernel(first_node(graph));
    EXPECT_EQ(kernel.family(), each.family);
    EXPECT_EQ(first_node(graph).attributes.get_string("family", ""), name_of(each.family));
    for (const Family family : kFamilies)
      EXPECT_EQ(is_kernel_of(first_node(graph), family), family == each.family);
    EXPECT_FALSE(is_kernel_of(*graph->inputs()[0].node, each.family));
    seen.insert(each.family);
  }
  EXPECT_EQ(seen.size(), kFamilies.size()) << "a family without a body here";
}

TEST(Kernel, HasTheRowModelOfItsBody) {
  for (const FamilyBody& each : kBodies) {
    SCOPED_TRACE(each.graph);
    const GraphPtr graph = after(parse_graph(std::string("graph @f") + each.graph), "fuse");
    const Kernel kernel(first_node(graph));
    const bool has_rows = each.family == Family::map || each.family == Family::gemm ||
                          each.family == Family::recurrent;
    EXPECT_EQ(kernel.rows().has_value(), has_rows) << kernel.why_no_rows();
    if (has_rows) {
      EXPECT_EQ(kernel.rows()->rows(), 3);
    }
  }
  const GraphPtr loop = graph_of("{family = \"recurrent\"}", kScan);
  EXPECT_EQ(&Kernel(first_node(loop)).step(), &Kernel(first_node(loop)).first().region());
}

TEST(Kernel, NamesTheRuleThatABodyWithoutRowsBreaks) {
  const GraphPtr graph = graph_of("{family = \"map\"}", "return reverse(%t) {axes = [0]}");
  const Kernel kernel(first_node(graph));
  EXPECT_FALSE(kernel.rows());
  EXPECT_THAT(kernel.why_no_rows(), HasSubstr("(reverse): it neither works element by"));
}

TEST(Kernel, RefusesFamiliesThatThereAreNot) {
  const auto message = [](const std::string& attributes, const std::string& body) {
    const GraphPtr graph = graph_of(attributes, body);
    return error_of(ErrorKind::input, [&] { Kernel kernel(first_node(graph)); });
  };
  EXPECT_EQ(message("{family = \"mapp\"}", "return tanh(%t)"),
            "kernel: there is no family 'mapp'; there are map, gemm, recurrent, table, reduction, "
            "inner_reduction, concat, batched_gemm; did you mean 'map'?");
  EXPECT_EQ(message("", "return tanh(%t)"),
            "kernel: it has no family, one of map, gemm, recurrent, table, reduction, "
            "inner_reduction, concat, batched_gemm");
  EXPECT_EQ(message("{family = \"recurrent\"}", "return tanh(%t)"),
            "kernel: the body of a recurrent kernel is a single scan of its operands");
}

TEST(Kernel, RefusesTheFamilyOfAnotherBody) {
  for (const Family family : kFamilies) {
    if (family == Family::map || family == Family::recurrent) continue;
    const GraphPtr graph =
        graph_of(fmt::format("{{family = \"{}\"}}", name_of(family)), "return tanh(%t)");
    EXPECT_EQ(error_of(ErrorKind::input, [&] { Kernel kernel(first_node(graph)); }),
              fmt::format("kernel: its family is '{}', and its body's is 'map'", name_of(family)));
  }
  const GraphPtr loop = graph_of("{family = \"map\"}", kScan);
  EXPECT_EQ(error_of(ErrorKind::input, [&] { Kernel kernel(first_node(loop)); }),
            "kernel: its family is 'map', and its body's is 'recurrent'");
}

}  // namespace
}  // namespace graphc::core::testing
