// SPDX-License-Identifier: Apache-2.0
// The verbs of `graphc`: each adds itself to the command line and sets the action to run.
#pragma once

#include <functional>
#include <string>

#include "frontend/model_file.h"
#include "ir/graph.h"

// Only sources that use CLI11 include it, because it defines objects in each of them.
namespace CLI {
class App;
}

namespace graphc::core::commands {

/// The action of the chosen verb; returns the exit code.
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

/// Writes to stdout: to a terminal in the form of printable_lines(), otherwise every byte
/// unchanged. Throws ErrorKind::resource if the write fails.
void write_stdout(std::string_view text);
/// The content of a file with a graph, or of stdin for "-".
std::string read_text(const std::string& path);
/// The content of a file, according to its suffix: a model file (frontend/model_file.h) for
/// `.graphc`, protobuf's binary form for `.pb`, its text form for `.pbtxt`, JSON for `.json`;
/// otherwise the text of ir/text.h, as also for stdin, "-". Only a model file has values of states.
/// Throws ErrorKind::input, naming the file, if it has no graph.
ModelFile read_any_model(const std::string& path);
/// Like read_any_model(), for content that was already read from the file.
ModelFile parse_any_model(const std::string& content, const std::string& path);
/// The module of read_any_model().
Module read_module(const std::string& path);
/// The error for a word that is neither a model nor a file.
Error no_model_or_file(const std::string& word);
/// Throws no_model_or_file() unless the file exists or the word has the suffix of one: then reading
/// it reports the fault.
void check_is_file(const std::string& word);
/// Throws ErrorKind::usage if the value of --graph is not among `names`.
void check_graph_name(const std::string& name, const std::vector<std::string>& names);
/// The graph called `name`; the only one if the name is empty.
GraphPtr graph_of(const Module& module, const std::string& name);
/// The two sides of `name=value`; `option` is for the message.
std::pair<std::string, std::string> assignment(const std::string& text, std::string_view option);

}  // namespace graphc::core::commands
