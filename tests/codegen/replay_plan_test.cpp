// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/replay_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/machine.h"
#include "codegen/plan/memory.h"
#include "codegen/plan/schedule.h"
#include "codegen/step/barriers.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"
#include "tests/testing/confused_graph.h"
#include "tests/testing/counts.h"
#include "tests/testing/exact_graph.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/samples.h"
#include "tests/testing/wide_golden.h"

namespace graphc::core::testing {
namespace {

GraphPtr kernels_of(const GraphPtr& graph, const char* variant) {
  CompileReport report;
  return form_kernels_for(graph, {.variant = variant}, report);
}

int64_t expect_replayed(const GraphPtr& graph, const std::string& name) {
  int64_t plans = 0;
  size_t turn = 0;
  std::set<std::pair<int, int>> seen;  // threads and lanes
  for (const char* variant : {"fused", "basic", "unrolled"}) {
    const GraphPtr kernels = kernels_of(graph, variant);
    ++turn;
    for (int threads = 1; threads <= 3; ++threads) {
      const Machine machine = machine_like(turn + size_t(threads), threads);
      seen.emplace(threads, machine.lanes);
      EXPECT_EQ(replay(*kernels, machine), "") << name << ", " << variant << ", " << threads
                                               << " threads, " << machine.lanes << " lanes";
      ++plans;
    }
  }
  EXPECT_EQ(seen.size(), 9u) << "not every number of threads met every shape";
  return plans;
}

TEST(ReplayPlan, OfRandomGraphs) {
  int64_t plans = 0;
  for (unsigned seed = 1; seed <= half_of(60) && !HasFailure(); ++seed) {
    plans += expect_replayed(random_graph(seed, {.nodes = 5 + int(seed * 7 % 25),
                                                 .loop = seed % 2 == 1,
                                                 .gradient = seed % 3 == 2}),
                             fmt::format("random graph {}", seed));
    plans +=
        expect_replayed(exact_graph(seed, 15, seed % 2 == 1), fmt::format("exact graph {}", seed));
  }
  count("plans replayed", plans);
}

/// With states that are each other's next, loops in loops, values in several places.
TEST(ReplayPlan, OfConfusedGraphs) {
  int64_t plans = 0;
  for (unsigned seed = 1; seed <= half_of(200) && !HasFailure(); ++seed) {
    const ConfusedOptions options{.real = seed % 3 == 0, .gradient = seed % 4 == 3};
    plans += expect_replayed(confused_graph(seed, options), fmt::format("confused graph {}", seed));
  }
  count("plans replayed", plans);
}

TEST(ReplayPlan, OfCellsAndTheirGradients) {
  int64_t plans = 0;
  for (const Cell& cell : all_cells())
    plans += expect_replayed(with_gradients(parse_cell(cell)), std::string(cell.name));
  for (const std::string& cell : wide_cells()) {
    for (const WideCase& c : {WideCase{cell, 3, 20, 5}, WideCase{cell, 2, 3, 33}})
      plans += expect_replayed(wide_layer(c, Derivatives::with), c.name());
  }
  count("plans replayed", plans);
}

/// A plan of a training step of an LSTM, as lowered and as planned.
struct Plans {
  Plans() {
    const GraphPtr kernels = kernels_of(with_gradients(parse_cell(all_cells()[0])), "fused");
    lowered = lower(*kernels, machine);
    planned = lowered;
    plan_memory(planned);
    schedule(planned, machine);
    place_barriers(planned);
  }
  const Machine machine = machine_like(0, 2);
  Plan lowered, planned;
};

TEST(ReplayPlan, FindsBuffersThatShareMemoryWhileBothAreNeeded) {
  const Plans plans;
  ASSERT_EQ(replay(plans.lowered, plans.planned, plans.machine), "");
  // Every buffer of the arena in the place of each other that it lives with. No fault are those of
  // which one has been read for the last time when the same element of the other is written.
  int tried = 0, found = 0;
  for (size_t i = 0; i < plans.planned.buffers.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Buffer &a = plans.planned.buffers[i], &b = plans.planned.buffers[j];
      if (a.place != Place::arena || b.place != Place::arena || a.first_phase < 0 ||
          b.first_phase < 0 || a.first_phase > b.last_phase || b.first_phase > a.last_phase)
        continue;
      Plan broken = plans.planned;
      broken.buffers[i].offset = b.offset;
      broken.arena_bytes += a.bytes;
      ++tried;
      found += !replay(plans.lowered, broken, plans.machine).empty();
    }
  }
  EXPECT_GT(tried, 5);
  EXPECT_GE(found * 4, tried * 3) << tried;
}

TEST(ReplayPlan, FindsThreadsThatMeet) {
  // All rows written to the place of the first.
  const GraphPtr rows = parse_graph("graph @f(%x: f32[8,4], %y: f32[4]) { return mul(%x, %y) }");
  const Machine machine = machine_like(0, 3);
  Plan plan = lower(*kernels_of(rows, "fused"), machine);
  Plan planned = plan;
  plan_memory(planned);
  schedule(planned, machine);
  place_barriers(planned);
  ASSERT_EQ(replay(plan, planned, machine), "");
  for (Plan* p : {&plan, &planned}) {
    for (Record& record : p->records) {
      auto& call = std::get<NestCall>(record.call);
      for (CallOperand& operand : call.operands) {
        const Buffer& buffer = p->buffers[size_t(operand.address.buffer)];
        if (buffer.place == Place::output) operand.row = 0;
      }
    }
  }
  EXPECT_NE(replay(plan, planned, machine).find("two threads write"), std::string::npos);
}

TEST(ReplayPlan, FindsWhatNobodyWrote) {
  const Machine machine = machine_like(0, 1);
  Plan plan = lower(*kernels_of(parse_graph("graph @f(%x: f32[8,4]) { return neg(%x) }"), "fused"),
                    machine);
  Plan planned = plan;
  plan_memory(planned);
  for (Plan* p : {&plan, &planned}) p->records.clear();
  EXPECT_NE(replay(plan, planned, machine).find("nobody has written"), std::string::npos);
}

}  // namespace
}  // namespace graphc::core::testing
