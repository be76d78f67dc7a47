// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/checkpoints.h"

#include "ir/utf8.h"
#include "runtime/streams.h"

namespace graphc::core::commands {

void warn_of_damage(const Checkpoint& checkpoint) {
  for (const PassedOver& damaged : checkpoint.passed_over) {
    write_message(printable_message(fmt::format("warning: {}; '{}' of step {} is used",
                                                damaged.fault, checkpoint.file.filename().string(),
                                                checkpoint.position.step)));
  }
}

}  // namespace graphc::core::commands
