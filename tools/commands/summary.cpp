// SPDX-License-Identifier: Apache-2.0
// graphc summary: the contents of a model or a file, and how it is compiled.
#include "frontend/summary.h"

#include <CLI/CLI.hpp>

#include "ir/verify.h"
#include "models/registry.h"
#include "tools/commands/commands.h"
#include "tools/commands/compile_options.h"

namespace graphc::core::commands {
namespace {

struct SummaryCommand {
  std::string what, target;
  CompileOptions compile;
  GivenOptions given;
  std::vector<std::string> parameters;
};

Summary of_model(const SummaryCommand& options, const Target& on) {
  const auto program = make_program(options.what, options.parameters);
  Summary summary{.model = options.what};
  for (const std::string& name : program->model().graphs()) {
    const TracedGraph traced = program->model().trace(name, program->extents(name));
    summary.graphs.push_back(summarize(traced.graph, traced.result_names, on, options.compile));
  }
  summary.take_states(program->model());
  return summary;
}

/// In a file without a list of parameters every state counts as one.
Summary of_file(const SummaryCommand& options, const Target& on) {
  check_is_file(options.what);
  const ModelFile file = read_any_model(options.what);
  verify(file.module);
  Summary summary{.model = file.module.name};
  for (const auto& state : file.module.states) {
    const bool parameter =
        file.states.empty() || std::ranges::count(file.parameters, state.first) > 0;
    (parameter ? summary.parameters : summary.others).push_back(state);
  }
  for (const GraphPtr& graph : file.module.graphs) {
    const auto names = file.results.find(graph->name());
    summary.graphs.push_back(
        summarize(graph, names == file.results.end() ? std::vector<std::string>() : names->second,
                  on, options.compile));
  }
  return summary;
}

int summary(const SummaryCommand& given) {
  SummaryCommand options = given;
  const Target& on = chosen_target(options.target, options.compile, given.given);
  const bool file = find_model(options.what) == nullptr;
  if (file && !options.parameters.empty()) {
    throw usage_error("'{}' is not a model: parameters such as '{}' have no meaning", options.what,
                      options.parameters[0]);
  }
  write_stdout((file ? of_file(options, on) : of_model(options, on)).text());
  return 0;
}

}  // namespace

void add_summary(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand(
      "summary", "The layers, parameters and graphs of a model, and the memory they are planned");
  auto options = std::make_shared<SummaryCommand>();
  verb->add_option(
          "MODEL|FILE", options->what,
          "a model (see `graphc models`), a .graph, .graphc, .pb, .pbtxt or .json file, or "
          "- for stdin")
      ->required();
  verb->add_option("PARAMETERS", options->parameters, "of the model: hidden=512 steps=30");
  verb->add_option("--target", options->target, "what to compile for");
  add_compile_options(*verb, options->compile, options->given,
                      {"variant", "unroll", "remat", "recurrence", "memory", "placement",
                       "products", "cpu", "threads"});
  verb->footer("graphc summary lstm-layer hidden=512");
  verb->callback([=, &action] { action = [=] { return summary(*options); }; });
}

}  // namespace graphc::core::commands
