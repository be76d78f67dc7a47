// SPDX-License-Identifier: Apache-2.0
// The options of verbs that read texts and tables: --encoding, --decimal, --names.
#pragma once

#include "models/data/texts.h"

namespace CLI {
class App;
}

namespace graphc::core::commands {

/// Adds the options to a verb; remarks on what is read go to stderr.
void add_reading_options(CLI::App& verb, Reading& reading);

}  // namespace graphc::core::commands
