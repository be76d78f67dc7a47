// SPDX-License-Identifier: Apache-2.0
#include "codegen/compile.h"

#include <algorithm>

#include "codegen/target.h"
#include "ir/verify.h"

namespace graphc {

void CompileReport::add(const PipelineResult& result) {
  for (const PassTime& time : result.times) passes_s += time.seconds;
  passes_s += result.verify_seconds;
  passes.insert(passes.end(), result.times.begin(), result.times.end());
  remarks.insert(remarks.end(), result.remarks.all().begin(), result.remarks.all().end());
}

std::unique_ptr<Executable> compile(const GraphPtr& graph, const Target& target,
                                    const CompileOptions& options, CompileReport& report) {
  if (std::ranges::find(target.precisions, options.precision) == target.precisions.end()) {
    throw Error(ErrorKind::usage, {},
                fmt::format("target '{}' has no precision '{}': it has {}", target.name,
                            options.precision, fmt::join(target.precisions, ", ")));
  }
  if (const std::string reason = target.unavailable(); !reason.empty())
    throw resource_error("target '{}' cannot run here: {}", target.name, reason);
  if (options.verify) verify(*graph);
  return target.compile(graph, options, report);
}

Type stored_type(const Type& type, std::string_view precision) {
  return precision == "f64" && type.dtype == DType::f32 ? Type{DType::f64, type.shape} : type;
}

}  // namespace graphc
