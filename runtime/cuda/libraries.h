// SPDX-License-Identifier: Apache-2.0
// The shared libraries of CUDA: where they are looked for, and what was found. None is linked.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::core::cuda {

/// What came of looking for a library. When `why_not` is empty it was found and can be used.
struct FoundLibrary {
  std::string name;     ///< "driver", "nvrtc", "cudnn" or "cublaslt"
  std::string path;     ///< of the file that was opened; may be empty if none was
  std::string version;  ///< "13.0"; empty if not known
  std::string why_not;  ///< in one line
};

/// All libraries, in the order of the names above. Opens each, at most once a process; none is ever
/// closed again, for what they have started cannot be stopped.
std::vector<FoundLibrary> found_libraries();

/// Where libraries are looked for, in this order.
struct Places {
  /// The folders of GRAPHC_CUDA_LIBRARIES. What they hold is taken: a file there that cannot be
  /// used is the end of the search, and so is a folder that is not there.
  std::vector<std::filesystem::path> named;
  /// Whether the system's own search follows: LD_LIBRARY_PATH and what ldconfig knows.
  bool system = true;
  /// The toolkit's folders, then those of Python packages. What cannot be used there, or in the
  /// system's search, is passed over; if nothing else is found, it is the reason.
  std::vector<std::filesystem::path> folders;
};

/// The places as the environment names them: GRAPHC_CUDA_LIBRARIES (folders between ':', or "none"
/// for no place at all), CUDA_HOME, CUDA_PATH, /usr/local/cuda, and nvidia/*/lib among the packages
/// of VIRTUAL_ENV and of the user's Python.
Places places_of_environment();

/// A library to look for.
struct Wanted {
  std::string_view name;                      ///< as in FoundLibrary
  std::span<const std::string_view> sonames;  ///< the preferred one first
  std::span<const std::string_view> symbols;  ///< what it must have to be used
  std::string_view wanted;                    ///< in words: "a driver of CUDA 12.1 or newer"
};

/// A library in this process.
struct Opened {
  void* handle = nullptr;  ///< for dlsym(); null if there is none
  FoundLibrary found;      ///< without a version
};

/// Looks for a library and opens it. The toolkit's stub of the driver is not a driver.
Opened open_library(const Wanted& wanted, const Places& places);

/// "13.0" of 13000, as the driver and NVRTC count.
std::string version_text(int version);
/// "9.19.0" of 91900, as cuDNN and cuBLASLt count: major * 10000 + minor * 100 + patch.
std::string library_version_text(size_t version);

}  // namespace graphc::core::cuda
