// SPDX-License-Identifier: Apache-2.0
// Collectives beside other work.
#pragma once

#include "codegen/step/plan.h"

namespace graphc::core {

/// Lets the collectives outside of loops begin as soon as what they read is there, moves records
/// that need their results behind those that do not, and the waits before the first that does. Sums
/// that begin one after another become one operation while they have at most `bucket_bytes`
/// together, if that delays no record. All ranks have the same records and so begin their
/// collectives in one order. Before the records are numbered.
void overlap_collectives(Plan& plan, int64_t bucket_bytes);

}  // namespace graphc::core
