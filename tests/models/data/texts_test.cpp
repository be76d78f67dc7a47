// SPDX-License-Identifier: Apache-2.0
// Files and folders of text: what is read, and what is said of the rest.
#include "models/data/texts.h"

#include <gmock/gmock.h>

#include "ir/error.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Said {
  std::vector<std::string> lines;
  Reading reading{.encoding = {},
                  .remark = [this](const std::string& line) { lines.push_back(line); }};
};

TEST(ReadText, ReadsAFileOrTheTextsOfAFolderInOrderAndSaysWhatItLeavesOut) {
  const TemporaryFolder folder;
  folder.add("b.txt", "two ");
  folder.add("a/z.txt", "\xef\xbb\xbfone ");
  folder.add("c.bin", std::string_view("x\0y", 3));
  folder.add("e.gz", "\x1f\x8b\x08");
  folder.add("empty", "");
  folder.add(".hidden", "no ");
  folder.add(".git/config", "no ");
  Said said;
  EXPECT_EQ(read_text(folder.path(), said.reading), "one two ");
  ASSERT_EQ(said.lines.size(), 1u);
  EXPECT_THAT(said.lines[0],
              AllOf(HasSubstr("left out 5 entries: .git (hidden); .hidden (hidden); "),
                    HasSubstr("c.bin (no text: byte 1 is 0); e.gz (a gzip file); empty (empty)")));
  said.lines.clear();
  EXPECT_EQ(read_text(folder.path() / "b.txt", said.reading), "two ");
  EXPECT_THAT(said.lines, IsEmpty());
}

TEST(ReadText, ATextInAnotherEncodingIsRefusedByNameInFoldersToo) {
  const TemporaryFolder folder;
  folder.add("a.txt", "plain ");
  const auto other = folder.add("b.txt", "It\x92s a day");
  for (const std::filesystem::path& path : {folder.path(), other}) {
    EXPECT_THAT(error_of(ErrorKind::input, [&] { read_text(path); }),
                AllOf(HasSubstr("b.txt' is text in Windows-1252"),
                      HasSubstr("--encoding=windows-1252 converts it")));
  }
  EXPECT_EQ(read_text(folder.path(), {.encoding = "windows-1252"}), "plain It\u2019s a day");
}

TEST(ReadText, NothingToReadIsAnErrorThatNamesThePath) {
  const TemporaryFolder folder;
  const auto message = [](const std::filesystem::path& path) {
    return error_of(ErrorKind::input, [&] { read_text(path); });
  };
  EXPECT_THAT(message(folder.path()), HasSubstr("has no text files"));
  EXPECT_THAT(message(folder.add("empty", "")), HasSubstr("is empty"));
  EXPECT_THAT(message(folder.path() / "none"), HasSubstr("No such file"));
}

}  // namespace
}  // namespace graphc::core
