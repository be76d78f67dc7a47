// SPDX-License-Identifier: Apache-2.0
// NCCL: where it is, and its version.
#include <dlfcn.h>

#include <array>

#include "runtime/cuda/libraries.h"

namespace graphc::core::cuda {
namespace {

constexpr std::array<std::string_view, 1> kNcclNames{"libnccl.so.2"};
constexpr std::array<std::string_view, 4> kNcclSymbols{"ncclGetVersion", "ncclCommInitRank",
                                                       "ncclAllReduce", "ncclAllGather"};

FoundLibrary find_nccl() {
  Opened opened =
      open_library({"nccl", kNcclNames, kNcclSymbols, "NCCL 2"}, places_of_environment());
  if (opened.handle == nullptr) return opened.found;
  using GetVersion = int (*)(int*);
  const auto get = reinterpret_cast<GetVersion>(dlsym(opened.handle, "ncclGetVersion"));
  // 21805 is 2.18.5: since 2.9, of 2021.
  int version = 0;
  if (get(&version) == 0) opened.found.version = library_version_text(size_t(version));
  return opened.found;
}

}  // namespace

FoundLibrary nccl_library() {
  static const FoundLibrary found = find_nccl();
  return found;
}

}  // namespace graphc::core::cuda
