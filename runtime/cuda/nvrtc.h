// SPDX-License-Identifier: Apache-2.0
// NVRTC, the CUDA C++ compiler, opened on first use. It needs no GPU.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/libraries.h"

namespace graphc::core::cuda {

/// The result of a compilation.
struct Compiled {
  std::string image;      ///< a CUBIN, or PTX as text; cuModuleLoadDataEx takes either
  bool is_cubin = false;  ///< whether it is for one architecture only
  std::string log;        ///< other compiler output: warnings, ptxas -v
};

/// Lines that delimit the inline assembly in a text: the emulator, which runs texts without NVRTC,
/// has those functions built in and skips that part.
inline constexpr std::string_view kPreludeBegin = "// prelude";
inline constexpr std::string_view kPreludeEnd = "// end of the prelude";

/// Compiles a text without headers. `architecture` is "sm_90a" (a CUBIN for it) or "compute_90"
/// (PTX, for that and newer GPUs); `name` is the file name in errors. Options are NVRTC's
/// ("--fmad=false"). May be called from several threads.
///
/// Throws ErrorKind::resource without NVRTC or memory; ErrorKind::input for an architecture unknown
/// to this NVRTC, naming those it knows; and ErrorKind::internal for a text that does not compile,
/// with the compiler's first message and the others as notes.
Compiled compile_text(const std::string& text, const std::string& name,
                      const std::string& architecture, std::span<const std::string> options = {});

/// The PTX of a text. "sm_90a" and "compute_90a" mean the same here.
std::string ptx_of(const std::string& text, const std::string& name,
                   const std::string& architecture, std::span<const std::string> options = {});

/// The architectures of this NVRTC: 75, 80, ... ascending. Throws ErrorKind::resource without
/// NVRTC.
std::vector<int> nvrtc_architectures();

/// The compute capability of a GPU architecture: 90 for "sm_90a". Throws ErrorKind::usage, listing
/// the known ones, for an architecture unknown to this NVRTC or, without NVRTC, to every NVRTC of
/// CUDA 13.
int architecture_number(const std::string& architecture);

/// The architecture to compile for a GPU of compute capability major.minor: the GPU's own
/// ("sm_90a", "sm_86"), or, if this NVRTC is too old to know it, PTX of the newest that it knows
/// ("compute_90"). Throws ErrorKind::resource for a GPU too old for this NVRTC.
std::string architecture_for(int major, int minor);

/// Whether compile_text() is usable. If not, `why_not`, unless null, gets the reason.
bool nvrtc_present(std::string* why_not = nullptr);

/// The result of searching for NVRTC in places_of_environment(), once per process.
const FoundLibrary& nvrtc_library();
/// Searches for NVRTC, opens it and reads its version; nvrtc_library() does so once per process.
FoundLibrary look_for_nvrtc(const Places& places);

}  // namespace graphc::core::cuda
