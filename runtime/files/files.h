// SPDX-License-Identifier: Apache-2.0
// Reads whole files, and writes files atomically.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace graphc::core {

/// The limit for reading a source without a length, which may be endless: a pipe, a device, stdin.
inline constexpr size_t kMostOfStream = size_t{1} << 30;
/// The limits for a training text and for a graph in any form.
inline constexpr size_t kMostOfText = size_t{1} << 30, kMostOfGraph = size_t{1} << 28;

/// The content of the file at `path`. Throws ErrorKind::input, naming the path and the system's
/// reason, if it is missing, a folder, unreadable, or longer than `most` bytes; ErrorKind::resource
/// if there is not enough memory.
std::string read_file(const std::filesystem::path& path, size_t most = SIZE_MAX);
/// The same for stdin, called "<stdin>" in errors.
std::string read_stdin(size_t most = SIZE_MAX);
/// Passes a file to `take` in pieces of at most `piece` bytes, so that it need not fit into memory.
/// Reads at most kMostOfStream bytes from a source without a length. Throws as read_file() does.
void read_pieces(const std::filesystem::path& path, size_t piece,
                 const std::function<void(std::string_view)>& take);

/// Who may read a written file: `usual` applies the umask or the mode of the file it replaces;
/// `owner` restricts it to its owner in any case.
enum class Readers { usual, owner };

/// A file that appears at its path, complete and on disk, when commit() returns; until then, and
/// without commit(), an existing file stays. A replaced file passes on its mode. It is written next
/// to its destination as `<name>.<process>.<number>.graphc.tmp`; such files left by killed
/// processes of the same user are removed. Every function throws ErrorKind::resource naming the
/// path and the system's reason.
class AtomicFile {
 public:
  /// Throws if `path` is not a regular file (a folder, a device).
  explicit AtomicFile(const std::filesystem::path& path, Readers readers = Readers::usual);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Call once, last. Without `synced` it does not wait for the disk: after a crash of the machine
  /// the file may be incomplete, which the reader must detect.
  void commit(bool synced = true);

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  Readers readers_;
  int descriptor_ = -1;
};

/// Whether the file name is that of an AtomicFile's temporary file.
bool is_temporary(const std::filesystem::path& path);

/// Removes a temporary file left by a killed process; returns whether it did. A file that is still
/// being written stays, and so does another user's.
bool remove_if_abandoned(const std::filesystem::path& path);

/// An AtomicFile with one write.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace graphc::core
