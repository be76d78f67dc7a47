// SPDX-License-Identifier: Apache-2.0
#include "codegen/walk/panels.h"

#include <xmmintrin.h>

#include <algorithm>
#include <cstring>

namespace graphc::core::cpu {
namespace {

/// Copies `steps` steps of k of `columns` columns, element by element, to a panel of the source.
void copy_elements(const char* from, const PanelSource& s, int64_t steps, int64_t columns,
                   float* to) {
  for (int64_t k = 0; k < steps; ++k) {
    for (int64_t column = 0; column < columns; ++column)
      std::memcpy(to + k * s.parts * s.width + column,
                  from + k * s.k_stride + column * s.column_stride, sizeof(float));
  }
}

/// For contiguous columns: copies whole rows, each to all panels. Successive rows are on different
/// pages, so the hardware does not prefetch them; this does.
void pack_rows(const PanelSource& s, float* panels) {
  const auto base = reinterpret_cast<uintptr_t>(s.base);
  const size_t bytes = size_t(s.columns) * sizeof(float);
  const int64_t panel_floats = s.k * s.parts * s.width;
  for (int64_t k = 0; k < s.k; ++k) {
    for (int part = 0; part < s.parts; ++part, panels += s.width) {
      fetch(base + uintptr_t((k + kRowsAhead) * s.k_stride + part * s.part_stride), bytes);
      const char* from = s.base + k * s.k_stride + part * s.part_stride;
      float* to = panels;
      for (int64_t left = s.columns; left > 0; left -= s.width) {
        const int64_t columns = std::min(left, s.width);
        std::memcpy(to, from, size_t(columns) * sizeof(float));
        std::fill(to + columns, to + s.width, 0.0f);
        from += columns * int64_t(sizeof(float));
        to += panel_floats;
      }
    }
  }
}

/// Transposes four columns of four steps of k each into four rows of a panel.
void transpose_four(const char* from, int64_t column_stride, float* to, int64_t row) {
  const auto column = [&](int64_t i) {
    return _mm_loadu_ps(reinterpret_cast<const float*>(from + i * column_stride));
  };
  __m128 a = column(0), b = column(1), c = column(2), d = column(3);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a);
  _mm_storeu_ps(to + row, b);
  _mm_storeu_ps(to + 2 * row, c);
  _mm_storeu_ps(to + 3 * row, d);
}

/// For contiguous k: transposes in pieces of one cache line of each column, which stay in the
/// first-level cache. Columns are on different pages, so the hardware does not prefetch them; this
/// does.
void pack_transposed(const PanelSource& s, float* panel) {
  constexpr int64_t kPiece = 16;
  const int64_t row = s.parts * s.width;
  for (int64_t k0 = 0; k0 < s.k; k0 += kPiece) {
    const int64_t steps = std::min(kPiece, s.k - k0);
    for (int part = 0; part < s.parts; ++part) {
      const char* const base = s.base + part * s.part_stride + k0 * s.k_stride;
      float* const to = panel + k0 * row + part * s.width;
      for (int64_t column = 0; column < s.columns; column += 4) {
        const int64_t columns = std::min<int64_t>(4, s.columns - column);
        const char* const from = base + column * s.column_stride;
        for (int64_t c = 0; c < columns; ++c)
          fetch(reinterpret_cast<uintptr_t>(from) +
                    uintptr_t(c * s.column_stride + kRowsAhead * kPiece * s.k_stride),
                1);
        for (int64_t k = 0; k < steps; k += 4) {
          if (columns == 4 && steps - k >= 4) {
            transpose_four(from + k * s.k_stride, s.column_stride, to + k * row + column, row);
          } else {
            copy_elements(from + k * s.k_stride, s, std::min<int64_t>(4, steps - k), columns,
                          to + k * row + column);
          }
        }
      }
      for (int64_t k = 0; k < steps; ++k)
        std::fill(to + k * row + s.columns, to + k * row + s.width, 0.0f);
    }
  }
}

}  // namespace

void make_panel(const PanelSource& s, float* panel) {
  if (s.column_stride == sizeof(float)) return pack_rows(s, panel);
  if (s.k_stride == sizeof(float)) return pack_transposed(s, panel);
  std::fill(panel, panel + s.k * s.parts * s.width, 0.0f);
  for (int part = 0; part < s.parts; ++part)
    copy_elements(s.base + part * s.part_stride, s, s.k, s.columns, panel + part * s.width);
}

void make_panels(const PanelSource& s, float* panels) {
  if (s.column_stride == sizeof(float)) return pack_rows(s, panels);
  PanelSource block = s;
  for (int64_t column = 0; column < s.columns; column += s.width) {
    block.base = s.base + column * s.column_stride;
    block.columns = std::min(s.width, s.columns - column);
    make_panel(block, panels);
    panels += s.k * s.parts * s.width;
  }
}

}  // namespace graphc::core::cpu
