// SPDX-License-Identifier: Apache-2.0
// The safetensors format: named arrays, used for checkpoints.
//
// Eight bytes of header length (little endian), a JSON header of at most 100 MB with the `dtype`,
// `shape` and `data_offsets` of each array, then the data without gaps. Everything is validated
// before an array is created. F16 becomes f32, which represents it exactly; F8, I8, I16, U16, U64
// and C64 are refused.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "ir/literal.h"

namespace graphc::core {

/// Arrays by name, and free text by key (the header's `__metadata__`).
struct Safetensors {
  std::map<std::string, Literal> arrays;
  std::map<std::string, std::string> metadata;

  bool operator==(const Safetensors&) const = default;
};

/// Throws ErrorKind::input, naming the file and what is wrong with it.
Safetensors read_safetensors(const std::filesystem::path& path);
/// The same from bytes; `file` is the name in errors.
Safetensors parse_safetensors(std::string_view bytes, std::string_view file);

/// A hash of all names, types, shapes, bytes and texts, except the text of the key `without`: 32
/// hexadecimal digits (128-bit XXH3). It detects damage, not tampering.
std::string checksum(const Safetensors& content, std::string_view without = {});

/// Writes the file atomically. Equal content gives equal bytes: arrays are ordered by name. Throws
/// ErrorKind::resource if it cannot be written, ErrorKind::input for an array named `__metadata__`
/// and for a name or text that is not UTF-8.
void write_safetensors(const std::filesystem::path& path, const Safetensors& content);

}  // namespace graphc::core
