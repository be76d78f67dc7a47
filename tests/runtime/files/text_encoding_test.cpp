// SPDX-License-Identifier: Apache-2.0
// Texts in encodings, made from known characters: each is read right, or refused with its name.
#include "runtime/files/text_encoding.h"

#include <gmock/gmock.h>

#include <random>
#include <string>
#include <vector>

#include "ir/error.h"
#include "runtime/files/files.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::string_literals;

using Points = std::vector<char32_t>;

std::string utf8(const Points& points) {
  std::string text;
  for (const char32_t p : points) {
    if (p < 0x80) {
      text += char(p);
    } else if (p < 0x800) {
      text += {char(0xC0 | p >> 6), char(0x80 | (p & 0x3F))};
    } else if (p < 0x10000) {
      text += {char(0xE0 | p >> 12), char(0x80 | (p >> 6 & 0x3F)), char(0x80 | (p & 0x3F))};
    } else {
      text += {char(0xF0 | p >> 18), char(0x80 | (p >> 12 & 0x3F)), char(0x80 | (p >> 6 & 0x3F)),
               char(0x80 | (p & 0x3F))};
    }
  }
  return text;
}

/// Units of 2 or 4 bytes, either end first.
std::string wide(const Points& points, int bytes, bool big) {
  std::string text;
  const auto add = [&](char32_t unit) {
    for (int i = 0; i < bytes; ++i) text += char(unit >> 8 * (big ? bytes - 1 - i : i) & 0xFF);
  };
  for (const char32_t p : points) {
    if (bytes == 4 || p < 0x10000) {
      add(p);
    } else {
      add(0xD800 + ((p - 0x10000) >> 10));
      add(0xDC00 + ((p - 0x10000) & 0x3FF));
    }
  }
  return text;
}

/// 0x92 is U+2019 there; in Latin-1 it would be a control character.
std::string windows_1252(const Points& points) {
  std::string text;
  for (const char32_t p : points) text += p == 0x2019 ? '\x92' : p == 0x20AC ? '\x80' : char(p);
  return text;
}

struct Drawn {
  Points points;
  bool has_cp1252 = false, has_latin = false;
};

/// Latin text of a few lines, with letters of Western Europe, and more if `wide`.
Drawn draw_text(std::mt19937& random, bool any_script) {
  Drawn drawn;
  const auto below = [&](uint32_t n) { return uint32_t(random() % n); };
  const size_t length = 40 + below(9000);
  for (size_t i = 0; i < length; ++i) {
    const uint32_t kind = below(400);
    char32_t p = U'a' + below(26);
    if (kind < 60) p = ' ';
    if (kind >= 60 && kind < 70) p = '\n';
    if (kind == 70) p = 0xC0 + below(0x3F);
    if (kind == 71) p = 0x2019;
    if (kind == 72) p = 0x20AC;
    if (any_script && kind == 73) p = 0x4E00 + below(1000);
    if (any_script && kind == 74) p = 0x1F600 + below(40);
    drawn.points.push_back(p);
    drawn.has_cp1252 |= kind == 71 || kind == 72;
    drawn.has_latin |= kind >= 70 && kind <= 74;
  }
  return drawn;
}

std::string decode(const std::string& bytes, std::string_view encoding, size_t piece) {
  TextDecoder decoder("f", encoding);
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += piece) text += decoder.add(bytes.substr(at, piece));
  return text + decoder.end();
}

TEST(TextEncoding, RandomTextsAreReadRightOrRefusedByName) {
  int refused_latin = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Drawn any = draw_text(random, true), western = draw_text(random, false);
    const std::string wanted = utf8(any.points);
    const size_t piece = 1 + random() % 5000;
    EXPECT_EQ(decode(wanted, "", piece), wanted);
    EXPECT_EQ(decode("\xef\xbb\xbf" + wanted, "UTF-8", piece), wanted);
    struct Form {
      int bytes;
      bool big;
      const char *name, *says;
    };
    for (const Form& form : {Form{2, false, "utf-16le", "UTF-16 (little endian)"},
                             {2, true, "utf-16be", "UTF-16 (big endian)"},
                             {4, false, "utf-32le", "UTF-32 (little endian)"},
                             {4, true, "utf-32be", "UTF-32 (big endian)"}}) {
      SCOPED_TRACE(form.name);
      const std::string bytes = wide(any.points, form.bytes, form.big);
      const std::string marked = wide({0xFEFF}, form.bytes, form.big) + bytes;
      EXPECT_EQ(decode(bytes, form.name, piece), wanted);
      EXPECT_EQ(decode(marked, form.name, piece), wanted);
      EXPECT_EQ(decode(marked, form.bytes == 2 ? "utf-16" : "utf-32", piece), wanted);
      for (const std::string& each : {bytes, marked}) {
        EXPECT_THAT(
            error_of(ErrorKind::input, [&] { decode(each, "", piece); }),
            AllOf(HasSubstr(form.says), HasSubstr(fmt::format("--encoding={}", form.name))));
      }
      EXPECT_THAT(error_of(ErrorKind::input, [&] { decode(marked, "windows-1252", piece); }),
                  HasSubstr(form.says));
    }
    const std::string bytes = windows_1252(western.points), right = utf8(western.points);
    EXPECT_EQ(decode(bytes, "windows-1252", piece), right);
    if (!western.has_latin) {
      EXPECT_EQ(decode(bytes, "", piece), right);
      continue;
    }
    ++refused_latin;
    const std::string message = error_of(ErrorKind::input, [&] { decode(bytes, "", piece); });
    EXPECT_THAT(message, HasSubstr("'f' is text in "));
    EXPECT_THAT(message, HasSubstr("--encoding="));
    // And UTF-8 is not read as Windows-1252.
    EXPECT_THAT(error_of(ErrorKind::input, [&] { decode(right, "windows-1252", right.size()); }),
                HasSubstr("is UTF-8"));
  }
  EXPECT_GT(refused_latin, 150);
}

