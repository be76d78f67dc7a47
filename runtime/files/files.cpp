// SPDX-License-Identifier: Apache-2.0
// Files by the system's calls: the standard streams do not say why something failed.
#include "runtime/files/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>

#include "ir/error.h"

namespace graphc {
namespace {

/// Closes a descriptor when the scope is left.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

Error cannot_read(const std::filesystem::path& path, int error) {
  return input_error({}, "cannot read '{}': {}", path.string(), std::strerror(error));
}

Error cannot_write(const std::filesystem::path& path, int error) {
  return resource_error("cannot write '{}': {}", path.string(), std::strerror(error));
}

/// open(2), again when a signal came first.
int open_again(const std::filesystem::path& path, int flags, mode_t mode = 0) {
  int file;
  do {
    file = open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (file < 0 && errno == EINTR);
  return file;
}

/// fsync(2), likewise.
int sync_again(int file) {
  int result;
  do {
    result = fsync(file);
  } while (result < 0 && errno == EINTR);
  return result;
}

/// Reads to the end, whatever length the system announced: pipes announce none.
std::string read_all(int descriptor, size_t announced, const std::filesystem::path& path) {
  std::string content;
  content.resize(announced + 1);
  for (size_t length = 0;;) {
    if (length == content.size()) content.resize(content.size() * 2);
    const ssize_t count = read(descriptor, content.data() + length, content.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw cannot_read(path, errno);
    if (count == 0) {
      content.resize(length);
      return content;
    }
    length += size_t(count);
  }
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  const Descriptor file{open_again(path, O_RDONLY)};
  struct stat status;
  if (file.value < 0 || fstat(file.value, &status) < 0) throw cannot_read(path, errno);
  const size_t announced = S_ISREG(status.st_mode) ? size_t(status.st_size) : 4096;
  try {
    return read_all(file.value, announced, path);
  } catch (const std::bad_alloc&) {
    throw resource_error("no memory to read '{}' of {} bytes", path.string(), announced);
  } catch (const std::length_error&) {
    throw resource_error("no memory to read '{}' of {} bytes", path.string(), announced);
  }
}

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  static std::atomic<unsigned> counter{0};
  struct stat status;
  // A rename would put a file in the place of a device or a pipe.
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) throw cannot_write(path, EISDIR);
    throw resource_error("cannot write '{}': not a regular file", path.string());
  }
  // A name left behind by a process that was killed may be taken: try the next.
  do {
    temporary_ = path_;
    temporary_ += fmt::format(".{}.{}.tmp", getpid(), counter.fetch_add(1));
    descriptor_ = open_again(temporary_, O_WRONLY | O_CREAT | O_EXCL, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) throw cannot_write(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    // Nothing taken and no reason given: there is no more room.
    if (count <= 0) throw cannot_write(path_, count < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(size_t(count));
  }
}

void AtomicFile::commit() {
  GRAPHC_CHECK(descriptor_ >= 0, "'{}' was committed before", path_.string());
  if (sync_again(descriptor_) < 0) throw cannot_write(path_, errno);
  const int closed = close(descriptor_);
  descriptor_ = -1;
  // Linux has closed it when a signal comes, and the content is on disk.
  if (closed < 0 && errno != EINTR) throw cannot_write(path_, errno);
  if (rename(temporary_.c_str(), path_.c_str()) < 0) throw cannot_write(path_, errno);
  temporary_.clear();
  // The new name is on disk when its folder is. Some file systems cannot sync a folder (EINVAL).
  const std::filesystem::path parent = path_.has_parent_path() ? path_.parent_path() : ".";
  const Descriptor folder{open_again(parent, O_RDONLY | O_DIRECTORY)};
  if (folder.value >= 0 && sync_again(folder.value) < 0 && errno != EINVAL) {
    throw cannot_write(path_, errno);
  }
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace graphc
