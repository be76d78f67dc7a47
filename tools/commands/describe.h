// SPDX-License-Identifier: Apache-2.0
// A command line described from its own records: help, man pages, completion, and what is wrong
// with one that does not parse. The example of an app or verb is its footer.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::core::commands {

/// The verbs of an app, in the order of its help.
std::vector<std::string> verb_names(const CLI::App& app);
/// The verb called `name`, or null.
const CLI::App* find_verb(const CLI::App& app, const std::string& name);

/// Help that begins with the example. Set it before verbs are added: they inherit it.
std::shared_ptr<CLI::FormatterBase> example_first();

/// What stands after an option (by its long name, "target") or for a positional argument ("MODEL";
/// "PARAMETERS/lstm-layer" where the first argument is lstm-layer).
using Words = std::map<std::string, std::vector<std::string>, std::less<>>;

/// The words that verbs and graphc-bench share: targets, variants, passes, models, ...
Words known_words();

/// A script for bash that completes verbs, options and words; what it does not know are files.
std::string bash_completion(const CLI::App& app, const Words& words);
/// The same for zsh, by its bashcompinit.
std::string zsh_completion(const CLI::App& app, const Words& words);

/// The manual page, in roff's man macros, of an app or of a verb of one; section 1.
std::string man_page(const CLI::App& app, std::string_view version);
/// "graphc-dump": the name of that page.
std::string man_name(const CLI::App& app);

/// What is wrong with arguments (without the program's name) that do not parse: the unknown verb or
/// option, with a "did you mean", else what CLI11 says.
std::string complaint(const CLI::App& app, const std::vector<std::string>& arguments,
                      const CLI::ParseError& error);

}  // namespace graphc::core::commands
