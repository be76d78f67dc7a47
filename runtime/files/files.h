// SPDX-License-Identifier: Apache-2.0
// Reading files whole, and writing them so that a reader sees the old file or the new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace graphc::core {

/// So many bytes are read of what has no length and may have no end: a pipe, a device, stdin.
inline constexpr size_t kMostOfStream = size_t{1} << 30;
/// So many bytes a text to learn from has at most, and a graph in any of its forms.
inline constexpr size_t kMostOfText = size_t{1} << 30, kMostOfGraph = size_t{1} << 28;

/// The content of the file at `path`. Throws ErrorKind::input, naming the path and the system's
/// reason, when it is missing, is a folder or cannot be read, or has more than `most` bytes; where
/// there is no memory for it, ErrorKind::resource.
std::string read_file(const std::filesystem::path& path, size_t most = SIZE_MAX);
/// The same of stdin, "<stdin>" in errors.
std::string read_stdin(size_t most = SIZE_MAX);
/// The content of a file in pieces of at most `piece` bytes, one after the other: all of it need
/// not fit into memory. Of what has no length it is kMostOfStream bytes at most. Throws as
/// read_file().
void read_pieces(const std::filesystem::path& path, size_t piece,
                 const std::function<void(std::string_view)>& take);

/// Whom a file that is written is for: by the process's umask and, where it takes the place of
/// another, as that one; or for its owner alone, whatever was there.
enum class Readers { usual, owner };

/// A file that appears at its path, complete and on disk, when commit() returns; until then, and if
/// it never is called, whatever was there stays. What takes the place of a file has its mode.
/// It is written beside its place as `<name>.<process>.<number>.graphc.tmp`; such files that killed
/// processes of the same user left there are removed. Every function throws ErrorKind::resource
/// naming the path and the system's reason.
class AtomicFile {
 public:
  /// Anything at `path` that is not a regular file (a folder, a device) is an error.
  explicit AtomicFile(const std::filesystem::path& path, Readers readers = Readers::usual);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Call once, last. Without `synced` it does not wait for the disk: a crash of the machine may
  /// leave less than the whole, which the reader must notice.
  void commit(bool synced = true);

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  Readers readers_;
  int descriptor_ = -1;
};

/// Whether the name of the file is one that an AtomicFile gives to what it is writing.
bool is_temporary(const std::filesystem::path& path);

/// Removes the file of an AtomicFile that a killed process left, and says whether it did. One that
/// somebody is still writing stays, and so does another user's.
bool remove_if_abandoned(const std::filesystem::path& path);

/// An AtomicFile with one write.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace graphc::core
