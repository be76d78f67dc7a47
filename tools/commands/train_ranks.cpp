// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/train_ranks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "runtime/clock.h"
#include "runtime/files/safetensors.h"
#include "runtime/ranks/agree.h"
#include "tools/commands/commands.h"
#include "tools/commands/ranks_option.h"
#include "tools/commands/signals.h"

namespace graphc::core::commands {
namespace {

/// A rank is named when the others waited so large a part of an epoch for it, and so many seconds.
constexpr double kSlow = 0.1, kSecondsOfSlow = 0.5;
/// What a rank says when it has an error to report; signals are smaller numbers.
constexpr int kFailed = 255;

/// The options that decide what a training computes and which collective operations it calls.
std::string options_text(TrainCommand& options) {
  const CompileOptions& compile = options.session.compile;
  std::string text = fmt::format(
      "--epochs {} --max-steps {} --patience {} --checkpoint {} --checkpoint-every {} --resume {} "
      "--init {} --sample {} --sample-prompt {} --plot {} --target {} --precision {} --variant {} "
      "--unroll {} --shards {} --gradients {}",
      options.epochs.value_or(-1), options.max_steps, options.train.patience,
      !options.checkpoint.empty(), options.train.save_every, options.resume, !options.init.empty(),
      options.train.sample, options.train.sample_prompt, !options.plot.empty(),
      options.session.target, options.given.word("precision"), compile.variant, compile.unroll,
      options.session.shards, to_string(options.session.gradients));
  const Reading& reading = options.train.reading;
  text +=
      fmt::format(" --encoding {} --decimal {} --names {} --missing {}", reading.encoding,
                  int(reading.decimal), reading.names ? int(*reading.names) : -1, options.missing);
  return text;
}

/// What decides which code a processor runs: the one asked for, or all that it can run.
std::string processor_of(const TrainCommand& options) {
  if (!options.session.compile.architecture.empty()) return options.session.compile.architecture;
  CompileOptions compile = options.session.compile;
  const Target& on = target(options.session.target, compile);
  return on.cpus == nullptr ? std::string(on.name) : fmt::format("{}", fmt::join(on.cpus(), " "));
}

}  // namespace

void check_divides(const Ranks& ranks, const SessionOptions& session, const Program& program,
                   const std::string& model) {
  const Extents extents = program.extents("train");
  const auto batch = extents.find("batch");
  const int shards = session.shards;
  if (ranks.count() == 1 && shards == 0) return;
  if (batch == extents.end())
    throw usage_error("'{}' has no batch to share out among {} ranks", model, ranks.count());
  if (shards > 0 && !std::has_single_bit(unsigned(shards)))
    throw usage_error("--shards is a power of two: found {}", shards);
  if (shards > 0 && session.gradients == DType::bf16) {
    throw usage_error(
        "--gradients=bf16 rounds what ranks send, so no bit would depend on --shards "
        "alone: wanted one or the other");
  }
  if (shards > 0 && shards % ranks.count() != 0)
    throw usage_error("--shards={} is not divided by {} ranks", shards, ranks.count());
  if (shards > 0 && batch->second % shards != 0)
    throw usage_error("{}: its batch of {} is not divided by --shards={}", model, batch->second,
                      shards);
  if (batch->second % ranks.count() != 0)
    throw usage_error("{}: its batch of {} is not divided by {} ranks", model, batch->second,
                      ranks.count());
}

void check_same_command(TrainCommand& options) {
  Ranks& ranks = *options.ranks;
  if (ranks.count() == 1) return;
  check_same(ranks, "graphc", GRAPHC_VERSION);
  std::vector<std::string> words{options.model};
  words.insert(words.end(), options.parameters.begin(), options.parameters.end());
  check_same(ranks, "the model", fmt::format("{}", fmt::join(words, " ")));
  check_same(ranks, "--seed", fmt::to_string(options.seed.value_or(0)));
  check_same(ranks, "the options", options_text(options));
  check_same(ranks, "--cpu", options.session.compile.architecture);
}

void check_same_processor(const TrainCommand& options) {
  if (options.ranks->count() == 1) return;
  try {
    check_same(*options.ranks, "the processor", processor_of(options));
  } catch (AgreedError& error) {
    error.note("--cpu=NAME makes all compute alike, with the instructions that all have");
    throw;
  }
}

int RankedTraining::run(const std::function<int()>& train) {
  if (options_.ranks->count() == 1) return train();
  try {
    return train();
  } catch (const AgreedError&) {
    return report_on_ranks(*options_.ranks, false);
  } catch (const Error& error) {
    return report_on_ranks(*options_.ranks, is_alike(error));
  } catch (...) {
    return report_on_ranks(*options_.ranks, false);
  }
}

bool RankedTraining::is_alike(const Error& error) const {
  // Before the first step, ranks with the same command line meet the same errors; later, that of a
  // loss that is not finite.
  if (error.kind() == ErrorKind::check) return true;
  return !begun_ && (error.kind() == ErrorKind::usage || error.kind() == ErrorKind::input);
}

void RankedTraining::check_same_beginning(Session& session, const Notes& notes) const {
  Ranks& ranks = *options_.ranks;
  std::string text;
  for (const auto& [name, note] : notes) text += fmt::format("{}: {}\n", name, note);
  // Not the notes themselves, which may be a vocabulary: a line that says what differs.
  for (const auto& [name, note] : notes) {
    if (name.starts_with("data")) check_same(ranks, fmt::format("the data ({})", name), note);
  }
  check_same(ranks, "the vocabulary, or what else is noted of the data",
             checksum(Safetensors{.arrays = {}, .metadata = {{"notes", text}}}));
  Safetensors states;
  for (const auto& cell : session.model().states()) {
    if (session.has_state(cell->name)) states.arrays.emplace(cell->name, session.state(cell->name));
  }
  check_same(ranks, "the states that training begins with", checksum(states));
}

void RankedTraining::watch(Session& session) {
  TrainOptions& train = options_.train;
  if (options_.ranks->count() == 1) {
    train.stop = [] { return stopped_by() != 0; };
    return;
  }
  train.begins = [this, &session](const Notes& notes) {
    together(*options_.ranks, [] {});
    check_same_beginning(session, notes);
    begun_ = true;
    began_ = steady_seconds();
    seconds_before_ = options_.ranks->seconds();
  };
  train.stop = [this] { return stops(); };
}

bool RankedTraining::stops() {
  const auto mine = uint8_t(untold_ ? kFailed : std::min(stopped_by(), kFailed - 1));
  const std::vector<uint8_t> all = gathered(*options_.ranks, mine);
  const int worst = *std::ranges::max_element(all);
  if (worst != kFailed) signal_ = worst;
  return worst != 0;
}

std::vector<double> RankedTraining::waited() {
  Ranks& ranks = *options_.ranks;
  const double seconds = ranks.seconds();
  std::vector<double> all = gathered(ranks, seconds - seconds_before_);
  seconds_before_ = ranks.seconds();
  // What the last to come takes is the exchange itself.
  const double least = *std::ranges::min_element(all);
  for (double& each : all) each -= least;
  return all;
}

void RankedTraining::say_who_is_slow(const std::vector<double>& waited) {
  const double now = steady_seconds(), epoch = now - began_;
  began_ = now;
  const double others =
      std::accumulate(waited.begin(), waited.end(), 0.0) / double(waited.size() - 1);
  if (others < std::max(kSlow * epoch, kSecondsOfSlow)) return;
  options_.say(fmt::format("rank {} is slow: the others waited {:.1f} s for it, of {:.1f} s",
                           std::ranges::min_element(waited) - waited.begin(), others, epoch));
}

void RankedTraining::tell(const TrainEvent& event,
                          const std::function<void(const TrainEvent&)>& report) {
  TrainEvent told = event;
  if (options_.ranks->count() > 1 && event.event == "epoch") {
    told.waited_s = waited();
    told.gradients = to_string(options_.session.gradients);
    say_who_is_slow(told.waited_s);
  }
  if (options_.is_first()) guarded([&] { report(told); });
}

void RankedTraining::guarded(const std::function<void()>& report) {
  if (options_.ranks->count() == 1) return report();
  if (untold_) return;
  try {
    report();
  } catch (...) {
    // The others learn of it after the step, so that all save together.
    untold_ = std::current_exception();
  }
}

int RankedTraining::end() {
  if (options_.ranks->count() == 1) return stopped_by();
  together(*options_.ranks, [this] {
    if (untold_) std::rethrow_exception(untold_);
  });
  return signal_;
}

}  // namespace graphc::core::commands
