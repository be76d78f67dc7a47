// SPDX-License-Identifier: Apache-2.0
// graphc train: trains a model, with progress on stderr and a log of JSON lines.
#include <CLI/CLI.hpp>

#include "frontend/tensorboard.h"
#include "ir/utf8.h"
#include "models/checkpoint_folder.h"
#include "models/registry.h"
#include "runtime/files/file_lock.h"
#include "runtime/streams.h"
#include "tools/commands/commands.h"
#include "tools/commands/compile_options.h"
#include "tools/commands/init.h"
#include "tools/commands/log.h"
#include "tools/commands/paths.h"
#include "tools/commands/progress.h"
#include "tools/commands/reading_options.h"
#include "tools/commands/signals.h"
#include "tools/commands/timeline.h"
#include "tools/commands/train_plot.h"
#include "tools/commands/validators.h"

namespace graphc::core::commands {
namespace {

/// The newest, and one more in case it gets damaged.
constexpr int64_t kKeptCheckpoints = 2;

struct TrainCommand {
  std::string model, data, init, log, checkpoint, tensorboard, trace, check_nan = "loss", plot,
                                                                      missing;
  std::vector<std::string> parameters;
  SessionOptions session;
  TrainOptions train;
  GivenOptions given;
  std::optional<int64_t> epochs, keep;
  std::optional<uint64_t> seed;
  bool resume = false;
  int64_t max_steps = 0;
};

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

/// A new training must not overwrite the contents of the folder.
void check_nothing_is_replaced(const TrainCommand& options) {
  if (options.checkpoint.empty() || options.resume) return;
  std::vector<std::filesystem::path> files = checkpoint_files(options.checkpoint);
  const std::filesystem::path best = std::filesystem::path(options.checkpoint) / kBestName;
  std::error_code ignored;
  const bool has_best = std::filesystem::exists(best, ignored);
  if (files.empty() && has_best)
    throw usage_error("{} is the best of a training before: remove it to begin anew",
                      best.string());
  if (files.empty()) return;
  if (has_best) files.push_back(best);
  std::string what = "a file";
  try {
    what = fmt::format("a checkpoint of step {}", read_checkpoint(files[0]).position.step);
  } catch (const Error&) {
    // Whatever it is, someone may want it.
  }
  const std::string others = files.size() == 1 ? ""
                                               : fmt::format(" and {} more ({})", files.size() - 1,
                                                             files.back().filename().string());
  throw usage_error("{} is {}: --resume goes on from it; remove it{} to begin anew",
                    files[0].string(), what, others);
}

/// Resumes from the checkpoint in the folder, if there is one: sets the session's seed and the
/// start position. The states are loaded later.
std::optional<Checkpoint> checkpoint_to_resume(TrainCommand& options, CheckpointFolder& folder,
                                               const std::string& model) {
  if (!options.resume) return {};
  std::optional<Checkpoint> found = folder.resume();
  if (!found) {
    write_message(fmt::format("nothing to resume in '{}': training starts anew",
                              printable_message(options.checkpoint)));
    return {};
  }
  const Checkpoint& checkpoint = *found;
  for (const PassedOver& damaged : checkpoint.passed_over) {
    write_message(printable_message(
        fmt::format("{}; it is '{}' now", damaged.fault, damaged.file.filename().string())));
  }
  if (checkpoint.model != model) {
    throw input_error({}, "{}: a checkpoint of '{}': wanted '{}'", checkpoint.file.string(),
                      printable(checkpoint.model), model);
  }
  if (options.seed && *options.seed != checkpoint.seed) {
    throw usage_error("--seed {}: the checkpoint's seed is {}", *options.seed, checkpoint.seed);
  }
  options.session.seed = checkpoint.seed;
  options.train.from = checkpoint.position;
  options.train.notes = checkpoint.notes;
  write_message(fmt::format("resumed after step {}{}", checkpoint.position.step,
                            options.init.empty() ? "" : "; --init is not read"));
  return found;
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

/// Creates the checkpoint folder and locks it against other trainings, which would overwrite its
/// checkpoints.
std::unique_ptr<FileLock> take_folder(const TrainCommand& options) {
  if (options.checkpoint.empty()) return nullptr;
  std::error_code error;
  std::filesystem::create_directories(options.checkpoint, error);
  if (error)
    throw resource_error("cannot make the folder '{}': {}", options.checkpoint, error.message());
  return std::make_unique<FileLock>(
      std::filesystem::path(options.checkpoint) / kTrainingLock,
      fmt::format("another training is using the folder '{}'", options.checkpoint));
}

/// Makes training save its checkpoints to the folder, with the curve of the epochs so far.
void save_to_folder(TrainCommand& options, CheckpointFolder& folder, Program& program,
                    Session& session, const std::string& model, const TrainPlot& picture) {
  if (options.checkpoint.empty()) return;
  options.train.save = [&, model](const TrainPosition& position, const Notes& notes) {
    Notes all = notes;
    if (const std::string curve = picture.note(); !curve.empty()) all.emplace(kCurveNote, curve);
    folder.save(program, session, model, position, all);
  };
}

/// Plots after saving: a failed plot must not cost a checkpoint.
void draw_after_saving(TrainCommand& options, TrainPlot& picture) {
  options.train.save = [save = options.train.save, &picture](const TrainPosition& position,
                                                             const Notes& notes) {
    if (save) save(position, notes);
    picture.draw();
  };
}

/// The best model of a training without checkpoints.
std::map<std::string, Literal> model_of(Session& session) {
  std::map<std::string, Literal> states;
  for (const auto& cell : session.model().states()) {
    if (!cell->transient) states.emplace(cell->name, session.state(cell->name));
  }
  return states;
}

/// Makes training keep the model of its best validation, in the folder or otherwise in memory, and
/// test that model at the end. A folder that has a best model keeps it.
void keep_best(TrainCommand& options, CheckpointFolder& folder, Program& program, Session& session,
               const std::string& model) {
  const bool in_folder = !options.checkpoint.empty();
  if (options.train.patience == 0 && !(in_folder && options.resume && folder.best())) return;
  const auto kept = std::make_shared<std::map<std::string, Literal>>();
  options.train.keep_best = [&, in_folder, kept, model](const TrainPosition& position,
                                                        const Notes& notes) {
    if (in_folder) return folder.save_best(program, session, model, position, notes);
    *kept = model_of(session);
  };
  options.train.restore_best = [&, in_folder, kept] {
    for (const auto& [name, value] : *kept) session.set_state(name, value);
    if (!in_folder) return;
    if (const std::optional<Checkpoint> best = folder.best())
      return restore(*best, program, session, /*model_only=*/true);
    write_message(
        "the best validation was in an epoch whose model was not kept: the last is tested");
  };
}

void add_figures(TensorBoard& board, const TrainEvent& event) {
  Figures figures;
  for (const Metric& figure : event.figures()) figures.emplace_back(figure.name, figure.value);
  board.add(event.step, figures);
}

int train(TrainCommand& options) {
  check_compile_options(options);
  check_companions(options);
  set_check_nan(options);
  check_is_model(options.model);
  if (!options.missing.empty()) options.parameters.push_back("missing=" + options.missing);
  std::string model;
  const auto program = make_program(options.model, options.parameters, &model);
  if (options.train.patience > 0 && !program->validates())
    throw usage_error("--patience: '{}' has no validation to wait for", options.model);
  check_files(options, program->reads());
  check_reading(options.train.reading, program->reads(), options.model, options.data);
  TrainPlot picture(options.plot);
  const std::unique_ptr<FileLock> lock = take_folder(options);
  check_nothing_is_replaced(options);
  options.session.seed = options.seed.value_or(0);
  CheckpointFolder folder(options.checkpoint, options.keep.value_or(kKeptCheckpoints));
  const std::optional<Checkpoint> checkpoint = checkpoint_to_resume(options, folder, model);
  if (!options.trace.empty()) options.session.trace = std::make_shared<TraceFile>(options.trace);
  Session session(program->model(), options.session);
  if (checkpoint) {
    restore(*checkpoint, *program, session);
    picture.resume(checkpoint->notes);
  } else if (!options.init.empty()) {
    options.train.init = begin_with(session, *program, options.init);
  }
  save_to_folder(options, folder, *program, session, model, picture);
  keep_best(options, folder, *program, session, model);
  // Keep what an earlier run of this training logged.
  Log log(options.log, options.resume);
  TensorBoard board(options.tensorboard);
  TrainProgress progress;
  options.train.lines = !options.plot.empty();
  Timeline timeline(options.session.trace.get());
  timeline.watch(options.train.save);
  draw_after_saving(options, picture);
  write_message(fmt::format("{}: {} parameters, target {}", options.model,
                            program->model().parameter_count(), session.target().name));
  options.train.epochs = options.epochs;
  if (options.max_steps > 0) options.train.max_steps = options.max_steps;
  if (!options.data.empty()) options.train.data = options.data;
  options.train.report = [&](const TrainEvent& event) {
    picture.take(event);
    log.write(event);
    add_figures(board, event);
    timeline.write(event);
    progress.show(event);
    if (event.event == "end") picture.draw();
  };
  options.train.stop = [] { return stopped_by() != 0; };
  stop_on_signals();
  program->train(session, options.train);
  if (stopped_by() == 0) return 0;
  write_message(fmt::format("stopped by signal {}", stopped_by()));
  return 128 + stopped_by();
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
  verb->add_option("--target", options->session.target, "what to compile for");
  add_compile_options(*verb, options->session.compile, options->given,
                      {"precision", "threads", "variant", "unroll", "remat", "memory", "placement",
                       "products", "cpu"});
  verb->callback([=, &action] { action = [=] { return train(*options); }; });
}

}  // namespace graphc::core::commands
