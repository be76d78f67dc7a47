// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/checkpoints.h"

#include "ir/utf8.h"
#include "runtime/streams.h"
#include "tools/commands/commands.h"

namespace graphc::core::commands {

void add_checkpoint_options(CLI::App& verb, GivenCheckpoint& given) {
  verb.add_option("CHECKPOINT", given.path,
                  "what `graphc train --checkpoint` wrote: the folder or a file")
      ->required();
  verb.add_flag("--last", given.last,
                "of a folder the newest checkpoint, where --patience has kept the best too");
}

Checkpoint read_given(const GivenCheckpoint& given) {
  std::error_code ignored;
  if (given.last && std::filesystem::is_regular_file(given.path, ignored))
    throw usage_error("--last has no effect: '{}' is a file", given.path);
  Checkpoint checkpoint =
      given.last ? read_checkpoint(given.path) : read_best_checkpoint(given.path);
  for (const PassedOver& damaged : checkpoint.passed_over) {
    write_message(printable_message(fmt::format("warning: {}; '{}' of step {} is used",
                                                damaged.fault, checkpoint.file.filename().string(),
                                                checkpoint.position.step)));
  }
  return checkpoint;
}

}  // namespace graphc::core::commands
