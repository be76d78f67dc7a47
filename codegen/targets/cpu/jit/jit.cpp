// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/jit/jit.h"

#include <dlfcn.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Process.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "codegen/targets/cpu/jit/code_module.h"
#include "codegen/targets/cpu/jit/kernel_names.h"
#include "codegen/targets/cpu/jit/llvm_errors.h"
#include "ir/error.h"

namespace graphc::core::cpu {
namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  }

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

std::atomic<int64_t> linked_so_far = 0;

std::unique_ptr<llvm::orc::LLJIT> make_lljit(const CpuFeatures& cpu) {
  using namespace llvm::orc;
  // Built from a known triple and CPU, so that the machine is not detected again. No IR ever
  // reaches LLJIT, and kernels have no initialisers, so it needs no platform.
  JITTargetMachineBuilder machine(make_target_machine(cpu)->getTargetTriple());
  machine.setCPU(cpu.llvm_name);
  return check(
      LLJITBuilder()
          .setJITTargetMachineBuilder(std::move(machine))
          .setPlatformSetUp(setUpInactivePlatform)
          .setObjectLinkingLayerCreator([](ExecutionSession& session, const llvm::Triple&) {
            auto layer = std::make_unique<ObjectLinkingLayer>(
                session, std::make_unique<llvm::jitlink::InProcessMemoryManager>(
                             check(llvm::sys::Process::getPageSize(), "finding the page size")));
            if (names_for_gdb()) register_objects_with_gdb(*layer);
            return layer;
          })
          .create(),
      "making the JIT");
}

/// LLVM's code generator with its passes, whose setup takes as long as compiling a small kernel. It
/// compiles one kernel after another, and each leaves no state behind (LLVM tests that with `llc
/// -compile-twice`).
class Generator {
 public:
  Generator(const CpuFeatures& cpu, llvm::CodeGenFileType kind)
      : machine_(make_target_machine(cpu)), stream_(bytes_) {
    const bool refused = machine_->addPassesToEmitFile(passes_, stream_, nullptr, kind,
                                                       /*DisableVerify=*/true);
    GRAPHC_CHECK(!refused, "LLVM emits no code of this kind for '{}'", cpu.llvm_name);
  }

  std::string generate(llvm::Module& module) {
    bytes_.clear();
    passes_.run(module);
    return std::string(bytes_.begin(), bytes_.end());
  }

 private:
  // The passes refer to the machine and the stream, so they must be destroyed first.
  const std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::SmallVector<char, 0> bytes_;
  llvm::raw_svector_ostream stream_;
  llvm::legacy::PassManager passes_;
};

/// Generators of machine code for one CPU: as many are created as run at the same time.
class Generators {
 public:
  explicit Generators(const CpuFeatures& cpu) : cpu_(cpu) {}

  std::string generate(llvm::Module& module) {
    std::unique_ptr<Generator> generator = take();
    std::string bytes = generate_by(generator, module);
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(generator));
    return bytes;
  }

  /// Assembly as readable text.
  std::string generate_text(llvm::Module& module) const {
    auto generator = std::make_unique<Generator>(cpu_, llvm::CodeGenFileType::AssemblyFile);
    return generate_by(generator, module);
  }

 private:
  static std::string generate_by(std::unique_ptr<Generator>& generator, llvm::Module& module) {
    try {
      return generator->generate(module);
    } catch (...) {
      keep_for_ever(generator.release());
      throw;
    }
  }

  std::unique_ptr<Generator> take() {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Generator> generator = std::move(idle_.back());
        idle_.pop_back();
        return generator;
      }
    }
    return std::make_unique<Generator>(cpu_, llvm::CodeGenFileType::ObjectFile);
  }

  const CpuFeatures cpu_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Generator>> idle_;
};

/// LLVM's description of an error.
struct Complaint {
  std::string text;
  bool no_memory = false;

  void add(llvm::Error error) {
    llvm::handleAllErrors(std::move(error), [this](const llvm::ErrorInfoBase& info) {
      text += (text.empty() ? "" : "; ") + info.message();
      no_memory |=
          info.isA<llvm::ECError>() && info.convertToErrorCode() == std::errc::not_enough_memory;
    });
  }
  Error as_error(std::string_view doing) const {
    if (no_memory) return resource_error("out of memory: {}: {}", doing, text);
    return Error(ErrorKind::internal, {}, fmt::format("{}: {}", doing, text));
  }
};

/// Errors that the JIT reports while linking; the failed lookup itself gives no reason.
class Reports {
 public:
  void add(llvm::Error error) {
    const std::lock_guard lock(mutex_);
    complaint_.add(std::move(error));
  }
  Complaint take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(complaint_, {});
  }

 private:
  std::mutex mutex_;
  Complaint complaint_;
};

}  // namespace

void check(llvm::Error error, std::string_view doing) {
  if (!error) return;
  Complaint complaint;
  complaint.add(std::move(error));
  throw complaint.as_error(doing);
}

struct Jit::Impl {
  explicit Impl(const CpuFeatures& wanted)
      : cpu(wanted),
        lljit(make_lljit(wanted)),
        shared(check(lljit->createJITDylib("shared"), "making a namespace")),
        generators(wanted) {
    lljit->getExecutionSession().setErrorReporter(
        [this](llvm::Error error) { reports.add(std::move(error)); });
  }

