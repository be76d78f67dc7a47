// SPDX-License-Identifier: Apache-2.0
// graphc dump: shows a model or a file at a stage of its compilation.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "codegen/target.h"
#include "frontend/rank_options.h"
#include "frontend/remarks.h"
#include "ir/dot.h"
#include "ir/serialize.h"
#include "ir/spelling.h"
#include "ir/text.h"
#include "ir/utf8.h"
#include "ir/verify.h"
#include "models/registry.h"
#include "passes/outline.h"
#include "passes/pipeline.h"
#include "runtime/streams.h"
#include "tools/commands/commands.h"
#include "tools/commands/compile_options.h"
#include "tools/commands/rank_arguments.h"

namespace graphc::core::commands {
namespace {

struct DumpCommand {
  std::string what, stage = "graph", form, graph, print_after, why_not, target;
  CompileOptions compile;
  GivenOptions given;
  RankArguments ranks;
  std::vector<std::string> parameters;
  bool locations = false, remarks = false;
};

/// The stages that every target has.
constexpr std::array<std::string_view, 4> kOwnStages{"graph", "optimized", "proto", "dot"};

void show_remarks(const CompileReport& report) {
  for (const Remark& remark : report.remarks) write_message(printable_message(to_string(remark)));
}

/// That of one rank, if ranks were asked for.
GraphPtr of_rank(const GraphPtr& graph, const DumpCommand& options,
                 const std::vector<int>* axes = nullptr) {
  if (!options.ranks.given()) return graph;
  CompileOptions compile = options.compile;
  compile.ranks = ranks_of(options.ranks, *graph, axes);
  CompileReport report;
  const GraphPtr own = graph_of_rank(graph, compile, report);
  if (options.remarks) show_remarks(report);
  return own;
}

/// The graph named on the command line: of a model or a file.
GraphPtr chosen(const DumpCommand& options) {
  if (find_model(options.what) == nullptr) {
    if (!options.parameters.empty()) {
      throw usage_error("'{}' is not a model: parameters such as '{}' have no meaning",
                        options.what, options.parameters[0]);
    }
    check_is_file(options.what);
    const Module module = read_module(options.what);
    verify(module);
    return of_rank(graph_of(module, options.graph), options);
  }
  const auto program = make_program(options.what, options.parameters);
  check_graph_name(options.graph, program->model().graphs());
  const std::string graph = options.graph.empty() ? "train" : options.graph;
  const TracedGraph traced = program->model().trace(graph, program->extents(graph));
  const std::vector<int> axes = batch_axes(traced, SessionOptions{}.batch);
  return of_rank(traced.graph, options, &axes);
}

GraphPtr optimized(const GraphPtr& graph, const Target& on, const DumpCommand& options) {
  PipelineSettings settings;
  bool found = options.print_after.empty();
  settings.after_pass = [&](size_t position, const PassUse& use, const GraphPtr&,
                            const GraphPtr& after) {
    if (use.pass->name != options.print_after) return;
    found = true;
    write_stdout(fmt::format("# after {} {}{}\n{}", position, use.pass->name, use.options.to_text(),
                             print(*after, {.locations = options.locations})));
  };
  const Pipeline pipeline = passes_for(options.compile, kernel_traits(on, options.compile));
  GraphPtr result = run_pipeline(graph, pipeline, settings).graph;
  if (!found) {
    throw usage_error("--print-after: pass '{}' is not in the pipeline: {}", options.print_after,
                      to_text(pipeline));
  }
  return result;
}

/// Explains why the loops of the graph, as they enter the variant's pass outline, do not match the
/// composite.
std::string explanation(const GraphPtr& graph, const Target& on, const DumpCommand& options) {
  const Op& composite = find_pattern(options.why_not);
  const Pipeline pipeline = passes_for(options.compile, kernel_traits(on, options.compile));
  const Pipeline before = before_outline(pipeline);
  if (before.size() == pipeline.size()) {
    throw usage_error("--why-not: variant '{}' has no pass outline: {}", options.compile.variant,
                      to_text(pipeline));
  }
  return why_not(*run_pipeline(graph, before).graph, composite);
}

/// Shows the remarks of the variant's passes, kernel formation included.
void show_remarks(const GraphPtr& graph, const Target& on, const DumpCommand& options) {
  CompileReport report;
  form_kernels_for(graph, options.compile, report, kernel_traits(on, options.compile));
  show_remarks(report);
}

/// A stage specific to a target.
std::string target_stage(const GraphPtr& graph, const Target& on, const DumpCommand& options) {
  if (std::ranges::find(on.stages, options.stage) == on.stages.end()) {
    std::vector<std::string> known(kOwnStages.begin(), kOwnStages.end());
    known.insert(known.end(), on.stages.begin(), on.stages.end());
    throw usage_error("--stage: target '{}' has no stage '{}': there is {}{}", on.name,
                      options.stage, fmt::join(known, ", "), did_you_mean(options.stage, known));
  }
  return on.show(graph, options.compile, options.stage);
}

/// The graph as a module in the requested protobuf form.
std::string in_protobuf(const GraphPtr& graph, const DumpCommand& options) {
  Module module{.name = options.what, .graphs = {graph}};
  for (Value state : graph->states()) module.declare(state.name(), state.type());
  if (options.form == "binary") return to_proto(module);
  if (options.form == "json") return to_json(module);
  return to_pbtxt(module);
}

int dump(DumpCommand& options) {
  if (!options.form.empty() && options.stage != "proto")
    throw usage_error("--form is of --stage=proto: found --stage={}", options.stage);
  const Target& on = chosen_target(options.target, options.compile, options.given);
  passes_for(options.compile);  // rejects unknown ones
  GraphPtr graph = chosen(options);
  if (!options.print_after.empty()) {
    optimized(graph, on, options);
    return 0;
  }
  if (!options.why_not.empty()) {
    write_stdout(explanation(graph, on, options));
    return 0;
  }
  if (options.remarks) show_remarks(graph, on, options);
  if (std::ranges::find(kOwnStages, options.stage) == kOwnStages.end()) {
    write_stdout(target_stage(graph, on, options));
    return 0;
  }
  if (options.stage == "proto") {
    write_stdout(in_protobuf(graph, options));
    return 0;
  }
  if (options.stage == "optimized") graph = optimized(graph, on, options);
  if (options.stage == "dot") {
    write_stdout(to_dot(*graph));
  } else {
    write_stdout(print(*graph, {.locations = options.locations}));
  }
  return 0;
}

}  // namespace

void add_dump(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("dump", "Show a model or a file at a stage of compilation");
  auto options = std::make_shared<DumpCommand>();
  verb->add_option("MODEL|FILE", options->what, "a model, a file, or - for stdin")->required();
  verb->add_option("PARAMETERS", options->parameters, "of the model: hidden=512 steps=30");
  verb->add_option(
          "--stage", options->stage,
          "graph, optimized, proto or dot; of target cpu also kernels, plan, step, llvm or asm; "
          "of target cuda plan, step, cuda or ptx")
      ->capture_default_str();
  verb->add_option("--form", options->form, "of stage proto: text (the default), binary or json")
      ->check(CLI::IsMember({"text", "binary", "json"}));
  verb->add_option("--graph", options->graph, "which graph: train, forward, or a name in the file");
  verb->add_option("--target", options->target, "whose stages are shown");
  add_compile_options(*verb, options->compile, options->given,
                      {"precision", "variant", "unroll", "remat", "recurrence", "memory",
                       "placement", "products", "cpu", "threads"});
  add_rank_options(*verb, options->ranks, true);
  verb->add_option("--print-after", options->print_after,
                   "show the graph after each use of a pass of the variant");
  verb->add_option("--why-not", options->why_not,
                   "say for each loop (or result) where it differs from a composite: lstm");
  verb->add_flag("--locations", options->locations, "print the user's lines");
  verb->add_flag("--remarks", options->remarks,
                 "say on stderr what the passes did or did not do, and why");
  verb->footer("graphc dump lstm-layer hidden=512 --stage=kernels");
  verb->callback([=, &action] { action = [=] { return dump(*options); }; });
}

}  // namespace graphc::core::commands
