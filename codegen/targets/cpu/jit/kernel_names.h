// SPDX-License-Identifier: Apache-2.0
// Names of kernels for perf and gdb, which find code of this process in no file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace llvm::orc {
class ObjectLinkingLayer;
}

namespace graphc::core::cpu {

/// Whether GRAPHC_PERF_MAP is 1.
bool names_for_perf();

/// Whether GRAPHC_GDB is 1.
bool names_for_gdb();

/// A line of the file in which perf looks up code that it finds in no file. What cannot be written
/// is missing in a profile, and nowhere else.
void write_perf_map(const void* address, uint64_t size, std::string_view name);

/// The bytes of a function of an object file; 0 if it has none of that name.
uint64_t size_of_function(std::string_view object, std::string_view symbol);

/// An object file with one symbol under another name.
std::string with_symbol_renamed(std::string_view object, std::string_view from,
                                std::string_view to);

/// From here on gdb is told of every object that the layer links, and of its end.
void register_objects_with_gdb(llvm::orc::ObjectLinkingLayer& layer);

}  // namespace graphc::core::cpu
