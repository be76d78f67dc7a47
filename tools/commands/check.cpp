// SPDX-License-Identifier: Apache-2.0
// graphc check: a target against the evaluator, and gradients against finite differences.
#include <CLI/CLI.hpp>

#include "ir/verify.h"
#include "passes/pipeline.h"
#include "tools/commands/check_gradient.h"
#include "tools/commands/check_target.h"
#include "tools/commands/commands.h"
#include "tools/commands/compile_options.h"
#include "tools/commands/validators.h"

namespace graphc::core::commands {
namespace {

struct CheckCommand {
  std::string file, graph, target;
  TargetCheck how;
  GivenOptions given;
  std::vector<std::string> inputs;
  bool gradient = false;
};

/// Prints what was found.
Verdict report(const Agreement& agreement) {
  write_stdout(agreement.text);
  return agreement.verdict;
}

int check(CheckCommand& options) {
  const ModelFile model = read_any_model(options.file);
  const Module& module = model.module;
  verify(module);
  options.how.arguments.states = model.states;
  const Target& on = chosen_target(options.target, options.how.compile, options.given);
  // Rejects values that no variant accepts before anything runs.
  const std::string& variant = options.how.compile.variant;
  standard_pipeline(variant.empty() ? all_variants()[0] : variant, options.how.compile.unroll,
                    options.how.compile.remat, options.how.compile.recurrence);
  const std::vector<GraphPtr> graphs =
      options.graph.empty() ? module.graphs : std::vector{graph_of(module, options.graph)};
  options.how.arguments.given = assignments(options.inputs, "--input");
  check_given(options.how.arguments.given, graphs);
  Verdict worst = Verdict::agrees;
  for (const GraphPtr& graph : graphs) {
    worst = std::max(worst, report(check_target(graph, on, options.how)));
    if (options.gradient) worst = std::max(worst, report(check_gradient(graph, options.how)));
  }
  return exit_code_of(worst);
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("check", "Compare a target with the reference evaluator");
  auto options = std::make_shared<CheckCommand>();
  verb->add_option("FILE", options->file,
                   "a .graph, .graphc, .pb, .pbtxt or .json file, or - for stdin")
      ->required();
  verb->add_option("--graph", options->graph, "only this graph of the file");
  verb->add_option("--target", options->target, "what to compile for");
  TargetCheck& how = options->how;
  add_compile_options(*verb, how.compile, options->given,
                      {"precision", "variant", "threads", "unroll", "remat", "recurrence", "memory",
                       "placement", "products", "cpu"});
  verb->get_option("--variant")->description("the list of passes; else each that there is");
  verb->get_option("--threads")->description("else 1, and the cores this process may use");
  verb->add_option("--runs", how.runs, "of one executable, with other inputs each time")
      ->check(whole_number(1))
      ->capture_default_str();
  verb->add_option("--tolerance", how.tolerance,
                   "largest difference, relative to the largest element of a result, beside what "
                   "rounding makes of digits that cancel; else 0.0001, or four roundings of a "
                   "coarser precision")
      ->check(number_from_zero());
  verb->add_flag("--gradient", options->gradient,
                 "check the derivative by every input and state by finite differences too");
  verb->add_option("--seed", how.seed, "of the random inputs and states")
      ->check(seed_number())
      ->capture_default_str();
  add_rank_options(*verb, how.ranks, false);
  add_argument_options(*verb, options->inputs, how.arguments.scale);
  verb->footer("graphc check cell.graph --gradient");
  verb->callback([=, &action] { action = [=] { return check(*options); }; });
}

}  // namespace graphc::core::commands
