// SPDX-License-Identifier: Apache-2.0
#include "codegen/compile.h"

#include <algorithm>

#include "codegen/target.h"
#include "ir/denormals.h"
#include "ir/verify.h"
#include "passes/passes.h"
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

Pipeline passes_for(const CompileOptions& options, const KernelTraits& traits) {
  Pipeline pipeline =
      standard_pipeline(options.variant, options.unroll, options.remat, options.recurrence);
  const auto chunk = std::ranges::find(pipeline, &passes::chunk, &PassUse::pass);
  if (chunk != pipeline.end() && traits.largest_whole > 0)
    chunk->options.set("bytes", std::to_string(traits.largest_whole));
  if (!traits.keeps_rows_apart || options.variant != "fused") return pipeline;
  const auto remat = std::ranges::find(pipeline, &passes::remat, &PassUse::pass);
  if (remat != pipeline.end()) remat->options.set("matrices", "true");
  const auto chunks = std::ranges::find(pipeline, &passes::chunk_recurrence, &PassUse::pass);
  if (chunks != pipeline.end() && options.recurrence == "auto")
    chunks->options.set("differentiated", "true");
  return pipeline;
}

GraphPtr form_kernels_for(const GraphPtr& graph, const CompileOptions& options,
                          CompileReport& report, const KernelTraits& traits) {
  Pipeline pipeline = passes_for(options, traits);
  const bool stores_bf16 = traits.stores_bf16 && options.precision == Precision::bf16;
  for (PassUse& use : kernel_pipeline(options.variant, stores_bf16)) {
    if (use.pass == &passes::precision && traits.copies_factors)
      use.options.set("copied_from", std::to_string(kLeastCopied));
    pipeline.push_back(std::move(use));
  }
  return run_passes(graph, pipeline, options, report);
}

KernelTraits kernel_traits(const Target& target, const CompileOptions& options) {
  return target.kernels_for != nullptr ? target.kernels_for(options) : target.kernels;
}

GraphPtr graph_of_rank(const GraphPtr& graph, const CompileOptions& options,
                       CompileReport& report) {
  const RankOptions& ranks = options.ranks;
  if (ranks.count == 1 && ranks.shards <= 1) return graph;
  PassUse use{&passes::replicate, {}};
  use.options.set("ranks", std::to_string(ranks.count));
  use.options.set("rank", std::to_string(ranks.rank));
  if (ranks.shards > 0) use.options.set("shards", std::to_string(ranks.shards));
  if (ranks.gradients != DType::f32) use.options.set("gradients", to_string(ranks.gradients));
  std::string axes;
  for (const int axis : ranks.axes) {
    if (!axes.empty()) axes += '+';
    axes += axis < 0 ? "whole" : std::to_string(axis);
  }
  if (!axes.empty()) use.options.set("axes", axes);
  return run_passes(graph, {use}, options, report);
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
  auto executable = target.compile(graph_of_rank(graph, options, report), options, report);
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

Precision precision_of(const Target& target, std::string_view typed) {
  const auto has = [&](const Target& any) {
    return std::ranges::find(any.precisions, typed, [](Precision each) { return name_of(each); }) !=
           any.precisions.end();
  };
  if (has(target)) return *precision_named(typed);
  std::string others;
  for (const Target* other : all_targets()) {
    if (has(*other)) others += fmt::format("{}'{}'", others.empty() ? "" : ", ", other->name);
  }
  throw Error(ErrorKind::usage, {},
              fmt::format("target '{}' has no precision '{}': it has {}{}", target.name, typed,
                          fmt::join(names_of(target.precisions), ", "),
                          others.empty() ? "" : "; targets that have it: " + others));
}

void check_precision(const Target& target, Precision precision) {
  precision_of(target, name_of(precision));
}

void check_variant(const Target& target, std::string_view variant) {
  if (!leaves_layers(variant) || target.has_layers) return;
  throw Error(ErrorKind::usage, {},
              fmt::format("target '{}' has no variant '{}': it has {}, auto", target.name, variant,
                          fmt::join(all_variants(), ", ")));
}

}  // namespace graphc::core
