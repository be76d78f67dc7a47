// SPDX-License-Identifier: Apache-2.0
// Loops that are several kernels read matrices that steps do not change in panels, made before the
// outermost loop that does not change them.
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/lower/lower.h"
#include "codegen/machine.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/codegen/variants.h"
#include "tests/testing/counts.h"
#include "tests/testing/graph_file.h"

namespace graphc::core::testing {
namespace {

Plan plan_of(const GraphPtr& graph, const Machine& machine) {
  CompileReport report;
  return make_plan(*form_kernels_for(graph, {.recurrence = "steps"}, report), machine);
}

/// Products of the steps of loops: how many there are, and how many of them are not in panels.
struct Products {
  int all = 0, packed_in_steps = 0;
};

void count_products(const std::vector<Record>& records, bool in_loop, Products& found) {
  for (const Record& record : records) {
    if (const auto* loop = std::get_if<LoopCall>(&record.call))
      count_products(loop->body, true, found);
    const auto* call = std::get_if<NestCall>(&record.call);
    if (call == nullptr || !in_loop) continue;
    found.all += int(call->products.size());
    found.packed_in_steps +=
        int(std::ranges::count(call->products, false, &CallProduct::in_panels));
  }
}

TEST(MixedCells, ReadPanelsThatAreMadeBeforeTheLoop) {
  Products all;
  for (const GraphPtr& cell : graphs_of_tests("tests/codegen/mixed_cells.graph")) {
    SCOPED_TRACE(cell->name());
    Products found;
    const Plan plan = plan_of(cell, {.workers = 2});
    count_products(plan.records, false, found);
    EXPECT_GE(found.all, 2) << print(plan);
    EXPECT_EQ(found.packed_in_steps, 0) << print(plan);
    all.all += found.all;
    // A machine that reads matrices as they lie has no need of panels.
    found = {};
    count_products(plan_of(cell, {.packs_matrices = false}).records, false, found);
    EXPECT_GE(found.packed_in_steps, 1);
  }
  EXPECT_GE(all.all, 40);
}

TEST(MixedCells, AgreeWithTheEvaluatorOnEveryTarget) {
  unsigned number = 0;
  for (const GraphPtr& cell : graphs_of_tests("tests/codegen/mixed_cells.graph")) {
    EXPECT_EQ(first_difference(cell, number, Numbers::real, target_levels_for(number, number / 2),
                               ways_of(number, {1, 2, 3}, 2)),
              "");
    ++number;
  }
  EXPECT_GE(number, 10u);
  count("cells with values of several shapes", number);
}

/// Two loops, one in the other. `matrix` is what the inner one multiplies by, of what the outer one
/// has: its stream %m.t, its carry %n, what it captures as %w.
GraphPtr loop_in_a_loop(std::string_view matrix) {
  return parse_graph(fmt::format(R"(
    graph @nested(%x: f32[3,4,2,5], %h0: f32[2,5], %m: f32[3,5,5], %n0: f32[5,5], %u: f32[5,5]) {{
      %ys, %h.e, %n.e = scan %x.t in %x, %m.t in %m carry %h = %h0, %n = %n0 with %w = %u {{
        {}
        %y, %i.e = scan %x.s in %x.t carry %i = %h with %v = %chosen {{
          %z = matmul(%i, %v)
          %p = softmax(reshape(add(%x.s, %z)) {{shape = [2,5,1]}})
          %i.1 = add(tanh(%z), reshape(%p) {{shape = [2,5]}})
          next %i = %i.1
          emit %i.1
        }}
        %n.1 = add(%n, tanh(%m.t))
        next %h = %i.e, %n = %n.1
        emit %y
      }}
      %loss = sum(square(%ys)) {{axes = [0,1,2,3]}}
      %dx, %dh, %dm, %dn, %du = grad %loss, %x, %h0, %m, %n0, %u
      return %ys, %n.e, %dx, %dh, %dm, %dn, %du
    }})",
                                 matrix));
}

/// How many loops are around the panels of a plan.
std::vector<int> depths_of_panels(const std::vector<Record>& records, int depth = 0) {
  std::vector<int> depths;
  for (const Record& record : records) {
    if (std::holds_alternative<PanelCall>(record.call)) depths.push_back(depth);
    const auto* loop = std::get_if<LoopCall>(&record.call);
    if (loop != nullptr)
      std::ranges::copy(depths_of_panels(loop->body, depth + 1), std::back_inserter(depths));
  }
  return depths;
}

TEST(MixedCells, MakePanelsBeforeTheOutermostLoopThatKeepsTheMatrix) {
  struct Case {
    const char* matrix;
    int depth;  ///< of the forward loop's panels
  };
  const Case cases[] = {{"%chosen = add(%w, 0.)", 0},   {"%chosen = tanh(%w)", 0},
                        {"%chosen = add(%m.t, 0.)", 1}, {"%chosen = tanh(%m.t)", 1},
                        {"%chosen = add(%n, 0.)", 1},   {"%chosen = tanh(mul(%n, %m.t))", 1}};
  unsigned number = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.matrix);
    const GraphPtr graph = loop_in_a_loop(c.matrix);
    const Plan plan = plan_of(graph, {});
    const std::vector<int> depths = depths_of_panels(plan.records);
    ASSERT_FALSE(depths.empty()) << print(plan);
    EXPECT_EQ(depths[0], c.depth) << print(plan);
    EXPECT_EQ(first_difference(graph, number, Numbers::real, {all_target_levels()[0]},
                               ways_of(number, {1, 2}, 2)),
              "");
    ++number;
  }
}

}  // namespace
}  // namespace graphc::core::testing
