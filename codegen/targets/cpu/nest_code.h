// SPDX-License-Identifier: Apache-2.0
// Machine code of nests: from this process's cache, from disk, or generated now.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/step/plan.h"
#include "codegen/targets/cpu/cpu_features.h"
#include "codegen/walk/nest_abi.h"
#include "runtime/files/file_cache.h"
#include "runtime/thread_team.h"

namespace graphc::core::cpu {

/// How the code of a plan's nests was obtained. The `_s` are disjoint intervals of wall-clock
/// seconds.
struct NestCodeTimes {
  double emit_s = 0;         ///< nests to LLVM IR
  double codegen_s = 0;      ///< IR to objects, or reading them from disk
  double link_s = 0;         ///< objects to addresses, and everything else
  int64_t kernels = 0;       ///< compiled now
  int64_t cache_hits = 0;    ///< found in this process or on disk
  std::string why_not_kept;  ///< why an object could not be stored on disk; empty if all were
};

/// Machine code for one CPU. It lives as long as the programs that use it. The process keeps one
/// for each CPU (nest_code_for()), so that equal nests are compiled once. Safe to call from several
/// threads; calls are serialised.
class NestCode {
 public:
  explicit NestCode(const CpuFeatures& cpu);
  ~NestCode();

  /// The functions of the plan's nests, in order. Nests that are not in the process's cache are
  /// emitted. The threads of `compilers` then look them up in `files`, or compile them and store
  /// them there.
  ///
  /// A file's key is everything that its object depends on: the IR itself, LLVM's version and
  /// library, the processor and its features. Different versions of graphc therefore share objects
  /// only if these are identical.
  std::vector<NestFunction> functions_of(const Plan& plan, ThreadTeam& compilers,
                                         const FileCache& files, NestCodeTimes& times);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The process's code for the CPU.
std::shared_ptr<NestCode> nest_code_for(const CpuFeatures& cpu);

/// Drops the process's code, so that the next program is compiled from scratch or loaded from disk.
void clear_code_cache();

}  // namespace graphc::core::cpu
