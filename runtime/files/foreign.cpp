// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/foreign.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "ir/error.h"

namespace graphc::core {
namespace {

using namespace std::string_view_literals;

enum class Format { unknown, pytorch, onnx, hdf5, npz, zip, csv, npy, safetensors, other };

/// Formats that are recognised by their first bytes, and their names.
struct Beginning {
  std::string_view bytes, what;
};
constexpr Beginning kOthers[] = {
    {"\x1f\x8b", "a gzip file: unpack it first (gunzip)"},
    {"\xfd"
     "7zXZ\0"sv,
     "an xz file: unpack it first (unxz)"},
    {"\x28\xb5\x2f\xfd", "a zstd file: unpack it first (unzstd)"},
    {"\x04\x22\x4d\x18", "an lz4 file: unpack it first (unlz4)"},
    {"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"},
    {"%PDF-", "a PDF document: take its text out first (pdftotext)"},
    {"PAR1", "a Parquet file: write it in Python by pandas.read_parquet('x').to_csv('x.csv')"},
    {"ARROW1", "an Arrow file: write it in Python by pandas.read_feather('x').to_csv('x.csv')"},
    {"SQLite format 3", "an SQLite database: write a table of it as CSV first"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a document of an old Office: save it as CSV or text"},
    {"MATLAB 5.0", "a MATLAB file: write its arrays as .npy first (scipy.io.loadmat)"},
    {"{\\rtf", "an RTF document: save it as text first"},
    {"\x89PNG", "an image (PNG)"},
    {"\xff\xd8\xff", "an image (JPEG)"},
    {"GIF8", "an image (GIF)"},
    {"\x7f"
     "ELF",
     "a program (ELF)"},
    {"!<arch>", "a library of object files"},
};

/// Formats that need more than their first bytes; empty if there is none.
std::string_view other_of(std::string_view content) {
  // The three letters alone could begin a text.
  if (content.starts_with("BZh") && content.size() > 9 && content.substr(4, 6) == "1AY&SY")
    return "a bzip2 file: unpack it first (bunzip2)";
  if (content.size() > 262 && content.substr(257, 5) == "ustar")
    return "a tar archive: unpack it first";
  for (const Beginning& other : kOthers) {
    if (content.starts_with(other.bytes)) return other.what;
  }
  return {};
}

/// Whether the line has numbers and quotes between commas, semicolons or tabs, and no letters other
/// than those of numbers.
bool is_row_of_numbers(std::string_view line) {
  return line.find_first_of(",;\t") != line.npos && line.find_first_of("0123456789") != line.npos &&
         line.find_first_not_of("0123456789.,;+-eE\t \r\"") == line.npos;
}

bool has_row_of_numbers(std::string_view content) {
  // The first line may have column names.
  const size_t first = std::min(content.find('\n'), content.size());
  const std::string_view rest = content.substr(std::min(first + 1, content.size()));
  return is_row_of_numbers(content.substr(0, first)) ||
         (content.substr(0, first).find_first_of(",;\t") != content.npos &&
          is_row_of_numbers(rest.substr(0, std::min(rest.find('\n'), rest.size()))));
}

Format format_of_archive(std::string_view content) {
  if (content.find("data.pkl") != content.npos) return Format::pytorch;
  return content.find(".npy") != content.npos ? Format::npz : Format::zip;
}

std::string_view advice_of_archive(std::string_view content) {
  if (content.find("xl/w") != content.npos || content.find("spreadsheet") != content.npos)
    return "a spreadsheet: save it as CSV first";
  if (content.find("word/d") != content.npos || content.find("opendocument.text") != content.npos)
    return "a document of a word processor: save it as text first";
  return "a zip archive: unpack it first";
}

Format format_of(std::string_view content, std::string ending) {
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  if (content.starts_with("\x89HDF\r\n\x1a\n"sv)) return Format::hdf5;
  if (content.starts_with("\x93NUMPY"sv)) return Format::npy;
  if (content.starts_with("PK\x03\x04"sv)) {
    const Format format = format_of_archive(content);
    return format == Format::zip && (ending == ".pt" || ending == ".pth") ? Format::pytorch
                                                                          : format;
  }
  // Before the others, because its header length can look like them: 640 bytes are "\x80\x02".
  if (content.size() > 9 && content[8] == '{' && content.substr(4, 4) == "\0\0\0\0"sv)
    return Format::safetensors;
  // A pickle of protocol 2 to 5; for ONNX, the version followed by the field `producer_name`.
  if (content.size() > 2 && content[0] == '\x80' && content[1] >= 2 && content[1] <= 5)
    return Format::pytorch;
  if (content.size() > 3 && content[0] == '\x08' && content[1] < 32 && content[2] == '\x12')
    return Format::onnx;
  if (!other_of(content).empty()) return Format::other;
  if (ending == ".onnx") return Format::onnx;
  if (ending == ".pt" || ending == ".pth") return Format::pytorch;
  if (ending == ".h5" || ending == ".hdf5") return Format::hdf5;
  if (ending == ".csv" || ending == ".tsv") return Format::csv;
  return has_row_of_numbers(content) ? Format::csv : Format::unknown;
}

std::string_view advice(Format format, std::string_view content) {
  switch (format) {
    case Format::pytorch:
      return "a file of PyTorch: write its weights there by "
             "safetensors.torch.save_file(module.state_dict(), 'model.safetensors'), and read them "
             "with PytorchState (docs/from-pytorch.md)";
    case Format::onnx:
      return "an ONNX model, which graphc does not read: write the model in C++, and bring its "
             "weights as safetensors (docs/from-pytorch.md)";
    case Format::hdf5:
      return "an HDF5 file, as Keras writes, which graphc does not read: write its arrays in "
             "Python "
             "by safetensors.numpy.save_file({'name': array}, 'model.safetensors')";
    case Format::npz:
      return "an archive of NumPy's: write each array of it in Python by numpy.save('x.npy', "
             "archive['x'])";
    case Format::zip:
      return advice_of_archive(content);
    case Format::other:
      return other_of(content);
    case Format::csv:
      return "a table of text: make it an array in Python by numpy.save('x.npy', "
             "numpy.loadtxt('x.csv', delimiter=',', skiprows=1, dtype='float32'))";
    case Format::npy:
      return "one array, written by NumPy";
    case Format::safetensors:
      return "arrays in the format safetensors";
    case Format::unknown:
      break;
  }
  return "";
}

std::string_view name_of(Wanted wanted) {
  switch (wanted) {
    case Wanted::arrays:
      return "a safetensors file";
    case Wanted::array:
      return "an .npy file";
    case Wanted::graph:
      return "a graph";
    case Wanted::table:
      return "a table: CSV or .npy";
    case Wanted::text:
      break;
  }
  return "a text";
}

}  // namespace

std::string foreign_format(std::string_view content, const std::filesystem::path& path,
                           Wanted wanted) {
  const Format format = format_of(content, path.extension().string());
  const bool ours = (format == Format::safetensors && wanted == Wanted::arrays) ||
                    (format == Format::npy && wanted == Wanted::array) ||
                    (format == Format::csv && (wanted == Wanted::text || wanted == Wanted::table));
  return ours ? "" : std::string(advice(format, content));
}

void refuse_foreign(std::string_view content, const std::filesystem::path& path, Wanted wanted) {
  const std::string format = foreign_format(content, path, wanted);
  if (format.empty()) return;
  throw input_error({}, "'{}' is {}: wanted {}", path.string(), format, name_of(wanted));
}

}  // namespace graphc::core
