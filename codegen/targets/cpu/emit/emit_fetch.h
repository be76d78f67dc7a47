// SPDX-License-Identifier: Apache-2.0
// Prefetching: brings lines to a cache before they are used. A prefetch does not fault, so it may
// pass the end of an array.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/targets/cpu/jit/code_module.h"

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

/// The function that emit_fetch_parts() adds to a module.
inline constexpr const char* kFetchParts = "fetch_parts";

/// Adds an exported function, generated once for all nests, that prefetches into the second-level
/// cache the parts that a table lists, at the addresses of NestOperandArguments:
///
///   void (ptr operands, ptr parts, i64 number of parts, i64 row, i64 rows, i64 column)
void emit_fetch_parts(CodeModule& module);

/// Emits a call of it in another module.
void call_fetch_parts(CodeModule& module, llvm::IRBuilderBase& builder,
                      const std::vector<FetchedPart>& parts, llvm::Value* operands,
                      llvm::Value* row, llvm::Value* rows, llvm::Value* column);

}  // namespace graphc::core::cpu
