// SPDX-License-Identifier: Apache-2.0
// graphc eval: evaluates a trained model on a part of its corpus.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "runtime/streams.h"
#include "tools/commands/checkpoints.h"
#include "tools/commands/commands.h"
#include "tools/commands/compile_options.h"
#include "tools/commands/reading_options.h"

namespace graphc::core::commands {
namespace {

struct EvalCommand {
  GivenCheckpoint checkpoint;
  std::string data, split;
  SessionOptions session;
  EvaluateOptions evaluate;
  GivenOptions given;
  bool json = false;
};

void show(const std::vector<Metric>& metrics) {
  size_t width = 0;
  for (const Metric& metric : metrics) width = std::max(width, metric.name.size());
  for (const Metric& metric : metrics)
    write_stdout(fmt::format("{:<{}}  {:.6g}\n", metric.name, width, metric.value));
}

void show_json(const EvalCommand& options, const Checkpoint& checkpoint,
               const std::vector<Metric>& metrics) {
  nlohmann::ordered_json found{{"checkpoint", checkpoint.file.string()},
                               {"model", checkpoint.model},
                               {"step", checkpoint.position.step},
                               {"split", options.evaluate.split}};
  for (const Metric& metric : metrics) found[metric.name] = metric.value;
  write_stdout(found.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

int eval(EvalCommand& options) {
  chosen_target(options.session.target, options.session.compile, options.given);
  const Checkpoint checkpoint = read_given(options.checkpoint);
  const auto program = program_of(checkpoint, /*model_only=*/true);
  options.session.announce = [](const std::string&) {};
  options.session.seed = checkpoint.seed;
  Session session(program->model(), options.session);
  restore(checkpoint, *program, session, /*model_only=*/true);
  check_reading(options.evaluate.reading, program->reads(), checkpoint.model, options.data);
  if (!options.data.empty()) options.evaluate.data = options.data;
  options.evaluate.split = options.split.empty() ? program->default_split() : options.split;
  if (options.split.empty() && options.evaluate.split != "test")
    write_message(fmt::format("there is no split 'test': this is '{}'", options.evaluate.split));
  options.evaluate.notes = checkpoint.notes;
  const std::vector<Metric> metrics = program->evaluate(session, options.evaluate);
  if (options.json) {
    show_json(options, checkpoint, metrics);
  } else {
    show(metrics);
  }
  return 0;
}

}  // namespace

void add_eval(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("eval", "How well a trained model does on a part of its corpus");
  auto options = std::make_shared<EvalCommand>();
  add_checkpoint_options(*verb, options->checkpoint);
  verb->add_option("--data", options->data,
                   "the corpus it was trained on, as `graphc train` has it, or another one");
  add_reading_options(*verb, options->evaluate.reading);
  verb->add_option("--split", options->split,
                   "the part: train, valid or test; of a text also all of it: all; if absent test, "
                   "or where there is none valid, or train");
  verb->add_flag("--json", options->json, "as JSON, with model, step and split");
  verb->add_option("--target", options->session.target, "what to compile for");
  add_compile_options(*verb, options->session.compile, options->given,
                      {"threads", "variant", "unroll", "remat", "recurrence", "memory", "placement",
                       "products", "cpu"});
  verb->callback([=, &action] { action = [=] { return eval(*options); }; });
}

}  // namespace graphc::core::commands
