// SPDX-License-Identifier: Apache-2.0
// Generates help, man pages, completion and error messages from the command line's own records. The
// footer of an app or verb is its example.
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

/// Help that begins with the example. Set it before adding verbs, which inherit it.
std::shared_ptr<CLI::FormatterBase> example_first();

/// The possible values of an option (by its long name, "target") or of a positional argument
/// ("MODEL"; "PARAMETERS/lstm-layer" if the first argument is lstm-layer).
using Words = std::map<std::string, std::vector<std::string>, std::less<>>;

/// The words shared by the verbs and graphc-bench: targets, variants, passes, models, ...
Words known_words();

/// A bash script that completes verbs, options and words; anything else completes to files.
std::string bash_completion(const CLI::App& app, const Words& words);
/// The same for zsh, through its bashcompinit.
std::string zsh_completion(const CLI::App& app, const Words& words);

/// The manual page of an app or of one of its verbs, in roff's man macros; section 1.
std::string man_page(const CLI::App& app, std::string_view version);
/// The name of that page: "graphc-dump".
std::string man_name(const CLI::App& app);

/// The error for arguments (without the program's name) that cannot be parsed: the unknown verb or
/// option, with a "did you mean", otherwise CLI11's message.
std::string complaint(const CLI::App& app, const std::vector<std::string>& arguments,
                      const CLI::ParseError& error);

}  // namespace graphc::core::commands
