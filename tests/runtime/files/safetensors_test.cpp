// SPDX-License-Identifier: Apache-2.0
// Safetensors: round trips, fixed bytes, and files that are not what they say.
#include "runtime/files/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "runtime/files/files.h"
#include "tests/runtime/files/damage.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// A file of `header` and `data`, with the header's length in front.
std::string file_of(std::string_view header, std::string_view data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += char(header.size() >> (8 * i) & 0xff);
  return bytes.append(header).append(data);
}

Safetensors arrays_in(std::string_view bytes) { return parse_safetensors(bytes, "f"); }

std::string fault_of(std::string_view header, std::string_view data) {
  const std::string message = error_of(ErrorKind::input, [&] { arrays_in(file_of(header, data)); });
  const std::string start = "'f' is not a valid safetensors file: ";
  EXPECT_TRUE(message.starts_with(start)) << message;
  return message.substr(std::min(start.size(), message.size()));
}

Safetensors every_type() {
  Safetensors content;
  for (DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i32, DType::i64, DType::u32,
                      DType::u8, DType::boolean}) {
    content.arrays.emplace(name_of(dtype), Literal::filled({dtype, {2, 3}}, 1));
  }
  content.arrays.emplace("empty", Literal(Type{DType::f32, {3, 0}}));
  content.arrays.emplace("scalar \"\xc3\xa9\"", Literal::of(-0.0f));
  content.metadata = {{"step", "12"}, {"", "\n"}};
  return content;
}

TEST(Safetensors, RoundTrip) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  for (const Safetensors& content : {every_type(), Safetensors{}}) {
    write_safetensors(path, content);
    EXPECT_EQ(read_safetensors(path), content);
    const std::string bytes = read_file(path);
    write_safetensors(path, read_safetensors(path));
    EXPECT_EQ(read_file(path), bytes);
  }
}

TEST(Safetensors, BytesAreFixed) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  const std::vector<int32_t> numbers{1, -2};
  Safetensors content;
  content.arrays.emplace("b", Literal(std::span<const int32_t>(numbers), {2, 1}));
  content.arrays.emplace("a", Literal::filled({DType::u8, {}}, 7));
  content.metadata.emplace("k", "v");
  write_safetensors(path, content);
  std::string header = R"({"__metadata__":{"k":"v"},)"
                       R"("a":{"data_offsets":[0,1],"dtype":"U8","shape":[]},)"
                       R"("b":{"data_offsets":[1,9],"dtype":"I32","shape":[2,1]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(read_file(path),
            file_of(header, std::string_view("\x07\x01\0\0\0\xfe\xff\xff\xff", 9)));
}

TEST(Safetensors, ArraysMayLieInAnyOrder) {
  const Safetensors content =
      arrays_in(file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
                        R"("b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}  )",
                        "\x01\x02\x03"));
  EXPECT_EQ(content.arrays.at("a").to_text(), "[3]");
  EXPECT_EQ(content.arrays.at("b").to_text(), "[1, 2]");
}

TEST(Safetensors, OffsetsMustCoverTheDataOnce) {
  const auto header = [](int begin, int end, int other_begin, int other_end) {
    return fmt::format(R"({{"a":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}},)"
                       R"("b":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
                       end - begin, begin, end, other_end - other_begin, other_begin, other_end);
  };
  arrays_in(file_of(header(0, 2, 2, 4), "1234"));
  EXPECT_EQ(fault_of(header(0, 2, 1, 4), "1234"),
            "array 'b' begins at byte 1, the one before ends at 2");
  EXPECT_EQ(fault_of(header(0, 1, 2, 4), "1234"),
            "array 'b' begins at byte 2, the one before ends at 1");
  EXPECT_EQ(fault_of(header(1, 2, 2, 4), "1234"),
            "array 'a' begins at byte 1, the one before ends at 0");
  EXPECT_EQ(fault_of(header(0, 4, 0, 4), "1234"),
            "array 'b' begins at byte 0, the one before ends at 4");
  EXPECT_EQ(fault_of(header(0, 2, 2, 3), "1234"), "its arrays end at byte 3 of 4");
  EXPECT_EQ(fault_of(header(0, 2, 2, 5), "1234"),
            "array 'b' has 5 in data_offsets, more than the 4 possible");
  EXPECT_EQ(fault_of("{}", "1"), "its arrays end at byte 0 of 1");
}

