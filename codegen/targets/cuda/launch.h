// SPDX-License-Identifier: Apache-2.0
// A launch as data: what the host puts into a stream, fixed when a step is compiled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/step/footprint.h"
#include "codegen/targets/cuda/loops/loop_placement.h"
#include "codegen/targets/cuda/lower_layers.h"
#include "codegen/targets/cuda/text/row_kernels.h"

namespace graphc::core::cuda {

struct LibraryForm;

/// Memories that a launch accesses beside those of the plan (MemoryAccess::memory).
enum OwnMemory : int {
  kFaultMemory = -1,
  kScratchMemory = -2,
  kBarrierMemory = -3,
  /// The workspace of a library, and what it keeps from a layer to its gradients.
  kLibraryMemory = -4,
};

/// A nest that a launch does.
struct LaunchedNest {
  const NestCall* call = nullptr;
  const Record* record = nullptr;
};

/// One launch of a kernel, or a call of a library.
struct Launch {
  int kernel = 0;  ///< of Launches::kernels; -1: none, a library
  /// What cuDNN does; the arguments are its addresses, in the order of layer_addresses().
  std::shared_ptr<const LayerCall> layer;
  Grid grid;
  std::vector<LaunchValue> arguments;
  size_t shared_bytes = 0;  ///< dynamic, of a block
  /// Groups of blocks that wait for each other; 0: none do. Then all run at a time.
  unsigned barrier_groups = 0;
  unsigned cluster = 1;  ///< blocks of a cluster
  /// Whether fewer blocks do the same: as many as the device holds.
  bool any_blocks = false;
  std::string note;                                ///< of a loop: how it is placed
  std::shared_ptr<const LoopPlacement> placement;  ///< the same; null for other launches
  /// How cuBLASLt does the same (library_product.h); null where it cannot.
  std::shared_ptr<LibraryForm> by_library;
  /// A loop in its other placements, where it is worth trying which is fastest.
  std::vector<Launch> others;
  const Record* record = nullptr;  ///< of the plan, what it does or is a part of
  /// Nests that can be one launch with others, and that are (merge.h). Of other launches none.
  std::vector<LaunchedNest> nests;
  std::vector<MemoryAccess> accesses;  ///< none: unknown
};

struct Launches {
  std::vector<KernelText> kernels;         ///< distinct
  std::vector<std::vector<Launch>> forms;  ///< that make each of the plan's forms
  std::vector<Launch> step;
  std::vector<const TableCall*> tables;  ///< by Fault::record - 1
  std::vector<const LoopCall*> loops;    ///< whose blocks wait for each other; by Fault::stuck - 1
  int64_t scratch_bytes = 0;
  unsigned most_barrier_groups = 0;  ///< of any launch
};

/// From how many multiplications and additions on a product is put as cuBLASLt's too, and a loop in
/// all placements that it can have; negative: never.
struct Alternatives {
  int64_t products = -1, placements = -1;
};

}  // namespace graphc::core::cuda
