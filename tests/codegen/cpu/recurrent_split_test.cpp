// SPDX-License-Identifier: Apache-2.0
// Recurrent kernels, whose threads go through all steps for rows of their own and meet nobody,
// against the same plan with loops that the whole team walks, where calls are shared out by rows or
// by units: the same bits, for any number of threads.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "codegen/lower/lower.h"
#include "codegen/plan/memory.h"
#include "codegen/plan/schedule.h"
#include "codegen/step/barriers.h"
#include "codegen/targets/cpu/emit/emit_nest.h"
#include "codegen/targets/cpu/jit/code_module.h"
#include "codegen/targets/cpu/jit/jit.h"
#include "codegen/targets/cpu/machine.h"
#include "codegen/targets/cpu/target.h"
#include "codegen/walk/walker.h"
#include "runtime/arena.h"
#include "tests/codegen/replay_plan.h"
#include "tests/testing/counts.h"
#include "tests/testing/wide_golden.h"

namespace graphc::core::cpu {
namespace {

/// Makes every loop of private rows one the team walks; how many there were.
int walked_by_the_team(Plan& plan) {
  int changed = 0, id = 1000;
  for (Record& record : plan.records) {
    auto* loop = std::get_if<LoopCall>(&record.call);
    if (loop == nullptr || !loop->private_rows) continue;
    loop->private_rows = false;
    loop->id = id++;
    ++changed;
  }
  return changed;
}

/// Machine code of nests, made once.
class Code {
 public:
  CompiledNest of(const NestProgram& program) {
    NestFunction& function = functions_[program.text()];
    if (function == nullptr) {
      for (const SharedCode& code : shared_code_of(program)) share(code);
      CodeModule module(host_cpu(), "nest");
      emit_nest(module, "nest", program);
      function = reinterpret_cast<NestFunction>(jit_.add(std::move(module), "nest"));
    }
    return {function};
  }

 private:
  void share(const SharedCode& code) {
    if (jit_.shares(code.symbol)) return;
    CodeModule module(host_cpu(), code.symbol);
    code.emit(module);
    jit_.share(jit_.compile(std::move(module)), code.symbol);
  }