std::string one_array(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return fmt::format(R"({{"a":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape,
                     offsets);
}

/// The numbers of the format's definition: IEEE 754-2019, 3.4.
TEST(Safetensors, EveryHalfIsReadAsTheF32ThatItIs) {
  std::string data;
  for (int bits = 0; bits < 65536; ++bits) data += {char(bits & 0xff), char(bits >> 8)};
  const Safetensors content =
      arrays_in(file_of(one_array("\"F16\"", "[65536]", "[0,131072]"), data));
  const std::span<const float> found = content.arrays.at("a").data<float>();
  for (int bits = 0; bits < 65536; ++bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = bits >> 15 == 0 ? 1 : -1;
    double wanted = sign * std::ldexp(fraction, -24);
    if (exponent > 0) wanted = sign * std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) wanted = fraction == 0 ? sign * HUGE_VAL : std::nan("");
    ASSERT_TRUE(std::isnan(wanted) ? std::isnan(found[size_t(bits)])
                                   : double(found[size_t(bits)]) == wanted)
        << bits;
    ASSERT_EQ(std::signbit(found[size_t(bits)]), bits >> 15 == 1) << bits;
  }
}

TEST(Safetensors, WhatIsNotTakenIsSaidByName) {
  const std::string data(8, '\0');
  for (const std::string type : {"I8", "I16", "U16", "U64", "F8_E4M3", "F8_E5M2", "C64"}) {
    EXPECT_EQ(error_of(ErrorKind::input,
                       [&] {
                         parse_safetensors(
                             file_of(one_array('"' + type + '"', "[8]", "[0,8]"), data), "f");
                       }),
              "'f': array 'a' is of " + type +
                  ", which graphc does not have: wanted F64, F32, F16 (read as f32), BF16, I64, "
                  "I32, U32, U8 or BOOL");
  }
}

TEST(Safetensors, ArraysThatContradictThemselves) {
  const std::string data(8, '\0');
  arrays_in(file_of(one_array("\"F32\"", "[2]", "[0,8]"), data));
  const auto fault = [&](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return fault_of(one_array(dtype, shape, offsets), data);
  };
  EXPECT_EQ(fault("\"F32\"", "[3]", "[0,8]"),
            "array 'a' is f32[3] of 12 bytes, its data_offsets span 8");
  EXPECT_EQ(fault("\"F32\"", "[2]", "[8,0]"), "array 'a' ends at 0, before it begins at 8");
  EXPECT_EQ(fault("\"F16\"", "[3]", "[0,8]"),
            "array 'a' is f32[3] as F16 of 6 bytes, its data_offsets span 8");
  EXPECT_EQ(fault("\"F17\"", "[4]", "[0,8]"), "array 'a' has the unknown dtype 'F17'");
  EXPECT_EQ(fault("4", "[2]", "[0,8]"), "array 'a' has a dtype that is not a text");
  EXPECT_EQ(fault("\"F32\"", "2", "[0,8]"), "array 'a' has a shape that is not an array");
  EXPECT_EQ(fault("\"F32\"", "[-2]", "[0,8]"),
            "array 'a' has -2 in shape, not a whole number of at least 0");
  EXPECT_EQ(fault("\"F32\"", "[2.0]", "[0,8]"),
            "array 'a' has 2.0 in shape, not a whole number of at least 0");
  EXPECT_EQ(fault("\"F32\"", "[[2]]", "[0,8]"), "its header is nested too deeply");
  EXPECT_EQ(fault("\"F32\"", "[1,1,1,1,1,1,1,1,2]", "[0,8]"),
            "array 'a': a shape has at most 8 extents: found 9");
  EXPECT_EQ(fault("\"F32\"", "[18446744073709551615]", "[0,8]"),
            "array 'a' has 18446744073709551615 in shape, more than the 281474976710656 possible");
  EXPECT_THAT(fault("\"F32\"", "[4294967296,4294967296]", "[0,8]"),
              HasSubstr("at most 2^48 elements"));
  EXPECT_EQ(fault("\"F32\"", "[2]", "[0,4,8]"), "array 'a' has 3 data_offsets, not 2");
  EXPECT_EQ(
      fault("\"F32\"", "[2]", "[0,18446744073709551616]"),
      "array 'a' has 1.8446744073709552e+19 in data_offsets, not a whole number of at least 0");
  EXPECT_EQ(fault_of(one_array("\"BOOL\"", "[1]", "[0,1]"), "\x02"),
            "array 'a': a bool is 0 or 1: element 0 is 2");
}

