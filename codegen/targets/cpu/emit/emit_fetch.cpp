// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/emit/emit_fetch.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstddef>

#include "codegen/targets/cpu/emit/emit_loops.h"
#include "codegen/walk/nest_abi.h"

namespace graphc::core::cpu {
namespace {

/// The fields of a FetchedPart in the table, 64-bit numbers in this order.
enum Field : int64_t { kOperand, kPart, kUnit, kBytes, kWritten, kFields };

llvm::FunctionType* type_of_function(llvm::LLVMContext& context) {
  llvm::Type *pointer = llvm::PointerType::getUnqual(context),
             *number = llvm::Type::getInt64Ty(context);
  return llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                 {pointer, pointer, number, number, number, number}, false);
}

class FetchEmitter : private LoopEmitter {
 public:
  explicit FetchEmitter(CodeModule& module)
      : LoopEmitter(builder_), builder_(module.context()), module_(module) {}

  void emit() {
    function_ = module_.define(kFetchParts, type_of_function(module_.context()));
    b_.SetInsertPoint(block("entry"));
    loop(number(0), function_->getArg(2), 1, "part", [&](I64 part) { fetch_part(part); });
    b_.CreateRetVoid();
  }

 private:
  void fetch_part(I64 part) {
    Value* entry = at(function_->getArg(1), b_.CreateMul(part, number(kFields * 8)));
    const auto of_part = [&](Field field) {
      return load(b_.getInt64Ty(), at(entry, int64_t(field) * 8));
    };
    Value* operand = at(function_->getArg(0),
                        b_.CreateMul(of_part(kOperand), number(sizeof(NestOperandArguments))));
    const auto argument = [&](llvm::Type* type, size_t offset) {
      return load(type, at(operand, int64_t(offset)));
    };
    Value* row = argument(b_.getInt64Ty(), offsetof(NestOperandArguments, row));
    Value* stride = argument(b_.getInt64Ty(), offsetof(NestOperandArguments, part));
    Value* first = argument(b_.getPtrTy(), offsetof(NestOperandArguments, base));
    first = at(first, b_.CreateMul(row, function_->getArg(3)));
    first = at(first, b_.CreateMul(stride, of_part(kPart)));
    first = at(first, b_.CreateMul(function_->getArg(5), of_part(kUnit)));
    Value* bytes = of_part(kBytes);
    Value* written = b_.CreateICmpNE(of_part(kWritten), number(0));
    // Fetches the line in which each piece of at most a line's bytes ends. The line in which the
    // first piece begins is that in which the previous block of columns ends.
    Value* begin = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, bytes, number(kLineBytes));
    Value* end = b_.CreateAdd(bytes, number(1));
    loop(number(0), function_->getArg(4), 1, "row", [&](I64 m) {
      Value* stretch = at(first, b_.CreateMul(m, row));
      loop(begin, end, kLineBytes, "line", [&](I64 behind) {
        Value* line = at(stretch, b_.CreateSub(behind, number(1)));
        when(written, [&] { fetch_line(b_, line, CacheLevel::second, true); });
        when(b_.CreateNot(written), [&] { fetch_line(b_, line, CacheLevel::second); });
      });
    });
  }

  llvm::IRBuilder<> builder_;
  CodeModule& module_;
};

}  // namespace

void fetch_line(llvm::IRBuilderBase& b, llvm::Value* address, CacheLevel level, bool written) {
  constexpr uint32_t kData = 1;
  const uint32_t locality = level == CacheLevel::first ? 3 : 2;
  b.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {b.getPtrTy()},
      {address, b.getInt32(written ? 1 : 0), b.getInt32(locality), b.getInt32(kData)});
}

void emit_fetch_parts(CodeModule& module) { FetchEmitter(module).emit(); }

void call_fetch_parts(CodeModule& module, llvm::IRBuilderBase& b,
                      const std::vector<FetchedPart>& parts, llvm::Value* operands,
                      llvm::Value* row, llvm::Value* rows, llvm::Value* column) {
  if (parts.empty()) return;
  std::vector<uint64_t> fields;
  for (const FetchedPart& part : parts) {
    for (const int64_t field :
         {int64_t(part.operand), int64_t(part.part), part.unit, part.bytes, int64_t(part.written)})
      fields.push_back(uint64_t(field));
  }
  auto* table = llvm::ConstantDataArray::get(module.context(), fields);
  auto* place = new llvm::GlobalVariable(module.module(), table->getType(), true,
                                         llvm::GlobalValue::PrivateLinkage, table, "fetched_parts");
  llvm::FunctionCallee function =
      module.module().getOrInsertFunction(kFetchParts, type_of_function(module.context()));
  b.CreateCall(function, {operands, place, b.getInt64(parts.size()), row, rows, column});
}

}  // namespace graphc::core::cpu
