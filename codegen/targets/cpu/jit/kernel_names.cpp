// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/jit/kernel_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/ExecutionEngine/Orc/DebugObjectManagerPlugin.h>
#include <llvm/ExecutionEngine/Orc/EPCDebugObjectRegistrar.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h>
#include <llvm/ObjCopy/ConfigManager.h>
#include <llvm/ObjCopy/ObjCopy.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include "codegen/targets/cpu/jit/llvm_errors.h"

// The interface between a process that generates code and gdb: LLVM defines both symbols.
extern "C" jit_descriptor __jit_debug_descriptor;
extern "C" void __jit_debug_register_code();

namespace graphc::core::cpu {
namespace {

using llvm::orc::ExecutorAddr;
using llvm::orc::ExecutorAddrRange;

bool is_one(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "1";
}

std::unique_ptr<llvm::object::ELFObjectFileBase> elf_file(std::string_view object) {
  auto file = check(llvm::object::ObjectFile::createELFObjectFile(
                        llvm::MemoryBufferRef({object.data(), object.size()}, "kernel")),
                    "reading a kernel");
  return std::unique_ptr<llvm::object::ELFObjectFileBase>(
      llvm::cast<llvm::object::ELFObjectFileBase>(file.release()));
}

/// Removes an object file from gdb's list before its memory is freed.
void unregister(const char* object) {
  for (jit_code_entry* entry = __jit_debug_descriptor.first_entry; entry != nullptr;
       entry = entry->next_entry) {
    if (entry->symfile_addr != object) continue;
    (entry->prev_entry != nullptr ? entry->prev_entry->next_entry
                                  : __jit_debug_descriptor.first_entry) = entry->next_entry;
    if (entry->next_entry != nullptr) entry->next_entry->prev_entry = entry->prev_entry;
    __jit_debug_descriptor.relevant_entry = entry;
    __jit_debug_descriptor.action_flag = JIT_UNREGISTER_FN;
    __jit_debug_register_code();
    __jit_debug_descriptor.relevant_entry = nullptr;
    __jit_debug_descriptor.action_flag = JIT_NOACTION;
    delete entry;  // allocated by LLVM, which offers no deallocation
    return;
  }
}

/// Registers objects with gdb as LLVM does and, unlike LLVM, unregisters them at their end.
class Registrar : public llvm::orc::EPCDebugObjectRegistrar {
 public:
  explicit Registrar(llvm::orc::ExecutionSession& session)
      : EPCDebugObjectRegistrar(session,
                                ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderGDBWrapper)) {}

  ~Registrar() override {
    std::lock_guard lock(mutex());
    for (const char* object : objects_) unregister(object);
  }

  llvm::Error registerDebugObject(ExecutorAddrRange memory, bool tell) override {
    std::lock_guard lock(mutex());
    objects_.push_back(memory.Start.toPtr<const char*>());
    return EPCDebugObjectRegistrar::registerDebugObject(memory, tell);
  }

 private:
  /// Guards the list, which belongs to the process.
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }

  std::vector<const char*> objects_;
};

}  // namespace

bool names_for_perf() { return is_one("GRAPHC_PERF_MAP"); }

bool names_for_gdb() { return is_one("GRAPHC_GDB"); }

void write_perf_map(const void* address, uint64_t size, std::string_view name) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  static const int file = open(fmt::format("/tmp/perf-{}.map", getpid()).c_str(),
                               O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return;
  const std::string line = fmt::format("{:x} {:x} {}\n", uintptr_t(address), size, name);
  // Failures to write are ignored: the entry is then missing in profiles.
  [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());
}

uint64_t size_of_function(std::string_view object, std::string_view symbol) {
  const auto file = elf_file(object);
  for (const llvm::object::ELFSymbolRef one : file->symbols()) {
    // The symbol of the object's file has the same name.
    const bool function =
        check(one.getType(), "reading a type") == llvm::object::SymbolRef::ST_Function;
    if (function && check(one.getName(), "reading a name") == llvm::StringRef(symbol))
      return one.getSize();
  }
  return 0;
}

std::string with_symbol_renamed(std::string_view object, std::string_view from,
                                std::string_view to) {
  const auto file = elf_file(object);
  llvm::objcopy::ConfigManager wanted;
  wanted.Common.SymbolsToRename[llvm::StringRef(from)] = llvm::StringRef(to);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  check(llvm::objcopy::executeObjcopyOnBinary(wanted, *file, stream), "naming a kernel");
  return std::string(bytes.begin(), bytes.end());
}

void register_objects_with_gdb(llvm::orc::ObjectLinkingLayer& layer) {
  llvm::orc::ExecutionSession& session = layer.getExecutionSession();
  layer.addPlugin(std::make_shared<llvm::orc::DebugObjectManagerPlugin>(
      session, std::make_unique<Registrar>(session), /*RequireDebugSections=*/false,
      /*AutoRegisterCode=*/true));
}

}  // namespace graphc::core::cpu
