// SPDX-License-Identifier: Apache-2.0
// NVRTC, the compiler of CUDA text, opened when it is first asked for. It needs no GPU.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/libraries.h"

namespace graphc::core::cuda {

/// What became of a text.
struct Compiled {
  std::string image;      ///< a CUBIN, or PTX as text; cuModuleLoadDataEx takes either
  bool is_cubin = false;  ///< whether it is for one architecture
  std::string log;        ///< what the compiler said besides: warnings, ptxas -v
};

/// Lines that a text may have around the part of it that is assembly: what runs texts without
/// NVRTC has the functions of that part built in, and passes over it.
inline constexpr std::string_view kPreludeBegin = "// prelude";
inline constexpr std::string_view kPreludeEnd = "// end of the prelude";

/// Compiles a text without headers. `architecture` is "sm_90a" (a CUBIN for it) or "compute_90"
/// (PTX, for that and newer GPUs); `name` is the file that errors speak of. Options are NVRTC's
/// ("--fmad=false"). May be called from several threads.
///
/// Throws ErrorKind::resource where there is no NVRTC or no memory, ErrorKind::input for an
/// architecture that this NVRTC does not know, naming those it does, and ErrorKind::internal for a
/// text that does not compile, with the first of the compiler's messages and the others as notes.
Compiled compile_text(const std::string& text, const std::string& name,
                      const std::string& architecture, std::span<const std::string> options = {});

/// The PTX of a text. "sm_90a" and "compute_90a" mean the same.
std::string ptx_of(const std::string& text, const std::string& name,
                   const std::string& architecture, std::span<const std::string> options = {});

/// What this NVRTC compiles for: 75, 80, ... ascending. Throws ErrorKind::resource without NVRTC.
std::vector<int> nvrtc_architectures();

/// The compute capability of an architecture of a GPU: 90 of "sm_90a". Throws ErrorKind::usage for
/// one that this NVRTC does not know, or, where there is none, that no NVRTC of CUDA 13 does; the
/// error says which there are.
int architecture_number(const std::string& architecture);

/// What to compile for to run on a GPU of compute capability major.minor: the GPU's own
/// architecture ("sm_90a", "sm_86"), or, when this NVRTC is too old to know it, PTX of the newest
/// that it knows ("compute_90"). Throws ErrorKind::resource for a GPU too old for this NVRTC.
std::string architecture_for(int major, int minor);

/// Whether compile_text() could be called. If not, `why_not`, unless null, gets the reason.
bool nvrtc_present(std::string* why_not = nullptr);

/// What was found of NVRTC: looked for in places_of_environment(), once a process.
const FoundLibrary& nvrtc_library();
/// Looks for NVRTC, opens it, and asks what it is; nvrtc_library() does so once a process.
FoundLibrary look_for_nvrtc(const Places& places);

}  // namespace graphc::core::cuda
