// SPDX-License-Identifier: Apache-2.0
// LLVM's errors as ours. What LLVM refuses of what we made is a defect of our own.
#pragma once

#include <string_view>

namespace llvm {
class Error;
template <typename T>
class Expected;
}  // namespace llvm

namespace graphc::core::cpu {

/// Keeps an object of LLVM that an exception left in the middle of a change until the process ends.
/// LLVM is compiled without exceptions: one that passes through it leaves tables half made, and
/// what has them cannot be destroyed.
void keep_for_ever(void* object);

/// Throws an internal error, "`doing`: LLVM's words", if there is an error; ErrorKind::resource
/// where it found no memory.
void check(llvm::Error error, std::string_view doing);

/// The value, or check() of the error.
template <typename T>
T check(llvm::Expected<T> result, std::string_view doing) {
  check(result.takeError(), doing);
  return static_cast<T&&>(*result);  // T may be a reference
}

}  // namespace graphc::core::cpu
