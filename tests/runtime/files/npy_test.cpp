// SPDX-License-Identifier: Apache-2.0
// .npy: the bytes NumPy writes, the variants it reads, and files that are not what they say.
#include "runtime/files/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/files/files.h"
#include "tests/runtime/files/damage.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

std::string file_of(int version, std::string_view header, std::string_view data) {
  std::string bytes = "\x93NUMPY";
  bytes += {char(version), '\0'};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += char(header.size() >> (8 * i) & 0xff);
  return bytes.append(header).append(data);
}

Literal array_in(std::string_view bytes) { return parse_npy(bytes, "f"); }

std::string fault_of(std::string_view bytes) {
  const std::string message = error_of(ErrorKind::input, [&] { array_in(bytes); });
  const std::string start = "'f' is not a .npy file that can be read: ";
  EXPECT_TRUE(message.starts_with(start)) << message;
  return message.substr(std::min(start.size(), message.size()));
}

std::string header_of(std::string_view descr, std::string_view order, std::string_view shape) {
  return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}\n", descr, order, shape);
}

TEST(Npy, WritesWhatNumPyWrites) {
  const std::vector<float> numbers{1, -2};
  const std::string bytes = npy_bytes(Literal(std::span<const float>(numbers), {2}));
  // numpy.save of numpy.array([1, -2], "f4").
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  expected += std::string(127 - expected.size(), ' ') + '\n';
  expected += std::string("\0\0\x80\x3f\0\0\0\xc0", 8);
  EXPECT_EQ(bytes, expected);
}

TEST(Npy, RoundTrip) {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "a.npy";
  for (DType dtype :
       {DType::f32, DType::f64, DType::i32, DType::i64, DType::u32, DType::u8, DType::boolean}) {
    for (const Shape& shape :
         {Shape{}, Shape{1}, Shape{0, 3}, Shape{2, 3}, Shape{1, 2, 1, 2, 1, 2}}) {
      const Literal literal = Literal::filled({dtype, shape}, 1);
      write_npy(path, literal);
      EXPECT_EQ(read_npy(path), literal) << to_string(literal.type());
      EXPECT_EQ(read_file(path).size() - size_t(literal.type().bytes()), 128u);
    }
  }
  EXPECT_EQ(error_of(ErrorKind::input, [] { npy_bytes(Literal(Type{DType::bf16, {1}})); }),
            ".npy has no bf16: convert the array to f32 first");
}

TEST(Npy, AllVersions) {
  const std::string header = header_of("'<i4'", "False", "(1,)");
  for (int version : {1, 2, 3}) {
    EXPECT_EQ(array_in(file_of(version, header, std::string_view("\5\0\0\0", 4))).to_text(), "[5]");
  }
  EXPECT_EQ(fault_of(file_of(4, header, "1234")), "its version is 4.0, not 1.0, 2.0 or 3.0");
  EXPECT_EQ(fault_of(file_of(0, header, "1234")), "its version is 0.0, not 1.0, 2.0 or 3.0");
}

TEST(Npy, HeadersAsPythonMayWriteThem) {
  for (const char* header :
       {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1)}",
        "{ \"shape\" : (2,1,) ,\"fortran_order\":False, \"descr\":\"|u1\" , }   \n"}) {
    EXPECT_EQ(array_in(file_of(1, header, "\1\2")).to_text(), "[[1], [2]]") << header;
  }
}

TEST(Npy, HeadersThatAreNotHeaders) {
  const std::string wanted = "its header is not a dictionary of descr, fortran_order and shape";
  for (const char* header :
       {"", "{", "{}", "x", "{'descr': '|u1', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '|u1', 'fortran_order': False}", "{'descr': '|u1' 'shape': (1,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,)",
        "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '|u1', 'fortran_order': None, 'shape': (1,)}", "{'descr", "{'a': 1}"}) {
    EXPECT_EQ(fault_of(file_of(1, header, "1")), wanted) << header;
  }
}

TEST(Npy, HalvesBecomeF32) {
  const Literal found =
      parse_npy(file_of(1, header_of("'<f2'", "False", "(2,)"), {"\x00\x3e\x01\x80", 4}), "f");
  EXPECT_EQ(found.dtype(), DType::f32);
  EXPECT_EQ(found.element(0), 1.5);
  EXPECT_EQ(found.element(1), -0x1p-24);
}

TEST(Npy, ArraysThatAreNotRead) {
  const auto fault = [](std::string_view descr, std::string_view order, std::string_view shape) {
    return fault_of(file_of(1, header_of(descr, order, shape), "12345678"));
  };
  EXPECT_EQ(fault("'>f8'", "False", "(1,)"), "its elements '>f8' are big endian");
  EXPECT_EQ(fault("'<i2'", "False", "(4,)"),
            "its element type '<i2' is none of <f4 <f8 <f2 <i4 <i8 <u4 |u1 |b1");
  EXPECT_EQ(fault("[('a', '<f8')]", "False", "(1,)"),
            "its descr is not a text: records are not read");
  EXPECT_EQ(fault("'<f8'", "True", "(1,)"), "it is in Fortran order, and only C order is read");
  EXPECT_EQ(fault("'<f8'", "False", "(2,)"), "f64[2] is 16 bytes, 8 follow the header");
  EXPECT_EQ(fault("'<f4'", "False", "(1,)"), "f32[1] is 4 bytes, 8 follow the header");
  EXPECT_EQ(fault("'<f8'", "False", "(-1,)"), "an extent is at least 0: found -1");
  EXPECT_THAT(fault("'<f8'", "False", "(4294967296, 4294967296)"), HasSubstr("2^48 elements"));
  for (const char* shape :
       {"1", "(1)", "(1 2)", "(,)", "(1.5,)", "('a',)", "(1,", "(99999999999999999999,)"}) {
    EXPECT_EQ(fault("'<f8'", "False", shape), "its shape is not a tuple of whole numbers") << shape;
  }
  EXPECT_EQ(fault_of(file_of(1, header_of("'|b1'", "False", "(1,)"), "\3")),
            "a bool is 0 or 1: element 0 is 3");
}

TEST(Npy, DamagedFiles) {
  const std::vector<float> numbers{1, 2, 3};
  const std::string first = npy_bytes(Literal(std::span<const float>(numbers), {3, 1}));
  const std::string third = file_of(3, header_of("'<i4'", "False", "(1,)"), "1234");
  for (const std::string& bytes : {first, third}) {
    testing::check_truncations(bytes, array_in);
    // Each bit of the numbers themselves, at least, gives another valid file.
    EXPECT_GE(testing::check_bit_flips(bytes, array_in), 32);
  }
}

}  // namespace
}  // namespace graphc::core
