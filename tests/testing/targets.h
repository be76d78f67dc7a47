// SPDX-License-Identifier: Apache-2.0
// The targets that tests iterate over: those of the build, and test-only ones. Only properties that
// are not in a target's record are listed here.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/target.h"

namespace graphc::core::testing {

/// A target with its properties for tests.
struct TestTarget {
  const Target* target = nullptr;
  /// With hundreds of graphs, the target gets every `cost`-th one: a prime, so that it meets all
  /// kinds of graphs.
  unsigned cost = 1;
  /// The ops that it rejects for f64 operands; null: unknown.
  const std::set<std::string_view>* refused_in_f64 = nullptr;
};

/// Every target of the build, with the additions of its row in targets.cpp if it has one, then the
/// test-only targets.
const std::vector<TestTarget>& all_test_targets();

/// A target at one of the levels that this machine supports, if it has levels.
struct TargetLevel {
  const TestTarget* of = nullptr;
  std::string cpu;                           ///< CompileOptions::architecture
  std::optional<cuda::Placement> placement;  ///< CudaOptions::placement

  const Target& target() const { return *of->target; }
  bool takes(std::string_view option) const;
  /// Whether it is the CUDA target, which runs in the emulator of tests/cuda unless
  /// GRAPHC_CUDA_LIBRARIES is set.
  bool is_cuda() const { return of->target == &targets::cuda; }
  /// `wanted` at this level, without options that the target does not accept.
  CompileOptions options(CompileOptions wanted) const;
  /// "cpu x86-64-v3".
  std::string text() const;
};

/// Every target that can run here, at every level.
std::vector<TargetLevel> all_target_levels();
/// For one of many graphs or cases: for every target that can run here and is due according to its
/// cost (`number` counts the cases), the level that is due according to `turn`. Placements of loops
/// rotate with the numbers.
std::vector<TargetLevel> target_levels_for(unsigned number, unsigned turn);

}  // namespace graphc::core::testing
