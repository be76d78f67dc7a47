// SPDX-License-Identifier: Apache-2.0
// The standard streams: messages whose failure has no effect, and protection of the descriptors 0
// to 2 from reuse by files.
#pragma once

#include <string_view>

namespace graphc::core {

/// Writes to stderr as much as it accepts: text that cannot be written (full disk, closed
/// descriptor, broken pipe) is lost, without an error or a signal.
void write_stderr(std::string_view text) noexcept;
/// Writes a line, as printable_lines() of ir/utf8.h shows it.
void write_message(std::string_view line) noexcept;

/// Call first in a program: opens /dev/null in place of each closed standard stream (`2>&-`), so
/// that no file gets its descriptor and with it the stream's output. Reading stdin or writing
/// stdout then fails as if it were closed.
void open_closed_streams() noexcept;

/// Call early in a program: from then on a write past the file size limit (`ulimit -f`) fails with
/// the system's reason instead of ending the process by SIGXFSZ.
void survive_file_limits() noexcept;

}  // namespace graphc::core
