// SPDX-License-Identifier: Apache-2.0
// Compiles emitted kernels to machine code in this process. Hides LLVM.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "codegen/targets/cpu/cpu_features.h"

namespace graphc::core::cpu {

class CodeModule;

/// A relocatable object file, as caches store it.
struct ObjectCode {
  std::string bytes;
};

/// Totals of a Jit so far. Times are wall-clock seconds, summed over kernels; those of kernels
/// compiled at the same time on several threads overlap.
struct JitTimes {
  double create_s = 0;   ///< construction of the Jit
  double emit_s = 0;     ///< from a CodeModule's construction to compile(), verification included
  double codegen_s = 0;  ///< IR to object code
  double link_s = 0;     ///< object code to an address
  int64_t objects_compiled = 0;
  int64_t objects_linked = 0;
};

/// Compiles and links kernels for one CPU. Safe to call from several threads. Code lives as long
/// as the Jit; no page is ever writable and executable at once.
class Jit {
 public:
  explicit Jit(const CpuFeatures& cpu = host_cpu());
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  const CpuFeatures& cpu() const;

  /// Verifies and compiles a kernel. Code generation consumes the module. Throws an internal error,
  /// with the IR, if the module is malformed.
  ObjectCode compile(CodeModule&& kernel);

  /// Loads an object, newly compiled or cached, and returns the address of `symbol`. Every object
  /// has its own namespace, so that symbols never collide. With GRAPHC_PERF_MAP set to 1, registers
  /// the address with `perf` under the name `shown`; with GRAPHC_GDB set to 1 when the Jit is
  /// constructed, registers it with gdb.
  void* link(const ObjectCode& object, std::string_view symbol, std::string_view shown = {});

  /// Loads an object whose `symbol` is visible to every object linked later. Call once for each
  /// symbol.
  void share(const ObjectCode& object, std::string_view symbol);
  /// Whether share() has been called for the symbol.
  bool shares(std::string_view symbol) const;

  /// compile() and link().
  void* add(CodeModule&& kernel, std::string_view symbol);

  /// The assembly text of the code that compile() would generate.
  std::string assembly(const CodeModule& kernel) const;

  /// Everything but the IR that object code depends on: LLVM's version and library file, the
  /// version of make_target_machine()'s setup (a number that is incremented when that changes), the
  /// CPU and its features. Equal text and equal IR give equal objects, so the text belongs in a
  /// cache's key.
  std::string identity() const;

  JitTimes times() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Kernels linked by every Jit of the process so far.
int64_t objects_linked();

}  // namespace graphc::core::cpu
