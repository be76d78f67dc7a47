// SPDX-License-Identifier: Apache-2.0
// Masks of rows, however they are written, leave a loop and its derivative one kernel each.
#include <gtest/gtest.h>

#include "ir/op.h"
#include "ir/text.h"
#include "tests/codegen/variants.h"
#include "tests/testing/counts.h"
#include "tests/testing/targets.h"

namespace graphc::core::testing {
namespace {

struct MaskForm {
  const char* name;
  const char* input;   ///< of the graph
  const char* stream;  ///< of the loop, if it is one
  const char* carry;   ///< with its initial value
  const char* capture;
  const char* mask;  ///< its definition in a step
  const char* next;  ///< of the carry
  bool is_float = false;
};

constexpr MaskForm kForms[] = {
    {"column", "%m: bool[5,4,1]", "%m.t in %m", "", "", "%k = logical_not(logical_not(%m.t))", ""},
    {"of_rows", "%m: bool[5,4]", "%m.t in %m", "", "", "%k = reshape %m.t {shape = [4,1]}", ""},
    {"less_column", "%s: i32[5], %n: i32[4,1]", "%s.t in %s", "", "%n", "%k = less(%s.t, %n)", ""},
    {"less_of_rows", "%s: i32[5], %n: i32[4]", "%s.t in %s", "", "%n",
     "%k = reshape(less(%s.t, %n)) {shape = [4,1]}", ""},
    {"numbers", "%m: f32[5,4,1]", "%m.t in %m", "", "", "%k = sub(1., %m.t)", "", true},
    {"numbers_of_rows", "%m: f32[5,4]", "%m.t in %m", "", "",
     "%k = sub(1., reshape(%m.t) {shape = [4,1]})", "", true},
    {"counter", "%n: i32[4], %one: i32[]", "", "%i = %one", "%n",
     "%k = reshape(less(%i, %n)) {shape = [4,1]}", ", %i = add(%i, 1)"},
    {"counter_down", "%n: i32[4,1], %one: i32[1]", "", "%i = %one", "%n", "%k = less(%i, %n)",
     ", %i = sub(%i, 2)"},
};

/// A cell of two carries whose steps count where the mask says so.
GraphPtr masked_cell(const MaskForm& form, bool reverse) {
  const auto listed = [](const char* item) {
    return *item == '\0' ? "" : fmt::format(", {}", item);
  };
  const char* chosen =
      form.is_float ? "add(mul(%k, {0}.1), mul(sub(1., %k), {0}))" : "select(%k, {0}.1, {0})";
  return parse_graph(fmt::format(
      R"(
    graph @masked(%x: f32[5,4,24], %u: f32[6,24], {}) {{
      %zero = constant {{dtype = f32, shape = [4,6], value = 0.}}
      %ys, %h.e, %c.e{} = scan {{reverse = {}}} %x.t in %x{}
          carry %h = %zero, %c = %zero{} with %u{} {{
        {}
        %i0, %f, %g, %o = split(add(%x.t, matmul(%h, %u))) {{axis = 1, parts = 4}}
        %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i0), tanh(%g)))
        %h.1 = mul(sigmoid(%o), tanh(%c.1))
        %h.2 = {}
        next %h = %h.2, %c = {}{}
        emit %h.2
      }}
      %loss = sum(square(%ys)) {{axes = [0,1,2]}}
      %du, %dx = grad %loss, %u, %x
      return %loss, %du, %dx{}
    }})",
      form.input, *form.carry == '\0' ? "" : ", %i.e", reverse, listed(form.stream),
      listed(form.carry), listed(form.capture), form.mask, fmt::format(fmt::runtime(chosen), "%h"),
      fmt::format(fmt::runtime(chosen), "%c"), form.next, *form.carry == '\0' ? "" : ", %i.e"));
}

TEST(RowMasksCpu, LeaveALoopOneKernelEachWay) {
  unsigned number = 0;
  for (const MaskForm& form : kForms) {
    for (const bool reverse : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, {}", form.name, reverse ? "backwards" : "forwards"));
      const GraphPtr traced = masked_cell(form, reverse);
      EXPECT_EQ(loops_of_several_kernels(traced), "");
      // The reference and the CPU meet each; the others take turns.
      EXPECT_EQ(first_difference(traced, 3, Numbers::real, target_levels_for(number, number / 2),
                                 ways_of(number, {1, 2}, 1)),
                "");
      ++number;
    }
  }
  count("masked cells", number);
}

}  // namespace
}  // namespace graphc::core::testing
