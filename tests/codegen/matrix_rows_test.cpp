// SPDX-License-Identifier: Apache-2.0
// Loops whose rows carry a matrix: no barrier in a step, rows one after another, no buffer for what
// only sums read. tests/regressions/matrix_rows.graph and random cells show that the numbers are
// right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/step/barriers.h"
#include "ir/op.h"
#include "ir/text.h"
#include "tests/codegen/replay_plan.h"

namespace graphc::core {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The gated delta rule over `rows` rows, with `in_step` before the next state.
std::string delta_rule(int64_t rows, const std::string& in_step = "") {
  return fmt::format(
      "graph @delta(%q: f32[9,{0},5], %k: f32[9,{0},5], %v: f32[9,{0},19], %g: f32[9,{0},1], "
      "%s0: f32[{0},5,19]) {{ %o, %s.end = scan %q.t in %q, %k.t in %k, %v.t in %v, %g.t in %g "
      "carry %s = %s0 {{ %kc = reshape(%k.t) {{shape = [{0},5,1]}} "
      "%s1 = mul(reshape(exp(%g.t)) {{shape = [{0},1,1]}}, %s) "
      "%u = sub(%v.t, sum(mul(%s1, %kc)) {{axes = [1]}}) "
      "%s2 = add(%s1, mul(%kc, reshape(%u) {{shape = [{0},1,19]}})) {1} "
      "next %s = %s2 emit sum(mul(%s2, reshape(%q.t) {{shape = [{0},5,1]}})) {{axes = [1]}} }} "
      "return %o, %s.end }}",
      rows, in_step);
}

const std::string kGradients =
    "%loss = mean(square(%o)) {axes = [0,1,2]} %dq, %dk, %dv, %dg, %ds = grad(%loss, %q, %k, %v, "
    "%g, %s0) return %dq, %dk, %dv, %dg, %ds }";

std::string with_delta_gradients(std::string text) {
  return text.substr(0, text.find("return ")) + kGradients;
}

Plan matrix_plan(const std::string& text, int workers, const std::string& remat = "auto") {
  CompileReport report;
  return make_plan(*form_kernels_for(parse_graph(text), {.remat = remat}, report),
                   testing::machine_like(0, workers));
}

std::vector<const LoopCall*> matrix_loops(const Plan& plan) {
  std::vector<const LoopCall*> loops;
  for (const Record& record : plan.records) {
    if (const auto* loop = std::get_if<LoopCall>(&record.call)) loops.push_back(loop);
  }
  return loops;
}

void expect_rows_apart(const Plan& plan, size_t loops, int64_t rows) {
  ASSERT_EQ(matrix_loops(plan).size(), loops) << print(plan);
  for (const LoopCall* loop : matrix_loops(plan)) {
    EXPECT_EQ(loop->rows_apart, rows) << print(plan);
    for (const Record& record : loop->body) EXPECT_FALSE(record.barrier) << print(plan);
  }
}

TEST(MatrixRows, AreGoneThroughOneAfterAnother) {
  for (const int workers : {1, 2, 3, 4}) {
    const int64_t rows = 12;
    expect_rows_apart(matrix_plan(delta_rule(rows), workers), 1, rows);
    expect_rows_apart(matrix_plan(with_delta_gradients(delta_rule(rows)), workers), 2, rows);
  }
}

/// A worker takes a row through all blocks of steps, those that are computed again included.
TEST(MatrixRows, AreGoneThroughBlockByBlock) {
  for (const int workers : {1, 2, 3, 4}) {
    const Plan plan = matrix_plan(with_delta_gradients(delta_rule(12)), workers, "3");
    expect_rows_apart(plan, 2, 12);
    const LoopCall& backward = *matrix_loops(plan)[1];
    EXPECT_EQ(std::ranges::count_if(backward.body,
                                    [](const Record& record) {
                                      return std::holds_alternative<LoopCall>(record.call);
                                    }),
              2)
        << print(plan);
  }
}

/// A cell with a matrix for each of `heads`, as users write it, and its derivatives.
std::string cell_with_heads(int64_t heads) {
  return fmt::format(
      "graph @heads(%x: f32[9,4,{0},10], %h0: f32[4,{0},5]) state (%u: f32[{0},5,10]) {{ "
      "%y, %h.e, %c.e = scan %x.t in %x carry %h = %h0, %c = %h0 with %w = %u {{ "
      "%r = transpose(%h) {{permutation = [1,0,2]}} "
      "%z = add(%x.t, transpose(matmul(%r, %w)) {{permutation = [1,0,2]}}) "
      "%f, %g = split(%z) {{axis = 2, parts = 2}} "
      "%c.1 = add(mul(sigmoid(%f), %c), tanh(%g)) "
      "%h.1 = mul(sigmoid(%g), %c.1) "
      "next %h = %h.1, %c = %c.1 emit %h.1 }} "
      "%loss = mean(square(%y)) {{axes = [0,1,2,3]}} "
      "%dx, %dh, %du = grad(%loss, %x, %h0, %u) "
      "return %y, %dx, %dh, %du }}",
      heads);
}

TEST(Heads, AreGoneThroughOneAfterAnother) {
  for (const int workers : {1, 2, 3, 6}) {
    const Plan plan = matrix_plan(cell_with_heads(6), workers);
    expect_rows_apart(plan, 2, 6);
    for (const LoopCall* loop : matrix_loops(plan)) {
      EXPECT_LE(loop->body.size(), 2u) << print(plan);
      for (const Record& record : loop->body) {
        for (const CallProduct& product : std::get<NestCall>(record.call).products)
          EXPECT_TRUE(product.in_panels) << print(plan);
      }
    }
    // Panels of all heads are one form.
    ASSERT_FALSE(plan.forms.empty());
    for (const PlanForm& form : plan.forms) EXPECT_EQ(form.panels()->matrices, 6);
    EXPECT_THAT(print(plan), HasSubstr("6 of [5, 2 x 5]"));
  }
  // Five heads and two workers: columns are shared out, and workers wait.
  EXPECT_EQ(matrix_loops(matrix_plan(cell_with_heads(5), 2))[0]->rows_apart, 0);
}

/// A cell with six heads in a vector, and its derivatives. `gates` makes %z, what the step adds up
/// of %x.t and the product %p [4, 6, 10]; `of_f` and `of_g` take the gates from it, [4, 30].
std::string heads_in_a_vector(std::string_view x, std::string_view gates, std::string_view of_f,
                              std::string_view of_g) {
  return fmt::format(
      "graph @heads(%x: f32[9,{}], %h0: f32[4,30], %m: bool[9,4]) state (%u: f32[6,5,10]) {{ "
      "%y, %h.e = scan %x.t in %x, %m.t in %m carry %h = %h0 with %w = %u {{ "
      "%r = transpose(reshape(%h) {{shape = [4,6,5]}}) {{permutation = [1,0,2]}} "
      "%p = transpose(matmul(%r, %w)) {{permutation = [1,0,2]}} "
      "%z = {} %f = reshape({}) {{shape = [4,30]}} %g = reshape({}) {{shape = [4,30]}} "
      "%h.1 = add(mul(sigmoid(%f), %h), tanh(%g)) "
      "%h.2 = select(reshape(%m.t) {{shape = [4,1]}}, %h.1, %h) "
      "next %h = %h.2 emit %h.2 }} "
      "%du, %dx = grad(sum(square(%y)) {{axes = [0,1,2]}}, %u, %x) return %y, %du, %dx }}",
      x, gates, of_f, of_g);
}

TEST(Heads, InAVectorAreGoneThroughLikewise) {
  for (const std::string& text :
       {heads_in_a_vector("4,60",
                          "add(%x.t, reshape(transpose(reshape(%p) {shape = [4,6,2,5]}) "
                          "{permutation = [0,2,1,3]}) {shape = [4,60]})",
                          "slice(%z) {axis = 1, start = 0, limit = 30}",
                          "slice(%z) {axis = 1, start = 30, limit = 60}"),
        heads_in_a_vector("4,60", "add(%x.t, reshape(%p) {shape = [4,60]})",
                          "slice(reshape(%z) {shape = [4,30,2]}) {axis = 2, start = 0, limit = 1}",
                          "slice(reshape(%z) {shape = [4,30,2]}) {axis = 2, start = 1, limit = 2}"),
        heads_in_a_vector("4,6,10", "add(%x.t, %p)", "slice(%z) {axis = 2, start = 0, limit = 5}",
                          "slice(%z) {axis = 2, start = 5, limit = 10}")}) {
    for (const int workers : {1, 2, 3}) {
      const Plan plan = matrix_plan(text, workers);
      expect_rows_apart(plan, 2, 6);
      for (const LoopCall* loop : matrix_loops(plan))
        EXPECT_LE(loop->body.size(), 3u) << print(plan);
    }
  }
}

/// The cell with a mask of the rows of the batch: what the loop reads or carries for it, and
/// `mask`.
std::string masked_heads(std::string_view inputs, std::string_view with, std::string_view mask,
                         std::string_view next) {
  return fmt::format(
      "graph @heads(%x: f32[9,4,6,10], %h0: f32[4,6,5]{0}) state (%u: f32[6,5,10]) {{ "
      "%steps = iota {{shape = [9], axis = 0, dtype = i32}} "
      "%results = scan %x.t in %x, %t in %steps{1} {{ "
      "%z = add(%x.t, transpose(matmul(transpose(%h) {{permutation = [1,0,2]}}, %w)) "
      "{{permutation = [1,0,2]}}) "
      "%f, %g = split(%z) {{axis = 2, parts = 2}} "
      "%h.1 = add(mul(sigmoid(%f), %h), tanh(%g)) "
      "%h.2 = select(reshape({2}) {{shape = [4,1,1]}}, %h.1, %h) "
      "next %h = %h.2{3} emit %h.2 }} "
      "%du = grad(sum(square(%results)) {{axes = [0,1,2,3]}}, %u) "
      "return %results, %du }}",
      inputs, with, mask, next);
}

TEST(Heads, AreGoneThroughWithMasksOfTheBatch) {
  const std::string plain = " carry %h = %h0 with %w = %u";
  for (const std::string& text :
       {masked_heads(", %m: bool[9,4]", ", %m.t in %m" + plain, "%m.t", ""),
        masked_heads(", %m: f32[9,4,1]", ", %m.t in %m" + plain, "greater(%m.t, 0.5)", ""),
        masked_heads(", %n: i32[4]", plain + ", %l = %n", "less(%t, %l)", ""),
        masked_heads(", %n: i32[4]", " carry %h = %h0, %l = %n with %w = %u", "greater(%l, 0)",
                     ", %l = sub(%l, 1)")}) {
    std::string whole = text;
    if (text.find("%l = sub") != std::string::npos)
      whole.replace(whole.find("%results ="), 10, "%results, %h.e, %l.e =");
    else
      whole.replace(whole.find("%results ="), 10, "%results, %h.e =");
    const Plan plan = matrix_plan(whole, 2);
    expect_rows_apart(plan, 2, 6);
    for (const LoopCall* loop : matrix_loops(plan)) EXPECT_LE(loop->body.size(), 3u) << print(plan);
  }
}

TEST(Heads, LieSideBySideInARow) {
  // Nothing is copied: the product over all steps reads h and the derivatives of gates as they lie,
  // and y and dx are written as the user has them.
  const Plan plan = matrix_plan(cell_with_heads(6), 2);
  for (const Record& record : plan.records) {
    const auto* call = std::get_if<NestCall>(&record.call);
    const bool copies = call != nullptr && record.family == Family::map && !call->outer.empty();
    EXPECT_FALSE(copies && call->rows * call->unit >= 4 * 9 * 5) << print(plan);
  }
  const auto product = std::ranges::find_if(
      plan.records, [](const Record& record) { return record.family == Family::batched_gemm; });
  ASSERT_NE(product, plan.records.end());
  const auto& call = std::get<NestCall>(product->call);
  EXPECT_EQ(call.products[0].panels.k, 9 * 4);
  EXPECT_EQ(call.products[0].a_k, 6 * 5 * 4);
  EXPECT_EQ(call.products[0].b_strides.k, 6 * 10 * 4);
}

TEST(MatrixRows, ThatReadEachOtherAreNotApart) {
  // The second row reads what the first one carries.
  const std::string mixed =
      "%all = sum(%u) {axes = [0], keep = true} %s3 = add(%s2, reshape(%all) {shape = [1,1,19]})";
  std::string text = delta_rule(12, mixed);
  text.replace(text.find("next %s = %s2"), 13, "next %s = %s3");
  const Plan plan = matrix_plan(text, 3);
  ASSERT_EQ(matrix_loops(plan).size(), 1u);
  EXPECT_EQ(matrix_loops(plan)[0]->rows_apart, 0) << print(plan);
  EXPECT_THAT(print(plan), HasSubstr("then a barrier"));
}

TEST(MatrixRows, StoreNothingThatOnlySumsRead) {
  // The decayed state and its products are in no buffer: the state, and one number a column.
  const std::string text = print(matrix_plan(delta_rule(12), 2));
  for (const char* name : {"%s1:", "%mul:", "%mul.1:", "%mul.2:"})
    EXPECT_THAT(text, Not(HasSubstr(name)));
}

/// Each call of a nest takes as long as a row of numbers: kernels that need nothing of each other
/// are one, and so are the nests of a kernel.
TEST(MatrixRows, HaveFewNestsInAStep) {
  const Plan plan = matrix_plan(with_delta_gradients(delta_rule(12)), 2, "off");
  ASSERT_EQ(matrix_loops(plan).size(), 2u);
  EXPECT_EQ(matrix_loops(plan)[0]->body.size(), 3u) << print(plan);
  // beta is 1 here: its derivative and the product with it are no nests.
  EXPECT_EQ(matrix_loops(plan)[1]->body.size(), 5u) << print(plan);
}

TEST(MatrixRows, LeaveTheLoopAsTheirSums) {
  // A sum of a larger value of the step stays in the loop, which emits the sum.
  CompileReport report;
  const GraphPtr kernels = form_kernels_for(parse_graph(delta_rule(12)), {}, report);
  for (const Node& node : kernels->nodes()) {
    if (!node.is(ops::scan)) continue;
    EXPECT_EQ(node.types[0].shape, (Shape{9, 12, 19}));
  }
}

TEST(MatrixRows, ReplaysHaveNoFault) {
  for (const int workers : {1, 2, 3, 5}) {
    for (const std::string& text :
         {delta_rule(7), with_delta_gradients(delta_rule(7)), delta_rule(12), delta_rule(1)}) {
      for (const char* remat : {"auto", "3", "4"}) {
        CompileReport report;
        const GraphPtr kernels = form_kernels_for(parse_graph(text), {.remat = remat}, report);
        EXPECT_EQ(testing::replay(*kernels, testing::machine_like(0, workers)), "");
      }
    }
  }
}

/// A barrier that stands between what is before a loop and its steps is executed once.
TEST(MatrixRows, WaitBeforeTheLoop) {
  const std::string text =
      "graph @f(%x: f32[9,12,4], %a: f32[12,4]) { %t = transpose(exp(%a)) {permutation = [1,0]} "
      "%b = reshape(transpose(tanh(%t)) {permutation = [1,0]}) {shape = [12,4]} "
      "%y, %h.end = scan %x.t in %x carry %h = %b { %n = tanh(add(%h, %x.t)) next %h = %n "
      "emit %n } return %y }";
  const Plan plan = matrix_plan(text, 3);
  for (const LoopCall* loop : matrix_loops(plan)) {
    for (const Record& record : loop->body) EXPECT_FALSE(record.barrier) << print(plan);
  }
}

}  // namespace
}  // namespace graphc::core
