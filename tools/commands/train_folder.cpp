// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/train_folder.h"

#include <filesystem>
#include <map>

#include "ir/utf8.h"
#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "runtime/ranks/agree.h"
#include "tools/commands/commands.h"

namespace graphc::core::commands {
namespace {

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

/// What rank 0 finds, on every rank: the others need not see its files.
std::optional<Checkpoint> found_by_first(Ranks& ranks,
                                         const std::function<std::optional<Checkpoint>()>& find) {
  std::optional<Checkpoint> found;
  std::string name, bytes;
  on_first(ranks, [&] {
    found = find();
    if (!found || ranks.count() == 1) return;
    name = found->file.string();
    bytes = read_file(found->file);
  });
  if (ranks.count() == 1) return found;
  name = broadcast_text(ranks, name);
  if (name.empty()) return std::nullopt;
  bytes = broadcast_text(ranks, bytes);
  if (found) return found;
  return from_safetensors(parse_safetensors(bytes, name), name);
}

/// The best model of a training without checkpoints.
std::map<std::string, Literal> model_of(Session& session) {
  std::map<std::string, Literal> states;
  for (const auto& cell : session.model().states()) {
    if (!cell->transient) states.emplace(cell->name, session.state(cell->name));
  }
  return states;
}

}  // namespace

std::unique_ptr<FileLock> take_folder(const TrainCommand& options) {
  std::unique_ptr<FileLock> lock;
  on_first(*options.ranks, [&] {
    if (options.checkpoint.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(options.checkpoint, error);
    if (error)
      throw resource_error("cannot make the folder '{}': {}", options.checkpoint, error.message());
    lock = std::make_unique<FileLock>(
        std::filesystem::path(options.checkpoint) / kTrainingLock,
        fmt::format("another training is using the folder '{}'", options.checkpoint));
    check_nothing_is_replaced(options);
  });
  return lock;
}

std::optional<Checkpoint> checkpoint_to_resume(TrainCommand& options, CheckpointFolder& folder,
                                               const std::string& model) {
  if (!options.resume) return {};
  std::optional<Checkpoint> found = found_by_first(*options.ranks, [&] { return folder.resume(); });
  if (!found) {
    options.say(fmt::format("nothing to resume in '{}': training starts anew",
                            printable_message(options.checkpoint)));
    return {};
  }
  const Checkpoint& checkpoint = *found;
  for (const PassedOver& damaged : checkpoint.passed_over) {
    options.say(printable_message(
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
  options.say(fmt::format("resumed after step {}{}", checkpoint.position.step,
                          options.init.empty() ? "" : "; --init is not read"));
  return found;
}

void save_to_folder(TrainCommand& options, CheckpointFolder& folder, Program& program,
                    Session& session, const std::string& model, const TrainPlot& picture) {
  if (options.checkpoint.empty()) return;
  options.train.save = [&, model](const TrainPosition& position, const Notes& notes) {
    Notes all = notes;
    if (const std::string curve = picture.note(); !curve.empty()) all.emplace(kCurveNote, curve);
    on_first(*options.ranks, [&] { folder.save(program, session, model, position, all); });
  };
}

void keep_best(TrainCommand& options, CheckpointFolder& folder, Program& program, Session& session,
               const std::string& model) {
  const bool in_folder = !options.checkpoint.empty();
  Ranks& ranks = *options.ranks;
  bool has_best = false;
  on_first(ranks, [&] { has_best = in_folder && options.resume && folder.best().has_value(); });
  if (options.train.patience == 0 && !any_of_ranks(ranks, has_best)) return;
  const auto kept = std::make_shared<std::map<std::string, Literal>>();
  options.train.keep_best = [&, in_folder, kept, model](const TrainPosition& position,
                                                        const Notes& notes) {
    if (in_folder) {
      on_first(ranks, [&] { folder.save_best(program, session, model, position, notes); });
    } else {
      *kept = model_of(session);
    }
  };
  options.train.restore_best = [&, in_folder, kept] {
    for (const auto& [name, value] : *kept) session.set_state(name, value);
    if (!in_folder) return;
    if (const std::optional<Checkpoint> best = found_by_first(ranks, [&] { return folder.best(); }))
      return restore(*best, program, session, /*model_only=*/true);
    options.say("the best validation was in an epoch whose model was not kept: the last is tested");
  };
}

}  // namespace graphc::core::commands
