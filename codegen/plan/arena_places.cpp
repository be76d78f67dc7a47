// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan/arena_places.h"

#include "ir/mutant.h"

namespace graphc::core {

bool is_in_arena(const Buffer& buffer) {
  return buffer.place == Place::arena && buffer.first_phase >= 0;
}

int64_t arena_room(const Buffer& buffer) {
  constexpr int64_t kSlack = 64;
  return (buffer.bytes + kSlack + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

bool live_together(const Buffer& a, const Buffer& b) {
  const int early = mutated(Mutant::buffer_reused_early) ? 1 : 0;
  return a.first_phase <= b.last_phase - early && b.first_phase <= a.last_phase - early;
}

}  // namespace graphc::core