TEST(TextEncoding, FaultsHaveTheirNames) {
  const auto says = [](const std::string& bytes) {
    const auto fault = text_fault(bytes);
    return fault ? fault->what : "";
  };
  EXPECT_EQ(says("plain"), "");
  EXPECT_EQ(says("\xef\xbb\xbfplain"), "");
  EXPECT_EQ(says("It\x92s a day"), "text in Windows-1252 (byte 2 is 0x92)");
  EXPECT_EQ(says("caf\xe9 noir"),
            "text in Latin-1 or another encoding of eight bits (byte 3 is 0xe9)");
  EXPECT_EQ(says("\xc3\xa9 and \xe9\n"), "UTF-8 with a damaged place: byte 7, in line 1, is 0xe9");
  EXPECT_EQ(says("caf\xc3"), "UTF-8 that ends within a character (byte 3)");
  EXPECT_EQ(says("a\0b"s), "no text: byte 1 is 0");
  EXPECT_EQ(says("\x01\x02\x03\xff"), "no text: byte 3 is 0xff");
  EXPECT_THAT(says("\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0"), HasSubstr("windows-1251, koi8-r"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { TextDecoder("f", "utf-9"); }),
              HasSubstr("there is no encoding 'utf-9'"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { TextDecoder("f", "latin1//IGNORE"); }),
              HasSubstr("there is no encoding"));
  EXPECT_THAT(error_of(ErrorKind::input, [] { decode("a\0b\0"s, "utf-16", 9); }),
              HasSubstr("no byte order mark: wanted --encoding=utf-16le or utf-16be"));
  EXPECT_THAT(error_of(ErrorKind::input, [] { decode("\xff\xff\xff", "shift_jis", 9); }),
              HasSubstr("'f' is no text in shift_jis: byte 0 is 0xff"));
  EXPECT_THAT(error_of(ErrorKind::input, [] { decode("\xe4\0\0\0"s, "latin-1", 9); }),
              HasSubstr("is text in UTF-32"));
  EXPECT_THAT(error_of(ErrorKind::input, [] { decode("ab\0"s, "latin-1", 9); }),
              HasSubstr("it has characters 0"));
  // What came before was UTF-8, of which the last piece shows nothing.
  for (const size_t piece : {size_t{1}, size_t{4097}, size_t{1} << 20}) {
    const std::string good = "na\u00efve\n" + std::string(5000, 'a');
    EXPECT_THAT(error_of(ErrorKind::input, [&] { decode(good + "\xe2\x82", "", piece); }),
                HasSubstr("'f' is UTF-8 that ends within a character (byte 5007)"));
    EXPECT_THAT(error_of(ErrorKind::input, [&] { decode(good + "\nb\xe9s", "", piece); }),
                HasSubstr("'f' is UTF-8 with a damaged place: byte 5009, in line 3, is 0xe9"));
  }
  const auto in_program = [](const std::string& bytes, const char* encoding) {
    return error_of(ErrorKind::input, [&] {
      TextDecoder decoder("f", encoding, OptionWords::program);
      decoder.add(bytes);
      decoder.end();
    });
  };
  EXPECT_THAT(in_program("caf\xe9 noir", ""), HasSubstr(".encoding = \"latin-1\" converts it"));
  EXPECT_THAT(in_program("caf\u00e9 noir", "latin-1"), HasSubstr("as .encoding says"));
  EXPECT_THAT(in_program("\xff\xfe"
                         "a",
                         ""),
              HasSubstr(".encoding = \"utf-16le\" converts"));
  EXPECT_THAT(error_of(ErrorKind::input, [] { decode("a\0b"s, "utf-16le", 9); }),
              HasSubstr("the beginning of a character that does not end"));
}

TEST(TextEncoding, FilesOfOtherFormatsAreRefusedByName) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& bytes) {
    const auto path = folder.add("f.txt", bytes);
    return error_of(ErrorKind::input, [&] { read_text_file(path); });
  };
  EXPECT_THAT(message("\x1f\x8b\x08\0\0"s), HasSubstr("a gzip file: unpack it first"));
  EXPECT_THAT(message("\xfd"
                      "7zXZ\0\0"s),
              HasSubstr("an xz file"));
  EXPECT_THAT(message("BZh91AY&SY\x12\x34"), HasSubstr("a bzip2 file"));
  EXPECT_THAT(message("\x28\xb5\x2f\xfd\x04"), HasSubstr("a zstd file"));
  EXPECT_THAT(message("PK\x03\x04\x14\0\0\0 xl/workbook.xml"s), HasSubstr("a spreadsheet"));
  EXPECT_THAT(message("PK\x03\x04\x14\0\0\0 a.txt"s), HasSubstr("a zip archive: unpack it first"));
  EXPECT_THAT(message("%PDF-1.4\n"), HasSubstr("a PDF document"));
  EXPECT_THAT(message("PAR1\x15\x04"), HasSubstr("a Parquet file"));
  EXPECT_THAT(message("\x89PNG\r\n\x1a\n"), HasSubstr("an image (PNG)"));
  EXPECT_THAT(message("\xef\xbb\xbf"), HasSubstr("is empty"));
  EXPECT_EQ(read_text_file(folder.add("g.txt", "\xef\xbb\xbfGIF is a word")), "GIF is a word");
}

}  // namespace
}  // namespace graphc::core
