// SPDX-License-Identifier: Apache-2.0
// Compilation: turns a graph into an executable and reports the time of each stage.
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
#include "runtime/ranks/ranks.h"

namespace graphc::core {

struct Target;

/// The ranks among whom the batch of a graph is shared out (passes/replicate/replicate.h).
struct RankOptions {
  int count = 1, rank = 0;
  int shards = 0;                ///< see Replication::shards
  DType gradients = DType::f32;  ///< see Replication::gradients
  std::vector<int> axes = {};    ///< see Replication::axes
  /// Whoever communicates, with as many ranks. Null: what is compiled cannot run, only be shown.
  std::shared_ptr<Ranks> engine = nullptr;
};

/// Options of a compilation: those shared by several targets, then those of one target. A target
/// refuses a value that it does not support.
struct CompileOptions {
  /// The type in which the f32 values of the graph are computed, or to which the factors of their
  /// products are rounded.
  Precision precision = Precision::f32;
  /// The list of passes: fused, basic, ... "cudnn" runs recurrent layers in that library; "auto"
  /// chooses the faster of the two.
  std::string variant = "fused";
  std::string unroll = "auto";  ///< auto, loop, full or a number of steps
  /// Which states of a loop are saved for its derivative, the others being computed again
  /// (passes/remat.cpp): auto, off (all), or every so many.
  std::string remat = "auto";
  /// How loops whose rows carry a matrix with a linear recurrence are computed
  /// (passes/recurrence/chunk_recurrence.cpp): auto, steps, chunks (of a length that graphc
  /// chooses), or chunks=N.
  std::string recurrence = "auto";
  /// Bytes that the values of a step may take, where the target can trade them for time: 0: what
  /// the machine, or the GPU, has. A step that needs more saves fewer states of its loops if
  /// `remat` is `auto`, and is not refused if that is not enough.
  int64_t memory = 0;
  /// The architecture to compile for: CPU features ("x86-64-v3") or the architecture of a GPU
  /// ("sm_90a"). Empty: that of this machine.
  std::string architecture;
  int threads = 0;  ///< 0: as many as there are cores that the process may use
  /// Whether to reuse code that earlier processes compiled, and to store new code for later ones,
  /// in the folder of GRAPHC_CACHE (runtime/files/file_cache.h).
  bool disk_cache = true;
  bool verify = true;  ///< check the graph before and after every pass
  RankOptions ranks;
  /// Options of a single target; the other targets ignore them.
  CpuOptions cpu;
  CudaOptions cuda;
};

/// The time spent in each stage of a compilation. The `_s` members are disjoint intervals of
/// wall-clock seconds. Each begins where the one before it ended, so they add up to the time since
/// the report was created.
struct CompileReport {
  double trace_s = 0;      ///< tracing the user's function to a graph
  double driver_s = 0;     ///< opening and starting a GPU's driver, once per process, and its
                           ///< context
  double library_s = 0;    ///< opening the code generator's library, NVRTC, once per process
  double passes_s = 0;     ///< graph to graph, including the checks of the graph
  double plan_s = 0;       ///< kernels to a memory plan and a list of calls
  double emit_s = 0;       ///< kernels to the input of the code generator
  double codegen_s = 0;    ///< to machine code: LLVM, NVRTC
  double link_s = 0;       ///< to addresses, or into a GPU
  double tune_s = 0;       ///< trying implementations of a step's operations on the GPU
  double allocate_s = 0;   ///< allocating arenas, states and threads
  int64_t kernels = 0;     ///< distinct kernels compiled
  int64_t cache_hits = 0;  ///< kernels found compiled in this process or on disk
  /// Floating-point operations of the products of one call as planned, two per term.
  /// Multiplications known to be with zeros, and those whose results are never used, are not
  /// counted. 0 when the target does not plan.
  double product_flop = 0;
  int64_t peak_bytes = 0;  ///< peak use of the arena; 0 when the target does not plan it
  std::vector<PassTime> passes;
  std::vector<Remark> remarks;

  /// The moment up to which time has been attributed to a stage.
  double accounted = steady_seconds();

  /// Adds the time since the last lap to a stage.
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

/// Compiles the graph for a target. Throws ErrorKind::input for a graph or an option that the
/// target does not support, ErrorKind::resource when the target cannot run here.
std::unique_ptr<Executable> compile(const GraphPtr& graph, const Target& target,
                                    const CompileOptions& options, CompileReport& report);

/// The graph that is compiled for one of the ranks; the graph itself where there is one rank and
/// one shard. Throws what replicated() of passes/replicate/replicate.h throws.
GraphPtr graph_of_rank(const GraphPtr& graph, const CompileOptions& options, CompileReport& report);

/// Runs passes for a target and records their times and remarks in the report.
GraphPtr run_passes(const GraphPtr& graph, const Pipeline& pipeline, const CompileOptions& options,
                    CompileReport& report);

/// What the kernels of a target can do. Passes choose by it.
struct KernelTraits {
  /// Under precision bf16, values that the target's products round are stored as bf16.
  bool stores_bf16 = false;
  /// A matrix that a row carries stays in a core's cache from step to step
  /// (LoopCall::rows_apart). A step then takes less time than it takes to save its state.
  bool keeps_rows_apart = false;
  /// Under precision bf16, products outside loops of at least kLeastCopied multiply-adds read bf16
  /// copies of f32 factors.
  bool copies_factors = false;
  /// Bytes of a product's result from which work around it is done for some rows at a time
  /// (passes/chunk.cpp); 0: as that pass decides.
  int64_t largest_whole = 0;
};
/// Below, a library is not tried either (CudaOptions::least_tried_work).
inline constexpr int64_t kLeastCopied = int64_t{1} << 23;

/// The passes of the options' variant, unroll and remat, for a target: standard_pipeline(). Throws
/// ErrorKind::usage as that does.
Pipeline passes_for(const CompileOptions& options, const KernelTraits& traits = {});

/// The graph of kernels that targets plan (codegen/step/plan.h): the result of the variant's passes
/// and then `fuse`. `traits` are the target's.
GraphPtr form_kernels_for(const GraphPtr& graph, const CompileOptions& options,
                          CompileReport& report, const KernelTraits& traits = {});

/// Empties the kernel caches of all targets in this process. The next compilation then generates
/// every kernel it needs or loads it from disk (CompileOptions::disk_cache). Compiled executables
/// are unaffected.
void clear_code_caches();
/// The number of kernels that this process has generated or loaded so far, over all targets.
/// Running executables does not change it.
int64_t objects_made();

/// The number of threads that may work on a compilation: CompileOptions::threads or, where that is
/// 0, the number of cores that the process may use.
int threads_of(const CompileOptions& options);

/// The precision with the given spelling. Throws ErrorKind::usage for an unknown precision or one
/// that the target does not support; the message lists those it supports.
Precision precision_of(const Target& target, std::string_view typed);
/// Throws as precision_of() does.
void check_precision(const Target& target, Precision precision);

/// Throws ErrorKind::usage for a variant that is unknown or that the target does not support.
void check_variant(const Target& target, std::string_view variant);

}  // namespace graphc::core
