// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

namespace graphc::core {

Descriptor::~Descriptor() {
  if (value >= 0) close(value);
}

int Descriptor::release() { return std::exchange(value, -1); }

int open_again(const std::filesystem::path& path, int flags, mode_t mode) {
  int file;
  do {
    file = open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (file < 0 && errno == EINTR);
  return file;
}

ssize_t write_unsignalled(int file, const void* bytes, size_t size) {
  sigset_t limit, before;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &limit, &before);
  const ssize_t count = write(file, bytes, size);
  const int error = errno;
  // It is pending for this thread only. If the thread itself blocked the signal, leave it pending.
  if (count < 0 && error == EFBIG && sigismember(&before, SIGXFSZ) == 0) {
    const timespec at_once{};
    sigtimedwait(&limit, nullptr, &at_once);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return count;
}

Error cannot_read(const std::filesystem::path& path, int error) {
  return input_error({}, "cannot read '{}': {}", path.string(), std::strerror(error));
}

Error cannot_write(const std::filesystem::path& path, int error) {
  return resource_error("cannot write '{}': {}", path.string(), std::strerror(error));
}

}  // namespace graphc::core
