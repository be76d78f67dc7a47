// SPDX-License-Identifier: Apache-2.0
// What a session writes to a trace.
#pragma once

#include <string>

#include "codegen/compile.h"
#include "runtime/executable.h"
#include "runtime/files/trace_file.h"

namespace graphc::core {

/// A compilation that has just ended: its phases one behind the other in the order of the report
/// (parts that alternate are added up), the passes inside theirs.
void trace_compilation(TraceFile& trace, const std::string& graph, const CompileReport& report);

/// What each worker did in a run: its share of each kernel, and waiting for the others.
void trace_run(TraceFile& trace, const RunProfile& profile);

}  // namespace graphc::core
