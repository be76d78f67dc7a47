// SPDX-License-Identifier: Apache-2.0
// How a tool ends when an exception reaches its main().
#pragma once

#include <new>

#include "ir/error.h"
#include "ir/utf8.h"
#include "runtime/streams.h"

namespace graphc::core {

/// Writes the message of the exception that is being handled to stderr, and gives the exit code of
/// its kind. Call it in a catch block.
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
