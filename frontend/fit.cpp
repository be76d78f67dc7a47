// SPDX-License-Identifier: Apache-2.0
#include "frontend/fit.h"

#include <cmath>
#include <exception>
#include <utility>

#include "frontend/buckets.h"
#include "frontend/checkpoints.h"
#include "frontend/curve.h"
#include "frontend/fit_options.h"
#include "frontend/progress.h"
#include "frontend/tensorboard.h"
#include "runtime/files/files.h"
#include "runtime/ranks/agree.h"

namespace graphc::core {
namespace {

/// The loss that the graph returned for a batch.
double loss_of(const Outputs& outputs, std::string_view graph, Where where) {
  try {
    const Tensor& loss = outputs.size() == 1 ? outputs[ResultKey(0, where)]
                                             : outputs[ResultKey(std::string_view("loss"), where)];
    if (loss.elements() == 1) return loss.literal().reshaped({}).element(0);
    throw input_error(where, "the loss of a batch is one number: graph '{}' gives {}", graph,
                      to_string(loss.type()));
  } catch (Error& error) {
    throw error.note(fmt::format(
        "the loss is the only result of graph '{}', or that of the name 'loss'", graph));
  }
}

/// Truncates a curve to its names and this many rows: rows written after the last checkpoint are
/// written again. A new training keeps no rows.
void keep_rows(const std::filesystem::path& path, int64_t rows) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::is_regular_file(path, ignored)) return;
  const std::string content = read_file(path);
  size_t end = 0;
  for (int64_t line = 0; line <= rows && end < content.size(); ++line)
    end = std::min(content.find('\n', end), content.size() - 1) + 1;
  if (end < content.size()) write_file_atomically(path, content.substr(0, end));
}

/// A training between two steps.
class Fit {
 public:
  Fit(Session& session, const FitOptions& options, Where where)
      : session_(session),
        options_(options),
        where_(where),
        numbers_(session, options.name, {0, 0, 0, 0, 0}, where),
        settings_(session, options.name + ".settings", FitSettings().numbers(), where),
        stopping_(session,
                  {.patience = std::max<int64_t>(options.patience, 1),
                   .threshold = options.threshold,
                   .largest = options.largest,
                   .name = options.name + ".validation"},
                  where),
        best_(session, options.best,
              {.threshold = options.threshold,
               .largest = options.largest,
               .name = options.name + ".best"},
              where),
        last_(session, options.checkpoint) {}

  FitReport run();

 private:
  /// The position; `total` is the sum of losses over this epoch's samples, `weight` their number.
  struct At {
    int64_t epoch = 0, done = 0, step = 0;
    double total = 0, weight = 0;
  };

  At at() const {
    const std::vector<double> all = numbers_.get();
    return {int64_t(all[0]), int64_t(all[1]), int64_t(all[2]), all[3], all[4]};
  }
  void set(const At& at) {
    numbers_.set({double(at.epoch), double(at.done), double(at.step), at.total, at.weight});
  }
  FitSettings settings() const { return FitSettings::of(settings_.get()); }
  bool gave_up() const { return options_.patience > 0 && stopping_.stops(); }
  SampleBatches order(int64_t epoch) const;
  void begin();
  /// Throws if the training cannot continue from the session's position.
  void expect_goes_on_here(bool resumed);
  /// Returns false if the training is to end.
  bool epoch();
  bool step(const SampleBatches& batches, size_t i);
  /// The loss of a step, and nothing else.
  double loss(const SampleBatches& batches, size_t i);
  PreparedRun prepared(const std::vector<int64_t>& samples) {
    return session_.prepare(options_.graph, options_.inputs(samples));
  }
  /// Everything, or nothing if anything throws.
  void end_epoch();
  void observe_epoch();
  void save() {
    if (!options_.checkpoint.empty()) last_.save();
  }
  /// The session's ranks, or null for one.
  Ranks* ranks() const {
    Ranks* const ranks = session_.options().ranks.get();
    return ranks != nullptr && ranks->count() > 1 ? ranks : nullptr;
  }
  bool is_first() const { return ranks() == nullptr || ranks()->rank() == 0; }
  /// Calls a function that writes files, on rank 0; an error of it is that of all ranks.
  void write(const std::function<void()>& function) const {
    if (ranks() == nullptr) return function();
    on_first(*ranks(), function);
  }