  Jit jit_{host_cpu()};
  std::map<std::string, NestFunction> functions_;
};

/// Plans and runs the lowered plan; its results.
std::vector<Literal> run(Code& code, Plan plan, const Graph& graph, std::vector<Literal> inputs,
                         int threads) {
  plan_memory(plan);
  schedule(plan, machine_of(host_cpu(), threads));
  place_barriers(plan);
  verify_plan(plan);
  std::vector<CompiledNest> nests;
  for (const NestProgram& program : plan.programs) nests.push_back(code.of(program));
  std::vector<Literal> results;
  for (Value result : graph.results()) results.emplace_back(result.type());
  Arena arena;
  arena.reserve(std::max<int64_t>(plan.arena_bytes, 1));
  std::vector<char*> bases;
  for (Buffer& buffer : plan.buffers) {
    const auto bytes = [&](std::vector<Literal>& literals) {
      return reinterpret_cast<char*>(literals.at(size_t(buffer.index)).mutable_bytes().data());
    };
    bases.push_back(buffer.place == Place::arena
                        ? reinterpret_cast<char*>(arena.data()) + buffer.offset
                    : buffer.place == Place::input  ? bytes(inputs)
                    : buffer.place == Place::output ? bytes(results)
                                                    : buffer.data.data());
  }
  ThreadTeam team(threads);
  Walker(plan, std::move(nests), team).run(bases);
  return results;
}

class RecurrentSplitCpu : public ::testing::TestWithParam<std::string> {};

TEST_P(RecurrentSplitCpu, RowsOfOnesOwnAndSharesOfTheTeamGiveTheSameBits) {
  int64_t compared = 0;
  Code code;
  for (const auto& [batch, hidden] : {std::pair{3, 5}, std::pair{20, 37}}) {
    const testing::WideCase c{GetParam(), 3, batch, hidden};
    CompileReport report;
    const GraphPtr graph =
        form_cpu_kernels(testing::wide_layer(c, testing::Derivatives::with), {}, report);
    const Machine machine = machine_of(host_cpu(), 3);
    const Plan own = lower(*graph, machine);
    Plan team = own;
    ASSERT_GE(walked_by_the_team(team), 2) << "a kernel forward and one backward";
    for (const Plan* lowered : {&own, static_cast<const Plan*>(&team)}) {
      Plan planned = *lowered;
      plan_memory(planned);
      schedule(planned, machine);
      place_barriers(planned);
      EXPECT_EQ(testing::replay(*lowered, planned, machine), "") << c.name();
    }
    const std::vector<Literal> inputs = testing::wide_inputs(c);
    const std::vector<Literal> wanted = run(code, own, *graph, inputs, 1);
    for (int threads : {1, 2, 3}) {
      for (const Plan* plan : {&own, static_cast<const Plan*>(&team)}) {
        const std::vector<Literal> found = run(code, *plan, *graph, inputs, threads);
        for (size_t i = 0; i < wanted.size(); ++i) {
          EXPECT_EQ(std::memcmp(found[i].bytes().data(), wanted[i].bytes().data(),
                                wanted[i].bytes().size()),
                    0)
              << c.name() << ", " << threads << " threads, "
              << (plan == &own ? "rows of their own" : "the team") << ", result " << i;
        }
        ++compared;
      }
    }
  }
  testing::count("recurrent kernels shared out otherwise", compared);
}

/// How many loops of recurrent kernels the team walks, and how many have private rows.
std::pair<int, int> recurrent_loops(const Plan& plan) {
  std::pair<int, int> loops;
  for (const Record& record : plan.records) {
    const auto* loop = std::get_if<LoopCall>(&record.call);
    if (loop == nullptr || record.family != Family::recurrent) continue;
    ++(loop->private_rows ? loops.second : loops.first);
  }
  return loops;
}

/// Where rows would not fill the tiles of all workers, lowering shares out columns.
TEST_P(RecurrentSplitCpu, FewRowsShareOutColumnsAndGiveTheSameBits) {
  // A matrix of 240 by 240 pays for two barriers a step, whatever the width of its panels.
  const testing::WideCase c{GetParam(), 2, 2, 240};
  CompileReport report;
  const GraphPtr graph =
      form_cpu_kernels(testing::wide_layer(c, testing::Derivatives::with), {}, report);
  const Machine alone = machine_of(host_cpu(), 1), three = machine_of(host_cpu(), 3);
  const Plan rows = lower(*graph, alone), columns = lower(*graph, three);
  EXPECT_EQ(recurrent_loops(rows).first, 0);
  EXPECT_GE(recurrent_loops(columns).first, 2);
  EXPECT_EQ(recurrent_loops(columns).second, 0);
  Plan planned = columns;
  plan_memory(planned);
  schedule(planned, three);
  place_barriers(planned);
  EXPECT_EQ(testing::replay(columns, planned, three), "");
  Code code;
  const std::vector<Literal> inputs = testing::wide_inputs(c);
  const std::vector<Literal> wanted = run(code, rows, *graph, inputs, 1);
  const std::vector<Literal> found = run(code, columns, *graph, inputs, 3);
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_TRUE(found[i] == wanted[i]) << c.name() << ", result " << i;
}

/// The cells that become recurrent kernels: the mask of rows of different lengths keeps its loop.
std::vector<std::string> recurrent_cells() {
  std::vector<std::string> cells = testing::wide_cells();
  std::erase(cells, "lengths");
  return cells;
}

INSTANTIATE_TEST_SUITE_P(Cells, RecurrentSplitCpu, ::testing::ValuesIn(recurrent_cells()),
                         [](const auto& cell) { return cell.param; });

}  // namespace
}  // namespace graphc::core::cpu
