// SPDX-License-Identifier: Apache-2.0
// A plan as launches.
#pragma once

#include <cstdint>
#include <optional>

#include "codegen/step/plan.h"
#include "codegen/targets/cuda/launch.h"

namespace graphc::core::cuda {

/// Whether nests that do not depend on each other become one launch (merge.h).
enum class Merging : uint8_t { apart, together };

/// The launches of a plan made for gpu_machine(), which outlives them. A loop that is one kernel
/// (loop_kernel.h) is one launch, placed for `gpu`, and as `wanted` where that is said; otherwise
/// every step of it has its own. `alternatives` says what is put in other ways too. Throws
/// ErrorKind::resource where the GPU lacks what a placement needs.
Launches make_launches(const Plan& plan, const Gpu& gpu = {}, std::optional<Placement> wanted = {},
                       Merging merging = Merging::together, const Alternatives& alternatives = {});

}  // namespace graphc::core::cuda
