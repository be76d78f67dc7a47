// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/documents.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/error.h"
#include "tests/testing/source_tree.h"

namespace graphc::core::testing {

namespace filesystem = std::filesystem;

std::vector<std::string> all_documents() {
  const filesystem::path root = source_path("");
  std::vector<std::string> paths;
  const auto add = [&](const filesystem::directory_entry& entry) {
    if (entry.path().extension() == ".md")
      paths.push_back(entry.path().lexically_relative(root).generic_string());
  };
  for (const char* folder : {"", "models/examples", "models/tour"}) {
    for (const auto& entry : filesystem::directory_iterator(root / folder)) add(entry);
  }
  for (const auto& entry : filesystem::recursive_directory_iterator(root / "docs")) add(entry);
  std::ranges::sort(paths);
  return paths;
}

std::string document_text(const std::string& path) {
  std::ifstream file(source_path(path), std::ios::binary);
  if (!file) throw input_error({}, "cannot read '{}'", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace graphc::core::testing
