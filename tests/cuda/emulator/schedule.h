// SPDX-License-Identifier: Apache-2.0
// Whose turn it is: lanes that stand at one instruction go on together, for a while that is drawn.
#pragma once

#include <memory>
#include <vector>

#include "tests/cuda/emulator/grid.h"

namespace graphc::core::cuda_emulator {

class Schedule {
 public:
  explicit Schedule(Grid& grid);

  /// Runs all blocks to their end.
  void run();

 private:
  struct Group {
    uint32_t lanes = 0, pc = 0;
    uint32_t stop = ~0u;  ///< where other lanes of the warp wait to go on with these
  };

  // resident.cpp
  std::unique_ptr<Cluster> new_cluster() const;
  std::unique_ptr<Block> new_block() const;
  void fill_frame(Warp& warp) const;
  void start(Block& block, uint32_t index);
  void start_next(Cluster& cluster);
  void broadcast(Warp& warp, const Preset& preset, uint64_t bits) const;

  // schedule.cpp
  void turn(Warp& warp);
  Group pick(const Warp& warp);
  uint32_t go(Warp& warp, Group group, uint32_t most);
  bool branch(Warp& warp, Group& group, const Instruction& instruction);
  void enlist(Warp& warp);
  void stand(Warp& warp, uint32_t lanes, uint32_t pc);

  // wait.cpp
  void wait_for_block(Warp& warp, uint32_t lanes, uint32_t pc);
  void pass_barrier(Block& block);
  void gather(Warp& warp, uint32_t lanes, uint32_t pc);
  bool is_gathered(const Warp& warp, uint32_t lane, uint32_t named) const;
  void leave(Warp& warp, uint32_t lanes, uint32_t pc);
  uint32_t park(Warp& warp, uint32_t lanes, uint32_t pc);
  void wake(bool all);
  [[noreturn]] void deadlock();

  // cluster.cpp
  void arrive(Warp& warp, uint32_t lanes, uint32_t pc);
  void pass_cluster(Cluster& cluster);
  /// Those of the lanes that need not wait.
  uint32_t wait_for_cluster(Warp& warp, uint32_t lanes, uint32_t pc);
  void leave_cluster(Warp& warp, uint32_t lanes, uint32_t pc);

  Grid& grid_;
  std::vector<std::unique_ptr<Cluster>> resident_;
  std::vector<uint32_t> waiting_;  ///< the numbers of clusters, the next one last
  std::vector<Warp*> ready_, parked_;
  uint32_t unfinished_ = 0;  ///< blocks
  uint64_t instructions_ = 0;
  int idle_ = 0;  ///< times that all who polled were woken and nothing changed
};

}  // namespace graphc::core::cuda_emulator
