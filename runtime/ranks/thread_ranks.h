// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of one process: for tests, and for `graphc check --ranks`.
#pragma once

#include <memory>
#include <vector>

#include "runtime/ranks/ranks.h"

namespace graphc::core {

/// `count` ranks, at least 1, each for a thread of its own. Sums have the bits of every other
/// engine. An operation for which the other ranks have other sizes, or another operation, is an
/// internal error on all ranks. abort() ends the operations of all ranks with ErrorKind::resource,
/// in the caller too.
std::vector<std::shared_ptr<Ranks>> thread_ranks(int count);

}  // namespace graphc::core
