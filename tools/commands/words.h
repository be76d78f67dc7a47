// SPDX-License-Identifier: Apache-2.0
// Checks the words of a command line before CLI11 parses them: it would take the next option as the
// value of one without a value.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace graphc::core::commands {

/// The words after the program's name. Throws ErrorKind::usage, naming the option, for `--option=`
/// without a value, the result of an unset shell variable, and for `--option` before a word that
/// begins with `--`: such a value must be written `--option=--value`. Only prompts may be empty, in
/// either form.
std::vector<std::string> checked_words(const CLI::App& app, int argc, const char* const* argv);

/// Parses them with the app.
void parse_words(CLI::App& app, int argc, const char* const* argv);

/// Whether the option accepts an empty word.
bool may_be_empty(const CLI::Option& option);

}  // namespace graphc::core::commands
