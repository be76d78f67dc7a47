// SPDX-License-Identifier: Apache-2.0
// A persistent cache of bytes by key, in a folder that the processes of a user share. Entries may
// be lost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace graphc::core {

/// A folder with one file per key. A file contains its key and a checksum: a file that is damaged,
/// truncated or of another key is never used, and is replaced when the key is next kept. Files
/// appear atomically, so processes and threads may do anything concurrently. Problems with the
/// folder are not errors; less is cached then.
///
/// The content may be code that runs with the user's rights. Files have mode 0600 and folders 0700.
/// A file or folder that belongs to another user (except root), or is writable by group or others,
/// is not trusted: such a file is never used and is replaced; such a folder is not used at all.
class FileCache {
 public:
  /// What all files take at most, approximately.
  static constexpr uint64_t kMostBytes = uint64_t{256} << 20;

  /// Without a folder: keeps and finds nothing.
  FileCache() = default;
  /// The folder is created when something is kept. `most_bytes` is the bound for all files.
  explicit FileCache(std::filesystem::path folder, uint64_t most_bytes = kMostBytes);

  const std::filesystem::path& folder() const { return folder_; }
  /// The content last kept for the key; marks its file as used now.
  std::optional<std::string> find(std::string_view key) const;
  /// Keeps the content; returns why it could not, in one line, or nothing. Calls trim() if the
  /// files beside the new one suggest that all of them exceed the bound.
  std::string keep(std::string_view key, std::string_view content) const;
  /// If all files exceed the bound: removes the least recently used ones until the rest takes
  /// three quarters of it. Touches only files whose names match its own scheme.
  void trim() const;
  /// The path of a key's file.
  std::filesystem::path path_of(std::string_view key) const;

 private:
  std::filesystem::path folder_;
  uint64_t most_bytes_ = 0;
};

/// The cache named by the environment: the folder in GRAPHC_CACHE, none for "off" or "none"; by
/// default graphc in XDG_CACHE_HOME, or in .cache of HOME.
FileCache file_cache_of_environment();

}  // namespace graphc::core
