// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/foreign.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "ir/error.h"

namespace graphc::core {
namespace {

using namespace std::string_view_literals;

enum class Format { unknown, pytorch, onnx, hdf5, npz, zip, csv, npy, safetensors };

/// Numbers between commas, semicolons or tabs, and quotes, without a letter but those of numbers.
bool is_row_of_numbers(std::string_view line) {
  return line.find_first_of(",;\t") != line.npos && line.find_first_of("0123456789") != line.npos &&
         line.find_first_not_of("0123456789.,;+-eE\t \r\"") == line.npos;
}

bool has_row_of_numbers(std::string_view content) {
  // The first line may name the columns.
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

Format format_of(std::string_view content, std::string ending) {
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  if (content.starts_with("\x89HDF\r\n\x1a\n"sv)) return Format::hdf5;
  if (content.starts_with("\x93NUMPY"sv)) return Format::npy;
  if (content.starts_with("PK\x03\x04"sv)) {
    const Format format = format_of_archive(content);
    return format == Format::zip && (ending == ".pt" || ending == ".pth") ? Format::pytorch
                                                                          : format;
  }
  // First of those that a header of some lengths begins like: 640 bytes are "\x80\x02".
  if (content.size() > 9 && content[8] == '{' && content.substr(4, 4) == "\0\0\0\0"sv)
    return Format::safetensors;
  // A pickle of protocol 2 to 5; the version of ONNX, then its field `producer_name`.
  if (content.size() > 2 && content[0] == '\x80' && content[1] >= 2 && content[1] <= 5)
    return Format::pytorch;
  if (content.size() > 3 && content[0] == '\x08' && content[1] < 32 && content[2] == '\x12')
    return Format::onnx;
  if (ending == ".onnx") return Format::onnx;
  if (ending == ".pt" || ending == ".pth") return Format::pytorch;
  if (ending == ".h5" || ending == ".hdf5") return Format::hdf5;
  if (ending == ".csv" || ending == ".tsv") return Format::csv;
  return has_row_of_numbers(content) ? Format::csv : Format::unknown;
}

std::string_view advice(Format format) {
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
      return "a zip archive, which graphc does not read";
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
    case Wanted::text:
      break;
  }
  return "a text";
}

}  // namespace

void refuse_foreign(std::string_view content, const std::filesystem::path& path, Wanted wanted) {
  const Format format = format_of(content, path.extension().string());
  const bool ours = (format == Format::safetensors && wanted == Wanted::arrays) ||
                    (format == Format::npy && wanted == Wanted::array) ||
                    (format == Format::csv && wanted == Wanted::text);
  if (format == Format::unknown || ours) return;
  throw input_error({}, "'{}' is {}: wanted {}", path.string(), advice(format), name_of(wanted));
}

}  // namespace graphc::core
