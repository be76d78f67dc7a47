// SPDX-License-Identifier: Apache-2.0
// Files of other programs, given where one of ours is wanted: they are recognised, and the error
// says in one line what to do.
#pragma once

#include <filesystem>
#include <string_view>

namespace graphc::core {

/// What was wanted in the place of a file.
enum class Wanted { arrays, array, graph, text };

/// Throws ErrorKind::input, naming the file, the format that its first bytes or the end of its name
/// show, and what to do, when it is not of the kind that is wanted: PyTorch's, ONNX, HDF5, NumPy's
/// archives, tables of text, and safetensors and .npy where these are not wanted. Tables are texts.
void refuse_foreign(std::string_view content, const std::filesystem::path& path, Wanted wanted);

}  // namespace graphc::core
