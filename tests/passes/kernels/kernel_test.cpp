// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/kernel.h"

#include <gtest/gtest.h>

#include "ir/op.h"
#include "ir/text.h"
#include "tests/passes/values.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::testing {
namespace {

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

TEST(Kernel, HasTheFamilyThatItsWordSays) {
  for (const Family family : {Family::map, Family::gemm, Family::table}) {
    const GraphPtr graph =
        graph_of(fmt::format("{{family = \"{}\"}}", name_of(family)), "return tanh(%t)");
    EXPECT_EQ(Kernel(first_node(graph)).family(), family);
    EXPECT_TRUE(is_kernel_of(first_node(graph), family));
    EXPECT_FALSE(is_kernel_of(first_node(graph), Family::recurrent));
    EXPECT_FALSE(is_kernel_of(*graph->inputs()[0].node, family));
  }
  const GraphPtr graph = graph_of("{family = \"recurrent\"}", kScan);
  EXPECT_EQ(Kernel(first_node(graph)).family(), Family::recurrent);
  EXPECT_TRUE(Kernel(first_node(graph)).first().is(ops::scan));
}

TEST(Kernel, RefusesFamiliesThatThereAreNot) {
  const auto message = [](const std::string& attributes, const std::string& body) {
    const GraphPtr graph = graph_of(attributes, body);
    return error_of(ErrorKind::input, [&] { Kernel kernel(first_node(graph)); });
  };
  EXPECT_EQ(
      message("{family = \"mapp\"}", "return tanh(%t)"),
      "kernel: there is no family 'mapp'; there are map, gemm, recurrent, table; did you mean "
      "'map'?");
  EXPECT_EQ(message("", "return tanh(%t)"),
            "kernel: it has no family, one of map, gemm, recurrent, table");
  EXPECT_EQ(message("{family = \"recurrent\"}", "return tanh(%t)"),
            "kernel: the body of a recurrent kernel is a single scan of its operands");
}

TEST(Kernel, SaysWhatItsBodyIs) {
  struct Case {
    const char* graph;
    BodyForm form;
  };
  for (const Case& each : {
           Case{"(%x: f32[3,4]) { return tanh(%x) }", BodyForm::row_program},
           Case{"(%x: f32[3,4], %u: f32[4,5]) { return matmul(%x, %u) }", BodyForm::row_program},
           Case{"(%x: f32[2,3,4], %u: f32[2,4,5]) { return matmul(%x, %u) }",
                BodyForm::batched_product},
           Case{"(%x: f32[3,4]) { return sum(%x) {axes = [0]} }", BodyForm::column_reduction},
           Case{"(%x: f32[3,4]) { return sum(%x) {axes = [1], keep = true} }",
                BodyForm::row_program},
           Case{"(%x: f32[3,4]) { return concat(%x, %x) {axis = 0} }", BodyForm::concatenation},
           Case{"(%x: f32[3,4], %i: i32[2]) { return gather(%x, %i) }", BodyForm::table},
           Case{R"((%h: f32[3,4]) {
             %y = scan {steps = 2} carry %c = %h { next %c = tanh(%c) } return %y })",
                BodyForm::loop},
       }) {
    const GraphPtr graph = after(parse_graph(std::string("graph @f") + each.graph), "fuse");
    EXPECT_EQ(form_of(Kernel(first_node(graph))), each.form) << each.graph;
  }
}

}  // namespace
}  // namespace graphc::core::testing
