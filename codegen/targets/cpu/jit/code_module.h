// SPDX-License-Identifier: Apache-2.0
// The LLVM module of a kernel, shared by the CPU target's emitters. LLVM's types appear by name
// only; its headers are included only in .cpp files.
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

/// One kernel under construction: a module with its own context, so that kernels can be emitted and
/// compiled on several threads. define() creates the kernel's functions, and an llvm::IRBuilder
/// fills them with clean SSA: no optimisation pass runs over them.
class CodeModule {
 public:
  CodeModule(const CpuFeatures& cpu, std::string_view name);
  /// If the module is destroyed while handling an exception that was thrown after its construction,
  /// its LLVM objects are leaked: LLVM may have been interrupted during a change and could not
  /// destroy them.
  ~CodeModule();
  CodeModule(CodeModule&&) noexcept;
  CodeModule& operator=(CodeModule&&) noexcept;

  const CpuFeatures& cpu() const { return cpu_; }
  llvm::LLVMContext& context() { return *context_; }
  llvm::Module& module() { return *module_; }
  const llvm::Module& module() const { return *module_; }

  /// Declares a function whose body is to be filled in: visible to Jit::link() if `exported`, else
  /// private to the module. Its attributes give the CPU, its features and its vector width; it is
  /// never inlined and does not unwind.
  llvm::Function* define(std::string_view name, llvm::FunctionType* type, bool exported = true);

  /// The module as LLVM's text, as emitted so far.
  std::string ir_text() const;

  /// The module as bitcode, as emitted so far: equal modules have equal bytes.
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
  std::unique_ptr<std::string> diagnostics_;    // the context keeps its address
  std::unique_ptr<llvm::LLVMContext> context_;  // before module_, which it outlives
  std::unique_ptr<llvm::Module> module_;
  int exceptions_;  // in flight at construction; if there are more later, it may be incomplete
};

/// A code generator for `cpu`, at the optimisation level used for every kernel. Not shared by
/// threads.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuFeatures& cpu);

/// The skipped passes of LLVM's code generator that it has not yet reached in this process. After a
/// kernel with a loop has been compiled there are none, unless LLVM has renamed a pass.
std::vector<std::string_view> passes_not_met();

}  // namespace graphc::core::cpu
