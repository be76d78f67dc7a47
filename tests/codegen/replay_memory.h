// SPDX-License-Identifier: Apache-2.0
// The two memories of tests/codegen/replay_plan.h: for each byte who wrote it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/step/plan.h"

namespace graphc::core::testing {

/// A place in both memories: a buffer as lowered, and one as planned (they differ where a result
/// takes an operand's place).
struct ReplayPlace {
  int lowered = -1, planned = -1;
  int64_t offset = 0, planned_offset = 0;  ///< bytes into the buffers

  ReplayPlace moved(int64_t bytes) const {
    return {lowered, planned, offset + bytes, planned_offset + bytes};
  }
};

class ReplayMemory {
 public:
  ReplayMemory(const Plan& lowered, const Plan& planned);

  /// Threads meet: what they do from here on does not meet what they did before.
  void next_phase() { ++phase_; }
  void set_thread(int thread) { thread_ = uint8_t(thread); }
  /// What messages call the present call.
  void set_call(const std::string& name) { call_ = &name; }

  void read(const ReplayPlace& place, int64_t bytes);
  void write(const ReplayPlace& place, int64_t bytes);
  /// In each memory whose half of the places is there: the bytes of `from` to `to`, as whoever
  /// wrote them wrote them.
  void copy(const ReplayPlace& from, const ReplayPlace& to, int64_t bytes);
  void copy_lowered(const ReplayPlace& from, const ReplayPlace& to, int64_t bytes);
  void fail(const std::string& what);
  /// Expects outputs and states to be as lowered.
  void expect_results();

  /// The first thing that is wrong, or nothing.
  const std::string& fault() const { return fault_; }

 private:
  struct Cell {
    uint32_t writer = 0;
    uint32_t written_in = 0, read_in = 0;  ///< phases
    uint8_t written_by = 0, read_by = 0;   ///< threads; of readers one bit each
  };

  Cell* planned_cells(int buffer, int64_t offset, int64_t bytes);
  uint32_t* lowered_writers(const ReplayPlace& place, int64_t bytes);
  void copy_planned(const ReplayPlace& from, const ReplayPlace& to, int64_t bytes);
  void note_read(Cell& cell, const ReplayPlace& place);
  void note_write(Cell& cell, const ReplayPlace& place);
  void fail(const std::string& what, const ReplayPlace& place);

  const Plan& lowered_;
  const Plan& planned_;
  std::vector<std::vector<uint32_t>> lowered_bytes_;  ///< for each buffer
  std::vector<std::vector<Cell>> outside_;            ///< for each buffer outside the arena
  std::vector<Cell> arena_;
  uint32_t phase_ = 1, writes_ = 1;
  uint8_t thread_ = 0;
  const std::string* call_ = nullptr;
  std::string fault_;
};

}  // namespace graphc::core::testing
