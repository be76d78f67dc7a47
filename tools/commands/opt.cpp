// SPDX-License-Identifier: Apache-2.0
// graphc opt: text in, passes, text out.
#include <CLI/CLI.hpp>

#include "frontend/remarks.h"
#include "ir/text.h"
#include "ir/utf8.h"
#include "ir/verify.h"
#include "passes/outline.h"
#include "passes/pipeline.h"
#include "runtime/streams.h"
#include "tools/commands/commands.h"

namespace graphc::core::commands {
namespace {

struct OptCommand {
  std::string file, passes, why_not;
  bool locations = false, remarks = false;
};

/// Explains why the graphs, as they enter the first pass outline of the list, do not match the
/// composite.
int explain(const OptCommand& options) {
  const Op& composite = find_pattern(options.why_not);
  const Pipeline pipeline = before_outline(parse_pipeline(options.passes));
  Module module = read_module(options.file);
  verify(module);
  for (const GraphPtr& graph : module.graphs)
    write_stdout(why_not(*run_pipeline(graph, pipeline).graph, composite));
  return 0;
}

int opt(const OptCommand& options) {
  if (!options.why_not.empty()) return explain(options);
  const Pipeline pipeline = parse_pipeline(options.passes);
  Module module = read_module(options.file);
  verify(module);
  for (GraphPtr& graph : module.graphs) {
    const PipelineResult result = run_pipeline(graph, pipeline);
    graph = result.graph;
    if (!options.remarks) continue;
    for (const Remark& remark : result.remarks.all())
      write_message(printable_message(to_string(remark)));
  }
  write_stdout(print(module, {.locations = options.locations}));
  return 0;
}

}  // namespace

void add_opt(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("opt", "Run passes on graphs: text in, text out");
  auto options = std::make_shared<OptCommand>();
  verb->add_option("FILE", options->file,
                   "a .graph, .graphc, .pb, .pbtxt or .json file, or - for stdin")
      ->required();
  verb->add_option("--passes", options->passes,
                   "passes in order: simplify,unroll{steps=4}; without any the text comes back "
                   "checked and in canonical form");
  verb->add_option("--why-not", options->why_not,
                   "say, instead of the graphs, where each loop (or result) differs from a "
                   "composite: lstm");
  verb->add_flag("--locations", options->locations, "print the user's lines");
  verb->add_flag("--remarks", options->remarks, "print what the passes have to say");
  verb->footer("graphc opt step.graph --passes=autodiff,simplify,cse");
  verb->callback([=, &action] { action = [=] { return opt(*options); }; });
}

}  // namespace graphc::core::commands
