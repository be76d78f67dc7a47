// SPDX-License-Identifier: Apache-2.0
// Help and error messages; for the rest see completion.cpp and man.cpp.
#include "tools/commands/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/target.h"
#include "ir/op.h"
#include "ir/spelling.h"
#include "ir/utf8.h"
#include "models/registry.h"
#include "passes/passes.h"
#include "passes/pipeline.h"

namespace graphc::core::commands {
namespace {

constexpr size_t kLongestReason = 1000;

class ExampleFirst : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    if (mode == CLI::AppFormatMode::Sub) return make_expanded(app);
    std::string text;
    if (!app->get_footer().empty()) text = fmt::format("$ {}\n\n", app->get_footer());
    if (app->get_parent() != nullptr) name = app->get_parent()->get_name() + " " + name;
    return text + make_description(app) + make_usage(app, std::move(name)) + make_positionals(app) +
           make_groups(app, mode) + make_subcommands(app, mode);
  }
};

template <typename Records>
std::vector<std::string> names_of(const Records& records) {
  std::vector<std::string> names;
  for (const auto* record : records) names.emplace_back(record->name);
  return names;
}

/// The long options, with their dashes.
std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

const CLI::App* find_verb(const CLI::App& app, const std::string& name) {
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (verb->get_name() == name) return verb;
  }
  return nullptr;
}

std::shared_ptr<CLI::FormatterBase> example_first() { return std::make_shared<ExampleFirst>(); }

Words known_words() {
  Words words;
  words["target"] = names_of(all_targets());
  for (std::string_view variant : typed_variants()) words["variant"].emplace_back(variant);
  words["passes"] = words["print-after"] = names_of(all_passes());
  for (const Op* op : all_ops()) {
    if (is_composite(*op)) words["why-not"].emplace_back(op->name);
  }
  words["stage"] = {"graph", "optimized", "proto", "dot"};
  for (const Target* target : all_targets()) {
    words["stage"].insert(words["stage"].end(), target->stages.begin(), target->stages.end());
  }
  for (const Precision precision : all_precisions())
    words["precision"].emplace_back(name_of(precision));
  words["unroll"] = {"auto", "loop", "full"};
  words["remat"] = {"auto", "off"};
  words["recurrence"] = {"auto", "steps", "chunks"};
  words["placement"].assign(cuda::kPlacementWords.begin(), cuda::kPlacementWords.end());
  words["products"].assign(cuda::kProductsWords.begin(), cuda::kProductsWords.end());
  words["peers"] = {"torch", "jax", "tensorflow", "onnxruntime"};
  words["MODEL"] = names_of(all_models());
  for (const ModelRecord* model : all_models()) {
    std::vector<std::string>& names = words[fmt::format("PARAMETERS/{}", model->name)];
    for (const ParameterRecord& parameter : model->parameters)
      names.push_back(fmt::format("{}=", parameter.name));
  }
  return words;
}

std::string complaint(const CLI::App& app, const std::vector<std::string>& arguments,
                      const CLI::ParseError& error) {
  const CLI::App* verb = &app;
  std::string command = app.get_name();
  auto at = arguments.begin();
  if (const std::vector<std::string> verbs = verb_names(app); !verbs.empty()) {
    at = std::ranges::find_if(arguments, [](const auto& word) { return !word.starts_with('-'); });
    if (at != arguments.end()) {
      verb = find_verb(app, *at);
      if (verb == nullptr) {
        return fmt::format("there is no verb '{}'{}\nnote: `{} --help` lists them", printable(*at),
                           did_you_mean(*at, verbs), command);
      }
      command += " " + *at++;
    } else if (arguments.empty()) {
      return fmt::format("wanted a verb: {}\nnote: `{} --help` says what they do",
                         fmt::join(verbs, ", "), command);
    } else {
      at = arguments.begin();
    }
  }
  for (; at != arguments.end() && *at != "--"; ++at) {
    if (!at->starts_with("--")) continue;
    const std::string name = at->substr(0, at->find('='));
    if (verb->get_option_no_throw(name) != nullptr) continue;
    return fmt::format("{}: there is no option '{}'{}\nnote: `{} --help` lists them", command,
                       printable(name), did_you_mean(name, options_of(*verb)), command);
  }
  return fmt::format("{}: {}", command, printable(error.what(), kLongestReason));
}

}  // namespace graphc::core::commands
