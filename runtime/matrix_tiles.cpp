// SPDX-License-Identifier: Apache-2.0
#include "runtime/matrix_tiles.h"

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace graphc::core {
namespace {

// Linux, Documentation/arch/x86/xstate.rst.
constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
constexpr unsigned long kTileData = 18;      // the state component of the tiles

/// The operand of LDTILECFG: palette 1, eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfiguration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

__attribute__((target("amx-tile"))) void configure() {
  TileConfiguration configuration;
  for (int tile = 0; tile < 8; ++tile) {
    configuration.row_bytes[tile] = kTileRowBytes;
    configuration.rows[tile] = kTileRows;
  }
  _tile_loadconfig(&configuration);
}

/// The scopes of this thread: fibers of a step that take turns on it have one each.
thread_local int scopes = 0;

__attribute__((target("amx-tile"))) void release() { _tile_release(); }

using Tile = std::array<std::array<char, kTileRowBytes>, kTileRows>;
thread_local std::array<Tile, 8> tiles{};

float flushed(float x) { return std::abs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

float bf16_at(const char* from) {
  uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return flushed(std::bit_cast<float>(uint32_t(bits) << 16));
}

bool processor_has_tiles() {
  return __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-bf16");
}

/// 0, or the error with which the system refused.
int asked_for_tiles() {
  static const int error = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0 ? 0 : errno;
  return error;
}

}  // namespace

bool has_matrix_tiles() { return processor_has_tiles() && asked_for_tiles() == 0; }

std::string matrix_tiles_refused() {
  if (!processor_has_tiles() || asked_for_tiles() == 0) return "";
  // The one reason that the program can fix: signal stacks too small for the registers.
  return std::string(std::strerror(asked_for_tiles())) +
         (asked_for_tiles() == ENOSPC ? ": an alternate signal stack (sigaltstack) is too small"
                                      : "");
}

MatrixTileScope::MatrixTileScope(MatrixTiles tiles) : tiles_(tiles) {
  if (tiles_ == MatrixTiles::hardware && scopes++ == 0) configure();
}

MatrixTileScope::~MatrixTileScope() {
  if (tiles_ == MatrixTiles::hardware && --scopes == 0) release();
}

void graphc_tilezero(int64_t tile) { tiles[size_t(tile)] = {}; }

void graphc_tileloadd(int64_t tile, const void* from, int64_t row_bytes) {
  for (auto& row : tiles[size_t(tile)]) {
    std::memcpy(row.data(), from, row.size());
    from = static_cast<const char*>(from) + row_bytes;
  }
}

void graphc_tilestored(int64_t tile, void* to, int64_t row_bytes) {
  for (const auto& row : tiles[size_t(tile)]) {
    std::memcpy(to, row.data(), row.size());
    to = static_cast<char*>(to) + row_bytes;
  }
}

/// Even and odd terms are summed separately from 0; the two sums are joined, then added.
void graphc_tdpbf16ps(int64_t sums, int64_t left, int64_t right) {
  for (size_t m = 0; m < kTileRows; ++m) {
    const char* a = tiles[size_t(left)][m].data();
    for (size_t n = 0; n < kTileColumns; ++n) {
      float terms[2] = {0, 0};
      for (size_t k = 0; k < kTileK; ++k) {
        const char* b = tiles[size_t(right)][k / 2].data() + 4 * n + 2 * (k % 2);
        terms[k % 2] = flushed(std::fma(bf16_at(a + 2 * k), bf16_at(b), terms[k % 2]));
      }
      char* const place = tiles[size_t(sums)][m].data() + 4 * n;
      float sum;
      std::memcpy(&sum, place, sizeof sum);
      sum = flushed(flushed(sum) + flushed(terms[0] + terms[1]));
      std::memcpy(place, &sum, sizeof sum);
    }
  }
}

}  // namespace graphc::core
