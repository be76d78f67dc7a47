// SPDX-License-Identifier: Apache-2.0
// graphc generate: draws text from a trained model, and writes it to stdout as it is drawn.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

#include "ir/utf8.h"
#include "runtime/streams.h"
#include "tools/commands/checkpoints.h"
#include "tools/commands/commands.h"
#include "tools/commands/compile_options.h"
#include "tools/commands/signals.h"
#include "tools/commands/validators.h"

namespace graphc::core::commands {
namespace {

struct GenerateCommand {
  GivenCheckpoint checkpoint;
  SessionOptions session;
  GenerateOptions generate;
  GivenOptions given;
};

int generate(GenerateCommand& options) {
  chosen_target(options.session.target, options.session.compile, options.given);
  const Checkpoint checkpoint = read_given(options.checkpoint);
  const auto program = program_of(checkpoint, /*model_only=*/true);
  // How the model's loops are compiled does not matter here.
  options.session.announce = [](const std::string&) {};
  Session session(program->model(), options.session);
  restore(checkpoint, *program, session, /*model_only=*/true);

  options.generate.notes = checkpoint.notes;
  options.generate.write = [](std::string_view text) {
    write_stdout(text);
    std::fflush(stdout);
    return stopped_by() == 0;
  };
  options.generate.remark = [](const std::string& line) { write_message(printable_message(line)); };
  stop_on_signals();
  // Write the prompt only once it has been accepted.
  bool began = false;
  const auto begin = [&] {
    if (!std::exchange(began, true)) write_stdout(options.generate.prompt);
  };
  options.generate.write = [&, write = options.generate.write](std::string_view text) {
    begin();
    return write(text);
  };
  program->generate(session, options.generate);
  begin();
  write_stdout("\n");
  return stopped_by() == 0 ? 0 : 128 + stopped_by();
}

}  // namespace

void add_generate(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("generate", "Draw text from a trained model");
  auto options = std::make_shared<GenerateCommand>();
  add_checkpoint_options(*verb, options->checkpoint);
  verb->add_option("--prompt", options->generate.prompt, "the text to go on from");
  verb->add_option("--length", options->generate.length, "how much to draw after the prompt")
      ->check(whole_number(1))
      ->capture_default_str();
  options->generate.temperature = 0.7;
  verb->add_option("--temperature", options->generate.temperature,
                   "below 1 likelier, above 1 bolder; 0 always takes the likeliest")
      ->check(number_from_zero(100))
      ->capture_default_str();
  verb->add_option("--top-k", options->generate.top_k,
                   "draw from so many of the likeliest only, and from those that equal the last")
      ->check(whole_number(1));
  verb->add_option("--seed", options->session.seed, "another draws another text")
      ->check(seed_number())
      ->capture_default_str();
  verb->add_option("--target", options->session.target, "what to compile for");
  add_compile_options(*verb, options->session.compile, options->given,
                      {"threads", "variant", "unroll", "remat", "recurrence", "memory", "placement",
                       "products", "cpu"});
  verb->callback([=, &action] { action = [=] { return generate(*options); }; });
}

}  // namespace graphc::core::commands
