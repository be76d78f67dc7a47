// SPDX-License-Identifier: Apache-2.0
// Files of other programs are recognised by what they hold, and by name where that says nothing.
#include "runtime/files/foreign.h"

#include <gmock/gmock.h>

#include <string>

#include "ir/literal.h"
#include "runtime/files/files.h"
#include "runtime/files/npy.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::string_literals;

struct Case {
  std::string name, content, says;
};

// The beginnings of what torch.save, torch.onnx.export, h5py, numpy.savez and zip write.
const Case kForeign[] = {
    {"model.pt", "PK\x03\x04\0\0\x08\x08\0\0archive/data.pkl"s, "a file of PyTorch"},
    {"model.bin", "PK\x03\x04\0\0\x08\x08\0\0model/data.pkl"s, "a file of PyTorch"},
    {"model.pth", "\x80\x02\x8a\nl\xfc\x9c\x46"s, "a file of PyTorch"},
    {"old.pt", ""s, "a file of PyTorch"},
    {"model.onnx", "\x08\x07\x12\x07pytorch\x1a\x05"s, "an ONNX model"},
    {"renamed", "\x08\x08\x12\x07pytorch\x1a\x05"s, "an ONNX model"},
    {"model.h5", "\x89HDF\r\n\x1a\n\0\0"s, "an HDF5 file"},
    {"weights", "\x89HDF\r\n\x1a\n\0\0"s, "an HDF5 file"},
    {"arrays.npz", "PK\x03\x04\0\0\0\0\0\0weights.npy"s, "an archive of NumPy's"},
    {"things.zip", "PK\x03\x04\0\0\0\0\0\0readme"s, "a zip archive: unpack it first"},
    {"data.csv", "date,load\n2020-01-01,3\n"s, "a table of text"},
    {"data.CSV", "a"s, "a table of text"},
    {"data.txt", "1.5,2,-3e4\n4,5,6\n"s, "a table of text"},
    {"data", "x;y\n\"1\";2\n"s, "a table of text"},
    {"plain", "one, two\nthree\n"s, ""},
    {"named", "load,price\n1,2\n"s, "a table of text"},
};

TEST(ForeignFiles, AreRecognisedAndAnsweredInOneLine) {
  for (const Case& c : kForeign) {
    SCOPED_TRACE(c.name);
    for (const auto& [wanted, text] : {std::pair(Wanted::arrays, "wanted a safetensors file"),
                                       {Wanted::array, "an .npy file"},
                                       {Wanted::graph, "wanted a graph"}}) {
      if (c.says.empty()) {
        refuse_foreign(c.content, c.name, wanted);
        continue;
      }
      const std::string message =
          error_of(ErrorKind::input, [&, w = wanted] { refuse_foreign(c.content, c.name, w); });
      EXPECT_THAT(message, AllOf(HasSubstr("'" + c.name + "' is " + c.says), HasSubstr(text),
                                 Not(HasSubstr("\n"))));
    }
  }
}

/// The length of the header comes first: 640 is what a pickle begins with, 896 and others too.
TEST(ForeignFiles, ArraysAreToldByMoreThanTheLengthOfTheirHeader) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x.safetensors";
  int pickles = 0;
  for (size_t length = 400; length < 1600; length += 8) {
    const Safetensors wanted{{{"x", Literal::filled({DType::f32, {2}}, 3)}},
                             {{"note", std::string(length, 'n')}}};
    write_safetensors(path, wanted);
    pickles += read_file(path)[0] == '\x80';
    EXPECT_TRUE(read_safetensors(path) == wanted) << length;
  }
  EXPECT_GE(pickles, 4);
}

TEST(ForeignFiles, OursAreLeftToTheirReaders) {
  const TemporaryFolder folder;
  const Literal x = Literal::filled({DType::f32, {2}}, 3);
  const auto arrays = folder.path() / "x.safetensors", array = folder.path() / "x.npy";
  write_safetensors(arrays, {{{"x", x}}, {}});
  write_npy(array, x);
  refuse_foreign(read_file(arrays), arrays, Wanted::arrays);
  // Headers of 640 and 1,184,264 bytes: their lengths begin as a pickle and an ONNX model do.
  for (const std::string& length : {"\x80\x02\0"s, "\x08\x12\x12"s})
    refuse_foreign(length + "\0\0\0\0\0{\"x\":"s, arrays, Wanted::arrays);
  refuse_foreign(read_file(array), array, Wanted::array);
  refuse_foreign("date,load\n1,2\n", "a.csv", Wanted::text);
  refuse_foreign("graph @f(%x: f32[2]) { return %x }", "f.graph", Wanted::graph);
  refuse_foreign("", "empty", Wanted::arrays);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { read_npy(arrays); }),
              HasSubstr("x.safetensors' is arrays in the format safetensors: wanted an .npy file"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { read_safetensors(array); }),
              HasSubstr("x.npy' is one array, written by NumPy: wanted a safetensors file"));
  EXPECT_THAT(
      error_of(ErrorKind::input, [&] { refuse_foreign(read_file(arrays), "x", Wanted::text); }),
      HasSubstr("wanted a text"));
}

}  // namespace
}  // namespace graphc::core
