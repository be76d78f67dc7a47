// SPDX-License-Identifier: Apache-2.0
// Shared by the verbs: stdin and stdout, modules by path.
#include "ir/text.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "ir/serialize.h"
#include "ir/spelling.h"
#include "ir/utf8.h"
#include "models/registry.h"
#include "runtime/files/files.h"
#include "runtime/files/foreign.h"
#include "tools/commands/commands.h"

namespace graphc::core::commands {
namespace {

constexpr const char* kModelEnding = ".graphc";

}  // namespace

void write_stdout(std::string_view text) {
  static const bool terminal = isatty(STDOUT_FILENO) == 1;
  const std::string shown = terminal ? printable_lines(text) : "";
  if (terminal) text = shown;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw resource_error("stdout: {}", std::strerror(errno));
}

std::string read_text(const std::string& path) {
  // Weights of a model are not text and may have any size.
  if (path.ends_with(kModelEnding)) return read_file(path);
  return path == "-" ? read_stdin(kMostOfGraph) : read_file(path, kMostOfGraph);
}

namespace {

ModelFile parse_any_form(const std::string& content, const std::string& path,
                         const std::string& name) {
  if (path.ends_with(kModelEnding)) return parse_model_file(content, name);
  if (path.ends_with(".pb")) return {.module = from_proto(content, name)};
  if (path.ends_with(".pbtxt")) return {.module = from_pbtxt(content, name)};
  if (path.ends_with(".json")) return {.module = from_json(content, name)};
  // Some editors start a text with a byte order mark.
  const std::string_view mark = "\xef\xbb\xbf", text = content;
  return {.module = parse(text.substr(text.starts_with(mark) ? mark.size() : 0), name)};
}

}  // namespace

ModelFile read_any_model(const std::string& path) { return parse_any_model(read_text(path), path); }

ModelFile parse_any_model(const std::string& content, const std::string& path) {
  const std::string name = path == "-" ? "<stdin>" : path;
  const bool own = path.ends_with(".pb") || path.ends_with(kModelEnding);
  if (!own) refuse_foreign(content, name, Wanted::graph);
  ModelFile model = parse_any_form(content, path, name);
  if (model.module.graphs.empty()) throw input_error({}, "{}: the file has no graph", name);
  return model;
}

Module read_module(const std::string& path) { return read_any_model(path).module; }

Error no_model_or_file(const std::string& word) {
  const std::vector<std::string> models = model_names();
  const std::string near = did_you_mean(word, models);
  return usage_error(
      "'{}' is neither a model nor a file{}", word,
      near.empty() ? fmt::format(": the models are {}", fmt::join(models, ", ")) : near);
}

void check_is_file(const std::string& word) {
  for (const char* ending : {".graph", kModelEnding, ".pb", ".pbtxt", ".json"}) {
    if (word.ends_with(ending)) return;
  }
  std::error_code ignored;
  if (word != "-" && !std::filesystem::exists(word, ignored)) throw no_model_or_file(word);
}

void check_graph_name(const std::string& name, const std::vector<std::string>& names) {
  if (name.empty() || std::ranges::find(names, name) != names.end()) return;
  throw usage_error("--graph: there is no graph '{}': there is {}{}", name, fmt::join(names, ", "),
                    did_you_mean(name, names));
}

GraphPtr graph_of(const Module& module, const std::string& name) {
  std::vector<std::string> names;
  for (const GraphPtr& graph : module.graphs) {
    if (graph->name() == name) return graph;
    names.push_back(graph->name());
  }
  check_graph_name(name, names);
  if (module.graphs.size() == 1) return module.graphs[0];
  throw usage_error("the file has {} graphs: choose one with --graph: {}", names.size(),
                    fmt::join(names, ", "));
}

std::pair<std::string, std::string> assignment(const std::string& text, std::string_view option) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw usage_error("{} is written name=value: found '{}'", option, text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace graphc::core::commands
