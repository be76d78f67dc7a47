// SPDX-License-Identifier: Apache-2.0
// The standard streams: messages that change nothing when they cannot be written, and descriptors
// that no file that is opened later gets by chance.
#pragma once

#include <string_view>

namespace graphc::core {

/// Writes to stderr, all of it or what it takes: what cannot be written (a full disk, a closed
/// descriptor, a pipe that nobody reads) is lost, and no error or signal comes of it.
void write_stderr(std::string_view text) noexcept;
/// A line of a message, as printable_lines() of ir/utf8.h shows it.
void write_message(std::string_view line) noexcept;

/// Call first in a program: opens /dev/null in the place of each standard stream that is closed, as
/// `2>&-` leaves it, so that no file gets its number and what was meant for the stream. Reading
/// stdin or writing to stdout fails then as if it were closed.
void open_closed_streams() noexcept;

/// Call early in a program: a write past the limit of a file's size (`ulimit -f`) fails with the
/// system's reason from then on, and does not end the process by SIGXFSZ.
void survive_file_limits() noexcept;

}  // namespace graphc::core
