// SPDX-License-Identifier: Apache-2.0
// What may be chosen about a compilation for CPUs, and for no other target.
#pragma once

#include <memory>

namespace graphc::core {

class Arena;

/// The part of CompileOptions that is of the target `cpu`.
struct CpuOptions {
  /// Where the values of a step live while it runs. Executables that never run at the same time may
  /// share one, which grows to what the largest needs. Null: the executable makes one of its own,
  /// and a Session one for all of its graphs.
  std::shared_ptr<Arena> arena;
};

}  // namespace graphc::core
