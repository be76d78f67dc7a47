// SPDX-License-Identifier: Apache-2.0
// Writes a temporary file next to the destination and renames it. The temporary file is locked
// until then; an unlocked one has been abandoned.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>

#include "runtime/files/descriptor.h"
#include "runtime/files/files.h"

namespace graphc::core {
namespace {

constexpr std::string_view kEnding = ".graphc.tmp";

/// fsync(2), retried after signals.
int sync_again(int file) {
  int result;
  do {
    result = fsync(file);
  } while (result < 0 && errno == EINTR);
  return result;
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

/// Whether `name` is that of a temporary file for `file`: with a process and a number.
bool is_temporary_of(std::string_view file, std::string_view name) {
  const auto take_number = [&] {
    const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    name.remove_prefix(digits);
    return digits > 0;
  };
  const auto take_point = [&] {
    if (!name.starts_with('.')) return false;
    name.remove_prefix(1);
    return true;
  };
  if (!name.starts_with(file)) return false;
  name.remove_prefix(file.size());
  return take_point() && take_number() && take_point() && take_number() && name == kEnding;
}

/// Removes the temporary files of killed processes. Failing to do so is not an error.
void remove_abandoned(const std::filesystem::path& path) {
  const std::filesystem::path folder = folder_of(path);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(folder.c_str()), closedir);
  if (listing == nullptr) return;
  const std::string file = path.filename().string();
  while (const dirent* entry = readdir(listing.get())) {
    if (is_temporary_of(file, entry->d_name)) remove_if_abandoned(folder / entry->d_name);
  }
}

/// Gives a file that only its owner can read the owner and mode of the file it replaces. If the
/// group cannot be set, the group gets no access.
void make_like(int file, const struct stat& old) {
  mode_t mode = old.st_mode & 0777;
  struct stat now;
  if (fstat(file, &now) < 0) return;
  if (now.st_uid != old.st_uid || now.st_gid != old.st_gid) {
    if (fchown(file, old.st_uid, old.st_gid) < 0 && fchown(file, now.st_uid, old.st_gid) < 0)
      mode &= mode_t(~0070);
  }
  // Some file systems have no modes.
  [[maybe_unused]] const bool changed = fchmod(file, mode) == 0;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path, Readers readers)
    : path_(path), readers_(readers) {
  static std::atomic<unsigned> counter{0};
  struct stat status;
  const bool replaces = stat(path.c_str(), &status) == 0;
  // A rename would replace a device or a pipe by a regular file.
  if (replaces && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) throw cannot_write(path, EISDIR);
    throw resource_error("cannot write '{}': not a regular file", path.string());
  }
  remove_abandoned(path);
  const mode_t mode = replaces || readers == Readers::owner ? 0600 : 0666;
  for (;;) {
    std::filesystem::path name = path;
    name += fmt::format(".{}.{}{}", getpid(), counter.fetch_add(1), kEnding);
    Descriptor file(open_again(name, O_WRONLY | O_CREAT | O_EXCL, mode));
    if (file.value < 0 && errno == EEXIST) continue;  // the file exists
    if (file.value < 0) throw cannot_write(path, errno);
    // A cleaner may have found the file before it was locked, and removed it: try again.
    if (flock(file.value, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) continue;
    if (fstat(file.value, &status) == 0 && status.st_nlink == 0) continue;
    temporary_ = std::move(name);
    descriptor_ = file.release();
    return;
  }
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
  if (descriptor_ >= 0) close(descriptor_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write_unsignalled(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    // Nothing written and no error: the disk is full.
    if (count <= 0) throw cannot_write(path_, count < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(size_t(count));
  }
}

void AtomicFile::commit(bool synced) {
  GRAPHC_CHECK(descriptor_ >= 0, "'{}' was committed before", path_.string());
  struct stat old;
  if (readers_ == Readers::usual && stat(path_.c_str(), &old) == 0) make_like(descriptor_, old);
  if (synced && sync_again(descriptor_) < 0) throw cannot_write(path_, errno);
  // A duplicate descriptor keeps the lock, which is released with the last one.
  const Descriptor lock(fcntl(descriptor_, F_DUPFD_CLOEXEC, 0));
  const int closed = close(descriptor_);
  descriptor_ = -1;
  // On EINTR Linux has closed the file, and the content is already on disk.
  if (closed < 0 && errno != EINTR) throw cannot_write(path_, errno);
  if (rename(temporary_.c_str(), path_.c_str()) < 0) throw cannot_write(path_, errno);
  temporary_.clear();
  if (!synced) return;
  // The new name is durable once its folder is synced. Some file systems cannot sync a folder
  // (EINVAL).
  const Descriptor folder(open_again(folder_of(path_), O_RDONLY | O_DIRECTORY));
  if (folder.value >= 0 && sync_again(folder.value) < 0 && errno != EINVAL) {
    throw cannot_write(path_, errno);
  }
}

bool is_temporary(const std::filesystem::path& path) { return path.native().ends_with(kEnding); }

bool remove_if_abandoned(const std::filesystem::path& path) {
  const Descriptor file(open_again(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  if (file.value < 0 || fstat(file.value, &status) < 0) return false;
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) return false;
  return flock(file.value, LOCK_EX | LOCK_NB) == 0 && unlink(path.c_str()) == 0;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace graphc::core
