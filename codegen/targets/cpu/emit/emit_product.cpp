// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/emit/emit_product.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "codegen/targets/cpu/emit/emit_fetch.h"
#include "codegen/targets/cpu/math/vector_math.h"
#include "ir/error.h"

namespace graphc::core::cpu {
namespace {

/// How many steps of k ahead of its use a panel is prefetched. A panel is in the second-level
/// cache, or further away for its first tile, but never in the first-level cache.
constexpr int64_t kFetchAhead = 16;

using llvm::BasicBlock;
using llvm::PHINode;
using llvm::Value;

/// One loop of ProductLoops.
struct ProductLoop {
  int lanes, rows, vectors;
  int64_t k_bytes;
};

class ProductEmitter {
 public:
  ProductEmitter(CodeModule& kernel, const ProductLoop& loop, llvm::Function* function)
      : kernel_(kernel), loop_(loop), function_(function), b_(kernel.context()) {
    vector_ = llvm::FixedVectorType::get(b_.getFloatTy(), unsigned(loop.lanes));
  }

  void emit() {
    BasicBlock* entry = block("entry");
    b_.SetInsertPoint(entry);
    for (int m = 0; m < loop_.rows; ++m) {
      rows_.push_back(
          at(function_->getArg(0), b_.CreateMul(function_->getArg(1), b_.getInt64(uint64_t(m)))));
      sum_rows_.push_back(
          at(function_->getArg(5), b_.CreateMul(function_->getArg(6), b_.getInt64(uint64_t(m)))));
    }
    const std::vector<Value*> piece = emit_loop();
    BasicBlock *begin = block("begin"), *resume = block("resume");
    b_.CreateCondBr(function_->getArg(7), begin, resume);
    b_.SetInsertPoint(begin);
    for (size_t i = 0; i < sums(); ++i) store(i, piece[i]);
    b_.CreateRetVoid();
    // The terms of a piece are summed separately: the error of the total grows with the number of
    // terms of a piece plus the number of pieces, not with their product.
    b_.SetInsertPoint(resume);
    for (size_t i = 0; i < sums(); ++i) store(i, b_.CreateFAdd(load(sum_at(i)), piece[i]));
    b_.CreateRetVoid();
  }

 private:
  BasicBlock* block(const char* name) {
    return BasicBlock::Create(kernel_.context(), name, function_);
  }
  Value* at(Value* pointer, Value* bytes) { return b_.CreateGEP(b_.getInt8Ty(), pointer, bytes); }
  Value* at(Value* pointer, int64_t bytes) { return at(pointer, b_.getInt64(uint64_t(bytes))); }
  int64_t vector_bytes() const { return int64_t(loop_.lanes) * 4; }
  size_t sums() const { return size_t(loop_.rows) * size_t(loop_.vectors); }
  Value* sum_at(size_t i) {
    return at(sum_rows_[i / size_t(loop_.vectors)],
              int64_t(i % size_t(loop_.vectors)) * vector_bytes());
  }
  void store(size_t i, Value* sum) { b_.CreateAlignedStore(sum, sum_at(i), llvm::Align(4)); }
  Value* load(Value* pointer) { return b_.CreateAlignedLoad(vector_, pointer, llvm::Align(4)); }

  /// The number of a row, in all lanes.
  Value* left_of(int row, Value* offset) {
    Value* x =
        b_.CreateAlignedLoad(b_.getFloatTy(), at(rows_[size_t(row)], offset), llvm::Align(4));
    return b_.CreateVectorSplat(unsigned(loop_.lanes), x);
  }

  /// Keeps loads in their order. LLVM would load all factors first, and spill sums for them.
  void keep_order() {
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), false);
    b_.CreateCall(llvm::InlineAsm::get(type, "", "~{memory}", true));
  }

  /// The sums after one step of k. Of rows and vectors, the fewer are in registers beside the sums,
  /// and the others one after another: three rows of four vectors take 16 registers so, and three
  /// of eight 28 of 32.
  std::vector<Value*> emit_terms(Value* panel, Value* offset, const std::vector<PHINode*>& sums) {
    const VectorMath math(b_, kernel_.cpu());
    const bool few_registers = kernel_.cpu().vector_registers < 32;
    const bool by_vector = loop_.rows < loop_.vectors;
    const int kept = by_vector ? loop_.rows : loop_.vectors;
    const int passed = by_vector ? loop_.vectors : loop_.rows;
    const auto factor = [&](bool left, int i) {
      return left ? left_of(i, offset) : load(at(panel, i * vector_bytes()));
    };
    std::vector<Value*> beside, next(sums.begin(), sums.end());
    for (int i = 0; i < kept; ++i) beside.push_back(factor(by_vector, i));
    for (int j = 0; j < passed; ++j) {
      if (few_registers) keep_order();
      Value* other = factor(!by_vector, j);
      for (int i = 0; i < kept; ++i) {
        const int row = by_vector ? i : j, vector = by_vector ? j : i;
        Value*& sum = next[size_t(row * loop_.vectors + vector)];
        sum = math.multiply_add(beside[size_t(i)], other, sum);
      }
    }
    return next;
  }

