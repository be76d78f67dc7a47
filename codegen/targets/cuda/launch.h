// SPDX-License-Identifier: Apache-2.0
// A launch as data: what the host enqueues in a stream, fixed when a step is compiled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/step/footprint.h"
#include "codegen/targets/cuda/loops/loop_placement.h"
#include "codegen/targets/cuda/lower_layers.h"
#include "codegen/targets/cuda/ranks/collective_parts.h"
#include "codegen/targets/cuda/text/row_kernels.h"

namespace graphc::core::cuda {

struct LibraryForm;
struct SplitProduct;

/// Memory that a launch accesses besides the plan's buffers (MemoryAccess::memory).
enum OwnMemory : int {
  kFaultMemory = -1,
  kScratchMemory = -2,
  kBarrierMemory = -3,
  /// The workspace of a library, and the data it keeps from a layer to its gradients.
  kLibraryMemory = -4,
  /// What ranks exchange. All collectives of a step use it, so they are ordered.
  kExchangeMemory = -5,
};

/// A nest that a launch executes.
struct LaunchedNest {
  const NestCall* call = nullptr;
  const Record* record = nullptr;
};

/// One launch of a kernel, or a call of a library.
struct Launch {
  int kernel = 0;  ///< index into Launches::kernels; -1: none, a library
  /// The call of cuDNN; `arguments` are its addresses, in the order of layer_addresses().
  std::shared_ptr<const LayerCall> layer;
  /// The exchange between ranks, of which `arguments` are the two addresses.
  std::shared_ptr<const DeviceExchange> exchange;
  Grid grid;
  std::vector<LaunchValue> arguments;
  size_t shared_bytes = 0;  ///< dynamic, per block
  /// Groups of blocks with barriers among themselves; 0: no barriers. With barriers, all blocks
  /// must be resident at the same time.
  unsigned barrier_groups = 0;
  unsigned cluster = 1;  ///< blocks per cluster
  /// Whether fewer blocks give the same result: the device then runs as many as it holds.
  bool any_blocks = false;
  std::string note;                                ///< for a loop: its placement as text
  std::shared_ptr<const LoopPlacement> placement;  ///< the same; null for other launches
  /// Of a product whose terms blocks divide (launches/split_product.h): it and the launch of the
  /// rest of the nest, which always follows. Null for other launches.
  std::shared_ptr<const SplitProduct> split;
  std::shared_ptr<Launch> rest;
  /// The equivalent product by cuBLASLt (library_product.h); null where it cannot compute it.
  std::shared_ptr<LibraryForm> by_library;
  /// For a loop, its other placements, where it is worth measuring which is fastest.
  std::vector<Launch> others;
  const Record* record = nullptr;  ///< the plan's record that it executes or is a part of
  /// The nests of a launch that can be or has been merged with others (merge.h). Empty for other
  /// launches.
  std::vector<LaunchedNest> nests;
  std::vector<MemoryAccess> accesses;  ///< none: unknown
};

struct Launches {
  std::vector<KernelText> kernels;         ///< distinct
  std::vector<std::vector<Launch>> forms;  ///< the launches that build each of the plan's forms
  std::vector<Launch> step;
  std::vector<const TableCall*> tables;  ///< by Fault::record - 1
  std::vector<const LoopCall*> loops;    ///< loops with barriers, by Fault::stuck - 1
  int64_t scratch_bytes = 0;
  int64_t exchange_bytes = 0;        ///< of kExchangeMemory
  int64_t ranks = 0;                 ///< that its collectives are between; 0: it has none
  unsigned most_barrier_groups = 0;  ///< maximum over the launches
  std::vector<std::string> notes;    ///< of loops whose steps are launches
};

/// Minimum numbers of multiplications and additions from which a product gets an alternative by
/// cuBLASLt, and a loop all its possible placements; negative: never.
struct Alternatives {
  int64_t products = -1, placements = -1;
};

}  // namespace graphc::core::cuda
