// SPDX-License-Identifier: Apache-2.0
// graphc run: runs a graph on given inputs.
#include <CLI/CLI.hpp>
#include <map>

#include "codegen/target.h"
#include "frontend/remarks.h"
#include "ir/utf8.h"
#include "ir/verify.h"
#include "models/data/table_features.h"
#include "runtime/files/npy.h"
#include "runtime/streams.h"
#include "tools/commands/commands.h"
#include "tools/commands/compile_options.h"
#include "tools/commands/given.h"
#include "tools/commands/paths.h"
#include "tools/commands/reading_options.h"

namespace graphc::core::commands {
namespace {

struct RunCommand {
  std::string file, graph, target;
  CompileOptions compile;
  GivenOptions given;
  std::vector<std::string> inputs, outputs;
  Reading reading;
  bool quiet = false;
};

constexpr std::string_view kInput = "input", kState = "state";

std::vector<Tensor> read_arguments(const std::vector<Argument>& wanted, Given& given,
                                   std::string_view what, const ModelFile& model,
                                   const Reading& reading) {
  std::vector<Tensor> tensors;
  for (const Argument& argument : wanted) {
    const auto found = given.find(argument.name);
    const auto held = model.states.find(argument.name);
    if (found == given.end() && what == kState && held != model.states.end()) {
      tensors.push_back(held->second.converted(argument.type.dtype));
      continue;
    }
    if (found == given.end()) {
      throw usage_error("{} '{}' of {} is not given: --input {}=@file.npy", what, argument.name,
                        to_string(argument.type), argument.name);
    }
    const auto note = model.notes.find(kTableNote);
    TableInput table{.reading = reading, .note = {}};
    if (what == kInput && note != model.notes.end()) table.note = note->second;
    tensors.push_back(Tensor(read_value(argument.name, found->second, argument.type, table)
                                 .converted(argument.type.dtype)));
    given.erase(found);
  }
  return tensors;
}

void write_value(const std::string& name, const std::string& path, const Tensor& tensor) {
  if (path == "-") {
    write_stdout(npy_bytes(tensor.literal()));
  } else if (path.empty()) {
    write_stdout(
        fmt::format("%{}: {} = {}\n", name, to_string(tensor.type()), tensor.literal().to_text()));
  } else {
    write_npy(path, tensor.literal());
  }
}

/// Rejects files that are written twice or both read and written, and reading options that apply to
/// no file.
void check_files(const RunCommand& options) {
  std::vector<NamedPath> inputs = files_of("--input", options.inputs), outputs;
  DataKind kind = DataKind::nothing;
  std::string data;
  for (const NamedPath& input : inputs) {
    if (!is_table(input.path)) continue;
    kind = DataKind::table;
    data = input.path;
  }
  check_reading(options.reading, kind, "graphc run", data);
  inputs.push_back({"FILE", options.file});
  for (const auto& [name, path] : assignments(options.outputs, "--output"))
    outputs.push_back({fmt::format("--output {}", name), path});
  check_paths(inputs, outputs);
}

int run(RunCommand& options) {
  check_files(options);
  const ModelFile model = read_any_model(options.file);
  const Module& module = model.module;
  verify(module);
  const GraphPtr graph = graph_of(module, options.graph);
  const Target& on = chosen_target(options.target, options.compile, options.given);
  CompileReport report;
  const auto executable = compile(graph, on, options.compile, report);
  for (const Remark& notice : notices(report)) {
    if (!options.quiet) write_message(printable_message(to_string(notice)));
  }
  const Signature& signature = executable->signature();

  Given given = assignments(options.inputs, "--input"),
        wanted = assignments(options.outputs, "--output");
  const std::vector<Tensor> inputs =
      read_arguments(signature.inputs, given, kInput, model, options.reading);
  std::vector<Tensor> states =
      read_arguments(signature.states, given, kState, model, options.reading);
  if (!given.empty())
    throw usage_error("--input: the graph has no input or state '{}'", given.begin()->first);
  model.check(*graph, inputs);
  for (Tensor& state : states) state.make_unique();
  std::vector<Tensor> outputs;
  std::map<std::string, Tensor> results;
  std::vector<std::string> names;
  const auto named = model.results.find(graph->name());
  for (const Argument& output : signature.outputs) {
    names.push_back(named == model.results.end() ? output.name : named->second[outputs.size()]);
    outputs.emplace_back(output.type);
    results.emplace(names.back(), outputs.back());
  }
  // A result may be the state itself: then it is the old value, which the caller gave.
  for (size_t i = 0; i < states.size(); ++i)
    results.insert_or_assign(signature.states[i].name, states[i]);
  for (const auto& [name, path] : wanted) {
    if (!results.contains(name))
      throw usage_error("--output: the graph has no result or state '{}'", name);
  }
  executable->run(inputs, states, outputs);
  for (const auto& [name, path] : wanted) write_value(name, path, results.at(name));
  for (size_t i = 0; wanted.empty() && i < outputs.size(); ++i)
    write_value(names[i], "", outputs[i]);
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("run", "Run a graph on given inputs");
  auto options = std::make_shared<RunCommand>();
  verb->add_option("FILE", options->file,
                   "a .graph, .graphc, .pb, .pbtxt or .json file, or - for stdin")
      ->required();
  verb->add_option("--graph", options->graph, "which graph of the file");
  verb->add_option(
          "--input", options->inputs,
          "an input or state: x=@x.npy, x=@rows.csv (a table; of a forecast its last rows), "
          "or x=0.5 for every element")
      ->allow_extra_args(false);
  verb->add_option("--output", options->outputs,
                   "a state's new value, or a result: y=y.npy, y=- for stdout; without any, all "
                   "results are printed")
      ->allow_extra_args(false);
  add_reading_options(*verb, options->reading);
  verb->add_option("--target", options->target, "what to compile for");
  add_compile_options(*verb, options->compile, options->given,
                      {"precision", "variant", "threads", "unroll", "remat", "recurrence", "memory",
                       "placement", "products", "cpu"});
  verb->add_flag("--quiet", options->quiet, "do not say which loops are not one kernel, and why");
  verb->footer("graphc run step.graph --input x=@x.npy --input w=0.5 --output y=y.npy");
  verb->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace graphc::core::commands
