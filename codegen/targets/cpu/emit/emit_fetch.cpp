// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/emit/emit_fetch.h"

#include <llvm/IR/IRBuilder.h>

namespace graphc::core::cpu {

void fetch_line(llvm::IRBuilderBase& b, llvm::Value* address, CacheLevel level, bool written) {
  constexpr uint32_t kData = 1;
  const uint32_t locality = level == CacheLevel::first ? 3 : 2;
  b.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {b.getPtrTy()},
      {address, b.getInt32(written ? 1 : 0), b.getInt32(locality), b.getInt32(kData)});
}

}  // namespace graphc::core::cpu