TEST(Safetensors, HeadersThatAreNotHeaders) {
  EXPECT_EQ(fault_of(R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},)"
                     R"("a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})",
                     "1"),
            "its header has 'a' twice");
  EXPECT_EQ(fault_of(R"({"a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}})", "1"),
            "its header has 'dtype' twice");
  EXPECT_EQ(fault_of(R"({"a":{"dtype":"U8","shape":[]}})", "1"),
            "array 'a' wants exactly dtype, shape and data_offsets");
  EXPECT_EQ(fault_of(R"({"a":5})", ""), "array 'a' wants exactly dtype, shape and data_offsets");
  EXPECT_EQ(fault_of(R"({"__metadata__":{"a":1}})", ""), "__metadata__ 'a' is not a text");
  EXPECT_EQ(fault_of(R"({"__metadata__":[]})", ""), "__metadata__ is not an object");
  EXPECT_EQ(fault_of("[]", ""), "its header does not begin with '{'");
  EXPECT_EQ(fault_of("", ""), "its header does not begin with '{'");
  EXPECT_THAT(fault_of("{} x", ""), HasSubstr("its header is not JSON"));
  EXPECT_THAT(fault_of("{\"\xff\":{}}", ""), HasSubstr("its header is not JSON"));
  EXPECT_THAT(fault_of(std::string(100'000, '{'), ""), HasSubstr("not JSON"));
  std::string nested = "{\"a\":";
  nested.append(1'000'000, '[');
  EXPECT_EQ(fault_of(nested, ""), "its header is nested too deeply");
}

TEST(Safetensors, HeaderLength) {
  const auto fault = [](std::string_view bytes) {
    return error_of(ErrorKind::input, [&] { arrays_in(bytes); });
  };
  EXPECT_THAT(fault("1234567"), HasSubstr("it has 7 bytes, and 8 give the header's length"));
  EXPECT_THAT(fault(std::string_view("\x03\0\0\0\0\0\0\0{}", 10)),
              HasSubstr("its header is 3 bytes long, the file has 2 after the length"));
  EXPECT_THAT(fault(std::string(8, '\xff')),
              HasSubstr("its header is 18446744073709551615 bytes long, at most 100000000"));
}

TEST(Safetensors, DamagedFiles) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  write_safetensors(path, every_type());
  const std::string bytes = read_file(path);
  testing::check_truncations(bytes, arrays_in);
  // Flips in the numbers themselves and in names are another valid file.
  EXPECT_GT(testing::check_bit_flips(bytes, arrays_in), 100);
}

TEST(Safetensors, NamesThatCannotBeWritten) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  Safetensors reserved, bad;
  reserved.arrays.emplace("__metadata__", Literal());
  bad.metadata.emplace("k", "\xff");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { write_safetensors(path, reserved); }),
            "an array cannot be named '__metadata__'");
  EXPECT_THAT(error_of(ErrorKind::input, [&] { write_safetensors(path, bad); }),
              HasSubstr("not UTF-8"));
  EXPECT_EQ(folder.count(), 0);
}

}  // namespace
}  // namespace graphc::core
