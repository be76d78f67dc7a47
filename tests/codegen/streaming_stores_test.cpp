// SPDX-License-Identifier: Apache-2.0
// Which stores of a plan go past the caches.
#include "codegen/plan/streaming_stores.h"

#include <gtest/gtest.h>

#include <string>

#include "codegen/lower/lower.h"
#include "codegen/machine.h"
#include "codegen/step/visit.h"
#include "ir/op.h"
#include "ir/text.h"
#include "passes/kernels/fuse.h"

namespace graphc::core {
namespace {

/// Of so many bytes is a value that caches forget: f32[16,16].
constexpr int64_t kLarge = 1024;

Plan plan_of(std::string_view text, int64_t uncached_bytes) {
  const Machine machine{.uncached_bytes = uncached_bytes};
  return make_plan(*form_kernels(lower_reductions(parse_graph(text)), {}), machine);
}

void add_names(const Plan& plan, const std::vector<Record>& records, std::string& names) {
  for (const Record& record : records) {
    if (const auto* loop = std::get_if<LoopCall>(&record.call)) {
      add_names(plan, loop->body, names);
    } else if (const auto* block = std::get_if<BlockCall>(&record.call)) {
      add_names(plan, block->body, names);
    } else if (const auto* call = std::get_if<NestCall>(&record.call)) {
      const NestProgram& program = plan.programs[size_t(call->program)];
      for (size_t i = 0; i < program.operands.size(); ++i) {
        if (!program.operands[i].streaming) continue;
        names += plan.buffers[size_t(call->operands[i].address.value)].name + " ";
      }
    }
  }
}

/// The names of what is written past the caches, each with a space behind it.
std::string streaming(std::string_view text, int64_t uncached_bytes = kLarge) {
  const Plan plan = plan_of(text, uncached_bytes);
  std::string names;
  add_names(plan, plan.records, names);
  return names;
}

TEST(PastCaches, AreLargeResultsOfNestsAlongRows) {
  const std::string graph =
      "graph @f(%x: f32[16,16], %u: f32[16,16]) {"
      "  %a = tanh %x %p = matmul %a, %u %m = max(%p) {axes = [1], keep = true}"
      "  return %p, mul(%p, %m), %a }";
  EXPECT_EQ(streaming(graph), "a mul ") << "what tiles write is in pieces";
  EXPECT_EQ(streaming(graph, kLarge + 1), "");
  EXPECT_EQ(streaming(graph, 0), "");
  EXPECT_EQ(streaming("graph @f(%x: f32[16,64]) { return cast(%x) {dtype = bf16} }"), "")
      << "vectors of it are half a line";
}

TEST(PastCaches, AreNotWhatTheRecordReadsOrWritesOver) {
  // A state that is written where it lies, and a value in the place of one that dies.
  EXPECT_EQ(streaming("graph @f(%x: f32[16,16]) state (%s: f32[16,16]) {"
                      "  next %s = add(%s, %x) }"),
            "");
  EXPECT_EQ(streaming("graph @f(%x: f32[16,16], %u: f32[16,16]) {"
                      "  %a = mul(matmul(%x, %u), 2.)"
                      "  %m = max(%a) {axes = [0]} %b = sub(%a, %m)"
                      "  return matmul(%b, %u) }"),
            "");
}

TEST(PastCaches, AreNotWhatTheLoopOrBlockAroundReads) {
  // h is read by the next step, e and z by the stage behind; g by nobody in the loop, nor t, which
  // tiles write: a line of each row at a time.
  EXPECT_EQ(streaming(R"(
    graph @f(%x: f32[8,16,16], %h0: f32[16,16], %u: f32[16,16]) {
      %e, %g, %t, %h.e = scan %x.t in %x carry %h = %h0 with %u {
        %e = exp(add(%h, %x.t))
        %z = div(%e, sum(%e) {axes = [1], keep = true})
        %h.n = matmul(%z, %u)
        next %h = %h.n
        emit %e, mul(%z, 3.), tanh(%h.n)
      }
      return %e, %g, %t, %h.e
    })",
                      8 * kLarge),
            "g t ");
}

TEST(PastCaches, LeaveNoProgramThatNobodyCalls) {
  // The same program for a large value and for a small one; the large one alone.
  const std::string both = "graph @f(%x: f32[16,16], %y: f32[4,16]) { return tanh(%x), tanh(%y) }";
  EXPECT_EQ(plan_of(both, 0).programs.size(), 1u);
  EXPECT_EQ(plan_of(both, kLarge).programs.size(), 2u);
  EXPECT_EQ(plan_of("graph @f(%x: f32[16,16]) { return tanh(%x) }", kLarge).programs.size(), 1u);
}

}  // namespace
}  // namespace graphc::core
