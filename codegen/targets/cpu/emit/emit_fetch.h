// SPDX-License-Identifier: Apache-2.0
// Fetching ahead: lines brought to a cache before they are used. A fetch has no faults, so what is
// fetched may lie behind the end of something.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/targets/cpu/jit/code_module.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace graphc::core::cpu {

/// Bytes that a cache moves at a time, about: what is fetched ahead goes in such steps.
inline constexpr int64_t kLineBytes = 64;

enum class CacheLevel : uint8_t { first, second };

/// Brings the line of an address to a cache; `written`: for a store to it.
void fetch_line(llvm::IRBuilderBase& builder, llvm::Value* address, CacheLevel level,
                bool written = false);

/// What a body reads or writes of a part of an operand for the columns of a block: so many bytes
/// from each row, for `column` units times `unit` bytes on.
struct FetchedPart {
  int operand = 0, part = 0;
  int64_t unit = 4, bytes = 64;
  bool written = false;
};

/// Of fetch_parts: the function that emit_fetch_parts() adds to a module.
inline constexpr const char* kFetchParts = "fetch_parts";

/// Adds an exported function, made once for all nests, that brings to the second-level cache what a
/// table of parts says of NestOperandArguments:
///
///   void (ptr operands, ptr parts, i64 number of parts, i64 row, i64 rows, i64 column)
void emit_fetch_parts(CodeModule& module);

/// Emits in another module a call of it.
void call_fetch_parts(CodeModule& module, llvm::IRBuilderBase& builder,
                      const std::vector<FetchedPart>& parts, llvm::Value* operands,
                      llvm::Value* row, llvm::Value* rows, llvm::Value* column);

}  // namespace graphc::core::cpu
