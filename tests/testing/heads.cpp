// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/heads.h"

#include <fmt/format.h>

#include "ir/text.h"

namespace graphc::core::testing {

GraphPtr cell_with_heads(int64_t heads, int64_t batch, int64_t units, const std::string& more) {
  return parse_graph(fmt::format(
      R"(
      graph @heads(%x: f32[4,{1},{0},{3}], %h0: f32[{1},{0},{2}], %u: f32[{0},{2},{3}]) {{
        %y, %h.e, %c.e = scan %x.t in %x carry %h = %h0, %c = %h0 with %w = %u {{
          %r = transpose(%h) {{permutation = [1,0,2]}}
          %p = transpose(matmul(%r, %w)) {{permutation = [1,0,2]}}
          %f, %g = split(add(add(%x.t, %p), {4})) {{axis = 2, parts = 2}}
          %c.1 = add(mul(sigmoid(%f), %c), tanh(%g))
          %h.1 = mul(sigmoid(%g), %c.1)
          next %h = %h.1, %c = %c.1
          emit %h.1
        }}
        %loss = mean(square(%y)) {{axes = [0,1,2,3]}}
        %dx, %dh, %du = grad(%loss, %x, %h0, %u)
        return %y, %dx, %dh, %du
      }})",
      heads, batch, units, 2 * units, more));
}

GraphPtr cell_with_heads_in_a_vector(int64_t heads, int64_t batch, int64_t units) {
  const int64_t all = heads * units;
  return parse_graph(fmt::format(
      R"(
      graph @heads(%x: f32[4,{1},{4}], %h0: f32[{1},{3}], %b: f32[{4}], %u: f32[{0},{2},{5}]) {{
        %y, %h.e, %c.e = scan %x.t in %x carry %h = %h0, %c = %h0 with %w = %u, %b {{
          %r = transpose(reshape(%h) {{shape = [{1},{0},{2}]}}) {{permutation = [1,0,2]}}
          %p = transpose(matmul(%r, %w)) {{permutation = [1,0,2]}}
          %q = transpose(reshape(%p) {{shape = [{1},{0},2,{2}]}}) {{permutation = [0,2,1,3]}}
          %z = add(add(%x.t, reshape(%q) {{shape = [{1},{4}]}}), %b)
          %f = slice(%z) {{axis = 1, start = 0, limit = {3}}}
          %g = slice(%z) {{axis = 1, start = {3}, limit = {4}}}
          %c.1 = add(mul(sigmoid(%f), %c), tanh(%g))
          %h.1 = mul(sigmoid(%g), %c.1)
          next %h = %h.1, %c = %c.1
          emit %h.1
        }}
        %loss = mean(square(%y)) {{axes = [0,1,2]}}
        %dx, %dh, %db, %du = grad(%loss, %x, %h0, %b, %u)
        return %y, %dx, %dh, %db, %du
      }})",
      heads, batch, units, all, 2 * all, 2 * units));
}

}  // namespace graphc::core::testing
