// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of one process: for tests, and for `graphc check --ranks`.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/ranks/ranks.h"

namespace graphc::core {

/// `count` ranks, at least 1, each for a thread of its own. Sums have the bits of every other
/// engine. An operation for which the other ranks have other sizes, or another operation, is an
/// internal error on all ranks. abort() ends the operations of all ranks with ErrorKind::resource,
/// in the caller too.
std::vector<std::shared_ptr<Ranks>> thread_ranks(int count);

/// Calls `function` with the number of each of these ranks, 0 on the caller's thread and the others
/// on one of their own. If some throw, ends the operations of the others, and rethrows the error of
/// the first rank that met one by itself, and not that another one has ended.
void run_on(std::span<const std::shared_ptr<Ranks>> ranks,
            const std::function<void(size_t rank)>& function);

}  // namespace graphc::core
