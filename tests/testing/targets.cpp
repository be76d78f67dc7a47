// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/targets.h"

#include <algorithm>
#include <cstdlib>

#include "tests/codegen/interpreter/interpreter.h"

namespace graphc::core::testing {
namespace {

const std::set<std::string_view> kNothing;

/// Ops with vector code only for f32.
const std::set<std::string_view> kOnlyInF32 = {"exp",
                                               "log",
                                               "tanh",
                                               "sigmoid",
                                               "sin",
                                               "cos",
                                               "tan",
                                               "pow",
                                               "log1p",
                                               "expm1",
                                               "floor",
                                               "ceil",
                                               "round",
                                               "remainder",
                                               "softplus",
                                               "silu",
                                               "gelu",
                                               "matmul",
                                               "softmax",
                                               "log_softmax",
                                               "cross_entropy",
                                               "cross_entropy_with_probabilities",
                                               "sigmoid_cross_entropy",
                                               "lstm",
                                               "lstm_gradients",
                                               "gru",
                                               "gru_gradients",
                                               "rnn",
                                               "rnn_gradients"};

/// Targets with properties beyond their record, and test-only targets. The reference is what the
/// others are compared with: a few graphs show that it runs as an executable.
const TestTarget kRows[] = {
    {&targets::cpu, 1, &kOnlyInF32},
    {&targets::cuda, 7, &kNothing},
    {&targets::reference, 23, &kNothing},
    {&plan_interpreter, 11, &kNothing},
};

std::vector<std::string> levels_of(const Target& target) {
  return target.cpus == nullptr ? std::vector<std::string>{""} : target.cpus();
}

}  // namespace

const std::vector<TestTarget>& all_test_targets() {
  static const std::vector<TestTarget> all = [] {
    // The CUDA target gets a driver and a compiler that run its text in the emulator, unless the
    // environment names others.
    setenv("GRAPHC_CUDA_LIBRARIES", GRAPHC_MOCK_FOLDER, 0);
    setenv("GRAPHC_CACHE", "none", 1);
    std::vector<TestTarget> made;
    for (const Target* target : all_targets()) made.push_back({target});
    for (const TestTarget& row : kRows) {
      const auto known = std::ranges::find(made, row.target, &TestTarget::target);
      known == made.end() ? made.push_back(row) : void(*known = row);
    }
    return made;
  }();
  return all;
}

bool TargetLevel::takes(std::string_view option) const {
  return std::ranges::find(target().options, option) != target().options.end();
}

CompileOptions TargetLevel::options(CompileOptions wanted) const {
  const CompileOptions plain;
  wanted.architecture = cpu;
  if (takes("placement")) wanted.cuda.placement = placement;
  if (!takes("variant")) wanted.variant = plain.variant;
  if (!takes("unroll")) wanted.unroll = plain.unroll;
  if (!takes("remat")) wanted.remat = plain.remat;
  if (!takes("recurrence")) wanted.recurrence = plain.recurrence;
  if (!takes("threads")) wanted.threads = plain.threads;
  return wanted;
}

std::string TargetLevel::text() const {
  return cpu.empty() ? std::string(target().name) : fmt::format("{} {}", target().name, cpu);
}

std::vector<TargetLevel> all_target_levels() {
  std::vector<TargetLevel> all;
  for (const TestTarget& row : all_test_targets()) {
    if (!row.target->unavailable().empty()) continue;
    for (const std::string& level : levels_of(*row.target)) all.push_back({&row, level});
  }
  return all;
}

std::vector<TargetLevel> target_levels_for(unsigned number, unsigned turn) {
  std::vector<TargetLevel> chosen;
  for (const TestTarget& row : all_test_targets()) {
    if (number % row.cost != 0 || !row.target->unavailable().empty()) continue;
    const std::vector<std::string> levels = levels_of(*row.target);
    using cuda::Placement;
    constexpr std::optional<Placement> kPlacements[] = {std::nullopt,        Placement::grid,
                                                        Placement::block,    Placement::cluster,
                                                        Placement::streamed, Placement::launches};
    chosen.push_back({&row, levels[turn % levels.size()], kPlacements[number / row.cost % 6]});
  }
  return chosen;
}

}  // namespace graphc::core::testing
