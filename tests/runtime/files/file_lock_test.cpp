// SPDX-License-Identifier: Apache-2.0
// A lock that one has at a time, whatever becomes of the one who had it.
#include "runtime/files/file_lock.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "ir/error.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using testing::error_of;
using testing::TemporaryFolder;

TEST(FileLock, OneHasItAtATime) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "lock";
  {
    const FileLock lock(path, "it is used");
    EXPECT_EQ(error_of(ErrorKind::resource, [&] { FileLock(path, "it is used"); }),
              fmt::format("it is used (process {}): wanted exclusive use ('{}')", getpid(),
                          path.string()));
    const FileLock other(folder.path() / "other", "it is used");
  }
  EXPECT_EQ(folder.count(), 0);
  const FileLock again(path, "it is used");
}

TEST(FileLock, EndsWithTheProcess) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "lock";
  const pid_t child = fork();
  if (child == 0) {
    const FileLock lock(path, "");
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(folder.count(), 1);
  {
    const FileLock lock(path, "");
  }
  EXPECT_EQ(folder.count(), 0);
}

TEST(FileLock, WhatTheFileSaysIsNotTrusted) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "lock";
  const FileLock lock(path, "");
  folder.add("lock", "\x1b[2J no number");
  EXPECT_EQ(error_of(ErrorKind::resource, [&] { FileLock(path, "it is used"); }),
            fmt::format("it is used: wanted exclusive use ('{}')", path.string()));
}

TEST(FileLock, AFileThatCannotBeMadeIsAResource) {
  const TemporaryFolder folder;
  const std::string missing = (folder.path() / "missing" / "lock").string();
  EXPECT_EQ(error_of(ErrorKind::resource, [&] { FileLock(missing, ""); }),
            "cannot write '" + missing + "': No such file or directory");
}

}  // namespace
}  // namespace graphc::core
