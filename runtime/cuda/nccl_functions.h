// SPDX-License-Identifier: Apache-2.0
// NCCL's types and functions, declared here so that a build needs no NCCL. Names and values follow
// the documentation.
#pragma once

#include <cstddef>

#include "runtime/cuda/driver_types.h"

namespace graphc::core::cuda {

enum ncclResult_t : int {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
};
enum ncclDataType_t : int { ncclInt8 = 0 };

/// What the ranks of a communicator agree on before it begins. Passed by value.
struct ncclUniqueId {
  char internal[128];
};
using ncclComm_t = struct ncclComm*;

/// NCCL's functions under their names.
struct Nccl {
#define GRAPHC_NCCL_FUNCTION(name, parameters) ncclResult_t(*name) parameters = nullptr;
#include "runtime/cuda/nccl.def"
#undef GRAPHC_NCCL_FUNCTION
  const char* (*ncclGetErrorString)(ncclResult_t) = nullptr;
  const char* (*ncclGetLastError)(ncclComm_t) = nullptr;
};

}  // namespace graphc::core::cuda
