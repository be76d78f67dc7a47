// SPDX-License-Identifier: Apache-2.0
// What loops leave out in their first and last steps (codegen/lower/unneeded.h): which products and
// records, and that no result is another for it.
#include <gtest/gtest.h>

#include "codegen/lower/lower.h"
#include "codegen/machine.h"
#include "codegen/step/flop.h"
#include "codegen/step/visit.h"
#include "ir/text.h"
#include "passes/kernels/fuse.h"
#include "tests/codegen/variants.h"
#include "tests/testing/samples.h"

namespace graphc::core {
namespace {

/// How many products have zeros in the first step, and records are not in the last.
struct LeftOut {
  int products = 0, records = 0;
  bool operator==(const LeftOut&) const = default;
};

std::ostream& operator<<(std::ostream& out, const LeftOut& left) {
  return out << left.products << " products, " << left.records << " records";
}

void count(const std::vector<Record>& records, LeftOut& left) {
  for (const Record& record : records) {
    left.records += record.idle_at_last ? 1 : 0;
    if (const auto* loop = std::get_if<LoopCall>(&record.call)) count(loop->body, left);
    if (const auto* nest = std::get_if<NestCall>(&record.call)) {
      for (const CallProduct& product : nest->products)
        left.products += product.zeros_at_first ? 1 : 0;
    }
  }
}

Plan plan_of(const GraphPtr& graph, const Machine& machine = {}) {
  return make_plan(*form_kernels(lower_reductions(graph), {}), machine);
}

struct Case {
  std::string name;
  std::string scan;  ///< a scan with results %y, ..., and what the graph returns
  LeftOut left;
};

/// Of streams %x [4,6,8] and %on (bool [4,6,1]), matrices %u and %v [8,8], the inputs %a and %b
/// [6,8], the constants %zero and %one [6,8].
GraphPtr graph_of(const Case& each) {
  return parse_graph(fmt::format(
      "graph @{}(%x: f32[4,6,8], %u: f32[8,8], %v: f32[8,8], %a: f32[6,8], %b: f32[6,8]) {{\n"
      "%zero = constant {{dtype = f32, shape = [6,8], value = 0.}}\n"
      "%one = constant {{dtype = f32, shape = [6,8], value = 1.}}\n"
      "{}\n}}",
      each.name, each.scan));
}

const std::vector<Case> cases{
    {"begins_as_zeros",
     "%y, %h.e = scan %t in %x carry %h = %zero with %u "
     "{ %n = tanh(add(%t, matmul(%h, %u))) next %h = %n emit %n } return %y",
     {1, 0}},
    {"begins_as_zeros_backwards",
     "%y, %h.e = scan {reverse = true} %t in %x carry %h = %zero with %u "
     "{ %n = tanh(add(%t, matmul(%h, %u))) next %h = %n emit %n } return %y, %h.e",
     {1, 0}},
    {"begins_as_ones",
     "%y, %h.e = scan %t in %x carry %h = %one with %u "
     "{ %n = tanh(add(%t, matmul(%h, %u))) next %h = %n emit %n } return %y",
     {0, 0}},
    {"begins_as_an_input",
     "%y, %h.e = scan %t in %x carry %h = %a with %u "
     "{ %n = tanh(add(%t, matmul(%h, %u))) next %h = %n emit %n } return %y",
     {0, 0}},
    {"one_of_two_histories",
     "%y, %h.e, %g.e = scan %t in %x carry %h = %zero, %g = %a with %u, %v "
     "{ %n = tanh(add(%t, add(matmul(%h, %u), matmul(%g, %v)))) next %h = %n, %g = %n emit %n } "
     "return %y",
     {1, 0}},
    {"changed_before_its_product",
     "%y, %h.e = scan %t in %x carry %h = %zero with %u "
     "{ %n = matmul(add(%t, %h), %u) next %h = tanh(%n) emit %n } return %y, %h.e",
     {0, 0}},
    {"part_of_it_is_copied_and_multiplied",
     "%y, %h.e = scan %t in %x carry %h = %zero with %w = slice(%u) {axis = 0, start = 0, limit "
     "= 4} { %n = tanh(add(%t, matmul(slice(%h) {axis = 1, start = 4, limit = 8}, %w))) "
     "next %h = %n emit %n } return %y",
     {0, 0}},
    {"one_step",
     "%y, %h.e = scan %t in slice(%x) {axis = 0, start = 0, limit = 1} carry %h = %zero with %u "
     "{ %n = tanh(add(%t, matmul(%h, %u))) next %h = %n emit %n } return %y, %h.e",
     {1, 0}},
    {"last_is_for_nobody",
     "%y, %d.e = scan %t in %x carry %d = %a with %u "
     "{ %n = mul(%t, %d) next %d = matmul(%n, %u) {transpose_b = true} emit %n } return %y",
     {0, 1}},
    {"last_is_wanted",
     "%y, %d.e = scan %t in %x carry %d = %a with %u "
     "{ %n = mul(%t, %d) next %d = matmul(%n, %u) {transpose_b = true} emit %n } "
     "return %y, %d.e",
     {0, 0}},
    {"last_is_wanted_by_a_node",
     "%y, %d.e = scan %t in %x carry %d = %a with %u "
     "{ %n = mul(%t, %d) next %d = matmul(%n, %u) {transpose_b = true} emit %n } "
     "return %y, sum(%d.e) {axes = [0]}",
     {0, 0}},
    {"next_is_read_in_its_step",
     "%y, %d.e = scan %t in %x carry %d = %a with %u, %v "
     "{ %n = matmul(mul(%t, %d), %u) next %d = tanh(%n) emit matmul(tanh(%n), %v) } return %y",
     {0, 0}},
    {"one_of_two_is_wanted",
     "%y, %d.e, %g.e = scan %t in %x carry %d = %a, %g = %b with %u, %v "
     "{ %n = mul(%t, add(%d, %g)) next %d = matmul(%n, %u), %g = matmul(%n, %v) emit %n } "
     "return %y, %g.e",
     {0, 1}},
    {"both_ends",
     "%y, %d.e = scan %t in %x carry %d = %zero with %u, %v "
     "{ %n = tanh(add(%t, matmul(%d, %u))) next %d = matmul(%n, %v) emit %n } return %y",
     {1, 1}},
    {"inner_loop",
     "%y, %s.e = scan %t in %x carry %s = %a with %x, %u { "
     "%none = constant {dtype = f32, shape = [6,8], value = 0.} "
     "%z, %h.e = scan %r in %x carry %h = %none with %u, %t "
     "{ %n = tanh(add(%r, add(%t, matmul(%h, %u)))) next %h = %n emit %n } "
     "%m = add(%s, sum(%z) {axes = [0]}) next %s = %m emit %m } return %y",
     {1, 0}},
    {"loop_of_phases",
     "%y, %d.e = scan %t in %x carry %d = %a with %u "
     "{ %n = mul(%t, sum(%d) {axes = [0], keep = true}) next %d = matmul(%n, %u) emit %n } "
     "return %y",
     {0, 1}},
    {"loop_of_phases_whose_last_is_wanted",
     "%y, %d.e = scan %t in %x carry %d = %a with %u "
     "{ %n = mul(%t, sum(%d) {axes = [0], keep = true}) next %d = matmul(%n, %u) emit %n } "
     "return %y, %d.e",
     {0, 0}},
};

std::ostream& operator<<(std::ostream& out, const Case& each) { return out << each.name; }

class UnneededCpu : public ::testing::TestWithParam<Case> {};

TEST_P(UnneededCpu, IsLeftOutAndNothingElse) {
  const GraphPtr graph = graph_of(GetParam());
  const Plan plan = plan_of(graph);
  LeftOut left;
  count(plan.records, left);
  EXPECT_EQ(left, GetParam().left) << print(plan);
  // At the first level in every way; others take turns of them.
  const std::vector<testing::TargetLevel> levels = testing::all_target_levels();
  for (const unsigned seed : {1u, 2u}) {
    for (size_t i = 0; i < levels.size(); ++i) {
      std::vector<testing::Way> ways = testing::every_way(seed, {1, 2});
      size_t turn = i + seed;
      if (i > 0) std::erase_if(ways, [&](const auto&) { return !testing::is_sampled(turn++, 3); });
      ASSERT_EQ(testing::first_difference(graph, seed, testing::Numbers::real, {levels[i]}, ways),
                "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, UnneededCpu, ::testing::ValuesIn(cases),
                         [](const auto& each) { return each.param.name; });

TEST(Unneeded, IsDoneByAMachineThatLeavesNothingOut) {
  Machine machine;
  machine.leaves_out_unneeded = false;
  for (const Case& each : cases) {
    const Plan plan = plan_of(graph_of(each), machine);
    LeftOut left;
    count(plan.records, left);
    EXPECT_EQ(left, LeftOut()) << each.name << "\n" << print(plan);
  }
}

TEST(Unneeded, IsNoWork) {
  const auto flop_of = [](const std::string& name) {
    const auto found = std::ranges::find(cases, name, &Case::name);
    return product_flop(plan_of(graph_of(*found)));
  };
  const double product = 2.0 * 6 * 8 * 8;
  EXPECT_EQ(flop_of("begins_as_ones"), 4 * product);
  EXPECT_EQ(flop_of("begins_as_zeros"), 3 * product);
  EXPECT_EQ(flop_of("one_step"), 0);
  EXPECT_EQ(flop_of("both_ends"), 6 * product);
  EXPECT_EQ(flop_of("inner_loop"), 4 * 3 * product);
}

}  // namespace
}  // namespace graphc::core
