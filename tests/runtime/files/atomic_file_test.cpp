// SPDX-License-Identifier: Apache-2.0
// What killed processes leave beside a file, and the modes of files that are replaced.
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "runtime/files/files.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using testing::TemporaryFolder;

/// Leaves what a process leaves that is killed while it writes.
void write_and_be_killed(const std::filesystem::path& path) {
  const pid_t child = fork();
  if (child == 0) {
    AtomicFile file(path);
    file.write("half of a fi");
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
}

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status;
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST(AtomicFile, WhatAKilledProcessLeftIsRemovedByTheNextToWrite) {
  const TemporaryFolder folder;
  const auto path = folder.add("file", "old");
  for (int i = 0; i < 3; ++i) write_and_be_killed(path);
  EXPECT_GE(folder.count(), 2);
  EXPECT_EQ(read_file(path), "old");
  write_file_atomically(path, "new");
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, WhatIsStillWrittenOrSomebodyElsesStays) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  const char* others[] = {"file.tmp",
                          "file.12.tmp",
                          "file.1.2.tmp",
                          "file.1.2.graphc.tmp.bak",
                          "file.1.x.graphc.tmp",
                          "file.1..graphc.tmp",
                          "file.-1.2.graphc.tmp",
                          "file2.1.2.graphc.tmp",
                          "a.file.1.2.graphc.tmp",
                          ".1.2.graphc.tmp"};
  for (const char* name : others) folder.add(name, "mine");
  folder.add("elsewhere", "mine");
  std::filesystem::create_symlink("elsewhere", folder.path() / "file.3.0.graphc.tmp");
  std::filesystem::create_directory(folder.path() / "file.4.0.graphc.tmp");
  AtomicFile writing(path);
  writing.write("slow");
  const int before = folder.count();
  write_file_atomically(path, "fast");
  EXPECT_EQ(folder.count(), before + 1);
  for (const char* name : others) EXPECT_EQ(read_file(folder.path() / name), "mine") << name;
  EXPECT_EQ(read_file(folder.path() / "elsewhere"), "mine");
  writing.commit();
  EXPECT_EQ(read_file(path), "slow");
  EXPECT_EQ(folder.count(), before);
}

TEST(AtomicFile, AProcessThatWritesIsLeftToWrite) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  int said[2], wanted[2];
  ASSERT_EQ(pipe(said), 0);
  ASSERT_EQ(pipe(wanted), 0);
  const pid_t child = fork();
  if (child == 0) {
    AtomicFile file(path);
    file.write("of the child");
    char byte = 0;
    const bool told = write(said[1], &byte, 1) == 1 && read(wanted[0], &byte, 1) == 1;
    file.commit();
    _exit(told ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(said[0], &byte, 1), 1);
  write_file_atomically(path, "of the parent");
  EXPECT_EQ(read_file(path), "of the parent");
  ASSERT_EQ(write(wanted[1], &byte, 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(path), "of the child");
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, AFileThatIsReplacedKeepsItsMode) {
  const TemporaryFolder folder;
  const auto path = folder.add("file", "old");
  const mode_t before = umask(0022);
  for (const mode_t mode : {0600, 0640, 0664, 0444, 0666, 0755}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    write_file_atomically(path, "new");
    EXPECT_EQ(mode_of(path), mode);
  }
  umask(0077);
  write_file_atomically(folder.path() / "first", "new");
  EXPECT_EQ(mode_of(folder.path() / "first"), 0600u);
  umask(before);
}

TEST(AtomicFile, ASecretIsNeverReadableWhileItIsWritten) {
  const TemporaryFolder folder;
  const auto path = folder.add("file", "old");
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  AtomicFile file(path);
  file.write("new");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    EXPECT_EQ(mode_of(entry.path()), 0600u) << entry.path();
}

TEST(AtomicFile, OwnersStay) {
  const TemporaryFolder folder;
  const auto path = folder.add("file", "old");
  // Only root gives files away; others replace their own.
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 1234, 2345), 0);
  }
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  struct stat before, after;
  ASSERT_EQ(stat(path.c_str(), &before), 0);
  write_file_atomically(path, "new");
  ASSERT_EQ(stat(path.c_str(), &after), 0);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_gid, before.st_gid);
  EXPECT_EQ(after.st_mode, before.st_mode);
}

}  // namespace
}  // namespace graphc::core
