// SPDX-License-Identifier: Apache-2.0
#include "runtime/matrix_tiles.h"

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "runtime/tile_products.h"

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

void graphc_tdpbf16ps(int64_t sums, int64_t left, int64_t right) {
  multiply_tiles(tiles[size_t(sums)][0].data(), tiles[size_t(left)][0].data(),
                 tiles[size_t(right)][0].data());
}

}  // namespace graphc::core
