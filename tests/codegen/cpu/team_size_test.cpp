// SPDX-License-Identifier: Apache-2.0
// How many threads walk a plan.
#include <gtest/gtest.h>

#include "codegen/targets/cpu/target.h"
#include "ir/text.h"
#include "runtime/cores.h"

namespace graphc::core::cpu {
namespace {

/// For an LSTM over `steps` steps of a row of 128.
int threads_for(int steps, int wanted) {
  const GraphPtr graph = parse_graph(fmt::format(R"(
graph @f(%x: f32[{0},1,128], %h0: f32[1,128]) state (%w: f32[128,512], %u: f32[128,512]) {{
  %y, %h.end = scan %x.t in %x carry %h = %h0 with %w, %u {{
    %i, %f, %g, %o = split(add(matmul(%x.t, %w), matmul(%h, %u))) {{axis = 1, parts = 4}}
    %h.1 = mul(sigmoid(%o), tanh(mul(sigmoid(%i), tanh(add(%f, %g)))))
    next %h = %h.1
    emit %h.1
  }}
  return %y
}})",
                                                 steps),
                                     "test");
  CompileReport report;
  const CompileOptions options{.threads = wanted};
  return team_size(*form_cpu_kernels(graph, options, report), options);
}

TEST(TeamSizeCpu, IsOneWhereThereIsLittleToDo) {
  EXPECT_EQ(threads_for(1, 0), 1);
  EXPECT_EQ(threads_for(20, 0), default_thread_count());  // by the steps of the loop
  EXPECT_EQ(threads_for(1, 3), 3);
  EXPECT_EQ(threads_for(20, 1), 1);
}

}  // namespace
}  // namespace graphc::core::cpu
