// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace graphc {

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

Error cannot_read(const std::filesystem::path& path, int error) {
  return input_error({}, "cannot read '{}': {}", path.string(), std::strerror(error));
}

Error cannot_write(const std::filesystem::path& path, int error) {
  return resource_error("cannot write '{}': {}", path.string(), std::strerror(error));
}

}  // namespace graphc
