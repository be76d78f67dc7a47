// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/emit/emit_loops.h"

#include <llvm/IR/IRBuilder.h>

namespace graphc::core::cpu {

using llvm::BasicBlock;
using llvm::PHINode;

LoopEmitter::I64 LoopEmitter::number(int64_t value) { return b_.getInt64(uint64_t(value)); }

llvm::Value* LoopEmitter::at(Value* pointer, Value* bytes) {
  return b_.CreateGEP(b_.getInt8Ty(), pointer, bytes);
}

llvm::Value* LoopEmitter::at(Value* pointer, int64_t bytes) { return at(pointer, number(bytes)); }

llvm::Value* LoopEmitter::load(llvm::Type* type, Value* pointer) {
  return b_.CreateLoad(type, pointer);
}

BasicBlock* LoopEmitter::block(const char* name) {
  return BasicBlock::Create(b_.getContext(), name, function_);
}

void LoopEmitter::loop(I64 begin, I64 end, int64_t step, const char* name,
                       const std::function<void(I64)>& body) {
  loop(begin, end, step, name, {}, [&](I64 i, const Values&) {
    body(i);
    return Values{};
  });
}

LoopEmitter::Values LoopEmitter::loop(I64 begin, I64 end, int64_t step, const char* name,
                                      const Values& initial,
                                      const std::function<Values(I64, const Values&)>& body) {
  BasicBlock *before = b_.GetInsertBlock(), *head = block(name), *after = block("after");
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), head, after);
  b_.SetInsertPoint(head);
  PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  Values carried;
  for (Value* value : initial) {
    PHINode* phi = b_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    carried.push_back(phi);
  }
  const Values next = body(i, carried);
  Value* following = b_.CreateAdd(i, number(step));
  BasicBlock* latch = b_.GetInsertBlock();
  i->addIncoming(following, latch);
  for (size_t c = 0; c < carried.size(); ++c)
    llvm::cast<PHINode>(carried[c])->addIncoming(next[c], latch);
  b_.CreateCondBr(b_.CreateICmpSLT(following, end), head, after);
  b_.SetInsertPoint(after);
  Values result;
  for (size_t c = 0; c < carried.size(); ++c) {
    PHINode* phi = b_.CreatePHI(initial[c]->getType(), 2);
    phi->addIncoming(initial[c], before);
    phi->addIncoming(next[c], latch);
    result.push_back(phi);
  }
  return result;
}

void LoopEmitter::when(Value* condition, const std::function<void()>& body) {
  BasicBlock *then = block("then"), *after = block("after");
  b_.CreateCondBr(condition, then, after);
  b_.SetInsertPoint(then);
  body();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

}  // namespace graphc::core::cpu
