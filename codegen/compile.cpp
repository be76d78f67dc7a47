// SPDX-License-Identifier: Apache-2.0
#include "codegen/compile.h"

#include <algorithm>

#include "codegen/target.h"
#include "ir/denormals.h"
#include "ir/verify.h"
#include "passes/pipeline.h"
#include "runtime/cores.h"

namespace graphc::core {

GraphPtr run_passes(const GraphPtr& graph, const Pipeline& pipeline, const CompileOptions& options,
                    CompileReport& report) {
  const PipelineResult result = run_pipeline(graph, pipeline, {.verify = options.verify});
  report.passes.insert(report.passes.end(), result.times.begin(), result.times.end());
  const std::vector<Remark>& remarks = result.remarks.all();
  report.remarks.insert(report.remarks.end(), remarks.begin(), remarks.end());
  report.lap(&CompileReport::passes_s);
  return result.graph;
}

GraphPtr form_kernels_for(const GraphPtr& graph, const CompileOptions& options,
                          CompileReport& report, bool stores_bf16) {
  Pipeline pipeline = standard_pipeline(options.variant, options.unroll);
  stores_bf16 &= options.precision == "bf16";
  for (PassUse& use : kernel_pipeline(options.variant, stores_bf16))
    pipeline.push_back(std::move(use));
  return run_passes(graph, pipeline, options, report);
}

void clear_code_caches() {
  for (const Target* target : all_targets()) {
    if (target->clear_code_cache != nullptr) target->clear_code_cache();
  }
}

int64_t objects_made() {
  int64_t sum = 0;
  for (const Target* target : all_targets()) {
    if (target->objects_made != nullptr) sum += target->objects_made();
  }
  return sum;
}

std::unique_ptr<Executable> compile(const GraphPtr& graph, const Target& target,
                                    const CompileOptions& options, CompileReport& report) {
  const UsualArithmetic mode;  // constants are folded
  check_precision(target, options.precision);
  check_variant(target, options.variant);
  threads_of(options);
  if (target.open != nullptr) target.open(report);
  if (const std::string reason = target.unavailable(); !reason.empty())
    throw resource_error("target '{}' cannot run here: {}", target.name, reason);
  if (options.verify) verify(*graph);
  auto executable = target.compile(graph, options, report);
  report.lap(&CompileReport::allocate_s);
  return executable;
}

int threads_of(const CompileOptions& options) {
  if (options.threads < 0) {
    throw Error(ErrorKind::usage, {},
                fmt::format("threads: wanted 0, which is all of the machine's, or more: found {}",
                            options.threads));
  }
  return options.threads > 0 ? options.threads : default_thread_count();
}

void check_precision(const Target& target, std::string_view precision) {
  if (std::ranges::find(target.precisions, precision) != target.precisions.end()) return;
  std::string others;
  for (const Target* other : all_targets()) {
    if (std::ranges::find(other->precisions, precision) != other->precisions.end())
      others += fmt::format("{}'{}'", others.empty() ? "" : ", ", other->name);
  }
  throw Error(ErrorKind::usage, {},
              fmt::format("target '{}' has no precision '{}': it has {}{}", target.name, precision,
                          fmt::join(target.precisions, ", "),
                          others.empty() ? "" : "; targets that have it: " + others));
}

void check_variant(const Target& target, std::string_view variant) {
  if (!leaves_layers(variant) || target.has_layers) return;
  throw Error(ErrorKind::usage, {},
              fmt::format("target '{}' has no variant '{}': it has {}, auto", target.name, variant,
                          fmt::join(all_variants(), ", ")));
}

double unit_roundoff(std::string_view precision) {
  if (precision == "f64") return 0x1p-53;
  if (precision == "tf32" || precision == "fp16") return 0x1p-11;
  if (precision == "bf16") return 0x1p-8;
  if (precision == "bf16x3") return 0x1.8p-16;
  return precision == "3xtf32" ? 0x1.8p-22 : 0x1p-24;
}

Type stored_type(const Type& type, std::string_view precision) {
  return precision == "f64" && type.dtype == DType::f32 ? Type{DType::f64, type.shape} : type;
}

}  // namespace graphc::core
