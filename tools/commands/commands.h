// SPDX-License-Identifier: Apache-2.0
// The verbs of `graphc`: each adds itself to the command line and says what to do when it is used.
#pragma once

#include <functional>
#include <string>

#include "frontend/model_file.h"
#include "ir/graph.h"

// CLI11 has objects of its own in every source that includes it: only those that use it do.
namespace CLI {
class App;
}

namespace graphc::core::commands {

/// What the chosen verb does; returns the exit code.
using Action = std::function<int()>;

void add_check(CLI::App& app, Action& action);
void add_documents(CLI::App& app, Action& action);
void add_dump(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_generate(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_lists(CLI::App& app, Action& action);
void add_opt(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_summary(CLI::App& app, Action& action);
void add_train(CLI::App& app, Action& action);

/// An error in the command line.
template <typename... Args>
Error usage_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::usage, {}, fmt::format(format, std::forward<Args>(args)...));
}

/// Writes to stdout; to a terminal as printable_lines() shows it, elsewhere every byte as it is.
/// Throws ErrorKind::resource when it takes no more.
void write_stdout(std::string_view text);
/// The content of a file with a graph, or of stdin for "-".
std::string read_text(const std::string& path);
/// What is in a file: a model file (frontend/model_file.h) where its name ends in `.graphc`,
/// protobuf's binary form in `.pb`, its text form in `.pbtxt`, JSON in `.json`; any other is text
/// of ir/text.h, and so is stdin, "-". Only a model file has values of states. Throws
/// ErrorKind::input, naming the file, when it has no graph.
ModelFile read_any_model(const std::string& path);
/// As read_any_model(), of what was read from the file.
ModelFile parse_any_model(const std::string& content, const std::string& path);
/// The module of read_any_model().
Module read_module(const std::string& path);
/// The error about a word that stands where a model or a file is wanted.
Error no_model_or_file(const std::string& word);
/// Throws no_model_or_file() unless there is such a file, or the word ends like the name of one:
/// reading it then says what is wrong.
void check_is_file(const std::string& word);
/// Throws ErrorKind::usage when the name that --graph gives is none of `names`.
void check_graph_name(const std::string& name, const std::vector<std::string>& names);
/// The graph called `name`; the only one when the name is empty.
GraphPtr graph_of(const Module& module, const std::string& name);
/// The two sides of `name=value`; `option` is for the message.
std::pair<std::string, std::string> assignment(const std::string& text, std::string_view option);

}  // namespace graphc::core::commands
