// SPDX-License-Identifier: Apache-2.0
// A plan as launches: what the host puts into a stream for a step, fixed when it is compiled.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/cuda/loop_placement.h"
#include "codegen/cuda/row_kernels.h"
#include "codegen/plan/position.h"

namespace graphc::cuda {

/// One launch of a kernel.
struct Launch {
  int kernel = 0;  ///< of Launches::kernels
  Grid grid;
  std::vector<LaunchValue> arguments;
  size_t shared_bytes = 0;  ///< dynamic, of a block
  /// Groups of blocks that wait for each other; 0: none do. Then all run at a time.
  unsigned meeting_groups = 0;
  unsigned cluster = 1;  ///< blocks of a cluster
  /// Whether fewer blocks do the same: as many as the device holds.
  bool any_blocks = false;
  std::string note;                                ///< of a loop: how it is placed
  std::shared_ptr<const LoopPlacement> placement;  ///< the same; null for other launches
  const Record* record = nullptr;                  ///< of the plan, what it does or is a part of
};

struct Launches {
  std::vector<KernelText> kernels;  ///< distinct
  std::vector<Launch> forms;        ///< that makes each of the plan's forms
  std::vector<Launch> step;
  std::vector<const TableCall*> tables;  ///< by Fault::record - 1
  std::vector<const LoopCall*> loops;    ///< whose blocks wait for each other; by Fault::stuck - 1
  int64_t scratch_bytes = 0;
  unsigned most_meeting_groups = 0;  ///< of any launch
};

/// The launches of a plan made for gpu_machine(), which outlives them. A loop that is one kernel
/// (loop_kernel.h) is one launch, placed for `gpu` as `placements` lets it; otherwise every step of
/// it has its own. Throws ErrorKind::resource where the GPU lacks what a placement needs.
Launches make_launches(const Plan& plan, const Gpu& gpu = {}, std::string_view placements = "auto");

}  // namespace graphc::cuda
