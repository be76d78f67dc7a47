// SPDX-License-Identifier: Apache-2.0
// A plan walked without code: which bytes each call reads and writes, element by element. It knows
// what a nest does with its operands, and nothing of codegen/step/access.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "codegen/step/position.h"

namespace graphc::core::testing {

constexpr uint8_t kBytesRead = 1, kBytesWritten = 2;

/// One call of a phase.
struct RecordedCall {
  const Record* record = nullptr;
  Position position;  ///< of the `depth` loops around it
  int depth = 0;
  std::map<int, std::vector<uint8_t>> bytes;  ///< by buffer: how each of its bytes is accessed
  bool has_indices = false;  ///< what it accesses depends on numbers: nothing is recorded
};

/// Calls `visit` for every call of a phase in one run of the plan.
void record_bytes(const Plan& plan, const std::function<void(const RecordedCall&)>& visit);

}  // namespace graphc::core::testing
