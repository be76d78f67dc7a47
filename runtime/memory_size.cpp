// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_size.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace graphc::core {

int64_t memory_size() {
  int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  if (bytes <= 0) bytes = std::numeric_limits<int64_t>::max();
  // Version 2 and version 1; a group without a limit has a word, or a number above the machine's.
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t limit = 0;
    if (std::ifstream(path) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

}  // namespace graphc::core
