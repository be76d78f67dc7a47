// SPDX-License-Identifier: Apache-2.0
// Work of a loop that its first or its last step need not do. Internal to codegen/lower.
//
// A state that begins as zeros is multiplied in vain in the first step. What a step makes for the
// next one alone, such as the gradient of the state before it, is made in vain in the last if
// nobody asks for the final value. Of a layer of T steps these are 1/T of the recurrent products,
// each way.
#pragma once

#include <span>
#include <vector>

#include "codegen/lower/context.h"
#include "codegen/lower/scan_views.h"
#include "ir/scan.h"

namespace graphc::core {

/// Sets CallProduct::zeros_at_first of the products, in panels, of a loop at the context's depth.
/// `initial`: where the values that the carries begin with come from, in order.
void mark_zero_products(const LowerContext& context, std::span<const Value> initial,
                        const ScanViews& bound, size_t streams, std::vector<NestCall>& calls);

/// Sets Record::idle_at_last in the body of a loop whose results are those of `node`. Its buffers
/// from `first_buffer` on were made for the body.
void mark_idle_at_last(const LowerContext& context, const Scan& scan, const Node& node,
                       const ScanViews& bound, int first_buffer, std::vector<Record>& body);

}  // namespace graphc::core
