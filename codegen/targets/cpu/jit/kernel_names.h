// SPDX-License-Identifier: Apache-2.0
// Names of kernels for perf and gdb, which cannot find this process's generated code in any file.
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

/// Writes a line to the file in which perf looks up code that is in no other file. Failures to
/// write are ignored: the entry is then missing in profiles.
void write_perf_map(const void* address, uint64_t size, std::string_view name);

/// The size in bytes of a function of an object file; 0 if it has no function of that name.
uint64_t size_of_function(std::string_view object, std::string_view symbol);

/// A copy of an object file with one symbol renamed.
std::string with_symbol_renamed(std::string_view object, std::string_view from,
                                std::string_view to);

/// From now on, every object that the layer links is registered with gdb, and unregistered when it
/// is removed.
void register_objects_with_gdb(llvm::orc::ObjectLinkingLayer& layer);

}  // namespace graphc::core::cpu
