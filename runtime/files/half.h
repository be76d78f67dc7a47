// SPDX-License-Identifier: Apache-2.0
// Half precision (IEEE 754 binary16) in files: read as f32, which represents every half exactly.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace graphc::core {

/// The number with these 16 bits. A NaN keeps its sign and its payload.
constexpr float float_of_half(uint16_t half) {
  const uint32_t sign = uint32_t(half & 0x8000) << 16, exponent = half >> 10 & 0x1F,
                 fraction = half & 0x3FF;
  if (exponent == 0) {
    // Zero and denormals: multiples of 2^-24.
    const float magnitude = float(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  const uint32_t biased = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | biased << 23 | fraction << 13);
}

/// Converts little-endian bytes; ignores an odd last byte.
inline std::vector<float> floats_of_half(std::span<const std::byte> bytes) {
  std::vector<float> floats(bytes.size() / 2);
  for (size_t i = 0; i < floats.size(); ++i)
    floats[i] = float_of_half(uint16_t(uint8_t(bytes[2 * i]) | uint8_t(bytes[2 * i + 1]) << 8));
  return floats;
}

}  // namespace graphc::core
