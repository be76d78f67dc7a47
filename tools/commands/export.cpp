// SPDX-License-Identifier: Apache-2.0
// graphc export: writes a trained model as a file for `graphc run`.
#include <CLI/CLI.hpp>
#include <charconv>

#include "frontend/model_file.h"
#include "ir/spelling.h"
#include "models/data/table_features.h"
#include "models/parameters.h"
#include "tools/commands/checkpoints.h"
#include "tools/commands/commands.h"
#include "tools/commands/given.h"
#include "tools/commands/paths.h"

namespace graphc::core::commands {
namespace {

constexpr std::string_view kModelFile = ".graphc";

struct ExportCommand {
  GivenCheckpoint checkpoint;
  std::string file, graph;
  std::vector<std::string> extents;
};

/// The requested graph; by default one that predicts or measures.
std::string chosen_graph(const ExportCommand& options, Model& model) {
  const std::vector<std::string> names = model.graphs();
  if (!options.graph.empty()) {
    check_graph_name(options.graph, names);
    return options.graph;
  }
  return std::ranges::find(names, "predict") != names.end() ? "predict" : "forward";
}

/// The model's own extents, replaced by those given.
Extents extents_of(const ExportCommand& options, const Program& program, const std::string& graph) {
  Extents extents = program.extents(graph);
  std::vector<std::string> names;
  for (const auto& [name, extent] : extents) names.push_back(name);
  for (const auto& [name, value] : assignments(options.extents, "--extent")) {
    const auto found = extents.find(name);
    if (found == extents.end()) {
      const std::string near = did_you_mean(name, names);
      throw usage_error("--extent: graph '{}' has no extent '{}'{}", graph, name,
                        near.empty() ? fmt::format(": it has {}", fmt::join(names, ", ")) : near);
    }
    const char* const end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, found->second);
    if (error != std::errc() || rest != end || found->second < 1 || found->second > kMostOfExtent)
      throw usage_error("--extent {}: wanted a whole number from 1 to {}: found '{}'", name,
                        kMostOfExtent, value);
  }
  return extents;
}

int export_model(const ExportCommand& options) {
  if (!options.file.ends_with(kModelFile))
    throw usage_error("'{}': wanted a name that ends in {}", options.file, kModelFile);
  const Checkpoint checkpoint = read_given(options.checkpoint);
  check_paths({{"CHECKPOINT", checkpoint.file.string()}}, {{"FILE", options.file}});
  const auto program = program_of(checkpoint, /*model_only=*/true);
  const std::string graph = chosen_graph(options, program->model());
  const Extents extents = extents_of(options, *program, graph);
  Session session(program->model(), {.target = "reference", .seed = checkpoint.seed});
  restore(checkpoint, *program, session, /*model_only=*/true);
  Notes notes;
  // The table layout of the input, and the vocabulary, for trainings initialised from the file.
  for (const char* name : {kTableNote, "vocabulary"}) {
    if (const auto note = checkpoint.notes.find(name); note != checkpoint.notes.end())
      notes.insert(*note);
  }
  save(session, {graph}, extents, options.file, notes);
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("export", "Write a trained model as one file to run");
  auto options = std::make_shared<ExportCommand>();
  add_checkpoint_options(*verb, options->checkpoint);
  verb->add_option("FILE", options->file,
                   "where to write a graph with its parameters: NAME.graphc, for `graphc run`")
      ->required();
  verb->add_option("--graph", options->graph, "which graph; predict, or else forward, if absent");
  verb->add_option("--extent", options->extents,
                   "another extent than the model's: batch=1 (it is fixed in the file)");
  verb->footer("graphc export checkpoint model.graphc");
  verb->callback([=, &action] { action = [=] { return export_model(*options); }; });
}

}  // namespace graphc::core::commands
