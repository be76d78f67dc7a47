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

}  // namespace graphc::core::testing
