// SPDX-License-Identifier: Apache-2.0
// Pipelines: lists of passes, as typed and as standard.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace graphc::core {

/// Parses `simplify,unroll{steps=4},cse`. Throws ErrorKind::usage for an unknown pass or option,
/// with a "did you mean" where there is one.
Pipeline parse_pipeline(std::string_view text);
/// The text that parses back to it.
std::string to_text(const Pipeline& pipeline);

/// The standard pipeline of a variant (`basic`, `unrolled`, `fused`, `cudnn`, or `auto`: the
/// one of `fused`), from a traced graph to one without `grad` whose loops are distributed. Throws
/// ErrorKind::usage naming the variants.
///
/// `unroll` is `auto` (as the variant has it), `loop`, `full`, or how many steps are written out;
/// anything else is ErrorKind::usage.
Pipeline standard_pipeline(std::string_view variant, std::string_view unroll = "auto");
/// What follows on a target that compiles kernels: from there to a graph of kernels. With
/// `stores_bf16` values that products round anyway are stored so (passes/precision.cpp), where the
/// variant has kernels that round what they compute: `fused`.
Pipeline kernel_pipeline(std::string_view variant, bool stores_bf16 = false);
/// Names of the variants that every target has.
std::vector<std::string_view> all_variants();
/// These, and those that some targets have.
std::vector<std::string_view> typed_variants();
/// Whether a variant leaves recurrent layers to a target's library (passes/library_layers.h).
bool leaves_layers(std::string_view variant);

}  // namespace graphc::core
