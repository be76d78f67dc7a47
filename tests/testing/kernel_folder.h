// SPDX-License-Identifier: Apache-2.0
// A kernel cache on disk, in a folder of the test's own.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "codegen/compile.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core::testing {

/// During its lifetime GRAPHC_CACHE names its folder; afterwards kernels are not cached.
class KernelFolder {
 public:
  KernelFolder() { choose(path() / "cache"); }
  KernelFolder(const KernelFolder&) = delete;
  ~KernelFolder() { choose("none"); }

  /// Changes the cache folder and drops the kernels cached in this process.
  static void choose(const std::filesystem::path& cache) {
    setenv("GRAPHC_CACHE", cache.c_str(), 1);
    clear_code_caches();
  }

  const std::filesystem::path& path() const { return folder_.path(); }
  /// Every file in it, sorted.
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path()))
      if (entry.is_regular_file()) all.push_back(entry.path());
    std::ranges::sort(all);
    return all;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace graphc::core::testing
