// SPDX-License-Identifier: Apache-2.0
// NVRTC's types and functions, declared here so that a build needs no toolkit.
#pragma once

#include <cstddef>

namespace graphc::core::cuda {

enum nvrtcResult : int {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_INVALID_INPUT = 3,
  NVRTC_ERROR_INVALID_PROGRAM = 4,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
  NVRTC_ERROR_INTERNAL_ERROR = 11,
};

using nvrtcProgram = struct _nvrtcProgram*;

/// NVRTC's functions under their names.
struct Nvrtc {
#define GRAPHC_NVRTC_FUNCTION(name, parameters) nvrtcResult(*name) parameters = nullptr;
#include "runtime/cuda/nvrtc.def"
#undef GRAPHC_NVRTC_FUNCTION
  const char* (*nvrtcGetErrorString)(nvrtcResult) = nullptr;
};

}  // namespace graphc::core::cuda
