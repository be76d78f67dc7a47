// SPDX-License-Identifier: Apache-2.0
// Conversion of an exception in main() to a tool's exit code.
#pragma once

#include <new>

#include "ir/error.h"
#include "ir/utf8.h"
#include "runtime/streams.h"

namespace graphc::core {

/// Writes the message of the current exception to stderr, and returns the exit code of its kind.
/// Call it in a catch block.
inline int report_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    write_message(error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    write_message("error: out of memory");
    return int(ErrorKind::resource);
  } catch (const std::exception& error) {
    write_message("internal error: " + printable_message(error.what()));
    return int(ErrorKind::internal);
  }
}

}  // namespace graphc::core
