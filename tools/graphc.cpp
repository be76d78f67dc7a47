// SPDX-License-Identifier: Apache-2.0
// graphc: the command-line tool. Data goes to stdout, messages to stderr; the exit code is that of
// ErrorKind, or 129, 130 or 143 if a signal stopped it.

#include "runtime/streams.h"
#include "tools/commands/commands.h"
#include "tools/commands/describe.h"
#include "tools/commands/validators.h"
#include "tools/commands/words.h"
#include "tools/exit_code.h"

namespace graphc::core {
namespace {

int run(int argc, char** argv) {
  CLI::App app{"Write a network as equations; get a compiled program.", "graphc"};
  app.require_subcommand(1);
  app.formatter(commands::example_first());
  app.set_version_flag("--version", "graphc " GRAPHC_VERSION, "Print the version and exit");
  commands::Action action;
  commands::add_check(app, action);
  commands::add_documents(app, action);
  commands::add_dump(app, action);
  commands::add_eval(app, action);
  commands::add_export(app, action);
  commands::add_generate(app, action);
  commands::add_inspect(app, action);
  commands::add_lists(app, action);
  commands::add_opt(app, action);
  commands::add_run(app, action);
  commands::add_summary(app, action);
  commands::add_train(app, action);
  app.get_subcommand("train")->footer("graphc train ptb-lm size=small --data ptb --epochs 1");
  app.get_subcommand("eval")->footer("graphc eval checkpoint --data ptb --split valid");
  app.get_subcommand("inspect")->footer("graphc inspect checkpoint");
  app.get_subcommand("generate")->footer("graphc generate checkpoint --prompt 'A pass is '");
  commands::refuse_empty_words(app);
  app.footer("graphc dump lstm-layer hidden=512 --stage=kernels");
  try {
    commands::parse_words(app, argc, argv);
  } catch (const CLI::CallForHelp&) {
    for (const CLI::App* verb : app.get_subcommands()) {
      commands::write_stdout(verb->help());
      return 0;
    }
    commands::write_stdout(app.help());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    commands::write_stdout(fmt::format("{}\n", version.what()));
    return 0;
  } catch (const CLI::ParseError& error) {
    write_message("error: " + commands::complaint(app, {argv + 1, argv + argc}, error));
    return int(ErrorKind::usage);
  }
  return action();
}

}  // namespace
}  // namespace graphc::core

int main(int argc, char** argv) {
  graphc::core::open_closed_streams();
  graphc::core::survive_file_limits();
  try {
    return graphc::core::run(argc, argv);
  } catch (...) {
    return graphc::core::report_exception();
  }
}
