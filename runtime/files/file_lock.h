// SPDX-License-Identifier: Apache-2.0
// A file that says that something is in use.
#pragma once

#include <filesystem>
#include <string_view>

namespace graphc::core {

/// A lock that one process has at a time. It ends with this object, or with the process however
/// that ends; the file is then removed, or left behind without a meaning. Where the file system has
/// no locks, everyone gets it.
class FileLock {
 public:
  /// Takes the lock by the file at `path`, which is made. Throws ErrorKind::resource when another
  /// has it, with `taken`, the process that has it, and what is wanted; or when the file cannot be
  /// made.
  FileLock(const std::filesystem::path& path, std::string_view taken);
  FileLock(const FileLock&) = delete;
  ~FileLock();

 private:
  std::filesystem::path path_;
  int descriptor_;
};

}  // namespace graphc::core
