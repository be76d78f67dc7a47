// SPDX-License-Identifier: Apache-2.0
// What may stand in the place of what: the cases of the rule of codegen/plan/sharing.h, each with
// the copies that planning must leave and may not leave, replayed element by element.
#include "codegen/plan/sharing.h"

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/machine.h"
#include "codegen/plan/memory.h"
#include "codegen/plan/schedule.h"
#include "codegen/step/barriers.h"
#include "codegen/step/visit.h"
#include "ir/text.h"
#include "tests/codegen/replay_plan.h"

namespace graphc::core::testing {
namespace {

struct Case {
  const char* name;
  int copies;  ///< that are left, of all the nests that only copy
  const char* graph;
};

/// The names of cases in messages of GoogleTest.
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

constexpr Case kSharingCases[] = {
    // --- states ---
    {"state_read_element_by_element", 0, R"(
      graph @f(%g: f32[8,32]) state (%w: f32[8,32]) { next %w = sub(%w, mul(%g, 0.1)) })"},
    {"state_of_one_number", 0, R"(
      graph @f(%g: f32[8]) state (%n: f32[]) { next %n = add(%n, 1.)  return mul(%g, %n) })"},
    {"state_read_by_a_later_result_of_its_kernel", 1, R"(
      graph @f(%x: f32[8,32]) state (%w: f32[8,32]) {
        %y = tanh %x
        next %w = %y
        return sub(%y, %w)
      })"},
    {"state_returned_as_it_was", 2, R"(
      graph @f(%x: f32[8,32]) state (%w: f32[8,32]) { next %w = add(%w, %x)  return %w })"},
    {"state_read_transposed", 1, R"(
      graph @f(%x: f32[8,8]) state (%w: f32[8,8]) {
        next %w = add(%x, transpose(%w) {permutation = [1,0]})
      })"},
    {"state_repeated_along_rows", 1, R"(
      graph @f(%x: f32[8,32]) state (%w: f32[8,32]) {
        next %w = add(%x, slice(%w) {axis = 0, start = 0, limit = 1})
      })"},
    {"state_of_which_a_sum_is_read", 0, R"(
      graph @f(%x: f32[8,32]) state (%w: f32[8,32]) {
        next %w = sub(%x, sum(%w) {axes = [1], keep = true})
      })"},
    {"parts_of_a_state_exchanged", 1, R"(
      graph @f(%d: f32[8,32]) state (%w: f32[8,32]) {
        %p, %q = split(add(%w, %d)) {axis = 1, parts = 2}
        next %w = concat(%q, %p) {axis = 1}
      })"},
    {"states_exchanged", 3, R"(
      graph @f() state (%a: f32[8,32], %b: f32[8,32]) { next %a = %b, %b = %a })"},
    {"states_each_from_the_other", 1, R"(
      graph @f() state (%a: f32[8,32], %b: f32[8,32]) {
        next %a = add(%a, %b), %b = sub(%a, %b)
      })"},
    {"state_added_to_by_a_product", 0, R"(
      graph @f(%x: f32[5,8], %y: f32[5,32]) state (%w: f32[8,32]) {
        next %w = sub(%w, matmul(%x, %y) {transpose_a = true})
      })"},
    {"state_multiplied_by_itself", 0, R"(
      graph @f() state (%w: f32[32,32]) { next %w = add(%w, matmul(%w, %w)) })"},
    {"state_carried_through_no_steps", 2, R"(
      graph @f(%x: f32[4]) state (%s: f32[4]) {
        %e = scan {steps = 0} carry %h = %s { next %h = tanh(%h) }
        next %s = add(%s, %x)
        return %e
      })"},
    {"state_as_the_initial_value_of_a_carry", 0, R"(
      graph @f(%x: f32[5,8,32], %u: f32[32,32]) state (%s: f32[8,32]) {
        %y, %e = scan %t in %x carry %h = %s with %u {
          %n = tanh(add(%t, matmul(%h, %u)))
          next %h = %n
          emit %n
        }
        next %s = relu(%e)
        return %y, sub(%e, %s)
      })"},
    // --- functions that a nest sums and a later one divides by the sum ---
    {"exponentials_where_their_arguments_were", 0, R"(
      graph @f(%x: f32[24,16], %w: f32[16,32]) {
        %z = matmul %x, %w
        %e = exp(sub(%z, max(%z) {axes = [1], keep = true}))
        return div(%e, sum(%e) {axes = [1], keep = true})
      })"},
    {"exponentials_of_what_is_read_again", 0, R"(
      graph @f(%x: f32[24,16], %w: f32[16,32]) {
        %z = matmul %x, %w
        %e = exp(sub(%z, max(%z) {axes = [1], keep = true}))
        return add(%z, div(%e, sum(%e) {axes = [1], keep = true}))
      })"},
    {"exponentials_beside_a_result", 0, R"(
      graph @f(%x: f32[24,16], %w: f32[16,32]) {
        %z = matmul %x, %w
        %s = sub(%z, max(%z) {axes = [1], keep = true})
        %r = relu %s
        %e = exp %s
        %p = div(%e, sum(%e) {axes = [1], keep = true})
        return matmul(%r, %w) {transpose_b = true}, matmul(%p, %w) {transpose_b = true}
      })"},
    {"exponentials_of_a_state_that_is_replaced", 0, R"(
      graph @f() state (%s: f32[24,32]) {
        %e = exp(sub(%s, max(%s) {axes = [1], keep = true}))
        %p = div(%e, sum(%e) {axes = [1], keep = true})
        next %s = sub(%p, sum(mul(%p, tanh(%e))) {axes = [1], keep = true})
      })"},
    {"exponentials_in_each_step", 1, R"(
      graph @f(%x: f32[5,8,32], %u: f32[32,32], %h0: f32[8,32]) {
        %y, %e = scan %t in %x carry %h = %h0 with %u {
          %z = add(%t, matmul(%h, %u))
          %s = exp(sub(%z, max(%z) {axes = [1], keep = true}))
          %p = div(%s, sum(%s) {axes = [1], keep = true})
          next %h = %p
          emit add(%p, %s)
        }
        return %y, %e
      })"},
    // --- tables ---
    {"rows_added_to_a_state", 0, R"(
      graph @f(%i: i32[3], %r: f32[3,4]) state (%w: f32[5,4]) {
        next %w = scatter_add(%w, %i, %r)
      })"},
    {"rows_of_a_state_added_to_it", 0, R"(
      graph @f(%i: i32[3]) state (%w: f32[5,4]) {
        next %w = scatter_add(%w, %i, neg(gather(%w, %i)))
      })"},
    {"a_state_scattered_into_itself", 2, R"(
      graph @f(%i: i32[2]) state (%w: f32[2,4]) { next %w = scatter_add(%w, %i, %w) })"},
    {"rows_added_to_zeros", 0, R"(
      graph @f(%i: i32[3], %r: f32[3,4]) {
        return tanh(scatter_add(constant {dtype = f32, shape = [5,4], value = 0.}, %i, %r))
      })"},
    {"rows_added_to_a_list_that_is_constant", 1, R"(
      graph @f(%i: i32[3], %r: f32[3,2]) {
        %base = constant {dtype = f32, shape = [2,2], value = [1., 2., 3., 4.]}
        return tanh(scatter_add(%base, %i, %r))
      })"},
    // --- carries ---
    {"carry_added_to", 0, R"(
      graph @f(%x: f32[5,3,8], %y: f32[5,3,32]) {
        %zero = constant {dtype = f32, shape = [8,32], value = 0.}
        %s = scan %a in %x, %b in %y carry %c = %zero {
          next %c = add(%c, tanh(matmul(%a, relu(%b)) {transpose_a = true}))
        }
        return tanh(%s)
      })"},
    {"carry_added_to_from_an_input", 0, R"(
      graph @f(%x: f32[5,3,8], %y: f32[5,3,32], %s0: f32[8,32]) {
        %s = scan %a in %x, %b in %y carry %c = %s0 {
          next %c = add(%c, tanh(matmul(%a, relu(%b)) {transpose_a = true}))
        }
        return tanh(%s)
      })"},
    {"carry_read_after_its_next_value_is_made", 0, R"(
      graph @f(%x: f32[5,8,8], %c0: f32[8,8]) {
        %y, %e = scan %t in %x carry %c = %c0 {
          %n = tanh(matmul(%c, %t) {transpose_a = true})
          next %c = %n
          emit sub(transpose(%n) {permutation = [1,0]}, %c)
        }
        return tanh(%y), tanh(%e)
      })"},
    {"table_carried_and_added_to", 1, R"(
      graph @f(%i: i32[5,3], %w: f32[7,4]) {
        %s = scan %t in %i carry %c = %w with %w { next %c = scatter_add(%c, %t, gather(%w, %t)) }
        return tanh(%s)
      })"},
    {"table_carried_that_gives_its_own_rows", 1, R"(
      graph @f(%i: i32[5,3], %w: f32[7,4]) {
        %s = scan %t in %i carry %c = %w { next %c = scatter_add(%c, %t, tanh(gather(%c, %t))) }
        return tanh(%s)
      })"},
    // --- what all steps read ---
    {"operand_of_every_step_beside_a_value_of_each", 0, R"(
      graph @f(%x: f32[5,8,32], %h0: f32[8,32], %p: f32[8,32], %u: f32[32,32], %v: f32[32,32]) {
        %all = tanh %p
        %y, %e = scan %t in %x carry %h = %h0 with %all, %u, %v {
          %n = mul(%all, tanh(add(%t, matmul(%h, %u))))
          next %h = tanh(matmul(%n, %v))
          emit %n
        }
        return tanh(%y), tanh(%e)
      })"},
    {"operand_of_every_step_beside_a_left_operand", 0, R"(
      graph @f(%x: f32[5,8,32], %h0: f32[8,32], %p: f32[8,32], %u: f32[32,32], %v: f32[32,32]) {
        %all = tanh %p
        %y, %e = scan %t in %x carry %h = %h0 with %all, %u, %v {
          %n = tanh(matmul(mul(%all, tanh(add(%t, matmul(%h, %u)))), %v))
          next %h = %n
          emit %n
        }
        return tanh(%y), tanh(%e)
      })"},
    {"one_history_behind_two_initial_values", 3, R"(
      graph @f(%x: f32[5,8,16], %a: f32[1,8,16], %b: f32[1,8,16], %h0: f32[8,16]) {
        %y, %e = scan %t in %x carry %h = %h0 { %n = tanh(add(%h, %t))  next %h = %n  emit %n }
        %s = slice(%y) {axis = 0, start = 0, limit = 4}
        %p = concat(%a, %s) {axis = 0}
        %q = concat(%b, %s) {axis = 0}
        %m = reshape(%p) {shape = [40,16]}
        return matmul(%m, reshape(%q) {shape = [40,16]}) {transpose_a = true}
      })"},
};

GraphPtr kernels_of(const Case& c) {
  CompileReport report;
  return form_kernels_for(parse_graph(c.graph), {.variant = "fused"}, report);
}

int copies_of(const Plan& plan, const std::vector<Record>& records) {
  int copies = 0;
  for (const Record& record : records) {
    if (auto loop = std::get_if<LoopCall>(&record.call)) copies += copies_of(plan, loop->body);
    const auto* nest = std::get_if<NestCall>(&record.call);
    if (nest == nullptr) continue;
    const NestProgram& program = plan.programs[size_t(nest->program)];
    copies += program.body.size() == 2 && program.body[1].kind == NestOp::store &&
              program.operands[size_t(program.body[0].operand)].kind == OperandKind::load;
  }
  return copies;
}

class Sharing : public ::testing::TestWithParam<Case> {};

TEST_P(Sharing, CopiesNoMoreThanNeeded) {
  Plan plan = lower(*kernels_of(GetParam()), machine_like(0, 1));
  plan_memory(plan);
  EXPECT_EQ(copies_of(plan, plan.records), GetParam().copies) << print(plan);
  EXPECT_NO_THROW(verify_plan(plan));
}

TEST_P(Sharing, KeepsEveryElement) {
  const GraphPtr kernels = kernels_of(GetParam());
  for (int threads = 1; threads <= 3; ++threads)
    EXPECT_EQ(replay(*kernels, machine_like(0, threads)), "") << threads << " threads";
}

INSTANTIATE_TEST_SUITE_P(Cases, Sharing, ::testing::ValuesIn(kSharingCases),
                         [](const auto& test) { return std::string(test.param.name); });

/// A loop whose threads meet in each step, and whether what it emits takes the place of what it
/// reads step by step.
struct LoopCase {
  const char* name;
  bool shares;
  const char* graph;
};

constexpr LoopCase kLoopCases[] = {
    {"read and emitted by one record, step by step", true, R"(
      graph @f(%x: f32[5,1,8], %w: f32[8,32], %u: f32[32,32], %h0: f32[1,32]) {
        %z = matmul %x, %w
        %y, %e = scan %t in %z carry %h = %h0 with %u {
          %p = add(%t, matmul(%h, %u))
          next %h = tanh(%p)
          emit %p
        }
        return relu(%y), relu(%e)
      })"},
    {"the same backwards", true, R"(
      graph @f(%x: f32[5,1,8], %w: f32[8,32], %u: f32[32,32], %h0: f32[1,32]) {
        %z = matmul %x, %w
        %y, %e = scan {steps = 5, reverse = true} %t in %z carry %h = %h0 with %u {
          %p = add(%t, matmul(%h, %u))
          next %h = tanh(%p)
          emit %p
        }
        return relu(%y), relu(%e)
      })"},
    {"read after the loop, too", false, R"(
      graph @f(%x: f32[5,1,8], %w: f32[8,32], %u: f32[32,32], %h0: f32[1,32]) {
        %z = matmul %x, %w
        %y, %e = scan %t in %z carry %h = %h0 with %u {
          %p = add(%t, matmul(%h, %u))
          next %h = tanh(%p)
          emit %p
        }
        return add(%y, %z), relu(%e)
      })"},
    {"read by a later record of the step, too", false, R"(
      graph @f(%x: f32[5,1,8], %w: f32[8,32], %u: f32[32,32], %h0: f32[1,32]) {
        %z = matmul %x, %w
        %y, %e = scan %t in %z carry %h = %h0 with %u {
          %p = add(%t, matmul(%h, %u))
          next %h = add(%t, matmul(tanh(%p), %u))
          emit %p
        }
        return relu(%y), relu(%e)
      })"},
    // Ten rows of 32 and five of 64 are as many bytes.
    {"a step writes what others read", false, R"(
      graph @f(%x: f32[10,1,8], %w: f32[8,32], %u: f32[32,32], %h0: f32[1,32]) {
        %z = matmul %x, %w
        %a = slice(%z) {axis = 0, start = 0, limit = 5}
        %b = slice(%z) {axis = 0, start = 5, limit = 10}
        %y, %e = scan %s in %a, %t in %b carry %h = %h0 with %u {
          %p = add(add(%s, %t), matmul(%h, %u))
          next %h = tanh(%p)
          emit concat(%p, relu(%p)) {axis = 1}
        }
        return relu(%y), relu(%e)
      })"},
};

TEST(SharingInLoopsOfPhases, WhatDiesStepByStepGivesItsPlace) {
  for (const LoopCase& c : kLoopCases) {
    SCOPED_TRACE(c.name);
    const GraphPtr kernels = kernels_of({c.name, 0, c.graph});
    const auto machine = [](int threads) {
      Machine of_threads = machine_like(0, threads);
      of_threads.barrier_bytes = 64;  // so that small matrices are worth a barrier
      return of_threads;
    };
    Plan plan = lower(*kernels, machine(2));
    plan_memory(plan);
    const bool meets = std::ranges::any_of(
        plan.records, [](const Record& record) { return loop_of_phases(record) != nullptr; });
    EXPECT_TRUE(meets) << print(plan);
    const bool shares = std::ranges::any_of(
        plan.buffers, [](const Buffer& buffer) { return buffer.name.starts_with("z/"); });
    EXPECT_EQ(shares, c.shares) << print(plan);
    for (int threads = 1; threads <= 3; ++threads)
      EXPECT_EQ(replay(*kernels, machine(threads)), "") << threads << " threads";
  }
}

/// Gives every buffer the place of each other one of its size: what both the verifier of plans and
/// the replay of elements let pass must be few.
TEST(SharingFaults, AreFoundByTheVerifier) {
  int tried = 0, found = 0;
  const Machine machine = machine_like(0, 2);
  for (const Case& c : kSharingCases) {
    const Plan lowered = lower(*kernels_of(c), machine);
    Plan planned = lowered;
    plan_memory(planned);
    schedule(planned, machine);
    place_barriers(planned);
    for (size_t i = 0; i < planned.buffers.size(); ++i) {
      for (size_t j = 0; j < planned.buffers.size(); ++j) {
        const Buffer &a = planned.buffers[i], &b = planned.buffers[j];
        const bool written = b.place == Place::arena || b.place == Place::state;
        if (i == j || a.place != Place::arena || a.first_phase < 0 || a.bytes != b.bytes ||
            !written || (b.place == Place::arena && b.first_phase < 0))
          continue;
        Plan broken = planned;
        for (Record& record : broken.records) {
          change_addresses(record, [&](Address& address) {
            if (address.buffer == int(i)) address.buffer = int(j);
          });
        }
        broken.buffers[j].first_phase = 0;
        broken.buffers[j].last_phase = broken.phases - 1;
        broken.arena_bytes += 1 << 20;
        broken.buffers[j].offset = b.place == Place::arena ? planned.arena_bytes : 0;
        if (replay(lowered, broken, machine).empty()) continue;
        ++tried;
        try {
          verify_plan(broken);
        } catch (const std::exception&) {
          ++found;
        }
      }
    }
  }
  EXPECT_GT(tried, 15);
  // Elements exchanged within one record are seen by the replay alone.
  EXPECT_GE(found * 4, tried * 3) << found << " of " << tried;
}

}  // namespace
}  // namespace graphc::core::testing
