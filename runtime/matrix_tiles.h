// SPDX-License-Identifier: Apache-2.0
// Matrix tiles: eight registers a thread of 16 rows of 64 bytes, and one instruction that
// multiplies 16 x 32 by 32 x 16 bf16 and adds to 16 x 16 f32 (Intel AMX: Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 1, chapter 18).
//
// A tile of left rows holds [row][term], one of a matrix [pair of terms][column][2]. The processor
// takes denormal numbers for zeros and rounds to nearest, whatever MXCSR says.
#pragma once

#include <cstdint>
#include <string>

namespace graphc::core {

inline constexpr int kTileRows = 16;      ///< of a tile of left rows, and of sums
inline constexpr int kTileColumns = 16;   ///< of a tile of the matrix, and of sums
inline constexpr int kTileTerms = 32;     ///< of the sum that one instruction adds
inline constexpr int kTileBytes = 1024;   ///< of every tile
inline constexpr int kTileRowBytes = 64;  ///< of a row of one

/// What multiplies matrix tiles on a CPU.
enum class MatrixTiles : uint8_t {
  none,
  hardware,  ///< AMX with bf16, of which the operating system lets this process have the registers
  /// No registers of tiles but the dot product of AVX-512 BF16, on vectors of a tile's pairs of
  /// terms: each pair of terms is added to the sum by itself.
  dot_products,
  software,  ///< functions of this file in place of instructions: any processor, slowly, for tests
};

/// Whether this processor has them and the operating system, which is asked once, lets this process
/// have the registers.
bool has_matrix_tiles();
/// Why the operating system does not let this process have those of its processor; "" where it
/// does, or where there are none.
std::string matrix_tiles_refused();

/// While one exists its thread may run code with matrix tiles. Several of a thread may overlap.
class MatrixTileScope {
 public:
  explicit MatrixTileScope(MatrixTiles tiles);
  MatrixTileScope(const MatrixTileScope&) = delete;
  ~MatrixTileScope();

 private:
  const MatrixTiles tiles_;
};

/// What emitted code calls where MatrixTiles::software: the instructions of these names, on tiles
/// of the calling thread. Bit for bit what hardware has.
extern "C" {
void graphc_tilezero(int64_t tile);
void graphc_tileloadd(int64_t tile, const void* from, int64_t row_bytes);
void graphc_tilestored(int64_t tile, void* to, int64_t row_bytes);
void graphc_tdpbf16ps(int64_t sums, int64_t left, int64_t right);
}

}  // namespace graphc::core
