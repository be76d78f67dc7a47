// SPDX-License-Identifier: Apache-2.0
// System calls on files for the sources in this folder.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "ir/error.h"

namespace graphc::core {

/// Closes a descriptor at the end of the scope.
struct Descriptor {
  int value;
  explicit Descriptor(int file) : value(file) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor();
  /// Releases the descriptor; the caller closes it.
  int release();
};

/// open(2), retried after signals.
int open_again(const std::filesystem::path& path, int flags, mode_t mode = 0);

/// write(2). A file that would exceed the process's limit is the error EFBIG; the signal SIGXFSZ
/// that comes with it, which would end the process, is suppressed.
ssize_t write_unsignalled(int file, const void* bytes, size_t size);

/// ErrorKind::input and ErrorKind::resource errors with the path and the system's reason.
Error cannot_read(const std::filesystem::path& path, int error);
Error cannot_write(const std::filesystem::path& path, int error);

}  // namespace graphc::core
