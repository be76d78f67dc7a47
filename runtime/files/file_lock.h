// SPDX-License-Identifier: Apache-2.0
// A lock file that marks something as in use.
#pragma once

#include <filesystem>
#include <string_view>

namespace graphc::core {

/// A lock held by one process at a time. It ends with this object, or with the process in whatever
/// way; the file is then removed, or left without a meaning. On a file system without locks,
/// everyone gets it.
class FileLock {
 public:
  /// Locks the file at `path`, which is created. Throws ErrorKind::resource if another process
  /// holds the lock, with `taken`, that process, and advice; or if the file cannot be created.
  FileLock(const std::filesystem::path& path, std::string_view taken);
  FileLock(const FileLock&) = delete;
  ~FileLock();

 private:
  std::filesystem::path path_;
  int descriptor_;
};

}  // namespace graphc::core
