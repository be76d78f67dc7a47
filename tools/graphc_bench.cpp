// SPDX-License-Identifier: Apache-2.0
// graphc-bench: measures how long a model takes to compile, to train and to run. Data goes to
// stdout, progress to stderr; the exit code is that of ErrorKind.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "models/registry.h"
#include "passes/pipeline.h"
#include "runtime/cores.h"
#include "runtime/files/file_cache.h"
#include "runtime/files/files.h"
#include "runtime/streams.h"
#include "tools/bench/bandwidth.h"
#include "tools/bench/command_line.h"
#include "tools/bench/measure.h"
#include "tools/bench/messages.h"
#include "tools/bench/peak_meter.h"
#include "tools/bench/peers.h"
#include "tools/bench/profile.h"
#include "tools/bench/report.h"
#include "tools/bench/scaling.h"
#include "tools/bench/sweep.h"
#include "tools/commands/commands.h"
#include "tools/commands/describe.h"
#include "tools/commands/paths.h"
#include "tools/commands/ranks_option.h"
#include "tools/commands/validators.h"
#include "tools/commands/words.h"
#include "tools/exit_code.h"

namespace graphc::core::bench {
namespace {

using Subjects = std::vector<std::unique_ptr<Subject>>;

/// All combinations of the option lists, the variant changing fastest.
std::vector<CompileOptions> ways_of(const Options& options) {
  std::vector<CompileOptions> ways;
  for (const std::string& unroll : split_list(options.unrolls, "--unroll")) {
    for (const std::string& variant : split_list(options.variants, "--variant")) {
      standard_pipeline(variant, unroll, options.compile.remat, options.compile.recurrence);
      ways.push_back(options.compile);
      ways.back().variant = variant;
      ways.back().unroll = unroll;
    }
  }
  return ways;
}

/// Where inputs and results are, one for each value of --io. Throws ErrorKind::usage for what
/// cannot be.
std::vector<Io> places_of(const Options& options) {
  std::vector<Io> places;
  for (const std::string& place : split_list(options.io, "--io")) {
    const Io io = places.emplace_back(io_named(place));
    if (io == Io::host) continue;
    CompileOptions compile;
    const std::string_view target = core::target(options.target, compile).name;
    if (target != targets::cuda.name) {
      throw commands::usage_error("--io={}: target '{}' computes in the host's memory", place,
                                  target);
    }
    if (options.world != nullptr && io == Io::device)
      throw commands::usage_error("--io=device: ranks share out inputs in the host's memory");
    if (options.profile)
      throw commands::usage_error("--io={}: --profile runs from the host's memory", place);
  }
  return places;
}

/// Creates every row first, so that an error in the last one is reported before the first is
/// measured.
Subjects subjects_of(const Options& options) {
  Subjects subjects;
  const bool random = options.what == random_graph_name;
  const bool file = !random && find_model(options.what) == nullptr;
  if (file) commands::check_is_file(options.what);
  if (file && !options.parameters.empty()) {
    throw commands::usage_error("{} is a file: parameters such as '{}' have no meaning",
                                options.what, options.parameters[0]);
  }
  commands::ArgumentOptions arguments = options.arguments;
  arguments.given = commands::assignments(options.inputs, "--input");
  if (!file && (!arguments.given.empty() || arguments.scale != 1))
    throw commands::usage_error("--input and --scale are of a file: '{}' draws its own",
                                options.what);
  const GraphReader read = [content = file ? commands::read_text(options.what) : "",
                            path = options.what] {
    return commands::parse_any_model(content, path);
  };
  const auto add = [&](const std::vector<std::string>& assignments, const CompileOptions& compile) {
    if (random) {
      subjects.push_back(random_graph_subject(assignments, options.target, compile));
    } else if (!file) {
      subjects.push_back(
          model_subject(options.what, assignments, options.target, compile, options.world));
    } else {
      for (auto& subject : file_subjects(options.what, read, options.target, compile, arguments))
        subjects.push_back(std::move(subject));
    }
  };
  const std::vector<CompileOptions> ways = ways_of(options);
  const std::vector<Io> places = places_of(options);
  for (const auto& assignments : combinations(options.parameters)) {
    for (const CompileOptions& compile : ways) {
      for (const Io io : places) {
        const size_t before = subjects.size();
        add(assignments, compile);
        for (size_t i = before; i < subjects.size(); ++i) subjects[i]->set_io(io);
      }
    }
  }
  return subjects;
}

/// Writes the JSON to its destination, if requested.
void write_json(const Options& options, const nlohmann::ordered_json& json) {
  if (options.json.empty()) return;
  const std::string text = json.dump(2) + "\n";
  if (options.json == "-") {
    commands::write_stdout(text);
  } else {
    write_file_atomically(options.json, text);
  }
}

/// Targets with threads compute on this machine's cores; its peak says nothing about other targets,
/// nor about several ranks.
std::unique_ptr<PeakMeter> meter_of(const Options& options, const Target& on, int64_t rows) {
  if (std::ranges::find(on.options, "threads") == on.options.end()) return nullptr;
  if (options.world) return nullptr;
  return std::make_unique<PeakMeter>(options.compile.threads, rows, options.compile.precision);
}

/// Prints a table of kernels for each configuration and kind of call, or writes them as JSON.
int profile(const Options& options, const Target& on, const Subjects& subjects) {
  // Only the JSON has the peak; it is measured before each row, and once more.
  const auto meter = options.json.empty() ? nullptr : meter_of(options, on, 1);
  std::vector<CallProfile> profiles;
  for (const std::unique_ptr<Subject>& subject : subjects) {
    if (meter) meter->stop();
    for (const Call call : {Call::train, Call::forward}) {
      if (!subject->has(call)) continue;
      profiles.push_back(profile_call(*subject, call));
      if (options.json != "-" && options.is_first())
        commands::write_stdout(text_of(profiles.back()));
    }
    subject->forget();
  }
  if (meter) meter->stop();
  if (options.is_first()) write_json(options, to_json(profiles, meter ? meter->best_gflops() : 0));
  return 0;
}

/// Measures the machine's read bandwidth and barrier latency, independent of a workload.
int bandwidth(const Options& options) {
  if (!options.what.empty())
    throw commands::usage_error("--bandwidth is of the machine: '{}' has no meaning", options.what);
  const int cores = default_thread_count();
  const int threads = options.compile.threads == 0 ? cores : options.compile.threads;
  if (threads > cores)
    throw commands::usage_error(
        "--bandwidth: wanted at most {} thread{}, the cores of this process: "
        "found {}",
        cores, cores == 1 ? "" : "s", threads);
  const CacheSizes caches = cache_sizes();
  if (caches.second_level == 0)
    write_message(fmt::format("the system does not say how large its caches are: taken for {} kB",
                              kAssumedSecondLevel / 1000));
  const MachineSpeed speed = measure_machine(threads, caches);
  if (options.json != "-") commands::write_stdout(table(speed, options.markdown));
  write_json(options, to_json(speed, threads, caches));
  return 0;
}

/// The value of --cache. Throws ErrorKind::usage for a target without kernels or without a cache
/// folder.
bench::Caches caches_of(const Options& options, const Target& on) {
  if (options.cache == "cold") return bench::Caches::cold;
  if (on.clear_code_cache == nullptr)
    throw commands::usage_error("--cache={}: target '{}' has no kernels", options.cache, on.name);
  if (options.cache == "warm") return bench::Caches::warm;
  if (file_cache_of_environment().folder().empty())
    throw commands::usage_error("--cache=disk: GRAPHC_CACHE names no folder to keep kernels in");
  return bench::Caches::disk;
}

/// A compilation that should have found its kernels on disk but did not has measured something
/// else.
void check_kept(const Row& row) {
  if (row.caches != bench::Caches::disk || row.compile.kernels == 0) return;
  std::string why;
  for (const Remark& remark : row.compile.remarks) {
    if (remark.text.find("not kept") != std::string::npos) why = ": " + remark.text;
  }
  throw resource_error("--cache=disk: {} kernels were compiled{}", row.compile.kernels, why);
}

/// The peers for --peers; errors are reported before the first row is measured.
std::optional<Peers> peers_of(const Options& options) {
  if (options.peers.empty()) return std::nullopt;
  if (options.target != "cpu")
    throw commands::usage_error("--peers: they compute on the CPU: found the target '{}'",
                                options.target);
  return Peers({.peers = options.peers,
                .model = options.what,
                .parameters = options.parameters,
                .precision = options.compile.precision,
                .threads = options.compile.threads,
                .calls = options.repeat->count() > 0 ? options.settings.repeat : 0});
}

/// Prints all results, then runs the peers: last, so that the results are written even if the peers
/// fail.
int write_results(const Options& options, const std::vector<Row>& rows, double peak,
                  const std::optional<Peers>& peers) {
  const bool shows_table = options.json != "-";
  if (shows_table) commands::write_stdout(table(rows, options.markdown));
  nlohmann::ordered_json json = to_json(rows, peak);
  bool all_alike = true;
  if (peers) {
    try {
      PeersResult found = peers->measure();
      if (shows_table) commands::write_stdout("\n" + found.table);
      json["peers"] = std::move(found.json);
      all_alike = found.all_alike;
    } catch (const Error&) {
      write_json(options, json);
      throw;
    }
  }
  write_json(options, json);
  if (!all_alike)
    throw Error(ErrorKind::check, {},
                "--peers: a program did other work than graphc's step, and was not timed");
  return 0;
}

int bench(Options& options) {
  std::vector<commands::NamedPath> inputs = commands::files_of("--input", options.inputs);
  inputs.push_back({"FILE", options.what});
  commands::check_paths(inputs, {{"--json", options.json}});
  if (options.bandwidth) return bandwidth(options);
  if (options.what.empty())
    throw commands::usage_error("wanted a model or a file")
        .note("`graphc-bench --help` says what else there is");
  if (options.compile.threads == 0) options.compile.threads = default_thread_count();
  if (options.target.empty()) options.target = default_target().name;
  const Target& on = commands::chosen_target(options.target, options.compile, options.given);
  options.settings.caches = caches_of(options, on);
  options.compile.disk_cache = options.settings.caches != bench::Caches::cold;
  const Subjects subjects = subjects_of(options);
  if (options.profile) return profile(options, on, subjects);
  const std::optional<Peers> peers = peers_of(options);
  const auto meter = meter_of(options, on, int64_t(subjects.size()));
  const auto stop = [&meter] {
    if (meter) meter->stop();
  };
  std::vector<Row> rows;
  for (const std::unique_ptr<Subject>& subject : subjects) {
    rows.push_back(measure(*subject, options.settings, stop));
    check_kept(rows.back());
    if (!options.is_first()) continue;
    show_progress(rows.back(), rows.size(), subjects.size());
    show_notices(rows.back());
  }
  stop();
  if (!options.is_first()) return 0;
  const double peak = meter ? meter->best_gflops() : 0;
  show_speeds(rows, peak);
  check_fractions(rows, peak);
  return write_results(options, rows, peak, peers);
}

/// Models training on several ranks from steps measured here.
int scaling(Options& options) {
  if (find_model(options.what) == nullptr) throw commands::no_model_or_file(options.what);
  if (options.network.empty()) options.network = "ethernet-25";
  if (options.target.empty()) options.target = targets::cpu.name;
  if (options.compile.threads == 0) options.compile.threads = default_thread_count();
  commands::chosen_target(options.target, options.compile, options.given);
  options.compile.disk_cache = false;
  const ScalingRequest request{.model = options.what,
                               .parameters = options.parameters,
                               .target = options.target,
                               .compile = options.compile,
                               .ranks = rank_counts(options.ranks),
                               .network = network_named(options.network)};
  const std::vector<ScaledRow> rows = model_scaling(request, options.settings);
  if (options.json != "-") commands::write_stdout(table(rows, request, options.markdown));
  write_json(options, to_json(rows, request));
  return 0;
}

/// Measures on the ranks of a launcher, or alone.
int bench_on_ranks(Options& options) {
  if (options.ranks != "on" && options.ranks != "off") return scaling(options);
  if (!options.network.empty())
    throw commands::usage_error(
        "--network is of a model: wanted numbers of --ranks, such as 1,2,4");
  const std::shared_ptr<Ranks> ranks = commands::launched_ranks(options.ranks);
  if (ranks->count() == 1) return bench(options);
  options.world = options.settings.ranks = ranks;
  try {
    if (options.bandwidth || !options.peers.empty() || find_model(options.what) == nullptr)
      throw commands::usage_error("{} ranks measure a model, without --bandwidth and --peers",
                                  ranks->count());
    std::string line = commands::ranks_text(*ranks, options.compile.threads);
    if (options.compile.ranks.gradients == DType::bf16) line += ", gradients sent in bf16";
    if (options.is_first()) write_message(line);
    return bench(options);
  } catch (const Error& error) {
    return commands::report_on_ranks(*ranks, error.kind() == ErrorKind::usage);
  } catch (...) {
    return commands::report_on_ranks(*ranks, false);
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Measure how long a model takes to compile, to train and to run", "graphc-bench"};
  Options options;
  add_options(app, options);
  add_descriptions(app);
  commands::refuse_empty_words(app);
  try {
    commands::parse_words(app, argc, argv);
  } catch (const CLI::CallForHelp&) {
    commands::write_stdout(app.help());
    return 0;
  } catch (const CLI::Success&) {
    return 0;
  } catch (const CLI::ParseError& error) {
    write_message("error: " + commands::complaint(app, {argv + 1, argv + argc}, error));
    return int(ErrorKind::usage);
  }
  return bench_on_ranks(options);
}

}  // namespace
}  // namespace graphc::core::bench

int main(int argc, char** argv) {
  graphc::core::open_closed_streams();
  graphc::core::survive_file_limits();
  try {
    return graphc::core::bench::run(argc, argv);
  } catch (...) {
    return graphc::core::report_exception();
  }
}
