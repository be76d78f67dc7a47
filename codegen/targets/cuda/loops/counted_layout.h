// SPDX-License-Identifier: Apache-2.0
// Which right fragments of a counted loop (counted_loop.h) are in registers, and where all else
// lies in the shared memory of a block.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/targets/cuda/loops/counted_loop.h"

namespace graphc::core::cuda {

/// Lays out the nests and products of a loop in `room` bytes of shared memory. Returns why it
/// cannot; empty if it can.
std::string lay_out_counted(CountedLoop& loop, int64_t room);

}  // namespace graphc::core::cuda
