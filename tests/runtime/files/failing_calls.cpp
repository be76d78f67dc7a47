// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/files/failing_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <filesystem>

#include "runtime/files/files.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core::testing {
namespace {

/// The script of the moment, and how far it is.
struct Running {
  bool on = false;  ///< calls are only looked at while it is
  Script script;
  int seen = 0;
  bool failed = false;
};
Running running;

/// The call at which the process is killed, and how many there were.
struct Killing {
  int index = -1;
  bool after = false;
  int seen = 0;
};
Killing killing;

/// A call that may be the one, from its beginning to its end.
class Deadly {
 public:
  Deadly() : is_it_(killing.index >= 0 && killing.seen++ == killing.index) {
    if (is_it_ && !killing.after) raise(SIGKILL);
  }
  ~Deadly() {
    if (is_it_) raise(SIGKILL);
  }
  bool is_it() const { return is_it_; }

 private:
  bool is_it_;
};

bool fails(Call call) {
  if (!running.on || call != running.script.failing) return false;
  if (running.seen++ != running.script.index) return false;
  errno = running.script.error;
  running.failed = true;
  return true;
}

}  // namespace
}  // namespace graphc::core::testing

extern "C" {
int __real_open(const char* path, int flags, ...);
ssize_t __real_write(int file, const void* data, size_t size);
int __real_close(int file);
int __real_rename(const char* from, const char* to);
int __real_link(const char* from, const char* to);
int __real_unlink(const char* path);

int __wrap_open(const char* path, int flags, ...) {
  using namespace graphc::core::testing;
  const Deadly deadly;
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return fails(Call::open) ? -1 : __real_open(path, flags, mode);
}

ssize_t __wrap_write(int file, const void* data, size_t size) {
  using namespace graphc::core::testing;
  const Deadly deadly;
  if (deadly.is_it()) size /= 2;
  if (fails(Call::write)) return running.script.error == 0 ? 0 : -1;
  return __real_write(file, data, running.on ? std::min(size, running.script.most) : size);
}

int __wrap_fsync(int) {
  using namespace graphc::core::testing;
  const Deadly deadly;
  return fails(Call::fsync) ? -1 : 0;  // nothing here outlives the machine
}

int __wrap_close(int file) {
  using namespace graphc::core::testing;
  const Deadly deadly;
  const bool failing = fails(Call::close);
  const int error = errno;
  const int result = __real_close(file);  // closed all the same, as Linux does
  if (!failing) return result;
  errno = error;
  return -1;
}

int __wrap_rename(const char* from, const char* to) {
  using namespace graphc::core::testing;
  const Deadly deadly;
  return fails(Call::rename) ? -1 : __real_rename(from, to);
}

int __wrap_link(const char* from, const char* to) {
  const graphc::core::testing::Deadly deadly;
  return __real_link(from, to);
}

int __wrap_unlink(const char* path) {
  const graphc::core::testing::Deadly deadly;
  return __real_unlink(path);
}
}

namespace graphc::core::testing {

void killed_at_call(int index, bool after, const std::function<void()>& work) {
  killing = {.index = index, .after = after};
  work();
  killing = {};
}

std::string save_under(const Saving& saving, const std::string& path, const Script& wanted) {
  std::string message;
  running = {.on = true, .script = wanted};
  try {
    saving.save(path);
  } catch (const Error& error) {
    message = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::resource) << message;
  }
  running.on = false;
  return message;
}

bool check_failure(const Saving& saving, const Script& wanted) {
  const TemporaryFolder folder, elsewhere;
  const std::string old = "the old file", path = folder.add("saved", old).string();
  const std::string whole_path = (elsewhere.path() / "whole").string();
  saving.save(whole_path);
  const std::string whole = read_file(whole_path);
  SCOPED_TRACE(fmt::format("{}: call {} of kind {} fails with {}", saving.name, wanted.index,
                           int(wanted.failing), std::strerror(wanted.error)));
  const std::string message = save_under(saving, path, wanted);
  const std::string left = read_file(path);
  EXPECT_EQ(folder.count(), 1) << "something is left beside the file";
  if (!running.failed) {
    EXPECT_EQ(message, "");
    EXPECT_EQ(left, whole);
    return false;
  }
  if (wanted.error == EINTR && wanted.failing != Call::rename) {
    EXPECT_EQ(message, "") << "an interrupted call is no failure";
    EXPECT_EQ(left, whole);
    return true;
  }
  // The second of these is of the folder, when the new file has its name.
  const bool renamed = wanted.index > 0 && wanted.failing != Call::write;
  EXPECT_EQ(left, renamed ? whole : old);
  if (renamed && wanted.failing != Call::fsync) {
    EXPECT_EQ(message, "") << "a folder that may not be opened may still be written";
    return true;
  }
  EXPECT_NE(message.find("cannot write '" + path + "'"), std::string::npos) << message;
  const int error = wanted.error == 0 ? ENOSPC : wanted.error;
  EXPECT_NE(message.find(std::strerror(error)), std::string::npos) << message;
  return true;
}

int64_t expect_each_failure_keeps_the_old_file(const Saving& saving) {
  int64_t failures = 0;
  for (const Call call : {Call::open, Call::write, Call::fsync, Call::close, Call::rename}) {
    for (const int error : {ENOSPC, EIO, EDQUOT, EROFS, EINTR}) {
      int index = 0;
      while (check_failure(saving, {.failing = call, .index = index, .error = error})) ++index;
      EXPECT_GE(index, 1) << saving.name << int(call);
      failures += index;
    }
  }
  return failures;
}

}  // namespace graphc::core::testing
