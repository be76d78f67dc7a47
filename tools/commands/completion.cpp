// SPDX-License-Identifier: Apache-2.0
// Shell completion. The script contains every word: completing starts no program.
#include <fmt/format.h>

#include <algorithm>

#include "tools/commands/describe.h"

namespace graphc::core::commands {
namespace {

// $word is the word being completed, $option the one before it, also across `=`, which bash treats
// as a separate word. A list `a,b,c` is completed after its last comma.
constexpr std::string_view kBegin = R"sh(_{name}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD - 1]}}
  if [[ $word == "=" ]]; then word=""; fi
  if [[ $option == "=" ]]; then option=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  local listed=""
  if [[ $word == *,* ]]; then listed=${{word%,*}},; fi
)sh";
constexpr std::string_view kEnd = R"sh(}}
complete -o default -F _{name} {command}
)sh";

/// `_graphc_bench`, the name of a shell function.
std::string function_name(const CLI::App& app) {
  std::string name = app.get_name();
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string reply(const std::vector<std::string>& words, std::string_view prefix = "") {
  return fmt::format("COMPREPLY=($(compgen {}-W '{}' -- \"$word\"))", prefix,
                     fmt::join(words, " "));
}

/// A line of `case $option in`, for an option with known words.
std::string option_case(const CLI::Option& option, const Words& words) {
  std::string text;
  for (const std::string& name : option.get_lnames()) {
    const auto known = words.find(name);
    if (known == words.end()) continue;
    text += fmt::format("    --{}) word=${{word##*,}}\n      {}\n      return ;;\n", name,
                        reply(known->second, "-P \"$listed\" "));
  }
  return text;
}

/// The completions where no option expects a value, in the app or verb whose first argument is word
/// `first` of the line.
std::string arguments_of(const CLI::App& app, const Words& words, int first) {
  std::string options, text, positional;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) options += fmt::format(" --{}", name);
    const std::string name = option->get_positional() ? option->get_name(true, false) : "";
    for (const auto& [of, values] : words) {
      const std::string prefix = "PARAMETERS/";
      if (name.find("PARAMETERS") != name.npos && of.starts_with(prefix)) {
        positional += fmt::format(
            "        {}) {}\n          type compopt > /dev/null 2>&1 && compopt -o nospace 2> "
            "/dev/null ;;\n",
            of.substr(prefix.size()), reply(values));
      } else if (!name.empty() && ("|" + name + "|").find("|" + of + "|") != name.npos) {
        text += fmt::format("      if ((COMP_CWORD == {})); then {}; fi\n", first, reply(values));
      }
    }
  }
  text = fmt::format(
      "      if [[ $word == -* ]]; then\n        COMPREPLY=($(compgen -W '{}' -- "
      "\"$word\"))\n        return\n      fi\n{}",
      options.empty() ? options : options.substr(1), text);
  if (!positional.empty()) {
    text += fmt::format("      ((COMP_CWORD == {})) || case ${{COMP_WORDS[{}]}} in\n{}      esac\n",
                        first, first, positional);
  }
  return text;
}

}  // namespace

std::string bash_completion(const CLI::App& app, const Words& words) {
  const std::string name = function_name(app);
  std::string text =
      fmt::format("# Completion of {} for bash, from its own command line.\n", app.get_name()) +
      fmt::format(kBegin, fmt::arg("name", name)) + "  case $option in\n";
  std::vector<const CLI::App*> verbs = app.get_subcommands({});
  std::vector<std::string> seen;
  verbs.push_back(&app);
  for (const CLI::App* verb : verbs) {
    for (const CLI::Option* option : verb->get_options()) {
      std::string line = option_case(*option, words);
      if (line.empty() || std::ranges::find(seen, line) != seen.end()) continue;
      text += line;
      seen.push_back(std::move(line));
    }
  }
  text += "  esac\n";
  verbs.pop_back();
  if (verbs.empty()) {
    text += arguments_of(app, words, 1);
  } else {
    text += fmt::format("  if ((COMP_CWORD == 1)); then\n    {}\n    return\n  fi\n",
                        reply(verb_names(app)));
    text += "  case ${COMP_WORDS[1]} in\n";
    for (const CLI::App* verb : verbs) {
      text += fmt::format("    {})\n{}      ;;\n", verb->get_name(), arguments_of(*verb, words, 2));
    }
    text += "  esac\n";
  }
  return text + fmt::format(kEnd, fmt::arg("name", name), fmt::arg("command", app.get_name()));
}

std::string zsh_completion(const CLI::App& app, const Words& words) {
  return "autoload -U +X bashcompinit && bashcompinit\n" + bash_completion(app, words);
}

}  // namespace graphc::core::commands
