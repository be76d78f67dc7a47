// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/words.h"

#include <algorithm>

#include "ir/utf8.h"
#include "tools/commands/commands.h"
#include "tools/commands/describe.h"

namespace graphc::core::commands {
namespace {

/// The option that the word names, without the part after a `=`; null if it is none.
const CLI::Option* option_of(const CLI::App& verb, const std::string& word) {
  if (!word.starts_with("--")) return nullptr;
  return verb.get_option_no_throw(word.substr(0, word.find('=')));
}

}  // namespace

bool may_be_empty(const CLI::Option& option) {
  return option.get_name().find("prompt") != std::string::npos;
}

std::vector<std::string> checked_words(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> words, given(argv + std::min(argc, 1), argv + argc);
  const CLI::App* verb = &app;
  std::string command = app.get_name();
  const bool has_verbs = !verb_names(app).empty();
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string& word = given[i];
    if (word == "--") {
      words.insert(words.end(), given.begin() + long(i), given.end());
      break;
    }
    if (has_verbs && verb == &app && !word.starts_with('-')) {
      // An unknown verb is reported by CLI11.
      if (const CLI::App* found = find_verb(app, word); found != nullptr) {
        verb = found;
        command += " " + word;
      }
    }
    const CLI::Option* option = option_of(*verb, word);
    words.push_back(word);
    if (option == nullptr) continue;
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (equals + 1 == word.size() && equals != word.npos) {
      if (!may_be_empty(*option))
        throw usage_error("{}: {}: wanted a value: found nothing behind the '='", command, word);
      words.back() = name;
      words.emplace_back();
    } else if (equals == word.npos && option->get_items_expected_max() > 0 &&
               i + 1 < given.size()) {
      if (given[i + 1].starts_with("--")) {
        throw usage_error(
            "{0}: {1}: wanted a value: found '{2}'; a value that begins so is written "
            "{1}={2}",
            command, name, printable(given[i + 1]));
      }
      words.push_back(given[++i]);
    }
  }
  return words;
}

void parse_words(CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> words = checked_words(app, argc, argv);
  std::ranges::reverse(words);  // the order that CLI11 expects
  app.parse(std::move(words));
}

}  // namespace graphc::core::commands
