// SPDX-License-Identifier: Apache-2.0
// Recognises files of other programs given where one of ours is expected; the error says in one
// line what to do.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace graphc::core {

/// The expected kind of file.
enum class Wanted { arrays, array, graph, text, table };

/// The format shown by the first bytes of a file or the end of its name, and what to do: "a gzip
/// file: unpack it first (gunzip)". Empty for unknown formats and for the wanted one: a table of
/// text is a text.
std::string foreign_format(std::string_view content, const std::filesystem::path& path,
                           Wanted wanted);

/// Throws ErrorKind::input, naming the file, its format, and what to do, if the file has a known
/// format other than the wanted one: PyTorch, ONNX, HDF5, NumPy archives, spreadsheets, Parquet,
/// compressed files (gzip, xz, bzip2, zstd, lz4, zip, 7z), PDF, images, programs, and also tables
/// of text, safetensors and .npy where they are not wanted.
void refuse_foreign(std::string_view content, const std::filesystem::path& path, Wanted wanted);

}  // namespace graphc::core
