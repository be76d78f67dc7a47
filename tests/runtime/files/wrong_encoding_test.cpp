// SPDX-License-Identifier: Apache-2.0
// Texts that are read in an encoding which is not theirs: the same text, or an error; letters that
// nobody wrote only where eight bits cannot show whose they are.
#include <gmock/gmock.h>
#include <iconv.h>

#include "ir/error.h"
#include "runtime/files/text_encoding.h"

namespace graphc::core {
namespace {

/// The text in another encoding; nothing where that lacks one of its characters.
std::optional<std::string> encoded(std::string text, const char* encoding) {
  const iconv_t handle = iconv_open(encoding, "UTF-8");
  std::string result(text.size() * 4 + 16, '\0');
  char *from = text.data(), *to = result.data();
  size_t left = text.size(), room = result.size();
  const size_t status = iconv(handle, &from, &left, &to, &room);
  iconv_close(handle);
  if (status != 0) return std::nullopt;
  result.resize(result.size() - room);
  return result;
}

/// The text that is read, or nothing where it is refused.
std::optional<std::string> read_as(const std::string& bytes, const char* encoding, size_t piece) {
  try {
    TextDecoder decoder("f", encoding);
    std::string text;
    for (size_t at = 0; at < bytes.size(); at += piece)
      text += decoder.add(bytes.substr(at, piece));
    return text + decoder.end();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return std::nullopt;
  }
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

// Unicode has forms of its own; the others have eight bits, or are made of such.
constexpr const char* kUnicode[] = {"utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be"};
constexpr const char* kOthers[] = {"iso-8859-1", "windows-1252", "iso-8859-15", "windows-1251",
                                   "koi8-r",     "shift_jis",    "euc-jp",      "gb18030",
                                   "big5",       "ibm037"};

struct Counts {
  int right = 0, refused = 0;
};

/// Reads the text, which is written in one encoding, in another.
void check(const std::string& text, const char* written, const char* as, Counts& counts) {
  const auto bytes = encoded(text, written);
  if (!bytes) return;
  SCOPED_TRACE(fmt::format("{} as {}, {} bytes: {}", written, as, text.size(), text.substr(0, 40)));
  for (const size_t piece : {size_t{7}, size_t{5000}, size_t{1} << 20}) {
    const auto found = read_as(*bytes, as, piece);
    (found ? counts.right : counts.refused) += 1;
    EXPECT_EQ(found.value_or(text), text);
    EXPECT_TRUE(found || written != as);
  }
}

TEST(WrongEncoding, GivesTheTextOrAnError) {
  const std::string lines[] = {
      "time,load\n2024-01-01,1.5\n",
      "na\u00efve caf\u00e9, Stra\u00dfe\n",
      "\u0412\u0440\u0435\u043c\u044f, \u043d\u0430\u0433\u0440\u0443\u0437\u043a\u0430 1\n",
      "\u6642\u9593,\u8ca0\u8377\u3002\u4e00\u6771\u4eac\n",
      "\u65f6\u95f4\uff0c\u8d1f\u8377\u4e00\u4e00\u3002\n",
  };
  Counts counts;
  for (const std::string& line : lines) {
    for (const int times : {1, 3, 400}) {
      const std::string text = repeated(line, times);
      for (const char* one : kUnicode) {
        for (const char* other : kUnicode) check(text, one, other, counts);
        for (const char* other : kOthers) {
          check(text, one, other, counts);
          // A line or two of eight bits beyond ASCII may be UTF-16 by chance.
          const bool may_be = std::string(one).starts_with("utf-16") && line != lines[0];
          if (!may_be || times == 400) check(text, other, one, counts);
        }
      }
      for (const char* other : kOthers) check(text, other, other, counts);
    }
  }
  EXPECT_GT(counts.right, 200);
  EXPECT_GT(counts.refused, 1000);
}

}  // namespace
}  // namespace graphc::core
