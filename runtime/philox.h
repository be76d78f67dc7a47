// SPDX-License-Identifier: Apache-2.0
// The numbers of the operation `uniform`, by code that is compiled with graphc: the compilation of
// a kernel for them takes longer than all that a small model draws.
#pragma once

#include <cstdint>
#include <span>

namespace graphc::core {

/// How many numbers a block of Philox4x32-10 has: 32-bit words, of whose upper 24 bits each is one.
constexpr int64_t kNumbersOfBlock = 4;

/// Sets numbers[i] to what the operation `uniform` (ir/ops/composites.cpp) gives under `key` at the
/// row-major index `kNumbersOfBlock * first_block + i`: in [0, 1), the same bits on every machine.
void fill_uniform(int64_t key, int64_t first_block, std::span<float> numbers);

/// The same without instructions that not every x86-64 processor has.
void fill_uniform_plainly(int64_t key, int64_t first_block, std::span<float> numbers);

}  // namespace graphc::core
