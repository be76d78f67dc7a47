// SPDX-License-Identifier: Apache-2.0
// Saving while calls of the system fail. An executable with this source is linked with
// --wrap=open,--wrap=write,--wrap=fsync,--wrap=close,--wrap=rename,--wrap=link,--wrap=unlink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace graphc::core::testing {

enum class Call { open, write, fsync, close, rename };

/// Does `work` and is killed, as by SIGKILL, where it has made so many of these calls, of any kind:
/// before that call does anything or, with `after`, when it has been done; a write then has taken
/// half. Never returns if there are so many.
void killed_at_call(int index, bool after, const std::function<void()>& work);

/// What the calls do while something is saved.
struct Script {
  Call failing = Call::write;
  int index = 0;           ///< which of these calls fails, from 0; none of them when it is -1
  int error = 0;           ///< what it fails with; a write of 0 takes nothing
  size_t most = SIZE_MAX;  ///< bytes that one write takes
};

struct Saving {
  std::string name;  ///< for messages
  std::function<void(const std::string& path)> save;
};

/// Saves under the script. Returns the error's text, or nothing.
std::string save_under(const Saving& saving, const std::string& path, const Script& wanted);

/// Saves over an old file while a call fails, and expects either the old file and an error of the
/// kind resource that names it and the reason, or the new file and no error; nothing beside them.
/// False when the call is not made so often.
bool check_failure(const Saving& saving, const Script& wanted);

/// check_failure() for each call in turn, and each of several errors. Returns how many failed.
int64_t expect_each_failure_keeps_the_old_file(const Saving& saving);

}  // namespace graphc::core::testing
