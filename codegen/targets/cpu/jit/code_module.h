// SPDX-License-Identifier: Apache-2.0
// What the emitters of codegen/cpu share. LLVM's types appear by name only: its headers are
// included in .cpp files alone.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/targets/cpu/cpu_features.h"

namespace llvm {
class Function;
class FunctionType;
class LLVMContext;
class Module;
class TargetMachine;
}  // namespace llvm

namespace graphc::core::cpu {

/// One kernel being emitted: a module in a context of its own, so that kernels can be emitted and
/// compiled on several threads. A kernel's functions are made by define() and filled by an
/// llvm::IRBuilder in clean SSA: no optimisation pass runs over them.
class CodeModule {
 public:
  CodeModule(const CpuFeatures& cpu, std::string_view name);
  /// While an exception is handled that came later than the module, it is kept for ever: LLVM may
  /// have been stopped in the middle of a change of it, and could not take it apart.
  ~CodeModule();
  CodeModule(CodeModule&&) noexcept;
  CodeModule& operator=(CodeModule&&) noexcept;

  const CpuFeatures& cpu() const { return cpu_; }
  llvm::LLVMContext& context() { return *context_; }
  llvm::Module& module() { return *module_; }
  const llvm::Module& module() const { return *module_; }

  /// Declares a function to be filled with a body: visible to Jit::link() if `exported`, else
  /// private to the module. It carries the CPU, its features and its vector width as attributes,
  /// is never inlined and does not unwind.
  llvm::Function* define(std::string_view name, llvm::FunctionType* type, bool exported = true);

  /// LLVM's text of the module, as emitted so far.
  std::string ir_text() const;

  /// The module's bytes, as emitted so far: equal modules have equal bytes.
  std::string bitcode() const;

  /// Throws an internal error with the text of the module if LLVM's verifier rejects it.
  void verify() const;

  /// Errors that LLVM reported about this module while compiling it; empty if none.
  const std::string& diagnostics() const { return *diagnostics_; }

  /// Seconds since construction: the time spent emitting, once emission has ended.
  double age_s() const;

 private:
  CpuFeatures cpu_;
  std::chrono::steady_clock::time_point begun_;
  std::unique_ptr<std::string> diagnostics_;    // its address is known to the context
  std::unique_ptr<llvm::LLVMContext> context_;  // before module_, which it outlives
  std::unique_ptr<llvm::Module> module_;
  int exceptions_;  // being handled when it was made: with more, it may be half made
};

/// A code generator for `cpu`, at the level every kernel is compiled with. Not shared by threads.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuFeatures& cpu);

/// Of the passes of LLVM's code generator that are left out those that it has not come to in this
/// process: once a kernel with a loop has been compiled, none, or LLVM calls them otherwise now.
std::vector<std::string_view> passes_not_met();

}  // namespace graphc::core::cpu
