// SPDX-License-Identifier: Apache-2.0
// graphc completion | man: prints the command line's completion scripts and manual pages.
#include <CLI/CLI.hpp>
#include <filesystem>

#include "ir/spelling.h"
#include "runtime/files/files.h"
#include "tools/commands/commands.h"
#include "tools/commands/describe.h"

namespace graphc::core::commands {
namespace {

int write_completion(const CLI::App& app, const std::string& shell) {
  Words words = known_words();
  words["SHELL"] = {"bash", "zsh"};
  words["VERB"] = verb_names(app);
  if (shell == "bash") {
    write_stdout(bash_completion(app, words));
  } else if (shell == "zsh") {
    write_stdout(zsh_completion(app, words));
  } else {
    throw usage_error("completion: shells are bash and zsh: found '{}'", shell);
  }
  return 0;
}

int write_man(const CLI::App& app, const std::string& verb, const std::string& folder) {
  if (folder.empty()) {
    const CLI::App* page = verb.empty() ? &app : find_verb(app, verb);
    if (page == nullptr)
      throw usage_error("there is no verb '{}'{}", verb, did_you_mean(verb, verb_names(app)));
    write_stdout(man_page(*page, GRAPHC_VERSION));
    return 0;
  }
  std::vector<const CLI::App*> pages = app.get_subcommands({});
  pages.push_back(&app);
  for (const CLI::App* page : pages) {
    const auto path = std::filesystem::path(folder) / (man_name(*page) + ".1");
    write_file_atomically(path, man_page(*page, GRAPHC_VERSION));
  }
  return 0;
}

}  // namespace

void add_documents(CLI::App& app, Action& action) {
  CLI::App* completion = app.add_subcommand("completion", "A script that completes graphc's words");
  auto shell = std::make_shared<std::string>("bash");
  completion->add_option("SHELL", *shell, "bash or zsh")->required();
  completion->footer("source <(graphc completion bash)");
  completion->callback(
      [&app, &action, shell] { action = [&app, shell] { return write_completion(app, *shell); }; });

  CLI::App* man = app.add_subcommand("man", "The manual page of graphc or of a verb");
  auto verb = std::make_shared<std::string>(), folder = std::make_shared<std::string>();
  man->add_option("VERB", *verb, "the verb; without it the page of graphc");
  man->add_option("--write", *folder, "write every page, as FOLDER/graphc-VERB.1, into a folder")
      ->type_name("FOLDER");
  man->footer("graphc man dump | man -l -");
  man->callback([&app, &action, verb, folder] {
    action = [&app, verb, folder] { return write_man(app, *verb, *folder); };
  });
}

}  // namespace graphc::core::commands
