// SPDX-License-Identifier: Apache-2.0
// Generates manual pages from the records of the command line.
#include <fmt/format.h>

#include "tools/commands/describe.h"

namespace graphc::core::commands {
namespace {

/// Escapes text so that roff interprets neither commands nor escapes in it.
std::string roff(std::string_view text) {
  std::string result;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    line_begins = c == '\n';
  }
  return result;
}

std::string section(std::string_view title) { return fmt::format(".SH {}\n", title); }

/// "--stage TEXT", or the name of a positional argument.
std::string heading(const CLI::Option& option) {
  if (option.get_positional()) return fmt::format("\\fI{}\\fR", roff(option.get_name(true, false)));
  std::string text = fmt::format("\\fB{}\\fR", roff(option.get_name(false, true)));
  if (option.get_items_expected_max() > 0)
    text += fmt::format(" \\fI{}\\fR", roff(option.get_type_name()));
  return text;
}

std::string entry(const CLI::Option& option) {
  std::string text = fmt::format(".TP\n{}\n{}", heading(option), roff(option.get_description()));
  if (!option.get_default_str().empty())
    text += fmt::format(" (\\fB{}\\fR unless given)", roff(option.get_default_str()));
  return text + ".\n";
}

std::string entries(const CLI::App& app, bool positional) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() == positional) text += entry(*option);
  }
  return text;
}

/// The synopsis of a command: program, verb, options, arguments.
std::string synopsis(const CLI::App& app, const std::string& command) {
  std::string text = fmt::format("\\fB{}\\fR", roff(command));
  if (!app.get_subcommands({}).empty()) return text + " \\fIVERB\\fR [\\fIOPTIONS\\fR] ...";
  text += " [\\fIOPTIONS\\fR]";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = fmt::format("\\fI{}\\fR", roff(option->get_name(true, false)));
    const bool several = option->get_items_expected_max() > 1;
    text +=
        option->get_required() ? " " + name : fmt::format(" [{}{}]", name, several ? " ..." : "");
  }
  return text;
}

constexpr std::string_view kExit =
    ".SH EXIT STATUS\n"
    "0 success, 2 a mistake in the command line, 3 in the input, 4 a check that failed,\n"
    "5 disk, memory, device or permission, 6 a check that could not tell (ill-conditioned),\n"
    "1 a defect of graphc, 129, 130 and 143 a signal.\n";

}  // namespace

std::string man_name(const CLI::App& app) {
  return app.get_parent() == nullptr
             ? app.get_name()
             : fmt::format("{}-{}", app.get_parent()->get_name(), app.get_name());
}

std::string man_page(const CLI::App& app, std::string_view version) {
  const CLI::App* program = app.get_parent() == nullptr ? &app : app.get_parent();
  const std::string command =
      program == &app ? app.get_name() : program->get_name() + " " + app.get_name();
  std::string title = man_name(app);
  for (char& c : title) c = char(std::toupper(static_cast<unsigned char>(c)));
  std::string text = fmt::format(".TH {} 1 \"\" \"{} {}\" \"{}\"\n", roff(title),
                                 roff(program->get_name()), version, roff(program->get_name()));
  text += section("NAME") +
          fmt::format("{} \\- {}\n", roff(man_name(app)), roff(app.get_description()));
  text += section("SYNOPSIS") + synopsis(app, command) + "\n";
  if (!app.get_footer().empty())
    text += section("EXAMPLE") + fmt::format(".nf\n$ {}\n.fi\n", roff(app.get_footer()));
  if (const std::string arguments = entries(app, true); !arguments.empty())
    text += section("ARGUMENTS") + arguments;
  if (!app.get_subcommands({}).empty()) text += section("VERBS");
  std::string others;
  for (const CLI::App* verb : app.get_subcommands({})) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}.\n", roff(verb->get_name()),
                        roff(verb->get_description()));
    others += fmt::format("{}\\fB{}\\fR(1)", others.empty() ? "" : ",\n", roff(man_name(*verb)));
  }
  text += section("OPTIONS") + entries(app, false);
  text += kExit;
  if (program != &app) others = fmt::format("\\fB{}\\fR(1)", roff(program->get_name()));
  if (!others.empty()) text += section("SEE ALSO") + others + "\n";
  return text;
}

}  // namespace graphc::core::commands
