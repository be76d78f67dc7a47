// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/paths.h"

#include <filesystem>

#include "tools/commands/commands.h"

namespace graphc::core::commands {
namespace {

namespace filesystem = std::filesystem;

bool is_file(const std::string& path) {
  if (path.empty() || path == "-") return false;
  std::error_code none;
  const filesystem::file_status status = filesystem::status(path, none);
  // A device or a pipe may be written twice; a missing path becomes a file.
  return !filesystem::exists(status) || filesystem::is_regular_file(status) ||
         filesystem::is_directory(status);
}

/// The path with all links resolved, dangling ones included.
filesystem::path resolved(filesystem::path path) {
  constexpr int kMostLinks = 40;
  std::error_code none;
  for (int i = 0; i < kMostLinks && filesystem::is_symlink(path, none); ++i)
    path = path.parent_path() / filesystem::read_symlink(path, none);
  const filesystem::path whole = filesystem::absolute(path, none);
  const filesystem::path result = filesystem::weakly_canonical(whole, none);
  return none ? whole.lexically_normal() : result;
}

bool are_one(const std::string& a, const std::string& b) {
  if (!is_file(a) || !is_file(b)) return false;
  std::error_code none;
  return resolved(a) == resolved(b) || filesystem::equivalent(a, b, none);
}

/// Whether the folder contains the file, directly or indirectly.
bool is_inside(const std::string& file, const std::string& folder) {
  std::error_code none;
  if (!is_file(file) || !filesystem::is_directory(folder, none)) return false;
  const filesystem::path of = resolved(folder);
  for (filesystem::path at = resolved(file); at.has_relative_path(); at = at.parent_path()) {
    if (at == of || filesystem::equivalent(at, of, none)) return true;
  }
  return false;
}

}  // namespace

void check_paths(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const NamedPath& output = outputs[i];
    for (const NamedPath& input : inputs) {
      if (are_one(output.path, input.path)) {
        throw usage_error("{} would write over what {} reads: '{}'", output.option, input.option,
                          output.path);
      }
      if (input.whole && is_inside(output.path, input.path)) {
        throw usage_error("{} '{}' lies in the folder '{}', of which {} reads every file",
                          output.option, output.path, input.path, input.option);
      }
    }
    for (size_t j = 0; j < i; ++j) {
      if (are_one(output.path, outputs[j].path))
        throw usage_error("{} and {} are the same file: '{}'", output.option, outputs[j].option,
                          output.path);
    }
  }
}

std::vector<NamedPath> files_of(const std::string& option, const std::vector<std::string>& values) {
  std::vector<NamedPath> files;
  for (const std::string& value : values) {
    const size_t at = value.find("=@");
    if (at != value.npos)
      files.push_back({fmt::format("{} {}", option, value.substr(0, at)), value.substr(at + 2)});
  }
  return files;
}

}  // namespace graphc::core::commands
