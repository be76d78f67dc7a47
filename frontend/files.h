// SPDX-License-Identifier: Apache-2.0
// Graphs as files: what a user's program traced, for the command-line tools to show.
#pragma once

#include <string>

#include "ir/graph.h"

namespace graphc::core {

/// Writes the graph as text, whole or not at all: `graphc dump PATH --stage=kernels` shows what
/// becomes of it. Throws ErrorKind::resource when the file cannot be written.
void save(const GraphPtr& graph, const std::string& path);

}  // namespace graphc::core
