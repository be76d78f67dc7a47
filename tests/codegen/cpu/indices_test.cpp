// SPDX-License-Identifier: Apache-2.0
// Indices that a step computes and feeds back (argmax, one_hot, draws) leave a loop and its
// derivative one kernel each.
#include <gtest/gtest.h>

#include "ir/op.h"
#include "ir/text.h"
#include "tests/codegen/variants.h"
#include "tests/testing/counts.h"
#include "tests/testing/targets.h"

namespace graphc::core::testing {
namespace {

struct IndexForm {
  const char* name;
  const char* input;   ///< of the graph
  const char* stream;  ///< of the loop
  const char* carry;   ///< with its initial value
  const char* index;   ///< its definition in a step, of the logits
  const char* next;    ///< of the carry
};

constexpr IndexForm kIndexForms[] = {
    {"largest", "", "", "", "%i.1 = argmax(%l) {axis = 1}", ""},
    {"smallest", "", "", "", "%i.1 = argmin(%l) {axis = 1}", ""},
    {"drawn", ", %keys: i64[5]", ", %key in %keys", "", "%i.1 = categorical(%key, %l)", ""},
    {"drawn_under_a_carried_key", ", %key0: i64[]", "", ", %key = %key0",
     "%i.1 = categorical(%key, %l)", ", %key = add(%key, 1)"},
    {"narrow", "", "", "", "%i.1 = cast(cast(argmax(%l) {axis = 1}) {dtype = u8}) {dtype = i32}",
     ""},
    {"held", ", %t: i32[5]", ", %t.t in %t", "",
     "%i.1 = select(less(%t.t, 3), argmax(%l) {axis = 1}, %i)", ""},
};

/// A cell that reads the index its last step gave.
GraphPtr fed_back(const IndexForm& form, bool reverse) {
  return parse_graph(fmt::format(
      R"(
    graph @indices(%x: f32[5,4,6], %i0: i32[4], %u: f32[6,6], %v: f32[6,9], %w: f32[9,6]{}) {{
      %zero = constant {{dtype = f32, shape = [4,6], value = 0.}}
      %ys, %is, %h.e, %i.e{} = scan {{reverse = {}}} %x.t in %x{}
          carry %h = %zero, %i = %i0{} with %u, %v, %w {{
        %hot = cast(one_hot(%i) {{depth = 9}}) {{dtype = f32}}
        %h.1 = tanh(add(add(%x.t, matmul(%h, %u)), matmul(%hot, %w)))
        %l = matmul(%h.1, %v)
        {}
        next %h = %h.1, %i = %i.1{}
        emit %h.1, %i.1
      }}
      %loss = sum(square(%ys)) {{axes = [0,1,2]}}
      %du, %dx = grad %loss, %u, %x
      return %loss, %is, %du, %dx
    }})",
      form.input, *form.carry == '\0' ? "" : ", %key.e", reverse, form.stream, form.carry,
      form.index, form.next));
}

TEST(IndicesCpu, LeaveALoopOneKernelEachWay) {
  unsigned number = 0;
  for (const IndexForm& form : kIndexForms) {
    for (const bool reverse : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, {}", form.name, reverse ? "backwards" : "forwards"));
      const GraphPtr traced = fed_back(form, reverse);
      EXPECT_EQ(loops_of_several_kernels(traced), "");
      EXPECT_EQ(first_difference(traced, 3, Numbers::real, target_levels_for(number, number / 2),
                                 ways_of(number, {1, 2}, 1)),
                "");
      ++number;
    }
  }
  count("cells that feed an index back", number);
}

}  // namespace
}  // namespace graphc::core::testing
