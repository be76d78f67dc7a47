// SPDX-License-Identifier: Apache-2.0
// Compilation: from a graph to something that runs, with the time each part of it took.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/targets/cpu/options.h"
#include "codegen/targets/cuda/options.h"
#include "ir/graph.h"
#include "ir/precision.h"
#include "passes/pass.h"
#include "runtime/clock.h"
#include "runtime/executable.h"

namespace graphc::core {

struct Target;

/// What may be chosen about a compilation: what several targets have a use for, and what is of one.
/// A target refuses what it does not know.
struct CompileOptions {
  /// What the f32 of the graph are computed in, or the factors of their products.
  Precision precision = Precision::f32;
  /// The list of passes: fused, basic, ...; "cudnn" has recurrent layers done by that library, and
  /// "auto" is whichever of both is faster.
  std::string variant = "fused";
  std::string unroll = "auto";  ///< auto, loop, full or a number of steps
  /// What to compile for: features of a CPU ("x86-64-v3"), the architecture of a GPU ("sm_90a");
  /// empty: those of this machine.
  std::string architecture;
  int threads = 0;  ///< 0: the cores the process may use
  /// Use what earlier processes have compiled, and keep for later ones what this does, in the
  /// folder of GRAPHC_CACHE (runtime/files/file_cache.h).
  bool disk_cache = true;
  bool verify = true;  ///< check the graph before and after every pass
  /// What is of one target alone; the others do not look at it.
  CpuOptions cpu;
  CudaOptions cuda;
};

/// Where the time of a compilation went. The `_s` are disjoint intervals of wall-clock seconds:
/// each begins where the one before it ended, so they add up to the time since the report was made.
struct CompileReport {
  double trace_s = 0;      ///< the user's function, to a graph
  double driver_s = 0;     ///< a GPU's driver opened and started, once a process, and its context
  double library_s = 0;    ///< the library that generates code opened, once a process: NVRTC
  double passes_s = 0;     ///< graph to graph, checks of the graph included
  double plan_s = 0;       ///< kernels to a memory plan and a list of calls
  double emit_s = 0;       ///< kernels to the input of the code generator
  double codegen_s = 0;    ///< to machine code: LLVM, NVRTC
  double link_s = 0;       ///< to addresses, or into a GPU
  double tune_s = 0;       ///< ways to do the work of a GPU's step, tried on it
  double allocate_s = 0;   ///< arenas, states and threads
  int64_t kernels = 0;     ///< distinct kernels compiled
  int64_t cache_hits = 0;  ///< those that this process or, on disk, another one had compiled
  /// Floating-point operations of one call's products, two for each term, as planned: what is known
  /// to be multiplied with zeros or for nobody is not among them. 0 when the target does not plan.
  double product_flop = 0;
  int64_t peak_bytes = 0;  ///< of the arena while it runs; 0 when the target does not plan it
  std::vector<PassTime> passes;
  std::vector<Remark> remarks;

  /// The moment up to which time is accounted for.
  double accounted = steady_seconds();

  /// Adds the time since the last lap to a phase.
  void lap(double CompileReport::* phase) {
    const double now = steady_seconds();
    this->*phase += now - accounted;
    accounted = now;
  }

  double total_s() const {
    return trace_s + driver_s + library_s + passes_s + plan_s + emit_s + codegen_s + link_s +
           tune_s + allocate_s;
  }
};

/// Compiles the graph for a target. Throws ErrorKind::input for a graph or an option the target
/// does not take, ErrorKind::resource when the target cannot run here.
std::unique_ptr<Executable> compile(const GraphPtr& graph, const Target& target,
                                    const CompileOptions& options, CompileReport& report);

/// Runs passes for a target; what they took and said goes into the report.
GraphPtr run_passes(const GraphPtr& graph, const Pipeline& pipeline, const CompileOptions& options,
                    CompileReport& report);

/// The graph of kernels that targets plan (codegen/step/plan.h): the passes of the variant, then
/// `fuse`. `stores_bf16` is the target's (Target::stores_bf16).
GraphPtr form_kernels_for(const GraphPtr& graph, const CompileOptions& options,
                          CompileReport& report, bool stores_bf16 = false);

/// Empties every target's cache of kernels in this process, so that the next compilation generates
/// all it needs, or takes it from the disk (CompileOptions::disk_cache). What is compiled stays as
/// it is.
void clear_code_caches();
/// Kernels that this process has generated or loaded so far, on every target. It stands still while
/// executables run.
int64_t objects_made();

/// How many threads may work on a compilation: CompileOptions::threads, or where that is 0 as many
/// as there are cores that the process may use.
int threads_of(const CompileOptions& options);

/// The precision that is typed. Throws ErrorKind::usage for one that the target does not have, or
/// that there is not, naming those it has.
Precision precision_of(const Target& target, std::string_view typed);
/// Throws as precision_of() does.
void check_precision(const Target& target, Precision precision);

/// Throws ErrorKind::usage for a variant that there is not, or not on the target.
void check_variant(const Target& target, std::string_view variant);

}  // namespace graphc::core
