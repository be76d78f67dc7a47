// SPDX-License-Identifier: Apache-2.0
// A plan as launches: what the host puts into a stream for a step, fixed when it is compiled.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/cuda/loop_placement.h"
#include "codegen/cuda/lower_layers.h"
#include "codegen/cuda/row_kernels.h"
#include "codegen/step/footprint.h"
#include "codegen/step/position.h"

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
  unsigned meeting_groups = 0;
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
  unsigned most_meeting_groups = 0;  ///< of any launch
};

/// From how many multiplications and additions on a product is put as cuBLASLt's too, and a loop in
/// all placements that it can have; negative: never.
struct Alternatives {
  int64_t products = -1, placements = -1;
};

/// Whether nests that do not depend on each other become one launch (merge.h).
enum class Merging : uint8_t { apart, together };

/// The launches of a plan made for gpu_machine(), which outlives them. A loop that is one kernel
/// (loop_kernel.h) is one launch, placed for `gpu`, and as `wanted` where that is said; otherwise
/// every step of it has its own. `alternatives` says what is put in other ways too. Throws
/// ErrorKind::resource where the GPU lacks what a placement needs.
Launches make_launches(const Plan& plan, const Gpu& gpu = {}, std::optional<Placement> wanted = {},
                       Merging merging = Merging::together, const Alternatives& alternatives = {});

}  // namespace graphc::core::cuda
