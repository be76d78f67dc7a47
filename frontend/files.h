// SPDX-License-Identifier: Apache-2.0
// Saving traced graphs as files for the command-line tools.
#pragma once

#include <string>

#include "ir/graph.h"

namespace graphc::core {

/// Writes the graph as text, atomically: `graphc dump PATH --stage=kernels` shows how it is
/// compiled. Throws ErrorKind::resource if the file cannot be written.
void save(const GraphPtr& graph, const std::string& path);

}  // namespace graphc::core
