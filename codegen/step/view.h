// SPDX-License-Identifier: Apache-2.0
// Arithmetic on views: how shape ops move no data.
#pragma once

#include <optional>

#include "codegen/step/plan.h"

namespace graphc::core {

/// A row-major view of a buffer from its beginning.
View contiguous_view(int buffer, const Type& type);

/// The view of a node's result given that of its operand, for ops that only rearrange
/// (passes/kernels/fuse.h, is_view). Nothing for a reshape that the strides do not allow: it needs
/// a copy.
std::optional<View> view_of(const Node& node, int result, const View& operand);

/// One step of a stream: axis 0 removed, its stride a term of loop `depth`.
View step_of(const View& stream, int depth);
/// The slice at a fixed index of axis 0.
View at_index(const View& stream, int64_t index);
/// Whether two views are the same elements of the same memory at every step.
bool same_view(const View& a, const View& b);
/// The address moved by `bytes`, here and at the first iteration.
Address moved(Address address, int64_t bytes);

}  // namespace graphc::core
