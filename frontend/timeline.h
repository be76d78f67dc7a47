// SPDX-License-Identifier: Apache-2.0
// The events that a session writes to a trace.
#pragma once

#include <string>

#include "codegen/compile.h"
#include "runtime/executable.h"
#include "runtime/files/trace_file.h"

namespace graphc::core {

/// A compilation that has just ended: its phases one after another in the order of the report
/// (alternating parts are added up), with the passes nested in them.
void trace_compilation(TraceFile& trace, const std::string& graph, const CompileReport& report);

/// The work of each worker in a run: its share of each kernel, and waiting for other workers.
void trace_run(TraceFile& trace, const RunProfile& profile);

}  // namespace graphc::core
