// SPDX-License-Identifier: Apache-2.0
// Pipelines: parsing of pass lists, and the standard ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace graphc::core {

/// Parses `simplify,unroll{steps=4},cse`. Throws ErrorKind::usage for an unknown pass or option,
/// with a "did you mean" if there is a close name.
Pipeline parse_pipeline(std::string_view text);
/// Inverse of parse_pipeline().
std::string to_text(const Pipeline& pipeline);

/// The standard pipeline of a variant (`basic`, `unrolled`, `fused`, `cudnn`, or `auto`: that of
/// `fused`), from a traced graph to one without `grad` and with distributed loops. For an unknown
/// variant throws ErrorKind::usage, naming the variants.
///
/// `unroll` is `auto` (the variant's default), `loop`, `full`, or the number of steps to unroll.
/// `remat` is `auto` (what loops say themselves, passes/remat.cpp), `off`, or the number of steps
/// whose states are computed again from one that is saved. `recurrence` is `steps`, `chunks` or
/// `chunks=N` (passes/recurrence/chunk_recurrence.cpp), or `auto`: what is faster. Anything else is
/// ErrorKind::usage.
Pipeline standard_pipeline(std::string_view variant, std::string_view unroll = "auto",
                           std::string_view remat = "auto", std::string_view recurrence = "auto");
/// The continuation for targets that compile kernels: from there to a graph of kernels. With
/// `stores_bf16`, values that products round anyway are stored in bf16 (passes/precision.cpp), for
/// the variant whose kernels can round their results: `fused`.
Pipeline kernel_pipeline(std::string_view variant, bool stores_bf16 = false);
/// The variants that every target has.
std::vector<std::string_view> all_variants();
/// All variants, including those of particular targets.
std::vector<std::string_view> typed_variants();
/// Whether a variant leaves recurrent layers to a target's library (passes/library_layers.h).
bool leaves_layers(std::string_view variant);

}  // namespace graphc::core
