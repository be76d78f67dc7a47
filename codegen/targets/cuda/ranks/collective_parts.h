// SPDX-License-Identifier: Apache-2.0
// Collectives of a step as launches: kernels that sum, and exchanges of bytes between GPUs.
//
// A sum is Ranks::all_reduce's: in a tree of f32 or f64 whose shape depends on the number of ranks
// alone. NCCL only moves bytes, so its choice of algorithms and the wiring change no bit. Small
// sums are gathered, and every rank adds all parts. Of larger ones each rank gets its share of
// every rank's values, adds, and hands its share of the sums round: 2 (n - 1) / n of the values go
// out of a GPU, which is the least.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/step/plan.h"
#include "codegen/targets/cuda/text/row_kernels.h"

namespace graphc::core::cuda {

/// An exchange between the ranks' GPUs. Its arguments are where it reads and writes.
struct DeviceExchange {
  enum class Kind : uint8_t { all_gather, all_to_all };
  Kind kind = Kind::all_gather;
  int64_t bytes = 0;  ///< that a rank has for each of the others
};

/// One launch of a collective: a kernel, or an exchange with the arguments of `use`.
struct CollectivePart {
  KernelUse use;
  std::optional<DeviceExchange> exchange;
};

/// The launches of a collective, in order. Addresses of kind `exchanged` are bytes of the memory
/// that all collectives of a step share.
std::vector<CollectivePart> collective_parts(const ExternCall& call);
/// Bytes of that memory which the collective needs.
int64_t exchange_bytes(const ExternCall& call);

}  // namespace graphc::core::cuda
