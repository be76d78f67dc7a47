// SPDX-License-Identifier: Apache-2.0
// Modules as protobuf (ir/graph.proto): the interchange form. Users of this header need no protobuf
// header.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace graphc::core {

/// The version of ir/graph.proto that is written, and the highest version that is read.
inline constexpr int kProtoVersion = 1;

/// The module in protobuf's binary form. Equal modules give equal bytes. Names and texts that are
/// not UTF-8 cannot be read back.
std::string to_proto(const Module& module);
/// The module in protobuf's text form, as accepted by `protoc --encode=graphc.proto.Module`.
std::string to_pbtxt(const Module& module);
/// The module in protobuf's JSON form, readable by protobuf libraries in other languages. Texts
/// that are not UTF-8 do not survive.
std::string to_json(const Module& module);

/// Reads a form back: equal graphs, with regions shared as before, names and lines. Throws
/// ErrorKind::input, at `file`, for data that is not a message, has a later version, or is not a
/// graph.
Module from_proto(std::string_view bytes, std::string_view file = "<proto>");
Module from_pbtxt(std::string_view text, std::string_view file = "<pbtxt>");
Module from_json(std::string_view text, std::string_view file = "<json>");

}  // namespace graphc::core