  Session& session_;
  const FitOptions& options_;
  Where where_;
  KeptNumbers numbers_;
  KeptNumbers settings_;  ///< FitSettings
  EarlyStopping stopping_;
  BestCheckpoint best_;
  LastCheckpoint last_;
  std::optional<Curve> curve_;
  std::optional<TensorBoard> board_;
  std::optional<Progress> progress_;
  FitReport report_;
  PreparedRun next_;                ///< with `prefetch`: of the next step, if it is prepared
  std::exception_ptr next_failed_;  ///< why it is not; the step before is complete
};

SampleBatches Fit::order(int64_t epoch) const {
  if (options_.order) return options_.order(epoch);
  return in_batches(shuffled(options_.samples, session_.options().seed, epoch), options_.batch);
}

void Fit::expect_goes_on_here(bool resumed) {
  const FitSettings before = settings();
  FitSettings now = before;
  now.known = true;
  now.batch = options_.batch;
  now.samples = options_.samples;
  now.seed = session_.options().seed;
  now.largest = options_.largest;
  expect_goes_on(before, now, options_, at().done, where_);
  expect_same_best("fit", options_.name, stopping_.best(), before.largest, now.largest, where_);
  const bool trains = at().epoch < options_.epochs && !gave_up();
  if (trains && before.restored && !resumed) {
    throw input_error(where_,
                      "fit: the session has the best model of the training '{}' again, and more "
                      "epochs go on from the last one",
                      options_.name)
        .note(
            "with .checkpoint they go on from that file; under another .name a new training begins "
            "with the best model");
  }
  std::error_code unknown;
  if (!options_.best.empty() && !std::isnan(best_.best()) &&
      !std::filesystem::exists(options_.best, unknown)) {
    throw input_error(where_,
                      "fit: .best is '{}', which is not there: the training '{}' has written its "
                      "best model, of the validation {}, to a file",
                      options_.best.string(), options_.name, best_.best());
  }
  settings_.set(now.numbers());
}

void Fit::begin() {
  if (options_.progress && is_first()) progress_.emplace();
  const bool resumed = !options_.checkpoint.empty() && last_.resume();
  expect_goes_on_here(resumed);
  const At from = at();
  if (resumed && progress_)
    progress_->message(fmt::format("{}: goes on after epoch {}, step {}", last_.path().string(),
                                   from.epoch, from.step));
  if (from.epoch >= options_.epochs && progress_)
    progress_->message(fmt::format("all {} epochs are done", options_.epochs));
  std::vector<std::string> columns{"epoch", "loss"};
  if (options_.validate) columns.emplace_back("validation");
  write([&] {
    keep_rows(options_.curve, from.epoch);
    curve_.emplace(options_.curve, columns);
    board_.emplace(options_.tensorboard);
  });
}

double Fit::loss(const SampleBatches& batches, size_t i) {
  if (!options_.prefetch) {
    return loss_of(session_.run(options_.graph, options_.inputs(batches[i])), options_.graph,
                   where_);
  }
  if (next_failed_) std::rethrow_exception(std::exchange(next_failed_, nullptr));
  PreparedRun now = next_ ? std::exchange(next_, {}) : prepared(batches[i]);
  now.start();
  try {
    if (i + 1 < batches.size()) next_ = prepared(batches[i + 1]);
  } catch (...) {
    next_failed_ = std::current_exception();
  }
  return loss_of(now.wait(), options_.graph, where_);
}

bool Fit::step(const SampleBatches& batches, size_t i) {
  const std::vector<int64_t>& samples = batches[i];
  const auto steps = int64_t(batches.size());
  const double loss = this->loss(batches, i);
  At now = at();
  ++now.done;
  ++now.step;
  now.total += loss * double(samples.size());
  now.weight += double(samples.size());
  set(now);
  if (!std::isfinite(loss)) {
    throw Error(
        ErrorKind::check, {},
        fmt::format("the loss is {} at step {} of epoch {}: training stops",
                    std::isnan(loss) ? "nan" : fmt::to_string(loss), now.step, now.epoch + 1));
  }
  if (progress_) {
    progress_->step({.epoch = now.epoch,
                     .epochs = options_.epochs,
                     .done = now.done,
                     .steps = steps,
                     .step = now.step},
                    {{"loss", loss}});
  }
  if (!options_.tensorboard.empty()) write([&] { board_->add(now.step, {{"loss", loss}}); });
  if (options_.after_step) options_.after_step({now.epoch, now.done, steps, now.step, loss});
  report_.stopped = options_.stop && options_.stop();
  if (options_.stop && ranks() != nullptr)
    report_.stopped = any_of_ranks(*ranks(), report_.stopped);
  const bool due = options_.checkpoint_every > 0 && now.step % options_.checkpoint_every == 0;
  // The end of an epoch saves as well, after its validation.
  if ((due && now.done < steps) || report_.stopped) save();
  return !report_.stopped;
}

