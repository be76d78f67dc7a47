// SPDX-License-Identifier: Apache-2.0
// Turns emitted kernels into machine code in this process. Hides LLVM.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "codegen/targets/cpu/cpu_features.h"

namespace graphc::core::cpu {

class CodeModule;

/// A relocatable object file: what a cache keeps.
struct ObjectCode {
  std::string bytes;
};

/// What a Jit has done so far. Times are wall-clock seconds, summed over kernels; those of kernels
/// compiled at the same time on several threads overlap.
struct JitTimes {
  double create_s = 0;   ///< making the Jit
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

  /// Verifies and compiles a kernel. Code generation rewrites the module: it is used up.
  /// Throws an internal error, with the IR, if the module is malformed.
  ObjectCode compile(CodeModule&& kernel);

  /// Loads an object, compiled now or kept from before, and returns the address of `symbol`.
  /// Every object has a namespace of its own, so that symbols never collide.
  /// With GRAPHC_PERF_MAP set to 1, `perf` is told where it lies, under the name `shown`; with
  /// GRAPHC_GDB set to 1 when the Jit is made, gdb.
  void* link(const ObjectCode& object, std::string_view symbol, std::string_view shown = {});

  /// Loads an object whose `symbol` every object that is linked from then on can use. Once for each
  /// symbol.
  void share(const ObjectCode& object, std::string_view symbol);
  /// Whether that was done.
  bool shares(std::string_view symbol) const;

  /// compile() and link().
  void* add(CodeModule&& kernel, std::string_view symbol);

  /// The assembly text that compile() would make machine code of.
  std::string assembly(const CodeModule& kernel) const;

  /// Everything but the IR that object code depends on: LLVM's version and the file its code is in,
  /// how make_target_machine() sets it up (a number that is raised when that changes), the CPU and
  /// its features.
  /// Equal text and equal IR give equal objects, so it belongs in a cache's key.
  std::string identity() const;

  JitTimes times() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Kernels linked by every Jit of the process so far.
int64_t objects_linked();

}  // namespace graphc::core::cpu
