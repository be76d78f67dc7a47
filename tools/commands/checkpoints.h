// SPDX-License-Identifier: Apache-2.0
// What the verbs that read checkpoints share.
#pragma once

#include "models/checkpoint.h"

namespace graphc::core::commands {

/// Says on stderr which newer files of the folder cannot be read, and which one is used.
void warn_of_damage(const Checkpoint& checkpoint);

}  // namespace graphc::core::commands