  /// The sums of the terms of this call.
  std::vector<Value*> emit_loop() {
    const std::vector<Value*> initial(sums(), llvm::Constant::getNullValue(vector_));
    BasicBlock *before = b_.GetInsertBlock(), *head = block("k"), *done = block("done");
    Value* count = function_->getArg(4);
    // The address of the panel counts the terms: each instruction in this loop is one for every few
    // multiply-adds, and takes its share where two threads share a core.
    Value* end = at(function_->getArg(3), b_.CreateMul(count, b_.getInt64(loop_.k_bytes)));
    b_.CreateCondBr(b_.CreateICmpSGT(count, b_.getInt64(0)), head, done);
    b_.SetInsertPoint(head);
    PHINode* panel = b_.CreatePHI(b_.getPtrTy(), 2);
    PHINode* offset = b_.CreatePHI(b_.getInt64Ty(), 2);
    PHINode* later = b_.CreatePHI(b_.getPtrTy(), 2);
    panel->addIncoming(function_->getArg(3), before);
    offset->addIncoming(b_.getInt64(0), before);
    later->addIncoming(function_->getArg(8), before);
    std::vector<PHINode*> carried;
    for (Value* value : initial) {
      carried.push_back(b_.CreatePHI(vector_, 2));
      carried.back()->addIncoming(value, before);
    }
    // Prefetches past the end hit the next block, or nothing: a prefetch does not fault.
    for (int64_t line = 0; line < loop_.vectors * vector_bytes(); line += kLineBytes)
      fetch_line(b_, at(panel, kFetchAhead * loop_.k_bytes + line), CacheLevel::first);
    fetch_line(b_, later, CacheLevel::second);
    const std::vector<Value*> next = emit_terms(panel, offset, carried);
    Value* next_panel = at(panel, loop_.k_bytes);
    panel->addIncoming(next_panel, head);
    offset->addIncoming(b_.CreateAdd(offset, function_->getArg(2)), head);
    later->addIncoming(at(later, function_->getArg(9)), head);
    for (size_t i = 0; i < next.size(); ++i) carried[i]->addIncoming(next[i], head);
    b_.CreateCondBr(b_.CreateICmpNE(next_panel, end), head, done);
    b_.SetInsertPoint(done);
    std::vector<Value*> final;
    for (size_t i = 0; i < next.size(); ++i) {
      PHINode* phi = b_.CreatePHI(vector_, 2);
      phi->addIncoming(initial[i], before);
      phi->addIncoming(next[i], head);
      final.push_back(phi);
    }
    return final;
  }

  CodeModule& kernel_;
  const ProductLoop loop_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  llvm::Type* vector_;
  std::vector<Value*> rows_, sum_rows_;
};

llvm::FunctionType* type_of_loops(llvm::LLVMContext& context) {
  llvm::Type *pointer = llvm::PointerType::getUnqual(context),
             *number = llvm::Type::getInt64Ty(context);
  return llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                 {pointer, number, number, pointer, number, pointer, number,
                                  llvm::Type::getInt1Ty(context), pointer, number},
                                 false);
}

llvm::ArrayType* type_of_table(llvm::LLVMContext& context, const ProductLoops& loops) {
  return llvm::ArrayType::get(llvm::PointerType::getUnqual(context), uint64_t(loops.rows));
}

}  // namespace

std::string ProductLoops::symbol() const {
  return fmt::format("products_{}x{}_{}", rows, vectors, k_bytes);
}

void emit_product_loops(CodeModule& module, const ProductLoops& loops) {
  std::vector<llvm::Constant*> functions;
  for (int rows = 1; rows <= loops.rows; ++rows) {
    const std::string name = fmt::format("product_{}x{}_{}", rows, loops.vectors, loops.k_bytes);
    llvm::Function* function = module.define(name, type_of_loops(module.context()), false);
    ProductEmitter(module, {loops.lanes, rows, loops.vectors, loops.k_bytes}, function).emit();
    functions.push_back(function);
  }
  llvm::ArrayType* type = type_of_table(module.context(), loops);
  new llvm::GlobalVariable(module.module(), type, true, llvm::GlobalValue::ExternalLinkage,
                           llvm::ConstantArray::get(type, functions), loops.symbol());
}

void call_product_loop(CodeModule& module, llvm::IRBuilderBase& b, const ProductLoops& loops,
                       Value* rows, const std::vector<Value*>& arguments) {
  llvm::Constant* table =
      module.module().getOrInsertGlobal(loops.symbol(), type_of_table(module.context(), loops));
  Value* place = b.CreateGEP(b.getPtrTy(), table, b.CreateSub(rows, b.getInt64(1)));
  b.CreateCall(type_of_loops(module.context()), b.CreateLoad(b.getPtrTy(), place), arguments);
}

}  // namespace graphc::core::cpu
