// SPDX-License-Identifier: Apache-2.0
// Prefetching: brings lines to a cache before they are used. A prefetch does not fault, so it may
// pass the end of an array.
#pragma once

#include <cstdint>

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace graphc::core::cpu {

/// Approximate bytes of a cache line; the step of prefetches.
inline constexpr int64_t kLineBytes = 64;

enum class CacheLevel : uint8_t { first, second };

/// Prefetches the line of an address; `written`: for a store to it.
void fetch_line(llvm::IRBuilderBase& builder, llvm::Value* address, CacheLevel level,
                bool written = false);

/// The memory of one part of an operand that a body reads or writes for a block's columns: `bytes`
/// bytes of each row, from offset `column` * `unit` on.
struct FetchedPart {
  int operand = 0, part = 0;
  int64_t unit = 4, bytes = 64;
  bool written = false;
};

}  // namespace graphc::core::cpu
