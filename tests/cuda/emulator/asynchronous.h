// SPDX-License-Identifier: Apache-2.0
// mbarriers in shared memory, and the asynchronous writes that they count (PTX ISA, "mbarrier",
// "st.async", "cp.async.bulk").
//
// An asynchronous write is nobody's: it happens at any time after the instruction that began it, in
// any order with others, and is visible to those who waited for the phase of the mbarrier that
// counted its bytes, and to nobody else. It comes after all that the thread that began it had heard
// of, and after what that thread itself read, since what it sends is computed from that.
#pragma once

#include "tests/cuda/emulator/grid.h"
#include "tests/cuda/emulator/ptx.h"

namespace graphc::core::cuda_emulator {

/// An address of shared memory is a number of 32 bits: an offset, and above it the number of a
/// block of the cluster from 1; 0 stands for the own block.
constexpr uint32_t shared_offset_bits = 24;

/// Where such an address leads.
struct SharedPlace {
  Block* block = nullptr;
  uint64_t offset = 0;
};

}  // namespace graphc::core::cuda_emulator
