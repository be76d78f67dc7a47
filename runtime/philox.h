// SPDX-License-Identifier: Apache-2.0
// The random numbers of the op `uniform`, computed by host code: compiling a kernel takes longer
// than drawing everything that a small model needs.
#pragma once

#include <cstdint>
#include <span>

namespace graphc::core {

/// Numbers per block of Philox4x32-10: the upper 24 bits of each of its 32-bit words give one.
constexpr int64_t kNumbersOfBlock = 4;

/// Sets numbers[i] to the result of the op `uniform` (ir/ops/composites.cpp) under `key` at the
/// row-major index `kNumbersOfBlock * first_block + i`: in [0, 1), the same bits on every machine.
void fill_uniform(int64_t key, int64_t first_block, std::span<float> numbers);

/// The same with instructions of every x86-64 processor.
void fill_uniform_plainly(int64_t key, int64_t first_block, std::span<float> numbers);

}  // namespace graphc::core
