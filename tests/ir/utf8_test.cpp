// SPDX-License-Identifier: Apache-2.0
// What texts of others look like in messages and on terminals.
#include "ir/utf8.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ir/error.h"

namespace graphc::core {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Utf8, WhatIsWrittenStays) {
  const std::string text = "w_1 <unk> N'été 語 — \xF0\x9F\x98\x80 \\x41 \"'%@";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable_lines("a\n\tb\n"), "a\n\tb\n");
}

TEST(Utf8, WhatSteersATerminalOrIsNotSeenIsWrittenAsBytes) {
  EXPECT_EQ(printable("a\x1b[31mb\r\n\t\x7f"), "a\\x1b[31mb\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  // U+009B introduces sequences as ESC [ does; U+202E turns what follows around; U+200B has no
  // width, U+2028 ends a line, U+E0041 is a tag.
  EXPECT_EQ(printable("\xC2\x9B"), "\\xc2\\x9b");
  EXPECT_EQ(printable("\xE2\x80\xAE"), "\\xe2\\x80\\xae");
  EXPECT_EQ(printable("\xE2\x80\x8B\xE2\x80\xA8"), "\\xe2\\x80\\x8b\\xe2\\x80\\xa8");
  EXPECT_EQ(printable("\xF3\xA0\x81\x81"), "\\xf3\\xa0\\x81\\x81");
  EXPECT_EQ(printable_lines("\x1b]0;title\x07\n\r"), "\\x1b]0;title\\x07\n\\x0d");
}

TEST(Utf8, WhatIsNoUtf8IsWrittenAsBytes) {
  EXPECT_EQ(printable("\xFF\x80"), "\\xff\\x80");
  EXPECT_EQ(printable("\xC3"), "\\xc3");
  EXPECT_EQ(printable("\xC0\xAF"), "\\xc0\\xaf");                    // too long a form of '/'
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(printable("\xE8\xAA"
                      "a"),
            "\\xe8\\xaaa");
}

TEST(Utf8, LongTextsAreCutBetweenCharactersAndGiveTheirLength) {
  EXPECT_EQ(printable(std::string(200, 'x')), std::string(200, 'x'));
  EXPECT_EQ(printable(std::string(201, 'x')), fmt::format("{:x<200}... (201 bytes)", "x"));
  EXPECT_EQ(printable("ab語d", 4), "ab... (6 bytes)");
  EXPECT_EQ(printable("ab語d", 5), "ab語... (6 bytes)");
  EXPECT_EQ(printable(std::string(9, '\x80'), 4), "\\x80... (9 bytes)");
  EXPECT_EQ(printable("語", 0), "... (3 bytes)");
}

TEST(Utf8, AMessageHasOnlyLinesOfItsOwn) {
  EXPECT_EQ(printable_message("a\n    b\n    ^"), "a\n    b\n    ^");
  EXPECT_EQ(printable_message("array 'a\nerror: b'"), "array 'a\\x0aerror: b'");
  EXPECT_EQ(printable_message("a\n"), "a\\x0a");
}

TEST(Utf8, ALongMessageKeepsItsBeginningAndItsEnd) {
  const std::string text = "unknown '" + std::string(50'000'000, 'x') + "': wanted 'y'";
  const std::string shown = printable_message(text);
  EXPECT_LT(shown.size(), 2100u);
  EXPECT_THAT(shown, StartsWith("unknown 'xxx"));
  EXPECT_THAT(shown, HasSubstr("... (49998122 bytes) ..."));
  EXPECT_THAT(shown, EndsWith("xxx': wanted 'y'"));
}

TEST(Utf8, ErrorsShowNothingElse) {
  Error error = input_error({"a\x1b.graph", 3, 0}, "unknown op '{}'", "\x1b[2J\nerror: x");
  error.note("it is '\x1b'");
  EXPECT_STREQ(error.what(),
               "a\\x1b.graph:3: error: unknown op '\\x1b[2J\\x0aerror: x'\n  note: it is '\\x1b'");
  EXPECT_EQ(error.message(), "unknown op '\\x1b[2J\\x0aerror: x'");
}

}  // namespace
}  // namespace graphc::core
