// SPDX-License-Identifier: Apache-2.0
#include "models/likeliest.h"

#include <cmath>

namespace graphc::core {

Value keep_likeliest(Value logits, Value ranks) {
  const int64_t k = ranks.shape()[0];
  if (k == 0) return logits;
  // Lowers the threshold to the next lower logit until k logits reach it; k iterations suffice.
  State bar(filled({1}, HUGE_VAL));
  scan(ranks, [&](Value) {
    const Value passed = sum(cast(greater_equal(logits, bar), DType::i32), 1);
    const Value next = max(select(less(logits, bar), logits, -HUGE_VAL), 1);
    bar = select(greater_equal(passed, k), bar, next);
  });
  return select(greater_equal(logits, bar), logits, -HUGE_VAL);
}

Literal ranks_of(int64_t k, int64_t n) { return Literal(Type{DType::i32, {k < n ? k : 0}}); }

}  // namespace graphc::core
