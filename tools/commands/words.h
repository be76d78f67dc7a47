// SPDX-License-Identifier: Apache-2.0
// The words of a command line before CLI11 reads them: it would take the next option for the value
// of one that has none.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace graphc::core::commands {

/// The words behind the program's name. Throws ErrorKind::usage, naming the option, for
/// `--option=` with nothing behind it, as a variable of the shell that is not set leaves it, and
/// for `--option` before a word that begins with `--`: such a value is written `--option=--value`.
/// Prompts alone may be empty, in either form.
std::vector<std::string> checked_words(const CLI::App& app, int argc, const char* const* argv);

/// Reads them with the app.
void parse_words(CLI::App& app, int argc, const char* const* argv);

/// Whether an empty word is a value of the option.
bool may_be_empty(const CLI::Option& option);

}  // namespace graphc::core::commands
