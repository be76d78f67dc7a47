// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy format: one array per file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ir/literal.h"

namespace graphc::core {

/// Reads versions 1, 2 and 3: little endian, C order, element types f4 f8 f2 (as f32) i4 i8 u4 u1
/// b1. Throws ErrorKind::input, naming the file and what is wrong with it.
Literal read_npy(const std::filesystem::path& path);
/// The same from bytes; `file` is the name in errors.
Literal parse_npy(std::string_view bytes, std::string_view file);

/// The bytes of a version 1 file, as NumPy writes them. Throws ErrorKind::input for bf16, for which
/// the format has no name.
std::string npy_bytes(const Literal& literal);
/// Writes npy_bytes() atomically. Throws ErrorKind::resource if it cannot.
void write_npy(const std::filesystem::path& path, const Literal& literal);

}  // namespace graphc::core
