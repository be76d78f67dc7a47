// SPDX-License-Identifier: Apache-2.0
// Machine code of nests: what this process has, what earlier processes left on disk, or made now.
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

/// How the nests of a plan became code. The `_s` are disjoint intervals of wall-clock seconds.
struct NestCodeTimes {
  double emit_s = 0;         ///< nests to LLVM IR
  double codegen_s = 0;      ///< IR to objects, or those read from disk
  double link_s = 0;         ///< objects to addresses, and all else
  int64_t kernels = 0;       ///< compiled now
  int64_t cache_hits = 0;    ///< that this process had, or found on disk
  std::string why_not_kept;  ///< why an object could not be kept on disk; empty if all were
};

/// Machine code for one CPU. It lives as long as the programs that use it, and the process keeps
/// one for each CPU (nest_code_for()), so that equal nests are compiled once. Safe to call from
/// several threads, which take turns.
class NestCode {
 public:
  explicit NestCode(const CpuFeatures& cpu);
  ~NestCode();

  /// The functions of the plan's nests, in their order. Nests that the process has no code for are
  /// emitted and then, by the threads of `compilers`, looked up in `files` or compiled and kept
  /// there.
  ///
  /// A file's key is all that its object depends on: the very IR, LLVM's version and library, the
  /// processor and its features. So no version of graphc meets the objects of another one, unless
  /// they are the same.
  std::vector<NestFunction> functions_of(const Plan& plan, ThreadTeam& compilers,
                                         const FileCache& files, NestCodeTimes& times);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The process's code for the CPU.
std::shared_ptr<NestCode> nest_code_for(const CpuFeatures& cpu);

/// Lets go of the process's code, so that the next program is compiled from nothing, or comes from
/// the disk.
void clear_code_cache();

}  // namespace graphc::core::cpu
