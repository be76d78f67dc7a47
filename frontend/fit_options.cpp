// SPDX-License-Identifier: Apache-2.0
#include "frontend/fit_options.h"

#include <algorithm>
#include <array>

#include "frontend/intervals.h"

namespace graphc::core {
namespace {

namespace fs = std::filesystem;

/// Resolves links, including one to a file that does not exist yet.
fs::path target_of(fs::path path) {
  constexpr int kMostLinks = 40;
  std::error_code ignored;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, ignored); ++i)
    path = path.parent_path() / fs::read_symlink(path, ignored);
  const fs::path absolute = fs::absolute(path, ignored);
  const fs::path found = fs::weakly_canonical(absolute, ignored).lexically_normal();
  return found.has_filename() ? found : found.parent_path();
}

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code missing;
  return target_of(a) == target_of(b) || fs::equivalent(a, b, missing);
}

void check_paths(const FitOptions& options, Where where) {
  const std::array<std::pair<const char*, const fs::path*>, 4> paths{
      {{".checkpoint", &options.checkpoint},
       {".best", &options.best},
       {".curve", &options.curve},
       {".tensorboard", &options.tensorboard}}};
  for (size_t i = 0; i < paths.size(); ++i) {
    for (size_t j = i + 1; j < paths.size(); ++j) {
      const auto& [a, first] = paths[i];
      const auto& [b, second] = paths[j];
      if (first->empty() || second->empty() || !is_same(*first, *second)) continue;
      throw input_error(where, "fit: {} and {} are one file: '{}' and '{}'", a, b, first->string(),
                        second->string());
    }
  }
}

}  // namespace

void check_options(const FitOptions& options, Where where) {
  const auto refuse = [&](const char* what) { throw input_error(where, "fit: {}", what); };
  if (!options.inputs) refuse(".inputs is wanted: the inputs of the graph for some samples");
  if (options.samples < 1 && !options.order)
    refuse(".samples, how many there are, or .order, the batches of an epoch, is wanted");
  if (options.samples < 0) refuse(".samples is at least 0");
  if (options.batch < 1) refuse(".batch is at least 1");
  if (options.epochs < 0 || options.patience < 0 || options.checkpoint_every < 0)
    refuse(".epochs, .patience and .checkpoint_every are at least 0");
  expect_in("fit", "threshold", options.threshold, kFromZeroBelowOne, where);
  if (!options.validate) {
    if (options.patience > 0) refuse(".patience wants .validate");
    if (options.largest) refuse(".largest wants .validate");
    if (options.threshold > 0) refuse(".threshold wants .validate");
    if (!options.best.empty()) refuse(".best wants .validate");
  }
  if (options.checkpoint_every > 0 && options.checkpoint.empty())
    refuse(".checkpoint_every wants .checkpoint");
  check_paths(options, where);
}

void check_batches(const SampleBatches& batches, const FitOptions& options, int64_t epoch,
                   Where where) {
  if (batches.empty()) throw input_error(where, "fit: epoch {} has no batches", epoch + 1);
  for (size_t i = 0; i < batches.size(); ++i) {
    if (batches[i].empty())
      throw input_error(where, "fit: batch {} of epoch {} has no samples", i, epoch + 1);
    for (const int64_t sample : batches[i]) {
      if (sample >= 0 && (options.samples == 0 || sample < options.samples)) continue;
      throw input_error(
          where, "fit: batch {} of epoch {} has sample {}: wanted {}", i, epoch + 1, sample,
          options.samples == 0 ? "at least 0" : fmt::format("0 to {}", options.samples - 1));
    }
  }
}

FitSettings FitSettings::of(const std::vector<double>& numbers) {
  return {.known = numbers[0] != 0,
          .batch = int64_t(numbers[1]),
          .samples = int64_t(numbers[2]),
          .seed = uint64_t(numbers[3]) << 32 | uint64_t(numbers[4]),
          .largest = numbers[5] != 0,
          .batches = numbers[6],
          .is_best = numbers[7] != 0,
          .restored = numbers[8] != 0};
}

std::vector<double> FitSettings::numbers() const {
  return {double(known),          double(batch),   double(samples), double(seed >> 32),
          double(uint32_t(seed)), double(largest), batches,         double(is_best),
          double(restored)};
}

double checksum(const SampleBatches& batches) {
  // 64-bit FNV-1a over integers; the length of each batch precedes its samples.
  uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](uint64_t number) { hash = (hash ^ number) * 0x100000001b3u; };
  for (const std::vector<int64_t>& batch : batches) {
    add(batch.size());
    for (const int64_t sample : batch) add(uint64_t(sample));
  }
  return double((hash ^ hash >> 32) & ((uint64_t{1} << 53) - 1));
}

void expect_goes_on(const FitSettings& before, const FitSettings& now, const FitOptions& options,
                    int64_t done, Where where) {
  if (!before.known) return;
  const auto refuse = [&](const char* option, auto found, auto wanted) {
    throw input_error(where, "fit: {} is {}: the training '{}' to go on from has {}", option, found,
                      options.name, wanted);
  };
  if (now.seed != before.seed) refuse("the session's seed", now.seed, before.seed);
  if (done == 0 || options.order) return;
  try {
    if (now.batch != before.batch) refuse(".batch", now.batch, before.batch);
    if (now.samples != before.samples) refuse(".samples", now.samples, before.samples);
  } catch (Error& error) {
    throw error.note(
        fmt::format("{} batches of an epoch are done: another number is for the next epoch", done));
  }
}

CountedStates::CountedStates(Session& session) : session_(session) {
  for (const auto& cell : session.model().states()) {
    if (cell->parameter || cell->kept_by_optimizer || !session.has_state(cell->name)) continue;
    values_.emplace_back(cell->name, session.state(cell->name));
  }
}

void CountedStates::put_back() const {
  for (const auto& cell : session_.model().states()) {
    if (cell->parameter || cell->kept_by_optimizer || !session_.has_state(cell->name)) continue;
    const auto known =
        std::ranges::find(values_, cell->name, &decltype(values_)::value_type::first);
    if (known == values_.end()) {
      session_.reset(cell->name);
    } else {
      session_.set_state(cell->name, Data(known->second));
    }
  }
}

}  // namespace graphc::core
