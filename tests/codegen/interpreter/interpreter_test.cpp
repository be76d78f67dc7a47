// SPDX-License-Identifier: Apache-2.0
// The interpreter of plans sees what is wrong with a plan; that it computes what graphs mean is
// seen by the suites that go over all targets.
#include "tests/codegen/interpreter/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "codegen/lower/lower.h"
#include "codegen/machine.h"
#include "ir/text.h"
#include "tests/codegen/interpreter/nest.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;

/// A plan, and memory for it.
struct Planned {
  explicit Planned(const char* text, int workers = 3, const char* variant = "fused")
      : machine(interpreted_machine(workers)) {
    CompileReport report;
    plan = make_plan(*form_kernels_for(parse_graph(text), {.variant = variant}, report), machine);
  }

  /// Runs it on inputs of 1, 2, 3 ...; the first output.
  std::vector<float> run(const std::vector<int>& workers) {
    std::vector<char> arena(size_t(plan.arena_bytes), char(0xd1));
    std::vector<std::vector<char>> others(plan.buffers.size());
    std::vector<char*> bases;
    size_t output = 0;
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      Buffer& buffer = plan.buffers[i];
      if (buffer.place == Place::arena) {
        bases.push_back(arena.data() + buffer.offset);
        continue;
      }
      if (buffer.place == Place::output && buffer.index == 0) output = i;
      others[i].resize(size_t(buffer.bytes));
      for (size_t k = 0; buffer.place == Place::input && k < others[i].size() / 4; ++k) {
        const float value = float(k + 1);
        std::memcpy(others[i].data() + 4 * k, &value, 4);
      }
      if (buffer.place == Place::constant) others[i].assign(buffer.data.begin(), buffer.data.end());
      bases.push_back(others[i].data());
    }
    interpret(plan, machine, workers, bases);
    std::vector<float> result(others[output].size() / 4);
    std::memcpy(result.data(), others[output].data(), others[output].size());
    return result;
  }

  Machine machine;
  Plan plan;
};

constexpr const char* kRows = "graph @f(%x: f32[8,4], %y: f32[4]) { return mul(%x, %y) }";
constexpr const char* kColumns = "graph @f(%x: f32[9,43]) { return sum(%x) {axes = [0]} }";
constexpr const char* kSteps = R"(
  graph @f(%x: f32[4,7,6], %w: f32[6,6], %h: f32[7,6]) {
    %y, %end = scan %x.t in %x carry %h.t = %h with %w {
      %n = mul(add(matmul(%h.t, %w), %x.t), 0.01)
      next %h.t = %n
      emit %n
    }
    return %y
  })";

TEST(PlanInterpreter, GivesTheSameBitsInWhateverOrderWorkersCome) {
  for (const char* text : {kRows, kColumns, kSteps}) {
    for (const char* variant : {"fused", "basic"}) {
      const std::vector<float> one = Planned(text, 1, variant).run({0});
      EXPECT_NE(one[0], one[1]);
      EXPECT_EQ(Planned(text, 3, variant).run({0, 1, 2}), one) << text;
      EXPECT_EQ(Planned(text, 3, variant).run({2, 0, 1}), one) << text;
    }
  }
}

TEST(PlanInterpreter, SeesASharePerWorkerThatIsTooSmall) {
  Planned whole(kRows), less(kRows);
  ASSERT_EQ(less.plan.records.size(), 1u);
  less.plan.records[0].share.extent -= 1;
  const std::vector<float> wanted = whole.run({0, 1, 2}), found = less.run({0, 1, 2});
  EXPECT_TRUE(std::equal(found.begin(), found.end() - 4, wanted.begin()));
  EXPECT_FALSE(std::equal(found.end() - 4, found.end(), wanted.end() - 4));
}

TEST(PlanInterpreter, SeesRowsSharedOutWhereTheyAreSummed) {
  Planned whole(kColumns), shared(kColumns);
  const std::vector<float> wanted = whole.run({0, 1, 2});
  bool changed = false;
  for (Record& record : shared.plan.records) {
    auto* call = std::get_if<NestCall>(&record.call);
    if (call == nullptr || record.share.along != Along::columns) continue;
    record.share = {Along::rows, call->rows, 1};
    changed = true;
  }
  ASSERT_TRUE(changed);
  EXPECT_NE(shared.run({0, 1, 2}), wanted);
}

TEST(PlanInterpreter, RefusesToLeaveABuffer) {
  Planned planned(kRows);
  auto& call = std::get<NestCall>(planned.plan.records[0].call);
  call.operands[0].address.offset += 4;
  EXPECT_THAT(error_of(ErrorKind::internal, [&] { planned.run({0, 1, 2}); }),
              HasSubstr("of a buffer of"));
  call.operands[0].address.offset -= 8;
  EXPECT_THAT(error_of(ErrorKind::internal, [&] { planned.run({0, 1, 2}); }),
              HasSubstr("of a buffer of"));
}

TEST(PlanInterpreter, HasAMachineUnlikeAnyProcessor) {
  const Planned planned(kSteps);
  bool panels = false;
  for (const Record& record : planned.plan.records) {
    const auto* call = std::get_if<PanelCall>(&record.call);
    if (call == nullptr) continue;
    panels = true;
    EXPECT_EQ(call->panels.k_group, 2);
    EXPECT_EQ(call->panels.width % 5, 0);
  }
  EXPECT_TRUE(panels);
}

TEST(PlanInterpreter, FindsEveryElementOfPanelsInAPlaceOfItsOwn) {
  for (const PanelForm& form :
       {PanelForm{7, 11, 3, 5, DType::f32, 2}, PanelForm{4, 10, 1, 20, DType::f64, 1}}) {
    std::vector<int64_t> places;
    for (int64_t k = 0; k < form.k; ++k) {
      for (int64_t part = 0; part < form.parts; ++part) {
        for (int64_t column = 0; column < form.unit; ++column)
          places.push_back(offset_in_panels(form, k, part, column));
      }
    }
    std::ranges::sort(places);
    EXPECT_EQ(std::ranges::adjacent_find(places), places.end());
    EXPECT_EQ(places.front(), 0);
    EXPECT_LE(places.back() + size_of(form.dtype), form.bytes());
  }
  // Pairs of k lie side by side, as a machine that multiplies pairs reads them.
  const PanelForm pairs{8, 10, 2, 5, DType::f32, 2};
  EXPECT_EQ(offset_in_panels(pairs, 1, 0, 0), 4);
  EXPECT_EQ(offset_in_panels(pairs, 0, 0, 1), 8);
  EXPECT_EQ(offset_in_panels(pairs, 0, 1, 0), 5 * 2 * 4);
  EXPECT_EQ(offset_in_panels(pairs, 2, 0, 0), 2 * 5 * 2 * 4);
}

}  // namespace
}  // namespace graphc::core::testing
