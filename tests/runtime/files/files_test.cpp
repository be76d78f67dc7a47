// SPDX-License-Identifier: Apache-2.0
// Files: reasons in errors, and writes that happen whole or not at all.
#include "runtime/files/files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using testing::error_of;
using testing::TemporaryFolder;

TEST(Files, ReadBack) {
  const TemporaryFolder folder;
  const std::string content("a\0b\r\n\xff", 6);
  const auto path = folder.path() / "file";
  write_file_atomically(path, content);
  EXPECT_EQ(read_file(path), content);
  write_file_atomically(path, "");
  EXPECT_EQ(read_file(path), "");
  EXPECT_EQ(folder.count(), 1);
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(status.st_mode & 0777, 0666 & ~mask);
}

TEST(Files, LongFilesAndFilesOfUnknownLength) {
  const TemporaryFolder folder;
  std::string content(300'001, 'x');
  content.back() = 'y';
  EXPECT_EQ(read_file(folder.add("long", content)), content);
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << content; });
  EXPECT_EQ(read_file(pipe), content);
  writer.join();
  EXPECT_GT(read_file("/proc/self/status").size(), 100u);
}

TEST(Files, NoMoreIsReadThanIsWanted) {
  const TemporaryFolder folder;
  const std::string path = folder.add("file", "12345678").string();
  EXPECT_EQ(read_file(path, 8), "12345678");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { read_file(path, 7); }),
            "cannot read '" + path + "': it has 8 bytes: wanted at most 7");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { read_file("/proc/self/status", 100); }),
            "cannot read '/proc/self/status': it has more than 100 bytes: wanted at most 100");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { read_file("/dev/zero", 1 << 20); }),
            "cannot read '/dev/zero': it has more than 1048576 bytes: wanted at most 1048576");
}

TEST(Files, WhatHasNoEndIsNotReadForEver) {
  EXPECT_EQ(error_of(ErrorKind::input, [] { read_file("/dev/zero"); }),
            "cannot read '/dev/zero': it has more than 1073741824 bytes: wanted at most "
            "1073741824");
}

TEST(Files, AFileThatNoMachineHoldsIsRefusedBeforeItIsRead) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.add("sparse", "");
  std::filesystem::resize_file(path, uintmax_t{1} << 43);
  EXPECT_EQ(error_of(ErrorKind::resource, [&] { read_file(path); }),
            "no memory to read '" + path.string() + "' of 8796093022208 bytes");
}

TEST(Files, ReadingSaysWhy) {
  const TemporaryFolder folder;
  const std::string missing = (folder.path() / "missing").string();
  EXPECT_EQ(error_of(ErrorKind::input, [&] { read_file(missing); }),
            "cannot read '" + missing + "': No such file or directory");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { read_file(folder.path()); }),
            "cannot read '" + folder.path().string() + "': Is a directory");
}

TEST(Files, WritingSaysWhyAndIsAResource) {
  const TemporaryFolder folder;
  const std::string missing = (folder.path() / "missing" / "file").string();
  EXPECT_EQ(error_of(ErrorKind::resource, [&] { write_file_atomically(missing, "x"); }),
            "cannot write '" + missing + "': No such file or directory");
  EXPECT_EQ(error_of(ErrorKind::resource, [&] { write_file_atomically(folder.path(), "x"); }),
            "cannot write '" + folder.path().string() + "': Is a directory");
  EXPECT_EQ(error_of(ErrorKind::resource, [&] { write_file_atomically("/dev/null", "x"); }),
            "cannot write '/dev/null': not a regular file");
  EXPECT_EQ(folder.count(), 0);
}

TEST(Files, AFileThatIsNotCommittedLeavesNoTrace) {
  const TemporaryFolder folder;
  const auto path = folder.add("file", "old");
  {
    AtomicFile file(path);
    file.write("new");
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(folder.count(), 1);
  AtomicFile file(path);
  file.write("new");
  file.write("er");
  file.commit();
  EXPECT_EQ(read_file(path), "newer");
  error_of(ErrorKind::internal, [&] { file.commit(); });
}

TEST(Files, NamesThatAreTakenAreStepped) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  for (int i = 0; i < 100; ++i) {
    // Nobody writes them, but a folder is not what we remove.
    std::filesystem::create_directory(folder.path() /
                                      fmt::format("file.{}.{}.graphc.tmp", getpid(), i));
  }
  AtomicFile first(path), second(path);
  first.write("1");
  second.write("2");
  first.commit();
  EXPECT_EQ(read_file(path), "1");
  second.commit();
  EXPECT_EQ(read_file(path), "2");
}

/// Lets no file grow beyond some bytes, as a full disk does, while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

TEST(Files, AFailingWriteKeepsTheOldFile) {
  const TemporaryFolder folder;
  const auto path = folder.add("file", "old");
  std::string message;
  {
    const FileSizeLimit limit(1000);
    message =
        error_of(ErrorKind::resource, [&] { write_file_atomically(path, std::string(5000, 'x')); });
  }
  EXPECT_EQ(message, "cannot write '" + path.string() + "': File too large");
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(folder.count(), 1);
}

}  // namespace
}  // namespace graphc::core
