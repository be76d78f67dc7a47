// SPDX-License-Identifier: Apache-2.0
// The registers in which lanes of a counted loop hold values (counted_memory.h).
#include <algorithm>

#include "codegen/targets/cuda/loops/counted_text.h"
#include "codegen/targets/cuda/text/loaded_text.h"

namespace graphc::core::cuda::internal {

std::string held_name(const HeldStore& store) {
  return fmt::format("held_{}_{}", store.nest, store.store);
}
std::string held_name(const HeldValues& held, const HeldLoad& load) {
  return load.from >= 0 ? held_name(held.stores[size_t(load.from)])
                        : fmt::format("held_{}_{}", load.nest, load.load);
}

void write_held_registers(TextWriter& text, const CountedLoop& loop, const LoopNests& nests) {
  const auto declare = [&](const LoadedRegisters& registers, size_t nest, bool begins) {
    text.line("{}{};", registers.declaration(loop.rows_of_lane, 2 * loop.nests[nest].tiles_of_warp),
              begins ? " = {}" : "");
  };
  // Elements that are not there are zeros, also where the first step finds them.
  for (size_t i = 0; i < loop.held.stores.size(); ++i) {
    const HeldStore& store = loop.held.stores[i];
    const bool begins = std::ranges::any_of(loop.held.loads, [&](const HeldLoad& load) {
      return load.from == int(i) && load.before_first;
    });
    declare({held_name(store), DType::f32, Columns::one}, store.nest, begins);
  }
  for (const HeldLoad& load : loop.held.loads) {
    if (load.from >= 0) continue;
    const NestProgram& program = nests.program(load.nest);
    const int operand = program.body[load.load].operand;
    const bool is_pair = std::ranges::count(loop.pairs[load.nest], load.load) > 0;
    declare({held_name(loop.held, load), program.operands[size_t(operand)].dtype,
             is_pair ? Columns::two : Columns::one},
            load.nest, true);
  }
}

bool has_beginning(const CountedLoop& loop, size_t nest) {
  return std::ranges::any_of(loop.held.loads, [&](const HeldLoad& load) {
    return load.nest == nest && load.before_first;
  });
}

}  // namespace graphc::core::cuda::internal