bool Fit::epoch() {
  const SampleBatches batches = order(at().epoch);
  const At from = at();
  check_batches(batches, options_, from.epoch, where_);
  FitSettings now = settings();
  if (from.done > 0 && now.batches != checksum(batches)) {
    throw input_error(
        where_,
        "fit: epoch {} has other batches than when {} of them were done: .order is to "
        "depend on the epoch alone",
        from.epoch + 1, from.done);
  }
  now.batches = checksum(batches);
  settings_.set(now.numbers());
  for (size_t i = size_t(at().done); i < batches.size(); ++i) {
    if (!step(batches, i)) return false;
  }
  end_epoch();
  return true;
}

void Fit::end_epoch() {
  const CountedStates before(session_);
  try {
    observe_epoch();
  } catch (...) {
    before.put_back();
    throw;
  }
  save();
}

void Fit::observe_epoch() {
  const At now = at();
  FitSettings settings = this->settings();
  settings.is_best = false;
  FitEpoch done{.epoch = now.epoch, .step = now.step, .loss = now.total / now.weight};
  if (options_.validate) {
    done.validation = options_.validate();
    done.best = stopping_.observe(*done.validation);
    if (!options_.best.empty()) settings.is_best = best_.observe(*done.validation);
  }
  if (options_.after_epoch) options_.after_epoch(done);
  Figures figures{{"loss", done.loss}};
  if (done.validation) figures.emplace_back("validation", *done.validation);
  std::vector<double> row{double(now.epoch + 1)};
  for (const auto& [name, number] : figures) row.push_back(number);
  write([&] { curve_->add(row); });
  if (progress_) progress_->epoch({.epoch = now.epoch, .step = now.step}, figures);
  figures[0].first = "epoch_loss";
  write([&] { board_->add(now.step, figures); });
  report_.loss = done.loss;
  report_.validation = done.validation.value_or(kNoMeasurement);
  settings_.set(settings.numbers());
  set({.epoch = now.epoch + 1, .step = now.step});
}

FitReport Fit::run() {
  begin();
  while (at().epoch < options_.epochs && !gave_up()) {
    if (!epoch()) break;
  }
  report_.epochs = at().epoch;
  report_.steps = at().step;
  report_.best = options_.validate ? stopping_.best() : kNoMeasurement;
  report_.gave_up = gave_up();
  if (!report_.stopped && !options_.best.empty() && best_.restore()) {
    FitSettings now = settings();
    now.restored = !now.is_best;
    settings_.set(now.numbers());
  }
  if (progress_ && report_.gave_up)
    progress_->message(
        fmt::format("{} validations were no better than the best before", stopping_.waited()));
  return report_;
}

}  // namespace

FitReport fit(Session& session, const FitOptions& options, Where where) {
  check_options(options, where);
  try {
    return Fit(session, options, where).run();
  } catch (Error& error) {
    // The session's errors about a run have no line.
    if (error.kind() == ErrorKind::input || error.kind() == ErrorKind::check) error.at(where);
    throw;
  }
}

double mean_loss(Session& session, const std::string& graph, const SampleBatches& batches,
                 const InputsOf& inputs, Where where) {
  double total = 0, samples = 0;
  for (const std::vector<int64_t>& batch : batches) {
    if (batch.empty())
      throw input_error(where, "mean_loss: batch {} has no samples", &batch - batches.data());
    total += loss_of(session.run(graph, inputs(batch)), graph, where) * double(batch.size());
    samples += double(batch.size());
  }
  if (samples == 0) throw input_error(where, "mean_loss: there are no samples");
  return total / samples;
}

}  // namespace graphc::core
