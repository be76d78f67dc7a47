// SPDX-License-Identifier: Apache-2.0
// Matrix tiles (Intel AMX): eight tile registers per thread, each of 16 rows of 64 bytes, and an
// instruction that multiplies 16 x 32 by 32 x 16 bf16 and adds to 16 x 16 f32 (Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 1, chapter 18).
//
// A tile of the left operand holds [row][k], a tile of the right operand [k / 2][column][2]. The
// instruction treats denormals as zeros and rounds to nearest, whatever MXCSR says.
#pragma once

#include <cstdint>
#include <string>

namespace graphc::core {

inline constexpr int kTileRows = 16;      ///< of a left tile, and of an accumulator
inline constexpr int kTileColumns = 16;   ///< of a right tile, and of an accumulator
inline constexpr int kTileK = 32;         ///< the k extent of one instruction
inline constexpr int kTileBytes = 1024;   ///< per tile
inline constexpr int kTileRowBytes = 64;  ///< per tile row

/// The implementation of matrix tiles on a CPU.
enum class MatrixTiles : uint8_t {
  none,
  hardware,  ///< AMX-BF16, with tile registers enabled for this process
  /// No tile registers, but the dot product of AVX-512 BF16 on vectors of pairs along k: each pair
  /// is added to the sum separately.
  dot_products,
  software,  ///< functions in this file instead of instructions: any CPU, slow, for tests
};

/// Whether this processor has matrix tiles and the operating system lets this process use them; the
/// system is queried once.
bool has_matrix_tiles();
/// Why the operating system denies this process the processor's tiles; "" if it does not, or if
/// there are none.
std::string matrix_tiles_refused();

/// During its lifetime this thread may run code with matrix tiles. Scopes of one thread may
/// overlap.
class MatrixTileScope {
 public:
  explicit MatrixTileScope(MatrixTiles tiles);
  MatrixTileScope(const MatrixTileScope&) = delete;
  ~MatrixTileScope();

 private:
  const MatrixTiles tiles_;
};

/// Called by emitted code with MatrixTiles::software: the instructions with these names, on the
/// calling thread's tiles. Bit-identical to hardware.
extern "C" {
void graphc_tilezero(int64_t tile);
void graphc_tileloadd(int64_t tile, const void* from, int64_t row_bytes);
void graphc_tilestored(int64_t tile, void* to, int64_t row_bytes);
void graphc_tdpbf16ps(int64_t sums, int64_t left, int64_t right);
}

}  // namespace graphc::core
