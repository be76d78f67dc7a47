// SPDX-License-Identifier: Apache-2.0
// A file has a magic line, the lengths of key and content, both of them, and a hash of everything.
// It is written without waiting for the disk: a file truncated by a crash of the machine fails the
// hash.
#include "runtime/files/file_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include "runtime/files/descriptor.h"
#include "runtime/files/files.h"

namespace graphc::core {
namespace {

namespace filesystem = std::filesystem;

constexpr std::string_view kCacheMagic = "graphc cache 1\n";
constexpr std::string_view kFileEnding = ".kernel";
constexpr size_t kHashBytes = sizeof(XXH128_canonical_t);
constexpr size_t kHeaderBytes = kCacheMagic.size() + 2 * sizeof(uint64_t);
/// Files are in subfolders named by the first digits of their names, which keeps folders small.
constexpr size_t kFolderDigits = 2;
constexpr uint64_t kFolders = 256;
constexpr size_t kDigits = 2 * kHashBytes;

std::string hash_of(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(canonical.digest), kHashBytes};
}

std::string number_bytes(uint64_t number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

uint64_t number_at(std::string_view bytes) {
  uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

/// The content in the bytes of a file, if they are a valid file for the key.
std::optional<std::string> content_of(std::string_view bytes, std::string_view key) {
  if (bytes.size() < kHeaderBytes + kHashBytes || !bytes.starts_with(kCacheMagic))
    return std::nullopt;
  const std::string_view hash = bytes.substr(bytes.size() - kHashBytes);
  bytes.remove_suffix(kHashBytes);
  if (hash_of(bytes) != hash) return std::nullopt;
  const uint64_t key_bytes = number_at(bytes.substr(kCacheMagic.size()));
  const uint64_t content_bytes = number_at(bytes.substr(kCacheMagic.size() + sizeof(uint64_t)));
  bytes.remove_prefix(kHeaderBytes);
  if (key_bytes != key.size() || !bytes.starts_with(key)) return std::nullopt;
  bytes.remove_prefix(key.size());
  if (content_bytes != bytes.size()) return std::nullopt;
  return std::string(bytes);
}

/// Why another user could have written the file or folder; "" if nobody could.
std::string why_not_trusted(const struct stat& status) {
  if (status.st_uid != geteuid() && status.st_uid != 0)
    return fmt::format("it belongs to user {}", status.st_uid);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("its mode is {:o}: others may write to it", status.st_mode & 07777);
  return "";
}

/// The same for the folders around a key's file, as far as they exist; in one line.
std::string why_not_trusted(const filesystem::path& outer, const filesystem::path& inner) {
  for (const filesystem::path& folder : {outer, inner}) {
    struct stat status;
    if (stat(folder.c_str(), &status) < 0) continue;
    if (const std::string reason = why_not_trusted(status); !reason.empty())
      return fmt::format("the folder '{}' is not this user's alone: {}", folder.string(), reason);
  }
  return "";
}

/// The bytes of a trusted file, which is marked as used now.
std::optional<std::string> bytes_of(const filesystem::path& path, uint64_t most) {
  // Never blocks: opening a pipe without a writer would.
  const Descriptor file(open_again(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  if (file.value < 0 || fstat(file.value, &status) < 0 || !S_ISREG(status.st_mode))
    return std::nullopt;
  if (!why_not_trusted(status).empty() || uint64_t(status.st_size) > most) return std::nullopt;
  std::string bytes(size_t(status.st_size), '\0');
  for (size_t length = 0; length < bytes.size();) {
    const ssize_t count = read(file.value, bytes.data() + length, bytes.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    length += size_t(count);
  }
  // On a read-only file system the order of use is not recorded.
  [[maybe_unused]] const bool touched = futimens(file.value, nullptr) == 0;
  return bytes;
}

/// Creates the folders, for the owner only, like other user caches; returns "" or why it could not.
std::string make_folders(const filesystem::path& folder) {
  std::error_code error;
  if (filesystem::is_directory(folder, error)) return "";
  if (folder.has_parent_path() && folder.parent_path() != folder) {
    if (std::string reason = make_folders(folder.parent_path()); !reason.empty()) return reason;
  }
  if (mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return "";
  return fmt::format("cannot make the folder '{}': {}", folder.string(),
                     std::generic_category().message(errno));
}

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Whether the name is that of a cache file or of its temporary file.
bool is_name(std::string_view name) {
  constexpr size_t digits = kDigits - kFolderDigits;
  if (name.size() <= digits || !is_hexadecimal(name.substr(0, digits))) return false;
  const std::string_view ending = name.substr(digits);
  return ending == kFileEnding || (ending.starts_with(kFileEnding) && is_temporary(name));
}

struct KeptFile {
  filesystem::path path;
  filesystem::file_time_type used;
  uint64_t bytes = 0;
};

void add_files(const filesystem::path& folder, std::vector<KeptFile>& files) {
  std::error_code error;
  for (filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    if (!is_name(at->path().filename().string()) || !at->is_regular_file(gone)) continue;
    KeptFile file{at->path(), at->last_write_time(gone), 0};
    if (!gone) file.bytes = at->file_size(gone);
    if (!gone) files.push_back(std::move(file));
  }
}

uint64_t bytes_of(const std::vector<KeptFile>& files) {
  uint64_t sum = 0;
  for (const KeptFile& file : files) sum += file.bytes;
  return sum;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

FileCache::FileCache(filesystem::path folder, uint64_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {}

filesystem::path FileCache::path_of(std::string_view key) const {
  std::string name;
  for (const char byte : hash_of(key))
    name += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return folder_ / name.substr(0, kFolderDigits) /
         (name.substr(kFolderDigits) + std::string(kFileEnding));
}

std::optional<std::string> FileCache::find(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  const filesystem::path path = path_of(key);
  if (!why_not_trusted(folder_, path.parent_path()).empty()) return std::nullopt;
  const std::optional<std::string> bytes = bytes_of(path, most_bytes_);
  return bytes ? content_of(*bytes, key) : std::nullopt;
}

std::string FileCache::keep(std::string_view key, std::string_view content) const {
  if (folder_.empty()) return "";
  const filesystem::path path = path_of(key);
  if (std::string reason = make_folders(path.parent_path()); !reason.empty()) return reason;
  if (std::string reason = why_not_trusted(folder_, path.parent_path()); !reason.empty())
    return reason;
  std::string bytes(kCacheMagic);
  bytes += number_bytes(key.size()) + number_bytes(content.size());
  bytes += key;
  bytes += content;
  bytes += hash_of(bytes);
  try {
    AtomicFile file(path, Readers::owner);
    file.write(bytes);
    file.commit(/*synced=*/false);
  } catch (const Error& error) {
    return error.what();
  }
  // To look at all files of a full cache takes up to half a second. Names are hashes, so one folder
  // of the 256 tells about how much the others hold.
  std::vector<KeptFile> beside;
  add_files(path.parent_path(), beside);
  if (bytes_of(beside) * kFolders > most_bytes_) trim();
  return "";
}

void FileCache::trim() const {
  std::vector<KeptFile> files;
  std::error_code error;
  for (filesystem::directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.size() == kFolderDigits && is_hexadecimal(name)) add_files(at->path(), files);
  }
  uint64_t sum = bytes_of(files);
  if (sum <= most_bytes_) return;
  std::ranges::sort(files, std::ranges::less{}, &KeptFile::used);
  for (const KeptFile& file : files) {
    if (sum <= most_bytes_ / 4 * 3) return;
    // A file being written by another process stays; that process may also have replaced it
    // already.
    if (!is_temporary(file.path))
      unlink(file.path.c_str());
    else if (!remove_if_abandoned(file.path))
      continue;
    sum -= file.bytes;
  }
}

FileCache file_cache_of_environment() {
  const std::string chosen = variable("GRAPHC_CACHE");
  if (chosen == "none" || chosen == "off") return {};
  if (!chosen.empty()) return FileCache(chosen);
  // The XDG standard requires that relative paths are ignored.
  const filesystem::path caches = variable("XDG_CACHE_HOME");
  if (caches.is_absolute()) return FileCache(caches / "graphc");
  const filesystem::path home = variable("HOME");
  return home.is_absolute() ? FileCache(home / ".cache" / "graphc") : FileCache();
}

}  // namespace graphc::core