  /// Links everything in the library that the symbol needs.
  void* address_of(llvm::orc::JITDylib& library, std::string_view symbol, std::string_view doing) {
    auto found = lljit->lookup(library, llvm::StringRef(symbol));
    if (found) return found->toPtr<void*>();
    Complaint complaint = reports.take();
    complaint.add(found.takeError());
    throw complaint.as_error(doing);
  }

  const CpuFeatures cpu;
  Reports reports;
  const std::unique_ptr<llvm::orc::LLJIT> lljit;
  llvm::orc::JITDylib& shared;  // loaded by share()
  Generators generators;
  mutable std::mutex mutex;  // guards what follows
  JitTimes times;
  int64_t objects = 0;
  std::set<std::string, std::less<>> shared_symbols;
};

Jit::Jit(const CpuFeatures& cpu) {
  const Stopwatch watch;
  impl_ = std::make_unique<Impl>(cpu);
  impl_->times.create_s = watch.seconds();
}

Jit::~Jit() = default;

const CpuFeatures& Jit::cpu() const { return impl_->cpu; }

ObjectCode Jit::compile(CodeModule&& kernel) {
  GRAPHC_CHECK(kernel.cpu() == impl_->cpu, "a kernel emitted for cpu '{}' is compiled for '{}'",
               kernel.cpu().name, impl_->cpu.name);
  kernel.verify();
  const double emit_s = kernel.age_s();
  const Stopwatch watch;
  ObjectCode object{impl_->generators.generate(kernel.module())};
  GRAPHC_CHECK(kernel.diagnostics().empty(), "LLVM rejects kernel '{}': {}\n{}",
               std::string(kernel.module().getName()), kernel.diagnostics(), kernel.ir_text());
  std::lock_guard lock(impl_->mutex);
  impl_->times.emit_s += emit_s;
  impl_->times.codegen_s += watch.seconds();
  ++impl_->times.objects_compiled;
  return object;
}

int64_t objects_linked() { return linked_so_far; }

void* Jit::link(const ObjectCode& object, std::string_view symbol, std::string_view shown) {
  const Stopwatch watch;
  std::string space;
  {
    std::lock_guard lock(impl_->mutex);
    space = fmt::format("kernel.{}", impl_->objects++);
  }
  auto& library = check(impl_->lljit->createJITDylib(space), "making a namespace");
  library.addToLinkOrder(impl_->shared);
  if (shown.empty()) shown = symbol;
  const bool renamed = names_for_gdb() && shown != symbol;
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
      renamed ? with_symbol_renamed(object.bytes, symbol, shown) : object.bytes, space);
  check(impl_->lljit->addObjectFile(library, std::move(buffer)), "loading a kernel");
  void* const address = impl_->address_of(library, renamed ? shown : symbol,
                                          fmt::format("linking kernel '{}'", symbol));
  if (names_for_perf()) write_perf_map(address, size_of_function(object.bytes, symbol), shown);
  std::lock_guard lock(impl_->mutex);
  impl_->times.link_s += watch.seconds();
  ++impl_->times.objects_linked;
  ++linked_so_far;
  return address;
}

void Jit::share(const ObjectCode& object, std::string_view symbol) {
  const Stopwatch watch;
  check(impl_->lljit->addObjectFile(impl_->shared,
                                    llvm::MemoryBuffer::getMemBufferCopy(object.bytes, symbol)),
        "loading shared code");
  impl_->address_of(impl_->shared, symbol, fmt::format("linking '{}'", symbol));
  std::lock_guard lock(impl_->mutex);
  impl_->shared_symbols.emplace(symbol);
  impl_->times.link_s += watch.seconds();
  ++impl_->times.objects_linked;
  ++linked_so_far;
}

bool Jit::shares(std::string_view symbol) const {
  std::lock_guard lock(impl_->mutex);
  return impl_->shared_symbols.contains(symbol);
}

void* Jit::add(CodeModule&& kernel, std::string_view symbol) {
  return link(compile(std::move(kernel)), symbol);
}

std::string Jit::assembly(const CodeModule& kernel) const {
  kernel.verify();
  auto copy = llvm::CloneModule(kernel.module());  // code generation rewrites it
  try {
    return impl_->generators.generate_text(*copy);
  } catch (...) {
    keep_for_ever(copy.release());
    throw;
  }
}

namespace {

/// Identifies the file of LLVM's code: builds of one version differ.
std::string library_of_llvm() {
  Dl_info found;
  if (dladdr(reinterpret_cast<void*>(&llvm::MemoryBuffer::getFile), &found) == 0) return "unknown";
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(found.dli_fname, unknown);
  const auto time = std::filesystem::last_write_time(found.dli_fname, unknown).time_since_epoch();
  return fmt::format("{} bytes, of {}", bytes, time.count());
}

}  // namespace

std::string Jit::identity() const {
  static const std::string library = library_of_llvm();
  return fmt::format("llvm {}, {}; objects 2; cpu {}; features {}", LLVM_VERSION_STRING, library,
                     impl_->cpu.llvm_name, impl_->cpu.features);
}

JitTimes Jit::times() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->times;
}

}  // namespace graphc::core::cpu
