// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/command_line.h"

#include "tools/commands/commands.h"
#include "tools/commands/describe.h"
#include "tools/commands/validators.h"

namespace graphc::core::bench {
namespace {

/// Everything except the options for threads and output format.
void exclude_others(CLI::App& app, CLI::Option* bandwidth) {
  for (CLI::Option* option : app.get_options()) {
    const std::string name = option->get_single_name();
    const bool is_of_machine = name == "help" || name == "threads" || name == "markdown";
    if (option != bandwidth && !option->get_positional() && !is_of_machine)
      bandwidth->excludes(option);
  }
}

void add_rank_options(CLI::App& app, Options& options) {
  app.add_option("--ranks", options.ranks,
                 "on: the processes of mpirun or srun train together; off: each by itself; 1,2,4: "
                 "model so many from what one measures")
      ->capture_default_str();
  app.add_option("--network", options.network,
                 "between modelled ranks: nvlink, infiniband-ndr, ethernet-100, ethernet-25, "
                 "shared-memory, or a latency in microseconds and Gbit/s: 5:40");
  commands::add_gradients_option(app, options.compile.ranks.gradients);
}

}  // namespace

void add_options(CLI::App& app, Options& options) {
  app.add_option("MODEL|FILE", options.what,
                 "a model (see `graphc models`), random-graph (nodes=1000 seed=0: a training "
                 "graph), a .graph, "
                 ".graphc, .pb, .pbtxt or .json file, or - for stdin");
  app.add_option("PARAMETERS", options.parameters,
                 "of the model: hidden=512,1024 steps=30; a list makes a row for each value");
  app.add_option("--target", options.target, "what to compile for");
  // One row per value; other tools take a single one.
  options.given.watch("variant", app.add_option("--variant", options.variants,
                                                "lists of passes, separated by commas")
                                     ->capture_default_str());
  commands::add_compile_options(app, options.compile, options.given, {"precision"});
  options.given.watch(
      "unroll",
      app.add_option("--unroll", options.unrolls,
                     "how loops are written out, separated by commas: auto, loop, full or a number "
                     "of steps")
          ->capture_default_str());
  commands::add_compile_options(
      app, options.compile, options.given,
      {"threads", "remat", "recurrence", "memory", "placement", "products", "cpu"});
  app.add_option(
         "--io", options.io,
         "where inputs and results are, separated by commas: host; ahead, the host with the "
         "inputs of the next call copied while the GPU works on this one; or device, the "
         "GPU's memory: then a time has no copies from and to the host")
      ->capture_default_str();
  options.repeat = app.add_option("--repeat", options.settings.repeat,
                                  "timed calls of each kind; a row stops after 20 seconds")
                       ->check(commands::whole_number(1))
                       ->capture_default_str();
  app.add_option("--compilations", options.settings.compilations,
                 "timed compilations; they stop after 2 seconds")
      ->check(commands::whole_number(1))
      ->capture_default_str();
  commands::add_argument_options(app, options.inputs, options.arguments.scale);
  app.add_option("--cache", options.cache, "kernel caches before a compilation: cold, disk or warm")
      ->check(CLI::IsMember({"cold", "disk", "warm"}))
      ->capture_default_str();
  CLI::Option* markdown = app.add_flag("--markdown", options.markdown, "the table as Markdown");
  CLI::Option* profile =
      app.add_flag("--profile", options.profile,
                   "instead, show what each kernel of a call takes, and the line it comes from");
  app.add_option("--peers", options.peers,
                 "then compare with these, separated by commas, as tools/peers does: torch, jax, "
                 "tensorflow, onnxruntime; none is installed")
      ->excludes(profile);
  add_rank_options(app, options);
  CLI::Option* bandwidth =
      app.add_flag("--bandwidth", options.bandwidth,
                   "without a model, measure how fast the machine reads from caches and memory");
  exclude_others(app, bandwidth);
  app.add_option("--json", options.json, "write the results to a file; - is stdout, for the table")
      ->excludes(markdown);
}

void add_descriptions(CLI::App& app) {
  app.formatter(commands::example_first());
  app.footer("graphc-bench lstm-layer hidden=512,1024 --variant=basic,fused");
  app.add_flag_callback(
      "--man",
      [&app] {
        commands::write_stdout(commands::man_page(app, GRAPHC_VERSION));
        throw CLI::Success();
      },
      "the manual page, as `man -l -` reads it");
  const auto complete = [&app](const std::string& shell) {
    const commands::Words words = commands::known_words();
    commands::write_stdout(shell == "bash" ? commands::bash_completion(app, words)
                                           : commands::zsh_completion(app, words));
    throw CLI::Success();
  };
  app.add_option_function<std::string>("--completion", complete,
                                       "a script that completes words in a shell")
      ->check(CLI::IsMember({"bash", "zsh"}));
}

}  // namespace graphc::core::bench
