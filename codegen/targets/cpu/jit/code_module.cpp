// SPDX-License-Identifier: Apache-2.0
// CodeModule, and the single place that configures LLVM's code generator.
#include "codegen/targets/cpu/jit/code_module.h"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <string_view>
#include <vector>

#include "codegen/targets/cpu/jit/kernel_names.h"
#include "codegen/targets/cpu/jit/llvm_errors.h"
#include "ir/error.h"

namespace graphc::core::cpu {
namespace {

// Otherwise LLVM would abort the process on an internal error.
void throw_fatal(void*, const char* reason, bool) {
  throw Error(ErrorKind::internal, {}, fmt::format("LLVM failed: {}", reason));
}

// Otherwise LLVM would abort the process when it runs out of memory. Must not allocate.
void throw_out_of_memory(void*, const char*, bool) { throw std::bad_alloc(); }

const llvm::Target& host_target() {
  static const llvm::Target* target = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::install_fatal_error_handler(throw_fatal);
    llvm::install_bad_alloc_error_handler(throw_out_of_memory);
    std::string reason;
    const auto* found = llvm::TargetRegistry::lookupTarget(llvm::sys::getProcessTriple(), reason);
    GRAPHC_CHECK(found != nullptr, "LLVM has no code generator for this machine: {}", reason);
    return found;
  }();
  return *target;
}

// The data layout depends on the triple alone, not on the CPU.
const llvm::DataLayout& host_layout() {
  static const llvm::DataLayout layout = make_target_machine({})->createDataLayout();
  return layout;
}

void collect(const llvm::DiagnosticInfo* info, void* text) {
  if (info->getSeverity() != llvm::DS_Error) return;
  llvm::raw_string_ostream stream(*static_cast<std::string*>(text));
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
}

/// Skips passes of LLVM's code generator that take 29 % of its time and do not make these kernels
/// faster (docs/lab/2026-11-cpu-f32.md): the kernels' loops already count in steps that addressing
/// modes support, their bodies are straight-line code that the processor reorders by itself, and
/// they copy no memory. A change of the list changes the objects: increment their version in
/// Jit::identity().
class PassesWorthTheirTime : public llvm::OptPassGate {
 public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) override {
    const auto found = std::ranges::find(kLeftOut, std::string_view(pass));
    if (found == kLeftOut.end()) return true;
    met_[size_t(found - kLeftOut.begin())].store(true, std::memory_order_relaxed);
    return false;
  }

  std::vector<std::string_view> not_met() const {
    std::vector<std::string_view> names;
    for (size_t i = 0; i < kLeftOut.size(); ++i) {
      if (!met_[i].load(std::memory_order_relaxed)) names.push_back(kLeftOut[i]);
    }
    return names;
  }

 private:
  static constexpr std::array<std::string_view, 5> kLeftOut = {
      "Loop Strength Reduction", "Canonicalize Freeze Instructions in Loops",
      "Machine Instruction Scheduler", "X86 Domain Reassignment Pass",
      "X86 Avoid Store Forwarding Blocks"};
  std::array<std::atomic<bool>, kLeftOut.size()> met_{};
};

/// One for all modules, which threads compile in parallel.
PassesWorthTheirTime& passes_worth_their_time() {
  static PassesWorthTheirTime passes;
  return passes;
}

}  // namespace

void keep_for_ever(void* object) {
  static std::mutex mutex;
  // Keeps them reachable for leak checkers, which look after statics are destroyed.
  static std::vector<void*>& all = *new std::vector<void*>;
  try {
    const std::lock_guard lock(mutex);
    all.push_back(object);
  } catch (const std::bad_alloc&) {
    // Then it is leaked.
  }
}

std::vector<std::string_view> passes_not_met() { return passes_worth_their_time().not_met(); }

std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuFeatures& cpu) {
  // Less gives the same spill-free loops as the higher levels, in the least time.
  std::unique_ptr<llvm::TargetMachine> machine(host_target().createTargetMachine(
      llvm::sys::getProcessTriple(), cpu.llvm_name, cpu.features, llvm::TargetOptions(),
      llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Less, /*JIT=*/true));
  GRAPHC_CHECK(machine != nullptr, "LLVM makes no code generator for cpu '{}'", cpu.llvm_name);
  return machine;
}

CodeModule::CodeModule(const CpuFeatures& cpu, std::string_view name)
    : cpu_(cpu),
      begun_(std::chrono::steady_clock::now()),
      diagnostics_(std::make_unique<std::string>()),
      context_(std::make_unique<llvm::LLVMContext>()),
      module_(std::make_unique<llvm::Module>(llvm::StringRef(name), *context_)),
      exceptions_(std::uncaught_exceptions()) {
  context_->setOptPassGate(passes_worth_their_time());
  context_->setDiagnosticHandlerCallBack(collect, diagnostics_.get());
  module_->setTargetTriple(llvm::sys::getProcessTriple());
  module_->setDataLayout(host_layout());
}

CodeModule::~CodeModule() {
  if (module_ == nullptr || std::uncaught_exceptions() <= exceptions_) return;
  keep_for_ever(module_.release());
  keep_for_ever(context_.release());
  keep_for_ever(diagnostics_.release());  // the context keeps its address
}

CodeModule::CodeModule(CodeModule&&) noexcept = default;

CodeModule& CodeModule::operator=(CodeModule&& other) noexcept {
  module_ = std::move(other.module_);  // first: the module lives in the context
  context_ = std::move(other.context_);
  diagnostics_ = std::move(other.diagnostics_);
  cpu_ = std::move(other.cpu_);
  begun_ = other.begun_;
  exceptions_ = other.exceptions_;
  return *this;
}

llvm::Function* CodeModule::define(std::string_view name, llvm::FunctionType* type, bool exported) {
  const auto linkage =
      exported ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage;
  auto* function = llvm::Function::Create(type, linkage, llvm::StringRef(name), module_.get());
  function->addFnAttr("target-cpu", cpu_.llvm_name);
  function->addFnAttr("target-features", cpu_.features);
  // Without both, LLVM narrows 512-bit code to 256 bits on the CPUs it tunes that way.
  const std::string bits = std::to_string(cpu_.vector_bits());
  function->addFnAttr("prefer-vector-width", bits);
  function->addFnAttr("min-legal-vector-width", bits);
  // For f32, f64 and vectors: LLVM must fold and rearrange as the denormal mode of a step computes.
  function->addFnAttr("denormal-fp-math", "preserve-sign,preserve-sign");
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  // Only a debugger that shows a backtrace unwinds.
  if (names_for_gdb()) function->setUWTableKind(llvm::UWTableKind::Async);
  return function;
}

std::string CodeModule::ir_text() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module_->print(stream, nullptr);
  return text;
}

std::string CodeModule::bitcode() const {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::WriteBitcodeToFile(*module_, stream);
  return std::string(bytes.begin(), bytes.end());
}

void CodeModule::verify() const {
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  const bool broken = llvm::verifyModule(*module_, &stream);
  GRAPHC_CHECK(!broken, "emitted code that LLVM's verifier rejects: {}\n{}", problems, ir_text());
}

double CodeModule::age_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
}

}  // namespace graphc::core::cpu
