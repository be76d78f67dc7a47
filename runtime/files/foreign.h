// SPDX-License-Identifier: Apache-2.0
// Files of other programs, given where one of ours is wanted: they are recognised, and the error
// says in one line what to do.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace graphc::core {

/// What was wanted in the place of a file.
enum class Wanted { arrays, array, graph, text, table };

/// What the first bytes of a file, or the end of its name, show it to be, and what to do: "a gzip
/// file: unpack it first (gunzip)". Empty for what is not known, and for what is wanted: a table of
/// text is a text.
std::string foreign_format(std::string_view content, const std::filesystem::path& path,
                           Wanted wanted);

/// Throws ErrorKind::input, naming the file, its format, and what to do, when the file is of a
/// format that is known and is not the one that is wanted: those of PyTorch, ONNX, HDF5, NumPy's
/// archives, spreadsheets, Parquet, compressed files (gzip, xz, bzip2, zstd, lz4, zip, 7z), PDF,
/// images, programs, and tables of text, safetensors and .npy where these are not wanted.
void refuse_foreign(std::string_view content, const std::filesystem::path& path, Wanted wanted);

}  // namespace graphc::core
