// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "runtime/files/descriptor.h"

namespace graphc::core {
namespace {

/// " (process 123)", as written by the holder of the lock; empty if it wrote no number.
std::string holder(int file) {
  char text[16];
  const ssize_t count = pread(file, text, sizeof text, 0);
  const std::string_view found(text, count > 0 ? size_t(count) : 0);
  const std::string_view digits = found.substr(0, found.find_first_not_of("0123456789"));
  return digits.empty() ? "" : fmt::format(" (process {})", digits);
}

/// Whether the open file is still the one at the path.
bool is_at(const std::filesystem::path& path, int file) {
  struct stat open, there;
  return fstat(file, &open) == 0 && stat(path.c_str(), &there) == 0 &&
         open.st_dev == there.st_dev && open.st_ino == there.st_ino;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, std::string_view taken) : path_(path) {
  for (;;) {
    Descriptor file(open_again(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666));
    if (file.value < 0) throw cannot_write(path, errno);
    if (flock(file.value, LOCK_EX | LOCK_NB) < 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) {
        throw resource_error("{}{}: wanted exclusive use ('{}')", taken, holder(file.value),
                             path.string());
      }
    } else if (!is_at(path, file.value)) {
      continue;  // its holder has just removed it
    }
    const std::string process = fmt::format("{}\n", getpid());
    // For information only; the lock does not depend on it.
    [[maybe_unused]] const bool written =
        ftruncate(file.value, 0) == 0 && pwrite(file.value, process.data(), process.size(), 0) > 0;
    descriptor_ = file.release();
    return;
  }
}

FileLock::~FileLock() {
  unlink(path_.c_str());
  close(descriptor_);
}

}  // namespace graphc::core
