// SPDX-License-Identifier: Apache-2.0
// graphc check at the sizes people have: long recurrences, long sums, large products. What is right
// is never called different there, and what is wrong is not excused
// (docs/decisions/0013-what-rounding-explains-is-measured.md).
#include <gmock/gmock.h>

#include <string>

#include "codegen/target.h"
#include "ir/text.h"
#include "tools/commands/check_target.h"

namespace graphc::core::commands {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

GraphPtr g_instead;  // a target's functions take nothing of their own

/// The target `cpu` that compiles another graph than it is given.
const Target& wrong_cpu() {
  static const Target target = [] {
    Target made = targets::cpu;
    made.compile = [](const GraphPtr&, const CompileOptions& options, CompileReport& report) {
      return targets::cpu.compile(g_instead, options, report);
    };
    return made;
  }();
  return target;
}

TargetCheck quick() {
  TargetCheck how;
  how.compile.variant = "fused";
  how.compile.threads = 1;
  how.runs = 1;
  return how;
}

/// What `check` says of a target that computes `found` where `wanted` is asked for.
Agreement check_instead(const GraphPtr& wanted, const std::string& found) {
  g_instead = parse_graph(found);
  return check_target(wanted, wrong_cpu(), quick());
}

/// An LSTM over t steps of h units; `forget` is what becomes of the forget gate's sum.
std::string lstm(int t, int h, const std::string& forget = "%f") {
  return fmt::format(R"(
    graph @lstm(%x: f32[{0},2,{1}], %h0: f32[2,{1}], %c0: f32[2,{1}],
          %w: f32[{1},{2}], %u: f32[{1},{2}], %b: f32[{2}]) {{
      %y, %h.end, %c.end = scan %x.t in %x carry %h = %h0, %c = %c0 with %w, %u, %b {{
        %z = add(add(matmul(%x.t, %w), matmul(%h, %u)), %b)
        %i, %f, %g, %o = split(%z) {{axis = 1, parts = 4}}
        %c.1 = add(mul(sigmoid({3}), %c), mul(sigmoid(%i), tanh(%g)))
        %h.1 = mul(sigmoid(%o), tanh(%c.1))
        next %h = %h.1, %c = %c.1
        emit %h.1
      }}
      return %y, %h.end
    }})",
                     t, h, 4 * h, forget);
}

/// The same, with the loss's derivatives by the parameters.
std::string lstm_gradient(int t, int h, const std::string& forget = "%f") {
  std::string text = lstm(t, h, forget);
  const std::string end = "return %y, %h.end";
  return text.replace(text.find(end), end.size(),
                      "%l = sum(mul(%y, %y)) {axes = [0,1,2]}\n %dw, %du, %db = grad %l, %w, %u, "
                      "%b\n return %l, %dw, %du, %db");
}

std::string softmax(int64_t n, const std::string& x = "%x") {
  return fmt::format("graph @softmax(%x: f32[8,{}]) {{ return softmax({}) }}", n, x);
}

/// A sum of n numbers; of one less.
std::string sum(int64_t n, int64_t left_out = 0) {
  return fmt::format(
      "graph @sum(%x: f32[{}]) {{ return sum(slice(%x) {{axis = 0, start = 0, limit = {}}}) {{axes "
      "= [0]}} }}",
      n, n - left_out);
}

/// A product of k terms; of one less.
std::string product(int64_t k, int64_t left_out = 0) {
  return fmt::format(
      "graph @product(%x: f32[8,{0}], %w: f32[{0},16]) {{\n"
      "  %l = slice(%x) {{axis = 1, start = 0, limit = {1}}}\n"
      "  return matmul(%l, slice(%w) {{axis = 0, start = 0, limit = {1}}})\n}}",
      k, k - left_out);
}

/// A recurrence of 100 steps whose state's matrix is multiplied by `growth`: by 4 it is chaotic.
std::string recurrence(double growth, const std::string& next = "%z") {
  return fmt::format(R"(
    graph @rnn(%x: f32[100,2,8], %h0: f32[2,64], %w: f32[8,64], %u: f32[64,64]) {{
      %y, %h.end = scan %x.t in %x carry %h = %h0 with %w, %u {{
        %z = add(matmul(%x.t, %w), mul({:.1f}, matmul(%h, %u)))
        next %h = tanh({})
        emit %h
      }}
      return %h.end
    }})",
                     growth, next);
}

void expect_right(const std::string& text) {
  const Agreement found = check_target(parse_graph(text), targets::cpu, quick());
  EXPECT_TRUE(found.agrees()) << found.text;
  EXPECT_THAT(found.text, Not(HasSubstr("ill-conditioned")));
}

void expect_wrong(const std::string& wanted, const std::string& found) {
  const Agreement agreement = check_instead(parse_graph(wanted), found);
  EXPECT_EQ(agreement.verdict, Verdict::differs);
  EXPECT_THAT(agreement.text, AllOf(HasSubstr("the evaluator has"), Not(HasSubstr("ill-cond"))));
}

TEST(CheckSizesCpu, LongRecurrences) {
  for (const int hidden : {64, 256}) {
    expect_right(lstm(100, hidden));
    expect_wrong(lstm(100, hidden), lstm(100, hidden, "mul(%f, 1.01)"));
  }
  expect_right(lstm_gradient(100, 64));
  expect_wrong(lstm_gradient(100, 64), lstm_gradient(100, 64, "mul(%f, 1.01)"));
}

TEST(CheckSizesCpu, LongSums) {
  expect_right(sum(1'000'000));
  expect_wrong(sum(1'000'000), sum(1'000'000, 1));
}

TEST(CheckSizesCpu, ProductsOfManyTerms) {
  for (const int terms : {256, 4096, 65536}) {
    expect_right(product(terms));
    expect_wrong(product(terms), product(terms, 1));
  }
}

TEST(CheckSizesCpu, Softmax) {
  expect_right(softmax(10'000));
  expect_wrong(softmax(10'000), softmax(10'000, "mul(%x, 1.001)"));
}

// What is right is never called different, and what is wrong not right: there is nothing to
// compare.
TEST(CheckSizesCpu, OfChaosNothingIsSaid) {
  expect_right(recurrence(1));
  expect_wrong(recurrence(1), recurrence(1, "mul(%z, 1.01)"));
  const GraphPtr chaos = parse_graph(recurrence(4));
  for (const Agreement& found : {check_target(chaos, targets::cpu, quick()),
                                 check_instead(chaos, recurrence(4, "mul(%z, 1.01)"))}) {
    EXPECT_EQ(found.verdict, Verdict::undecided);
    EXPECT_THAT(found.text,
                AllOf(HasSubstr("%h.end: ill-conditioned: one rounding of the arguments"),
                      HasSubstr("--scale=0.1"), Not(HasSubstr("the evaluator has"))));
  }
}

}  // namespace
}  // namespace graphc::core::commands
