// SPDX-License-Identifier: Apache-2.0
// The list of passes: each has a line here and a line in passes.cpp.
#pragma once

#include <span>

#include "passes/pass.h"

namespace graphc::core {

namespace passes {
extern const Pass align_axes;
extern const Pass autodiff;
extern const Pass chunk;
extern const Pass chunk_recurrence;
extern const Pass collectives;
extern const Pass cse;
extern const Pass expand;
extern const Pass fuse;
extern const Pass hoist;
extern const Pass outline;
extern const Pass pack_matmuls;
extern const Pass precision;
extern const Pass reductions;
extern const Pass remat;
extern const Pass replicate;
extern const Pass reroll;
extern const Pass row_operands;
extern const Pass simplify;
extern const Pass sparse_rows;
extern const Pass split_axes;
extern const Pass unroll;
extern const Pass vector_products;
}  // namespace passes

/// All passes, by name.
std::span<const Pass* const> all_passes();
/// The pass called `name`; throws ErrorKind::usage, with a "did you mean" if there is a close name.
const Pass& find_pass(std::string_view name);

}  // namespace graphc::core
