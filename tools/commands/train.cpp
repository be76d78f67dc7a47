// SPDX-License-Identifier: Apache-2.0
// graphc train: trains a model, with progress on stderr and a log of JSON lines.
#include <CLI/CLI.hpp>

#include "frontend/tensorboard.h"
#include "models/checkpoint_folder.h"
#include "models/registry.h"
#include "runtime/ranks/agree.h"
#include "tools/commands/commands.h"
#include "tools/commands/compile_options.h"
#include "tools/commands/init.h"
#include "tools/commands/log.h"
#include "tools/commands/paths.h"
#include "tools/commands/progress.h"
#include "tools/commands/ranks_option.h"
#include "tools/commands/reading_options.h"
#include "tools/commands/signals.h"
#include "tools/commands/timeline.h"
#include "tools/commands/train_command.h"
#include "tools/commands/train_folder.h"
#include "tools/commands/train_plot.h"
#include "tools/commands/train_ranks.h"
#include "tools/commands/validators.h"

namespace graphc::core::commands {
namespace {

/// The newest, and one more in case it gets damaged.
constexpr int64_t kKeptCheckpoints = 2;

/// A file can be dumped and run, but not trained.
void check_is_model(const std::string& word) {
  std::error_code ignored;
  if (find_model(word) != nullptr) return;
  if (std::filesystem::exists(word, ignored))
    throw usage_error("'{}' is a file: wanted a model: {}", word, fmt::join(model_names(), ", "));
  throw no_model_or_file(word);
}

/// Rejects options that the target would ignore or does not know, before any data is read.
void check_compile_options(TrainCommand& options) {
  chosen_target(options.session.target, options.session.compile, options.given);
  passes_for(options.session.compile);  // rejects unknown ones
}

/// What to check for NaN and infinity.
void set_check_nan(TrainCommand& options) {
  if (options.check_nan != "loss" && options.check_nan != "op")
    throw usage_error("--check-nan is loss or op: found '{}'", options.check_nan);
  options.session.check_finite = options.check_nan == "op";
}

/// Options that require another option.
void check_companions(const TrainCommand& options) {
  if (!options.train.sample_prompt.empty() && options.train.sample == 0)
    throw usage_error("--sample-prompt wants --sample with a length");
  if (options.trace.empty() && options.session.traced_runs != SessionOptions{}.traced_runs)
    throw usage_error("--trace-runs wants --trace with a file");
  if (options.trace == "-") throw usage_error("--trace wants a file: found '-'");
  if (!options.checkpoint.empty()) return;
  if (options.resume) throw usage_error("--resume wants --checkpoint with the folder");
  if (options.train.save_every > 0)
    throw usage_error("--checkpoint-every wants --checkpoint with the folder");
  if (options.keep) throw usage_error("--keep wants --checkpoint with the folder");
}

/// No file may be written twice, or overwrite an input.
void check_files(const TrainCommand& options, DataKind kind) {
  std::vector<NamedPath> outputs{
      {"--log", options.log}, {"--plot", options.plot}, {"--trace", options.trace}};
  if (!options.checkpoint.empty()) {
    for (const char* name : {kCheckpointName, kBestName, kTrainingLock}) {
      outputs.push_back(
          {"--checkpoint", (std::filesystem::path(options.checkpoint) / name).string()});
    }
  }
  check_paths({{"--data", options.data, kind == DataKind::text}, {"--init", options.init}},
              outputs);
}

/// Plots after saving: a failed plot must not cost a checkpoint.
void draw_after_saving(TrainCommand& options, TrainPlot& picture) {
  options.train.save = [&options, &picture, save = options.train.save](
                           const TrainPosition& position, const Notes& notes) {
    if (save) save(position, notes);
    on_first(*options.ranks, [&] { picture.draw(); });
  };
}

void add_figures(TensorBoard& board, const TrainEvent& event) {
  Figures figures;
  for (const Metric& figure : event.figures()) figures.emplace_back(figure.name, figure.value);
  board.add(event.step, figures);
}

/// The trace of a rank: a file of its own, `trace.json` and `trace.json.1`, ...
std::shared_ptr<TraceFile> trace_of(const TrainCommand& options) {
  if (options.trace.empty()) return nullptr;
  const int rank = options.ranks->rank();
  return std::make_shared<TraceFile>(rank == 0 ? options.trace
                                               : fmt::format("{}.{}", options.trace, rank));
}

/// What rank 0 writes of a training; without paths, the others write nothing.
struct Records {
  std::optional<Log> log;
  std::optional<TensorBoard> board;
  TrainProgress progress;

