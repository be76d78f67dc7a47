// SPDX-License-Identifier: Apache-2.0
// Walks the folders of the project, except for a build tree inside the repository.
#include "tests/testing/source_tree.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/error.h"

namespace graphc::core::testing {
namespace {

namespace filesystem = std::filesystem;

constexpr std::array folders = {".ci",     "cmake",  "codegen", "docs",    "frontend", "ir",
                                "include", "models", "passes",  "runtime", "tests",    "tools"};
constexpr std::array suffixes = {".h", ".c", ".cpp", ".def", ".proto", ".cmake", ".py", ".sh"};

bool is_source(const SourceFile& file) {
  return file.is_script() || file.path.ends_with("CMakeLists.txt") ||
         std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const char* suffix) { return file.has_suffix(suffix); });
}

}  // namespace

std::string source_path(std::string_view path) { return GRAPHC_SOURCE_DIR "/" + std::string(path); }

SourceFile source_file(std::string path, std::string_view text) {
  SourceFile file{std::move(path), {}};
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
  return file;
}

SourceFile read_source_file(std::string path) {
  std::ifstream stream(source_path(path), std::ios::binary);
  if (!stream) throw input_error({}, "cannot read '{}'", path);
  std::ostringstream text;
  text << stream.rdbuf();
  return source_file(std::move(path), text.str());
}

std::vector<SourceFile> source_files() {
  const filesystem::path root = source_path("");
  std::vector<SourceFile> files{read_source_file("CMakeLists.txt")};
  for (const char* folder : folders) {
    if (!filesystem::exists(root / folder)) continue;
    for (const auto& entry : filesystem::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file()) continue;
      SourceFile file = read_source_file(entry.path().lexically_relative(root).generic_string());
      if (is_source(file)) files.push_back(std::move(file));
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace graphc::core::testing
