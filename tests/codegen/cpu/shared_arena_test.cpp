// SPDX-License-Identifier: Apache-2.0
// Executables that take turns in one arena, which grows when one of them wants more.
#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "runtime/arena.h"
#include "tests/codegen/cpu/compiled.h"

namespace graphc::core::testing {
namespace {

/// A loop whose gates live in the arena, and whose history is longer than what it returns.
std::string loop_of(int64_t steps) {
  return fmt::format(R"(
    graph @loop(%x: f32[{0},16,64], %h0: f32[16,64], %u: f32[64,64]) {{
      %h.end = scan %x.t in %x carry %h = %h0 with %u {{
        next %h = tanh(add(%x.t, matmul(%h, %u)))
      }}
      %loss = sum(%h.end) {{axes = [0,1]}}
      %dx, %du = grad %loss, %x, %u
      return %loss, %dx, %du
    }})",
                     steps);
}

std::vector<Literal> inputs_of(int64_t steps) {
  return {Literal::filled({DType::f32, {steps, 16, 64}}, 0.01 * double(steps)),
          Literal::filled({DType::f32, {16, 64}}, 0.5),
          Literal::filled({DType::f32, {64, 64}}, 0.02)};
}

TEST(SharedArenaCpu, EachStepFindsItsValuesWhereTheArenaIs) {
  const auto arena = std::make_shared<Arena>();
  Compiled small(parse_graph(loop_of(2)), 2, "", arena);
  const int64_t at_first = arena->size();
  ASSERT_GT(at_first, 0);
  const std::vector<Literal> wanted = Compiled(loop_of(2), 2).run(inputs_of(2));
  EXPECT_EQ(small.run(inputs_of(2)), wanted);
  Compiled large(parse_graph(loop_of(2000)), 2, "", arena);
  const int64_t grown = arena->size();
  EXPECT_GT(grown, at_first);
  // What the other leaves in the arena shows in nothing.
  const std::vector<Literal> of_large = Compiled(loop_of(2000), 2).run(inputs_of(2000));
  EXPECT_EQ(small.run(inputs_of(2)), wanted);
  EXPECT_EQ(large.run(inputs_of(2000)), of_large);
  EXPECT_EQ(small.run(inputs_of(2)), wanted);
  EXPECT_EQ(arena->size(), grown);
}

TEST(SharedArenaCpu, OneForEachWhereNoneIsGiven) {
  Compiled small(loop_of(2), 1), large(loop_of(2000), 1);
  const std::vector<Literal> wanted = small.run(inputs_of(2));
  large.run(inputs_of(2000));
  EXPECT_EQ(small.run(inputs_of(2)), wanted);
}

}  // namespace
}  // namespace graphc::core::testing
