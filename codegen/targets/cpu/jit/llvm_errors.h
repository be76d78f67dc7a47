// SPDX-License-Identifier: Apache-2.0
// Converts LLVM's errors to ours. An error about code that we generated is a defect of graphc.
#pragma once

#include <string_view>

namespace llvm {
class Error;
template <typename T>
class Expected;
}  // namespace llvm

namespace graphc::core::cpu {

/// Leaks an LLVM object that an exception interrupted during a change. LLVM is compiled without
/// exceptions: one that passes through it leaves its tables inconsistent, so the objects that own
/// them cannot be destroyed.
void keep_for_ever(void* object);

/// Throws an internal error, "`doing`: LLVM's message", if there is an error; ErrorKind::resource
/// if LLVM ran out of memory.
void check(llvm::Error error, std::string_view doing);

/// The value, or the exception of check() for the error.
template <typename T>
T check(llvm::Expected<T> result, std::string_view doing) {
  check(result.takeError(), doing);
  return static_cast<T&&>(*result);  // T may be a reference
}

}  // namespace graphc::core::cpu
