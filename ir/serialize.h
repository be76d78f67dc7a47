// SPDX-License-Identifier: Apache-2.0
// Modules as protobuf (ir/graph.proto): the interchange form. No protobuf header is needed to use
// it.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace graphc::core {

/// The version of ir/graph.proto that is written, and the highest that is read.
inline constexpr int kProtoVersion = 1;

/// The module in protobuf's binary form. Equal modules give equal bytes. Names and texts that are
/// not UTF-8 cannot be read back.
std::string to_proto(const Module& module);
/// The module in protobuf's text form, which `protoc --encode=graphc.proto.Module` takes.
std::string to_pbtxt(const Module& module);
/// The module in protobuf's JSON form, as its libraries in other languages read it. What is not
/// UTF-8 is not written as it is.
std::string to_json(const Module& module);

/// Reads a form back: the same graphs, regions shared as they were, names and lines kept.
/// Throws ErrorKind::input, at `file`, for what is not a message, is of a later version, or is no
/// graph.
Module from_proto(std::string_view bytes, std::string_view file = "<proto>");
Module from_pbtxt(std::string_view text, std::string_view file = "<pbtxt>");
Module from_json(std::string_view text, std::string_view file = "<json>");

}  // namespace graphc::core
