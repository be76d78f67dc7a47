// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/replay_collectives.h"

#include "codegen/step/access.h"
#include "codegen/step/visit.h"

namespace graphc::core::testing {

void ReplayedCollectives::check(ReplayMemory& memory, const Record& record) const {
  if (open_.empty()) return;
  const auto* own = std::get_if<ExternCall>(&record.call);
  if (own != nullptr && is_wait(*own)) return;
  visit_accesses(lowered_, record, [&](const Access& access) {
    visit_reads(*access.address, [&](const Address& address) {
      for (const auto& [number, call] : open_) {
        for (size_t i = 0; i < call->operands.size(); ++i) {
          const bool written = i >= reads_of(*call);
          if (call->operands[i].address.buffer != address.buffer) continue;
          if (written || access.writes()) {
            memory.fail(fmt::format("%{} is {} before the wait for {}",
                                    lowered_.buffers[size_t(address.buffer)].name,
                                    access.writes() ? "written" : "read", call->name));
          }
        }
      }
    });
  });
}

void ReplayedCollectives::check_end(ReplayMemory& memory) const {
  if (!open_.empty()) memory.fail(fmt::format("nobody waits for {}", open_.begin()->second->name));
}

}  // namespace graphc::core::testing
