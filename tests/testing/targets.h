// SPDX-License-Identifier: Apache-2.0
// The targets that tests go over: those of the build, and those that exist for tests alone. What is
// known of a target by its record is not said again here.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/target.h"

namespace graphc::core::testing {

/// A target as tests see it.
struct TestTarget {
  const Target* target = nullptr;
  /// Where there are graphs by the hundred it gets one in so many: a prime, so that it meets all
  /// kinds of them.
  unsigned cost = 1;
  /// The ops that it refuses when their operands are f64; null: no test knows.
  const std::set<std::string_view>* refused_in_f64 = nullptr;
};

/// Every target of the build as it is, with what its row in targets.cpp adds, if it has one, and
/// those of tests behind them.
const std::vector<TestTarget>& all_test_targets();

/// A target at one of the levels that this machine can run, if it has levels.
struct TargetLevel {
  const TestTarget* of = nullptr;
  std::string cpu;                 ///< CompileOptions::architecture
  std::string placement = "auto";  ///< CompileOptions::placement

  const Target& target() const { return *of->target; }
  bool takes(std::string_view option) const;
  /// Whether kernels run in the emulator of tests/cuda.
  bool is_cuda() const { return of->target == &targets::cuda; }
  /// `wanted` at this level, without what the target does not take.
  CompileOptions options(CompileOptions wanted) const;
  /// "cpu x86-64-v3".
  std::string text() const;
};

/// Every target that can run here, at every level.
std::vector<TargetLevel> all_target_levels();
/// For one of many graphs or cases: of every target that can run here and whose turn it is by its
/// cost (`number` says which one it is) the level whose turn it is. Placements of loops take turns
/// over the numbers.
std::vector<TargetLevel> target_levels_for(unsigned number, unsigned turn);

}  // namespace graphc::core::testing