  explicit Records(const TrainCommand& options) {
    on_first(*options.ranks, [&] {
      // Keep what an earlier run of this training logged.
      log.emplace(options.log, options.resume);
      board.emplace(options.tensorboard);
    });
  }
};

/// What every rank does with the course of a training, from its first step on.
int train_on(TrainCommand& options, RankedTraining& course, Program& program, Session& session,
             TrainPlot& picture) {
  Records records(options);
  options.train.lines = !options.plot.empty();
  Timeline timeline(options.session.trace.get());
  timeline.watch(options.train.save);
  draw_after_saving(options, picture);
  options.say(fmt::format("{}: {} parameters, target {}", options.model,
                          program.model().parameter_count(), session.target().name));
  options.train.epochs = options.epochs;
  if (options.max_steps > 0) options.train.max_steps = options.max_steps;
  if (!options.data.empty()) options.train.data = options.data;
  options.train.report = [&](const TrainEvent& event) {
    course.guarded([&] { timeline.write(event); });
    course.tell(event, [&](const TrainEvent& told) {
      picture.take(told);
      records.log->write(told);
      add_figures(*records.board, told);
      records.progress.show(told);
      if (told.event == "end") picture.draw();
    });
  };
  stop_on_signals();
  course.watch(session);
  program.train(session, options.train);
  const int signal = course.end();
  if (signal == 0) return 0;
  options.say(fmt::format("stopped by signal {}", signal));
  return 128 + signal;
}

/// Says what the ranks are. Only rank 0 speaks from now on.
void prepare_ranks(TrainCommand& options) {
  const int count = options.ranks->count();
  if (count == 1) return;
  check_same_processor(options);
  if (options.session.check_finite)
    throw usage_error("--check-nan=op is for one rank: found {}", count);
  const std::string ranks = ranks_text(*options.ranks, options.session.compile.threads);
  const bool narrow = options.session.gradients == DType::bf16;
  options.say(narrow ? ranks + ", gradients sent in bf16" : ranks);
  options.session.ranks = options.ranks;
  if (options.is_first()) return;
  options.train.reading.remark = nullptr;
  options.session.announce = [](const std::string&) {};
}

int train_as_rank(TrainCommand& options, RankedTraining& course) {
  std::string model;
  const auto program = make_program(options.model, options.parameters, &model);
  if (options.train.patience > 0 && !program->validates())
    throw usage_error("--patience: '{}' has no validation to wait for", options.model);
  check_divides(*options.ranks, options.session, *program, options.model);
  check_files(options, program->reads());
  check_reading(options.train.reading, program->reads(), options.model, options.data);
  TrainPlot picture("");
  on_first(*options.ranks, [&] { picture = TrainPlot(options.plot); });
  const std::unique_ptr<FileLock> lock = take_folder(options);
  options.session.seed = options.seed.value_or(0);
  CheckpointFolder folder(options.checkpoint, options.keep.value_or(kKeptCheckpoints));
  const std::optional<Checkpoint> checkpoint = checkpoint_to_resume(options, folder, model);
  options.session.trace = trace_of(options);
  Session session(program->model(), options.session);
  if (checkpoint) {
    restore(*checkpoint, *program, session);
    picture.resume(checkpoint->notes);
  } else if (!options.init.empty()) {
    options.train.init = begin_with(session, *program, options.init);
  }
  save_to_folder(options, folder, *program, session, model, picture);
  keep_best(options, folder, *program, session, model);
  return train_on(options, course, *program, session, picture);
}

int train(TrainCommand& options) {
  options.ranks = launched_ranks(options.with_ranks);
  RankedTraining course(options);
  return course.run([&] {
    check_same_command(options);
    check_compile_options(options);
    check_companions(options);
    set_check_nan(options);
    check_is_model(options.model);
    if (!options.missing.empty()) options.parameters.push_back("missing=" + options.missing);
    prepare_ranks(options);
    return train_as_rank(options, course);
  });
}

/// The options for output files.
void add_records(CLI::App& verb, const std::shared_ptr<TrainCommand>& options) {
  verb.add_option("--log", options->log,
                  "write events as JSON lines, after those of before with --resume; - is stdout");
  verb.add_option("--tensorboard", options->tensorboard,
                  "a folder to write the figures of events to as TensorBoard reads them");
  verb.add_option("--plot", options->plot,
                  "an SVG file to draw the figures of epochs to, and of forecast what was forecast "
                  "of the test rows")
      ->option_text("FILE");
  verb.add_option("--trace", options->trace,
                  "a file to write what happens when to, for ui.perfetto.dev: compilation, steps, "
                  "and what each thread does in the first of them; begun anew, with --resume too")
      ->option_text("FILE");
  verb.add_option("--trace-runs", options->session.traced_runs,
                  "of each compiled graph, so many runs with every kernel of every thread")
      ->check(whole_number(0))
      ->capture_default_str();
}

void add_ranks(CLI::App& verb, TrainCommand& options) {
  verb.add_option("--ranks", options.with_ranks,
                  "on: the processes of mpirun or srun train one model together; off: each by "
                  "itself")
      ->capture_default_str();
  verb.add_option("--shards", options.session.shards,
                  "sum gradients over so many parts of the batch, a power of two: 1, 2, 4, ... "
                  "ranks that divide it then end with the same bits")
      ->check(whole_number(1));
  add_gradients_option(verb, options.session.gradients);
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("train", "Train a model");
  auto options = std::make_shared<TrainCommand>();
  verb->add_option("MODEL", options->model, "a model: see `graphc models`")->required();
  verb->add_option("PARAMETERS", options->parameters, "of the model: size=test batch=20");
  verb->add_option(
      "--data", options->data,
      "the corpus: for char-lm and word-lm a file or folder; for forecast a table, CSV or .npy; "
      "for the others a folder, else $GRAPHC_DATA/ptb or wikitext-2");
  add_reading_options(*verb, options->train.reading);
  verb->add_option("--missing", options->missing,
                   "for forecast: what becomes of missing cells: refuse, mean, previous, drop or "
                   "mask; the same as the parameter missing");
  verb->add_option("--epochs", options->epochs,
                   "passes over the data; the model's recipe if absent")
      ->check(whole_number(0));
  verb->add_option("--patience", options->train.patience,
                   "end after so many epochs in a row without a better validation, and keep the "
                   "model of the best: best.safetensors beside the checkpoints")
      ->check(whole_number(1));
  verb->add_option("--max-steps", options->max_steps, "end after so many steps")
      ->check(whole_number(1));
  verb->add_option("--seed", options->seed, "of initial values and random draws; 0 if absent")
      ->check(seed_number());
  verb->add_option("--init", options->init,
                   "the model to begin with: a checkpoint, an export or a safetensors file; its "
                   "vocabulary, its categories and its scaling are used too");
  verb->add_option(
      "--checkpoint", options->checkpoint,
      "a folder to keep where training stands: after epochs, at the end, when stopped");
  verb->add_option("--checkpoint-every", options->train.save_every, "and every so many steps")
      ->check(whole_number(1));
  verb->add_option("--keep", options->keep, "so many checkpoints, the newest; 2 if absent")
      ->check(whole_number(1));
  verb->add_flag("--resume", options->resume,
                 "go on from the newest checkpoint that is whole, if there is one");
  verb->add_option("--sample", options->train.sample,
                   "draw so many characters, or words, after every epoch")
      ->check(whole_number(1));
  verb->add_option("--sample-prompt", options->train.sample_prompt, "the text they go on from");
  add_records(*verb, options);
  verb->add_option("--check-nan", options->check_nan,
                   "loss: stop when the loss is not finite; op: when a result or a state is not, "
                   "and name the op where it began (slower)")
      ->capture_default_str();
  verb->add_flag_callback(
      "--quiet", [options] { options->session.announce = [](const std::string&) {}; },
      "do not say which loops are not one kernel, and why");
  add_ranks(*verb, *options);
  verb->add_option("--target", options->session.target, "what to compile for");
  add_compile_options(*verb, options->session.compile, options->given,
                      {"precision", "threads", "variant", "unroll", "remat", "recurrence", "memory",
                       "placement", "products", "cpu"});
  verb->callback([=, &action] { action = [=] { return train(*options); }; });
}

}  // namespace graphc::core::commands
