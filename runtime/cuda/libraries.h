// SPDX-License-Identifier: Apache-2.0
// Search for the shared libraries of CUDA, and its results. None is linked.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::core::cuda {

/// The result of searching for a library. It is usable if `why_not` is empty.
struct FoundLibrary {
  std::string name;     ///< "driver", "nvrtc", "cudnn", "cublaslt" or "nccl"
  std::string path;     ///< of the opened file; may be empty if there is none
  std::string version;  ///< "13.0"; empty if unknown
  std::string why_not;  ///< in one line
};

/// The libraries of targets, in the order of the names above. Opens each at most once per process
/// and never closes it, because what it has started cannot be stopped.
std::vector<FoundLibrary> found_libraries();

/// NCCL, which connects the GPUs of ranks; opened as those are.
FoundLibrary nccl_library();

/// The places to search, in this order.
struct Places {
  /// The folders in GRAPHC_CUDA_LIBRARIES. They are authoritative: an unusable file or a missing
  /// folder there ends the search.
  std::vector<std::filesystem::path> named;
  /// Whether to continue with the system's search: LD_LIBRARY_PATH and ldconfig.
  bool system = true;
  /// The toolkit's folders, then those of Python packages. Unusable files there, or in the system's
  /// search, are skipped; if nothing else is found, they are the reason.
  std::vector<std::filesystem::path> folders;
};

/// The places given by the environment: GRAPHC_CUDA_LIBRARIES (folders separated by ':', or "none"
/// for no place at all), CUDA_HOME, CUDA_PATH, /usr/local/cuda, and nvidia/*/lib in the packages of
/// VIRTUAL_ENV and of the user's Python.
Places places_of_environment();

/// A library to search for.
struct Wanted {
  std::string_view name;                      ///< as in FoundLibrary
  std::span<const std::string_view> sonames;  ///< the preferred one first
  std::span<const std::string_view> symbols;  ///< required functions
  std::string_view wanted;                    ///< for errors: "a driver of CUDA 12.1 or newer"
};

/// A library loaded into this process.
struct Opened {
  void* handle = nullptr;  ///< for dlsym(); null if there is none
  FoundLibrary found;      ///< without a version
};

/// Searches for a library and opens it. The toolkit's stub driver does not count as a driver.
Opened open_library(const Wanted& wanted, const Places& places);

/// "13.0" for 13000, the format of the driver and NVRTC.
std::string version_text(int version);
/// "9.19.0" for 91900, the format of cuDNN and cuBLASLt: major * 10000 + minor * 100 + patch.
std::string library_version_text(size_t version);

}  // namespace graphc::core::cuda
