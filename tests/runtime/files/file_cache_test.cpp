// SPDX-License-Identifier: Apache-2.0
// A cache of files: what is found is what was kept, whatever became of the files in between.
#include "runtime/files/file_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "runtime/files/files.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Lt;
using testing::TemporaryFolder;
namespace filesystem = std::filesystem;

const std::string kKey = "a key\n\0of two lines", kContent = std::string("content\0of bytes", 16);

TEST(FileCache, FindsWhatWasKept) {
  const TemporaryFolder folder;
  const FileCache cache(folder.path() / "not" / "there");
  EXPECT_EQ(cache.find(kKey), std::nullopt);
  EXPECT_EQ(cache.keep(kKey, kContent), "");
  EXPECT_EQ(cache.find(kKey), kContent);
  EXPECT_EQ(cache.find("another key"), std::nullopt);
  EXPECT_EQ(cache.keep("another key", ""), "");
  EXPECT_EQ(cache.find("another key"), "");
  EXPECT_EQ(cache.keep(kKey, "newer"), "");
  EXPECT_EQ(FileCache(cache.folder()).find(kKey), "newer");
  struct stat status;
  ASSERT_EQ(stat(cache.folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0077, 0u) << "the folder is for others too";
}

TEST(FileCache, WithoutAFolderNothingIsKept) {
  const FileCache cache;
  EXPECT_EQ(cache.keep(kKey, kContent), "");
  EXPECT_EQ(cache.find(kKey), std::nullopt);
  cache.trim();
}

/// Writes what a damaged file has; plainly, as nobody waits for the disk here.
void overwrite(const filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// That the cache neither takes what is at the key's path, nor is stopped by it.
void expect_replaced(const FileCache& cache, const std::string& what) {
  EXPECT_EQ(cache.find(kKey), std::nullopt) << what;
  EXPECT_EQ(cache.keep(kKey, kContent), "") << what;
  EXPECT_EQ(cache.find(kKey), kContent) << what;
}

TEST(FileCache, ADamagedFileIsNotUsedAndIsReplaced) {
  const TemporaryFolder folder;
  const FileCache cache(folder.path());
  cache.keep(kKey, kContent);
  const filesystem::path path = cache.path_of(kKey);
  const std::string whole = read_file(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    overwrite(path, damaged);
    expect_replaced(cache, fmt::format("byte {}", i));
    overwrite(path, whole.substr(0, i));
    expect_replaced(cache, fmt::format("cut short to {} bytes", i));
  }
  for (const std::string& longer : {whole + '\0', whole + whole, '\0' + whole}) {
    overwrite(path, longer);
    expect_replaced(cache, "longer");
  }
}

TEST(FileCache, WhatIsNotItsOwnIsNotUsed) {
  const TemporaryFolder folder;
  const FileCache cache(folder.path());
  const filesystem::path path = cache.path_of(kKey);
  // As if two keys had one hash.
  cache.keep("another key", "of it");
  filesystem::create_directories(path.parent_path());
  filesystem::copy_file(cache.path_of("another key"), path);
  expect_replaced(cache, "a file of another key");
  filesystem::rename(path, folder.path() / "elsewhere");
  filesystem::create_symlink(folder.path() / "elsewhere", path);
  expect_replaced(cache, "a link");
  filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(cache.find(kKey), std::nullopt);
  EXPECT_THAT(cache.keep(kKey, kContent), HasSubstr("not a regular file"));
  filesystem::remove(path);
  filesystem::create_directory(path);
  EXPECT_EQ(cache.find(kKey), std::nullopt);
  EXPECT_THAT(cache.keep(kKey, kContent), HasSubstr("Is a directory"));
}

TEST(FileCache, AFileOfAnotherUserIsNotUsed) {
  const TemporaryFolder folder;
  const FileCache cache(folder.path());
  cache.keep(kKey, kContent);
  // Only root gives files away.
  const bool given = chown(cache.path_of(kKey).c_str(), 12345, gid_t(-1)) == 0;
  EXPECT_EQ(given, geteuid() == 0);
  EXPECT_EQ(cache.find(kKey).has_value(), !given);
  // Once replaced it is of this user, and used.
  EXPECT_EQ(cache.keep(kKey, kContent), "");
  EXPECT_EQ(cache.find(kKey), kContent);
}

mode_t permissions_of(const filesystem::path& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

/// The file of the key, the folder that it lies in, and the cache's own.
std::vector<filesystem::path> parts_of(const FileCache& cache) {
  const filesystem::path file = cache.path_of(kKey);
  return {file, file.parent_path(), cache.folder()};
}

TEST(FileCache, IsOfItsOwnerAloneUnderEveryUmask) {
  for (const mode_t mask : {0, 007, 022, 027, 077}) {
    const TemporaryFolder folder;
    const FileCache cache(folder.path() / "cache");
    for (const bool replaces : {false, true}) {
      if (replaces) {
        ASSERT_EQ(chmod(cache.path_of(kKey).c_str(), 0644), 0);
      }
      const mode_t before = umask(mask);
      const std::string reason = cache.keep(kKey, kContent);
      umask(before);
      ASSERT_EQ(reason, "");
      EXPECT_EQ(permissions_of(cache.path_of(kKey)), 0600u) << fmt::format("umask {:o}", mask);
      EXPECT_EQ(permissions_of(cache.path_of(kKey).parent_path()), 0700u);
      EXPECT_EQ(permissions_of(cache.folder()), 0700u);
      EXPECT_EQ(cache.find(kKey), kContent);
    }
  }
}

TEST(FileCache, WhatOthersMayWriteIsNotUsed) {
  const TemporaryFolder folder;
  const FileCache cache(folder.path() / "cache");
  for (size_t part = 0; part < 3; ++part) {
    for (mode_t mode = 0; mode <= 0777; ++mode) {
      if (part > 0 && (mode & 0700) != 0700) continue;  // then this user cannot use it either
      ASSERT_EQ(cache.keep(kKey, kContent), "");
      const filesystem::path path = parts_of(cache)[part];
      ASSERT_EQ(chmod(path.c_str(), mode), 0);
      const bool trusted = (mode & 0022) == 0;
      const bool readable = part > 0 || geteuid() == 0 || (mode & 0400) != 0;
      EXPECT_EQ(cache.find(kKey).has_value(), trusted && readable)
          << fmt::format("part {} of mode {:o}", part, mode);
      EXPECT_EQ(cache.keep(kKey, kContent),
                part == 0 || trusted
                    ? ""
                    : fmt::format("the folder '{}' is not this user's alone: its mode is {:o}: "
                                  "others may write to it",
                                  path.string(), mode));
      if (part > 0) {
        ASSERT_EQ(chmod(path.c_str(), 0700), 0);
      }
    }
  }
}

TEST(FileCache, AFolderOfAnotherUserIsNotUsed) {
  const TemporaryFolder folder;
  const FileCache cache(folder.path() / "cache");
  for (const size_t part : {1, 2}) {
    ASSERT_EQ(cache.keep(kKey, kContent), "");
    // Only root gives folders away.
    const bool given = chown(parts_of(cache)[part].c_str(), 12345, gid_t(-1)) == 0;
    EXPECT_EQ(given, geteuid() == 0);
    EXPECT_EQ(cache.find(kKey).has_value(), !given);
    EXPECT_THAT(cache.keep(kKey, kContent), HasSubstr(given ? "it belongs to user 12345" : ""));
    if (given) {
      ASSERT_EQ(chown(parts_of(cache)[part].c_str(), 0, gid_t(-1)), 0);
    }
    EXPECT_EQ(cache.find(kKey), kContent);
  }
}

TEST(FileCache, AFolderThatCannotBeWrittenIsAReasonAndNoError) {
  const TemporaryFolder folder;
  const FileCache below(folder.add("file", "") / "cache");
  EXPECT_THAT(below.keep(kKey, kContent), HasSubstr("Not a directory"));
  EXPECT_EQ(below.find(kKey), std::nullopt);
  below.trim();
  const FileCache none("/proc/graphc");
  EXPECT_THAT(none.keep(kKey, kContent), HasSubstr("cannot make the folder '/proc/graphc'"));
}

TEST(FileCache, SeveralProcessesAtATime) {
  const TemporaryFolder folder;
  const FileCache cache(folder.path() / "cache", 20000);
  // Contents of one key differ in length, so that a mixture is none of them.
  const auto content_of = [](int key, int process) {
    return std::string(size_t(400 + 100 * process), char('a' + key));
  };
  std::vector<pid_t> children;
  for (int process = 0; process < 4; ++process) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    bool right = true;
    for (int i = 0; i < 200; ++i) {
      const int key = (i + process) % 10;
      right &= cache.keep(std::to_string(key), content_of(key, process)).empty();
      const std::optional<std::string> found = cache.find(std::to_string(key));
      right &= !found || *found == content_of(key, int(found->size() - 400) / 100);
      if (i % 20 == 0) FileCache(cache.folder(), 1000).trim();
    }
    _exit(right ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const auto& entry : filesystem::recursive_directory_iterator(cache.folder()))
    EXPECT_THAT(entry.path().string(), ::testing::Not(HasSubstr(".tmp")));
}

TEST(FileCache, WhatIsBeingWrittenStays) {
  const TemporaryFolder folder;
  const FileCache cache(folder.path(), 10);
  folder.add("00/000000000000000000000000000000.kernel", "");
  AtomicFile file(folder.path() / "00/000000000000000000000000000000.kernel");
  file.write("more than the cache may hold");
  cache.trim();
  file.commit(/*synced=*/false);
  EXPECT_TRUE(filesystem::exists(folder.path() / "00/000000000000000000000000000000.kernel"));
}

TEST(FileCache, WhatWasNotUsedForLongestGoesFirst) {
  const TemporaryFolder folder;
  const std::string content(1000, 'x');
  const FileCache cache(folder.path());
  const auto now = filesystem::file_time_type::clock::now();
  for (int i = 0; i < 6; ++i) {
    cache.keep(std::to_string(i), content);
    filesystem::last_write_time(cache.path_of(std::to_string(i)),
                                now - std::chrono::hours(100 - i));
  }
  const auto mine = folder.add("00/mine.txt", content), other = folder.add("notes", content);
  const auto half = folder.add("00/000000000000000000000000000000.kernel.1.2.graphc.tmp",
                               content);  // of a killed process
  filesystem::last_write_time(half, now - std::chrono::hours(1000));
  EXPECT_EQ(cache.find("0"), content);
  FileCache(folder.path(), 6400).trim();  // they and the half take more; four take 4,400
  EXPECT_EQ(cache.find("0"), content) << "it was used just now";
  for (const char* key : {"1", "2"}) EXPECT_EQ(cache.find(key), std::nullopt) << key;
  for (const char* key : {"3", "4", "5"}) EXPECT_EQ(cache.find(key), content) << key;
  EXPECT_FALSE(filesystem::exists(half));
  EXPECT_TRUE(filesystem::exists(mine));
  EXPECT_TRUE(filesystem::exists(other));
}

uint64_t bytes_below(const filesystem::path& folder) {
  uint64_t bytes = 0;
  for (const auto& entry : filesystem::recursive_directory_iterator(folder))
    bytes += entry.is_regular_file() ? entry.file_size() : 0;
  return bytes;
}

TEST(FileCache, WhateverIsKeptAllStaysNearTheBound) {
  const TemporaryFolder folder;
  constexpr uint64_t bound = 50'000;
  const FileCache cache(folder.path(), bound);
  uint64_t most = 0;
  for (int i = 0; i < 250; ++i) {
    ASSERT_EQ(cache.keep(std::to_string(i), std::string(size_t(200 + i % 7 * 100), 'x')), "");
    if (i % 20 == 19) most = std::max(most, bytes_below(folder.path()));
  }
  EXPECT_THAT(most, AllOf(Gt(bound / 2), Lt(bound / 4 * 5))) << "of 150 KB";
  // What came last is there; a folder that tells of more than there is removes nothing.
  EXPECT_TRUE(cache.find("249").has_value());
  const uint64_t before = bytes_below(folder.path());
  FileCache(folder.path(), before).trim();
  EXPECT_EQ(bytes_below(folder.path()), before);
}

/// A variable of the environment that is as it was when the scope is left.
class CacheVariable {
 public:
  CacheVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = getenv(name)) before_ = before;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~CacheVariable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  CacheVariable(const CacheVariable&) = delete;
  CacheVariable& operator=(const CacheVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(FileCache, IsWhereTheEnvironmentSays) {
  const auto folder = [](const char* cache, const char* caches, const char* home) {
    const CacheVariable variables[] = {
        {"GRAPHC_CACHE", cache}, {"XDG_CACHE_HOME", caches}, {"HOME", home}};
    return file_cache_of_environment().folder().string();
  };
  EXPECT_EQ(folder("/mine", "/caches", "/home/me"), "/mine");
  EXPECT_EQ(folder("none", "/caches", "/home/me"), "");
  EXPECT_EQ(folder(nullptr, "/caches", "/home/me"), "/caches/graphc");
  EXPECT_EQ(folder("", "/caches", "/home/me"), "/caches/graphc");
  EXPECT_EQ(folder(nullptr, "relative", "/home/me"), "/home/me/.cache/graphc");
  EXPECT_EQ(folder(nullptr, nullptr, "/home/me"), "/home/me/.cache/graphc");
  EXPECT_EQ(folder(nullptr, nullptr, nullptr), "");
}

}  // namespace
}  // namespace graphc::core
