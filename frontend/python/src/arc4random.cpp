// SPDX-License-Identifier: Apache-2.0
// arc4random(), which LLVM and the C++ library call where the build's C library has it
// (glibc 2.36): defined here, the module also loads where it is missing.
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" uint32_t arc4random() noexcept {
  uint32_t number = 0;
  // Four bytes come at once, or not at all.
  while (getrandom(&number, sizeof number, 0) != ssize_t(sizeof number)) {
    if (errno != EINTR) std::abort();
  }
  return number;
}
