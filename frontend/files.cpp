// SPDX-License-Identifier: Apache-2.0
#include "frontend/files.h"

#include "ir/text.h"
#include "runtime/files/files.h"

namespace graphc::core {

void save(const GraphPtr& graph, const std::string& path) {
  write_file_atomically(path, print(*graph));
}

}  // namespace graphc::core
