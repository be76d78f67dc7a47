// SPDX-License-Identifier: Apache-2.0
// What lowering refuses, and where plans put values.
#include "codegen/lower/lower.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/machine.h"
#include "codegen/plan/memory.h"
#include "codegen/step/plan.h"
#include "ir/op.h"
#include "ir/text.h"
#include "passes/kernels/fuse.h"

namespace graphc::core {
namespace {

TEST(OrderCpu, ReductionsBeforeFuseMakeKernelsThatThereAre) {
  const GraphPtr graph =
      parse_graph("graph (%x: f32[3,4,5]) { return sum(%x) {axes = [0,2]}, max(%x) {axes = [1]} }");
  EXPECT_NO_THROW(lower(*form_kernels(lower_reductions(graph), {}), {}));
  EXPECT_THROW(lower(*form_kernels(graph, {}), {}), Error);
}

Plan plan_of(std::string_view text, const Machine& machine = {}) {
  Plan plan = lower(*form_kernels(lower_reductions(parse_graph(text)), {}), machine);
  plan_memory(plan);
  verify_plan(plan);
  return plan;
}

int64_t bytes_of(const Plan& plan, std::string_view name) {
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.name == name && buffer.first_phase >= 0) return buffer.bytes;
  }
  return 0;
}

TEST(Lower, GivesACarryThatIsReplacedElementByElementOnePlace) {
  // The sum has one slot, the state of the cell, which a product reads, two.
  const Plan plan = plan_of(R"(
    graph @f(%x: f32[3,16,4], %u: f32[4,4]) {
      %zero = constant {dtype = f32, shape = [4,4], value = 0.}
      %start = constant {dtype = f32, shape = [16,4], value = 1.}
      %s.e, %h.e = scan %x.t in %x carry %sum = %zero, %h = %start with %u {
        next %sum = add(%sum, matmul(%x.t, %h) {transpose_a = true}), %h = matmul(%h, %u)
      }
      return %s.e, %h.e
    })");
  EXPECT_EQ(bytes_of(plan, "sum"), 0);
  EXPECT_EQ(bytes_of(plan, "h"), 2 * 16 * 4 * 4);
}

int64_t instructions_of(const Plan& plan, ScalarOp op) {
  int64_t count = 0;
  for (const NestProgram& program : plan.programs) {
    count += std::ranges::count_if(program.body, [&](const NestInstruction& in) {
      return in.kind == NestOp::scalar && in.op == op;
    });
  }
  return count;
}

TEST(Lower, LoadsResultsThatAnEarlierStageHasStored) {
  // The maximum of the row comes between: what reads both is another nest.
  const std::string rows = "%e = exp %x\n%m = max(%e) {axes = [1], keep = true}\n%y = mul %e, %m\n";
  const auto plan_returning = [&](const std::string& results) {
    return plan_of("graph @f(%x: f32[8,32]) {\n" + rows + "return " + results + "\n}");
  };
  EXPECT_EQ(instructions_of(plan_returning("%y, %e"), ScalarOp::exp), 1);
  // What nobody wants is not stored: it is computed in both.
  EXPECT_EQ(instructions_of(plan_returning("%y"), ScalarOp::exp), 2);
  // A state of a loop, which its next step reads.
  const Plan loop = plan_of(R"(
    graph @f(%x: f32[3,8,32], %c0: f32[8,32]) {
      %y, %c.e = scan %x.t in %x carry %c = %c0 {
        %n = tanh(add(%c, %x.t))
        %z = mul(%n, max(%n) {axes = [1], keep = true})
        next %c = %n
        emit %z
      }
      return %y, %c.e
    })");
  EXPECT_EQ(instructions_of(loop, ScalarOp::tanh), 1) << print(loop);
}

TEST(Lower, KeepsFunctionsThatANestSumsForTheNextOne) {
  const Machine machine{.keeps_functions = true};
  const std::string softmax = R"(
      %z = matmul %x, %w
      %e = exp(sub(%z, max(%z) {axes = [1], keep = true}))
      %y = div(%e, sum(%e) {axes = [1], keep = true}))";
  const std::string head = "graph @f(%x: f32[64,8], %w: f32[8,512]) {";
  const Plan once =
      plan_of(head + softmax + "\nreturn matmul(%y, %w) {transpose_b = true}}", machine);
  EXPECT_EQ(instructions_of(once, ScalarOp::exp), 1) << print(once);
  // Logits, exponentials and probabilities are in one place, after each other.
  EXPECT_LT(once.arena_bytes, 2 * 64 * 512 * 4) << print(once);
  const Plan read_again = plan_of(head + softmax + "\nreturn add(%y, %z)}", machine);
  EXPECT_EQ(instructions_of(read_again, ScalarOp::exp), 1) << print(read_again);
  EXPECT_EQ(bytes_of(read_again, "e"), 64 * 512 * 4) << print(read_again);
  // What no sum needs is computed where it is used.
  const Plan used_late = plan_of(
      head + "%z = matmul %x, %w return mul(exp(%z), max(%z) {axes = [1], keep = true})}", machine);
  EXPECT_EQ(instructions_of(used_late, ScalarOp::exp), 1) << print(used_late);
  EXPECT_EQ(bytes_of(used_late, "exp"), 0) << print(used_late);
  // Where it is as fast to compute it again.
  EXPECT_EQ(instructions_of(plan_of(head + softmax + "\nreturn %y}"), ScalarOp::exp), 2);
}

TEST(Lower, LetsValuesOfOneStepOfALoopShareMemory) {
  // Four values of 4 KB in a row of which two are alive at once; each is read by a reduction too,
  // so that none can take the place of the one before it.
  std::string body = "%v0 = matmul %x.t, %u\n";
  for (int i = 0; i < 4; ++i)
    body += fmt::format("%v{1} = matmul add(%v{0}, max(%v{0}) {{axes = [0], keep = true}}), %u\n",
                        i, i + 1);
  const Plan plan = plan_of(fmt::format(R"(
    graph @f(%x: f32[3,32,32], %u: f32[32,32]) {{
      %y = scan %x.t in %x with %u {{
        {}
        emit sum(%v4) {{axes = [0,1]}}
      }}
      return %y
    }})",
                                        body));
  EXPECT_LT(plan.arena_bytes, 5 * 32 * 32 * 4) << print(plan);
}

}  // namespace
}  // namespace graphc::core
