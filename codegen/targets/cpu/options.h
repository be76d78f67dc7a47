// SPDX-License-Identifier: Apache-2.0
// Options of a compilation that apply to the CPU target only.
#pragma once

#include <memory>

namespace graphc::core {

class Arena;

/// The part of CompileOptions for the target `cpu`.
struct CpuOptions {
  /// Memory for the values of a step while it runs. Executables that never run at the same time may
  /// share an arena, which grows to the size that the largest needs. Null: the executable creates
  /// its own; a Session creates one for all of its graphs.
  std::shared_ptr<Arena> arena;
};

}  // namespace graphc::core
