// SPDX-License-Identifier: Apache-2.0
// What the verbs that read checkpoints share.
#pragma once

#include <CLI/CLI.hpp>

#include "models/checkpoint_folder.h"

namespace graphc::core::commands {

/// Which checkpoint a verb is to read.
struct GivenCheckpoint {
  std::string path;  ///< a folder or a file
  bool last = false;
};

void add_checkpoint_options(CLI::App& verb, GivenCheckpoint& given);

/// Of a folder the best, where its training kept one, or the newest that is whole. Says on stderr
/// which newer files of the folder cannot be read, and which one is used.
Checkpoint read_given(const GivenCheckpoint& given);

}  // namespace graphc::core::commands
