// SPDX-License-Identifier: Apache-2.0
// Loops in emitted code. LLVM's types appear by name only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace llvm {
class BasicBlock;
class Function;
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace graphc::core::cpu {

/// Emitted indices from `begin` to `end`.
struct LoopRange {
  llvm::Value *begin = nullptr, *end = nullptr;
};

/// Emits loops at its builder's insertion point in the function `function_`.
class LoopEmitter {
 protected:
  using Value = llvm::Value;
  using Values = std::vector<Value*>;
  using I64 = Value*;

  /// `builder` may be constructed later and must outlive the emitter.
  explicit LoopEmitter(llvm::IRBuilderBase& builder) : b_(builder) {}

  I64 number(int64_t value);
  Value* at(Value* pointer, Value* bytes);
  Value* at(Value* pointer, int64_t bytes);
  Value* load(llvm::Type* type, Value* pointer);
  llvm::BasicBlock* block(const char* name);

  /// for (i = begin; i < end; i += step) body(i), entered only if begin < end.
  void loop(I64 begin, I64 end, int64_t step, const char* name,
            const std::function<void(I64)>& body);
  /// The same with values carried from one iteration to the next; returns their final values.
  Values loop(I64 begin, I64 end, int64_t step, const char* name, const Values& initial,
              const std::function<Values(I64, const Values&)>& body);
  /// if (condition) body().
  void when(Value* condition, const std::function<void()>& body);

  llvm::IRBuilderBase& b_;
  llvm::Function* function_ = nullptr;
};

}  // namespace graphc::core::cpu
