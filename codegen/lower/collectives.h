// SPDX-License-Identifier: Apache-2.0
// Operations between ranks as external calls.
#pragma once

#include "codegen/lower/context.h"

namespace graphc::core {

/// A Machine::lower_external for machines whose walks communicate: all_reduce of floats, and
/// all_gather along axis 0 (the pass `collectives` leaves no others). Two records: the call, which
/// begins the operation, and the wait for it, which `overlap_collectives` moves apart.
bool lower_collective(LowerContext& context, const Node& node, ViewMap& views,
                      const ViewMap& wanted);

}  // namespace graphc::core
