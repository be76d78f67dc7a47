// SPDX-License-Identifier: Apache-2.0
// The system's calls on files, as the sources of this folder make them.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "ir/error.h"

namespace graphc::core {

/// Closes a descriptor when the scope is left.
struct Descriptor {
  int value;
  explicit Descriptor(int file) : value(file) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor();
  /// The descriptor, which the caller closes.
  int release();
};

/// open(2), again when a signal came first.
int open_again(const std::filesystem::path& path, int flags, mode_t mode = 0);

/// write(2). A file that would grow beyond the limit of the process is the error EFBIG: the signal
/// that comes with it, SIGXFSZ, would end the process and is taken back.
ssize_t write_unsignalled(int file, const void* bytes, size_t size);

/// ErrorKind::input and ErrorKind::resource, with the path and the system's reason.
Error cannot_read(const std::filesystem::path& path, int error);
Error cannot_write(const std::filesystem::path& path, int error);

}  // namespace graphc::core
