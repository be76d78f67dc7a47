// SPDX-License-Identifier: Apache-2.0
// Saving, with each call of the system failing in turn: an error that names the file, the old file
// as it was, nothing left beside it. This executable is linked with --wrap for these calls.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <functional>
#include <vector>

#include "runtime/files/files.h"
#include "runtime/files/npy.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/counts.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::testing {
namespace {

enum class Call { open, write, fsync, close, rename };

/// What the calls do. Only while `on`; counted from 0.
struct Script {
  bool on = false;
  Call failing = Call::write;
  int index = 0;           ///< which of these calls
  int error = 0;           ///< what it fails with
  size_t most = SIZE_MAX;  ///< bytes that one write takes
  int seen = 0;
  bool failed = false;
};
Script script;

bool fails(Call call) {
  if (!script.on || call != script.failing) return false;
  if (script.seen++ != script.index) return false;
  errno = script.error;
  script.failed = true;
  return true;
}

}  // namespace
}  // namespace graphc::testing

extern "C" {
int __real_open(const char* path, int flags, ...);
ssize_t __real_write(int file, const void* data, size_t size);
int __real_close(int file);
int __real_rename(const char* from, const char* to);

int __wrap_open(const char* path, int flags, ...) {
  using namespace graphc::testing;
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return fails(Call::open) ? -1 : __real_open(path, flags, mode);
}

ssize_t __wrap_write(int file, const void* data, size_t size) {
  using namespace graphc::testing;
  if (fails(Call::write)) return script.error == 0 ? 0 : -1;
  return __real_write(file, data, script.on ? std::min(size, script.most) : size);
}

int __wrap_fsync(int) {
  using namespace graphc::testing;
  return fails(Call::fsync) ? -1 : 0;  // nothing here outlives the machine
}

int __wrap_close(int file) {
  using namespace graphc::testing;
  const bool failing = fails(Call::close);
  const int error = errno;
  const int result = __real_close(file);  // closed all the same, as Linux does
  if (!failing) return result;
  errno = error;
  return -1;
}

int __wrap_rename(const char* from, const char* to) {
  using namespace graphc::testing;
  return fails(Call::rename) ? -1 : __real_rename(from, to);
}
}

namespace graphc::testing {
namespace {

struct Format {
  const char* name;
  std::function<void(const std::string& path)> save;
};

std::vector<Format> formats() {
  const Literal array = Literal::filled({DType::f32, {40, 3}}, 1.5);
  return {{"safetensors",
           [=](const std::string& path) {
             write_safetensors(path, {{{"a", array}, {"b", array}}, {{"step", "3"}}});
           }},
          {"npy", [=](const std::string& path) { write_npy(path, array); }},
          {"text", [](const std::string& path) { write_file_atomically(path, "new content"); }}};
}

/// Saves over an old file under the script. Returns the error's text, or nothing.
std::string save(const Format& format, const std::string& path, const Script& wanted) {
  std::string message;
  script = wanted;
  script.on = true;
  try {
    format.save(path);
  } catch (const Error& error) {
    message = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::resource) << message;
  }
  script.on = false;
  return message;
}

/// One save in which a call fails. False when it is not made so often.
bool check_failure(const Format& format, Script wanted) {
  const TemporaryFolder folder, elsewhere;
  const std::string old = "the old file", path = folder.add("saved", old).string();
  const std::string whole_path = (elsewhere.path() / "whole").string();
  format.save(whole_path);
  const std::string whole = read_file(whole_path);
  SCOPED_TRACE(fmt::format("{}: call {} of kind {} fails with {}", format.name, wanted.index,
                           int(wanted.failing), std::strerror(wanted.error)));
  const std::string message = save(format, path, wanted);
  const std::string left = read_file(path);
  EXPECT_EQ(folder.count(), 1) << "something is left beside the file";
  if (!script.failed) {
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

TEST(FailingCalls, EachInTurnKeepsTheOldFile) {
  int64_t failures = 0;
  for (const Format& format : formats()) {
    for (const Call call : {Call::open, Call::write, Call::fsync, Call::close, Call::rename}) {
      for (const int error : {ENOSPC, EIO, EDQUOT, EROFS, EINTR}) {
        int index = 0;
        while (check_failure(format, {.failing = call, .index = index, .error = error})) ++index;
        EXPECT_GE(index, 1) << format.name << int(call);
        failures += index;
      }
    }
  }
  EXPECT_GT(failures, 100);
  count("failed calls of the system", failures);
}

TEST(FailingCalls, ShortWritesAreContinued) {
  const TemporaryFolder folder;
  for (const Format& format : formats()) {
    const std::string path = (folder.path() / "file").string();
    format.save(path);
    const std::string whole = read_file(path);
    for (const size_t most : {1, 7, 100}) {
      EXPECT_EQ(save(format, folder.add("file", "old").string(), {.index = -1, .most = most}), "");
      EXPECT_EQ(read_file(path), whole) << format.name << " " << most;
      if (whole.size() <= most) continue;
      // A disk that fills up in the middle, one that takes nothing, and a signal in the middle.
      for (const int error : {ENOSPC, 0, EINTR})
        EXPECT_TRUE(check_failure(format, {.index = 1, .error = error, .most = most}));
    }
  }
}

}  // namespace
}  // namespace graphc::testing
