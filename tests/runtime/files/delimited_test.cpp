// SPDX-License-Identifier: Apache-2.0
// Delimited text: every form of it, however it is cut into pieces.
#include "runtime/files/delimited.h"

#include <gmock/gmock.h>

#include "ir/error.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::HasSubstr;

using Records = std::vector<std::pair<int64_t, DelimitedText::Cells>>;

Records records_of(std::string_view text, size_t piece) {
  Records records;
  DelimitedText delimited("f", [&](const DelimitedText::Cells& cells, int64_t line) {
    records.emplace_back(line, cells);
  });
  for (size_t at = 0; at < text.size(); at += piece) delimited.add(text.substr(at, piece));
  delimited.end();
  return records;
}

TEST(Delimited, HasTheRecordsWhateverThePieces) {
  const std::string text = "\"a,b\",c\r\n 1 , \"2\"\r\n\"x\"\"y\n,z\",\"\"\n\n3,4,\n\"5\" ,6";
  const Records wanted{{1, {"a,b", "c"}}, {2, {"1", "\"2\""}}, {3, {"x\"y\n,z", ""}},
                       {5, {""}},         {6, {"3", "4", ""}}, {7, {"5", "6"}}};
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, text.size()})
    EXPECT_EQ(records_of(text, piece), wanted) << piece;
}

TEST(Delimited, FindsTheDelimiterThatEveryRecordHas) {
  EXPECT_EQ(records_of("a\tb,c\td\n1\t2,5\t3\n", 100),
            (Records{{1, {"a", "b,c", "d"}}, {2, {"1", "2,5", "3"}}}));
  EXPECT_EQ(records_of("\"a,,,\";b\n", 2), (Records{{1, {"a,,,", "b"}}}));
  EXPECT_EQ(records_of("1,5;2,5;3,5\n1,5;2;3\n", 4),
            (Records{{1, {"1,5", "2,5", "3,5"}}, {2, {"1,5", "2", "3"}}}));
  EXPECT_EQ(records_of("a|b\n1|2\n", 4), (Records{{1, {"a", "b"}}, {2, {"1", "2"}}}));
  EXPECT_EQ(records_of(" 1.5  2 \n3 4\n", 4), (Records{{1, {"1.5", "2"}}, {2, {"3", "4"}}}));
  EXPECT_EQ(records_of("a\n1;2\n", 4), (Records{{1, {"a"}}, {2, {"1;2"}}}));
  EXPECT_EQ(records_of("", 1), Records{});
}

TEST(Delimited, AFirstLineMayNameTheDelimiter) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    for (const std::string line : {"sep=;", "SEP=;", "\"sep=;\""}) {
      for (const size_t piece : {size_t{1}, size_t{6}, size_t{100}}) {
        EXPECT_EQ(records_of(line + end + "a,b;c" + end + "1,5;2" + end, piece),
                  (Records{{2, {"a,b", "c"}}, {3, {"1,5", "2"}}}));
      }
    }
  }
  EXPECT_EQ(records_of("sep=:\n1:2", 3), (Records{{2, {"1", "2"}}}));
  EXPECT_EQ(records_of("sep=\t\n1\t2,5", 3), (Records{{2, {"1", "2,5"}}}));
  EXPECT_EQ(records_of("sep=;", 3), Records{});
  // Names like that are names.
  EXPECT_EQ(records_of("sep=12\n1\n", 3), (Records{{1, {"sep=12"}}, {2, {"1"}}}));
}

TEST(Delimited, LinesEndInEveryWay) {
  const Records wanted{{1, {"a", "b"}}, {2, {"1", "2"}}, {3, {"3", "4"}}};
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    for (const size_t piece : {size_t{1}, size_t{3}, size_t{100}}) {
      EXPECT_EQ(records_of("a,b" + end + "1,2" + end + "3,4", piece), wanted) << piece;
      EXPECT_EQ(records_of("a,b" + end + "1,2" + end + "3,4" + end, piece), wanted) << piece;
    }
  }
}

TEST(Delimited, ErrorsHaveTheLine) {
  const auto message = [](std::string_view text) {
    return error_of(ErrorKind::input, [&] { records_of(text, 3); });
  };
  EXPECT_EQ(message("a,b\n1,\"2\n\n"), "f:2: a quote that is not closed");
  EXPECT_EQ(message("\"a"), "f:1: a quote that is not closed");
  EXPECT_EQ(message("a;b\n\n\"1\"2;3\n"),
            "f:3: '2' after a closing quote: wanted ';' or the end of the line");
  EXPECT_EQ(message(std::string("a\n1\n2\0", 7)),
            "f:3: a byte 0: wanted a table as text, or a .npy file");
  const std::string long_line(DelimitedText::kMostOfRecord + 1, '7');
  EXPECT_THAT(error_of(ErrorKind::input, [&] { records_of(long_line, 1 << 12); }),
              HasSubstr("f:1: a record of more than 1048576 bytes: wanted a table of numbers"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { records_of("1\n\"" + long_line, 1 << 12); }),
              HasSubstr("f:2: a record of more than 1048576 bytes, in a quote that is not closed"));
}

}  // namespace
}  // namespace graphc::core
