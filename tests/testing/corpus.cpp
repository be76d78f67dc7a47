// SPDX-License-Identifier: Apache-2.0
// Finds the public corpora outside the project.
#include "tests/testing/corpus.h"

#include <cstdlib>

#include "tests/testing/source_tree.h"

namespace graphc::core::testing {

std::optional<std::filesystem::path> find_corpus(std::string_view name) {
  const char* data = std::getenv("GRAPHC_DATA");
  const std::filesystem::path root = data != nullptr ? data : source_path("../shared/data");
  if (!std::filesystem::is_directory(root / name)) return std::nullopt;
  return root / name;
}

std::filesystem::path tiny_ptb() { return source_path("tests/models/data/tiny_ptb"); }
std::filesystem::path tiny_wikitext2() { return source_path("tests/models/data/tiny_wikitext2"); }

}  // namespace graphc::core::testing
