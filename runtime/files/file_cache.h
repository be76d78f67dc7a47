// SPDX-License-Identifier: Apache-2.0
// What is dear to make and may be lost: bytes by key, in a folder that the processes of a user
// share and that outlives them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace graphc::core {

/// A folder of one file for each key. A file says which key it is of and has a checksum: what is
/// damaged, cut short or of another key is never used, and is replaced by the next to keep that
/// key. Files appear whole, so that processes and threads may do anything at the same time. What
/// goes wrong with the folder is no error: then less is kept.
///
/// The content may be code that runs with the user's rights. Files have mode 0600 and folders 0700;
/// a file or folder that belongs to another user (but root), or that its group or others may write
/// to, is not trusted: such a file is never used and is replaced, in such a folder nothing is found
/// or kept.
class FileCache {
 public:
  /// So many bytes all files have together, about, after trim().
  static constexpr uint64_t kMostBytes = uint64_t{256} << 20;

  /// Without a folder nothing is kept, and nothing is found.
  FileCache() = default;
  /// The folder is made when something is kept. `most_bytes` is what trim() leaves.
  explicit FileCache(std::filesystem::path folder, uint64_t most_bytes = kMostBytes);

  const std::filesystem::path& folder() const { return folder_; }
  /// What was kept of the key last; its file counts as used now.
  std::optional<std::string> find(std::string_view key) const;
  /// Keeps the content; gives why it could not be kept, in one line, or nothing.
  std::string keep(std::string_view key, std::string_view content) const;
  /// Removes the files that were not used for longest, until the others are within the bound. Only
  /// files with names such as it gives are touched.
  void trim() const;
  /// Where the file of a key is.
  std::filesystem::path path_of(std::string_view key) const;

 private:
  std::filesystem::path folder_;
  uint64_t most_bytes_ = 0;
};

/// The cache that the environment names: the folder of GRAPHC_CACHE, none for "off" or "none";
/// where that is not set, graphc in XDG_CACHE_HOME, or in .cache of HOME.
FileCache file_cache_of_environment();

}  // namespace graphc::core
