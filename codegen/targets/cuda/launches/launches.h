// SPDX-License-Identifier: Apache-2.0
// Converts a plan to launches.
#pragma once

#include <cstdint>
#include <optional>

#include "codegen/step/plan.h"
#include "codegen/targets/cuda/launch.h"

namespace graphc::core::cuda {

/// Whether independent nests are merged into one launch (merge.h).
enum class Merging : uint8_t { apart, together };

/// The launches of a plan made for gpu_machine(), which must outlive them. A loop that is one
/// kernel (loop_kernel.h) is one launch, placed for `gpu`, or as `wanted` if that is given;
/// otherwise each of its steps has its own launches. `alternatives` selects the launches that get
/// alternatives. Throws ErrorKind::resource if the GPU does not support a placement.
Launches make_launches(const Plan& plan, const Gpu& gpu = {}, std::optional<Placement> wanted = {},
                       Merging merging = Merging::together, const Alternatives& alternatives = {});

}  // namespace graphc::core::cuda
