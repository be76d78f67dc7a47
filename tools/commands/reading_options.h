// SPDX-License-Identifier: Apache-2.0
// The options of verbs that read texts and tables: --encoding, --decimal, --names.
#pragma once

#include <string>

#include "models/program.h"

namespace CLI {
class App;
}

namespace graphc::core::commands {

/// Adds the options to a verb; remarks on the data go to stderr, each once.
void add_reading_options(CLI::App& verb, Reading& reading);

/// Throws ErrorKind::usage for an option that does not apply to `what`, which reads data of this
/// kind: texts accept only the encoding, arrays (`.npy`) nothing.
void check_reading(const Reading& reading, DataKind kind, const std::string& what,
                   const std::string& data);

}  // namespace graphc::core::commands
