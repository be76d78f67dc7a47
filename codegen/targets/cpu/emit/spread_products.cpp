// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/emit/spread_products.h"

#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace graphc::core::cpu {
namespace {

using Instructions = std::vector<llvm::Instruction*>;

llvm::Intrinsic::ID intrinsic_of(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call == nullptr ? llvm::Intrinsic::not_intrinsic : call->getIntrinsicID();
}

bool is_product(const llvm::Instruction& instruction) {
  return intrinsic_of(instruction) == llvm::Intrinsic::x86_tdpbf16ps;
}

bool is_tile_load(const llvm::Instruction& instruction) {
  const llvm::Intrinsic::ID id = intrinsic_of(instruction);
  return id == llvm::Intrinsic::x86_tileloadd64 || id == llvm::Intrinsic::x86_tileloaddt164;
}

/// An address that only loads of tiles use; it moves with them.
bool is_address_of_tile(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::GetElementPtrInst>(instruction) &&
         std::ranges::all_of(instruction.users(), [](const llvm::User* user) {
           auto* load = llvm::dyn_cast<llvm::Instruction>(user);
           return load != nullptr && is_tile_load(*load);
         });
}

}  // namespace

void spread_products(llvm::BasicBlock& block) {
  std::vector<Instructions> products;  // each with the preceding loads and their addresses
  Instructions loads, others;
  for (llvm::Instruction& instruction : block) {
    if (is_tile_load(instruction) || is_address_of_tile(instruction)) {
      loads.push_back(&instruction);
    } else if (is_product(instruction)) {
      products.push_back(std::exchange(loads, {}));
      products.back().push_back(&instruction);
    } else if (!products.empty() && !instruction.isTerminator()) {
      others.push_back(&instruction);
    }
  }
  if (others.size() < products.size()) return;
  for (size_t i = 1; i < products.size(); ++i) {
    llvm::Instruction* place = others[others.size() * i / products.size()];
    for (llvm::Instruction* instruction : products[i]) instruction->moveBefore(place);
  }
}

}  // namespace graphc::core::cpu
