// SPDX-License-Identifier: Apache-2.0
// Shared by the verbs that read checkpoints.
#pragma once

#include <CLI/CLI.hpp>

#include "models/checkpoint_folder.h"

namespace graphc::core::commands {

/// The checkpoint to read.
struct GivenCheckpoint {
  std::string path;  ///< a folder or a file
  bool last = false;
};

void add_checkpoint_options(CLI::App& verb, GivenCheckpoint& given);

/// Reads a checkpoint; of a folder the best one if its training kept it, otherwise the newest
/// undamaged one. Reports on stderr which newer files of the folder cannot be read, and which one
/// is used.
Checkpoint read_given(const GivenCheckpoint& given);

}  // namespace graphc::core::commands
