// SPDX-License-Identifier: Apache-2.0
#include "models/char_lstm_text.h"

#include <algorithm>

#include "models/batch_training.h"
#include "models/char_lstm.h"
#include "models/data/text_corpus.h"
#include "models/data_notes.h"
#include "models/likeliest.h"
#include "models/random_inputs.h"

namespace graphc::core {
namespace {

constexpr int64_t kStride = 3;  ///< characters between the starts of windows

/// The windows that contain no id `unknown`, including the character that follows.
std::vector<int64_t> known_windows(const CharacterWindows& windows, int32_t unknown) {
  std::vector<int64_t> known;
  for (int64_t i = 0; i < windows.count(); ++i) {
    const std::span<const int32_t> ids = windows.window(i);
    if (std::ranges::find(ids, unknown) == ids.end() && windows.target(i) != unknown)
      known.push_back(i);
  }
  return known;
}

}  // namespace

CharLstmOfText::CharLstmOfText(const Parameters& parameters)
    : corpus_(parameters.text("corpus")),
      steps_(parameters.integer("steps")),
      batch_(parameters.integer("batch")),
      rate_(parameters.positive("learning-rate")),
      model_("char_lstm"),
      network_(model_, parameters.integer("vocabulary", 2), parameters.integer("hidden"),
               parameters.flag("unroll")) {
  model_.graph("train", Mode::training, [this](Inputs& in) {
    const Value loss = evaluation(in).values[0];
    return train_results(loss, network_.minimize_by_rmsprop(loss, rate_));
  });
  model_.graph("forward", [this](Inputs& in) { return evaluation(in); });
  model_.graph("generate", [this](Inputs& in) { return drawn(in); });
}

Results CharLstmOfText::evaluation(Inputs& in) const {
  Value x = in("x", i32, {"steps", "batch"}), y = in("y", i32, {"batch"});
  Value logits = network_.logits(x);
  return {{"loss", mean(cross_entropy(logits, y))},
          {"accuracy", mean(cast(equal(argmax(logits, 1), y), f32))}};
}

Value CharLstmOfText::drawn(Inputs& in) const {
  Value x = in("x", i32, {"steps", 1}), length = in("length", i32, {1});
  Value temperature = in("temperature", f32, {});
  Value key = in("key", i64, {}), index = in("index", i64, {});
  Value ranks = in("ranks", i32, {"ranks"});
  Value logits = network_.logits(x, {.lengths = length});
  // No temperature is too low: with such large quotients the noise has no effect.
  return categorical(fold_in(key, index),
                     keep_likeliest(logits / maximum(temperature, 1e-6), ranks));
}

Extents CharLstmOfText::extents(std::string_view graph) const {
  if (graph == "generate") return {{"steps", steps_}, {"ranks", 0}};
  return {{"steps", steps_}, {"batch", batch_}};
}

std::vector<Tensor> CharLstmOfText::random_inputs(std::string_view graph, uint64_t seed) const {
  const int64_t vocabulary = network_.vocabulary();
  if (graph == "generate") {
    return {random_integers({steps_, 1}, vocabulary, seed),
            random_integers({1}, steps_, seed + 1),
            Literal::of(1.0f),
            Literal::of(int64_t(seed)),
            Literal::of(int64_t{0}),
            ranks_of(0, vocabulary)};
  }
  return {random_integers({steps_, batch_}, vocabulary, 2 * seed),
          random_integers({batch_}, vocabulary, 2 * seed + 1)};
}

Work CharLstmOfText::work() const {
  const double h = double(network_.hidden()), v = double(network_.vocabulary());
  const double forward = double(steps_ * batch_) * 2 * h * 4 * h + double(batch_) * 2 * h * v;
  return {.examples = batch_,
          .words = batch_,
          .unit = "samples",
          .forward_flop = forward,
          .train_flop = 3 * forward};
}

std::string CharLstmOfText::text_of(const std::optional<std::filesystem::path>& data,
                                    std::string_view part, const Reading& reading) const {
  const std::filesystem::path path = corpus_folder(data, corpus_);
  return has_splits() ? read_wikitext2_characters(path, part, reading)
                      : read_nietzsche(path, reading);
}

Characters CharLstmOfText::characters_of(std::string_view alphabet) const {
  Characters characters = Characters::from_text(alphabet);
  // The model has no class for other characters, because its own text has none.
  if (characters.size() - 1 == network_.vocabulary()) return characters;
  throw input_error({}, "the text has {} different characters: wanted {}, the model's vocabulary",
                    characters.size() - 1, network_.vocabulary());
}

void CharLstmOfText::train(Session& session, const TrainOptions& options) const {
  const uint64_t seed = session.options().seed;
  const std::string text = text_of(options.data, "train", options.reading);
  const std::string alphabet = alphabet_of(text);
  for (const Notes* before : {&options.notes, &options.init}) {
    const auto found = before->find("vocabulary");
    if (found != before->end() && found->second != alphabet)
      throw other_data_error("the text has other characters than the checkpoint's");
  }
  const std::vector<int32_t> ids = characters_of(alphabet).ids(text);
  const auto count = int64_t(ids.size());
  const Notes notes{{"vocabulary", alphabet},
                    data_note({.name = "train",
                               .elements = count,
                               .unit = "characters",
                               .values = {Literal(std::span<const int32_t>(ids), Shape{count})}})};
  if (!options.notes.empty()) check_same_data(notes, options.notes, options.reading);
  const CharacterWindows windows(ids, steps_, kStride);
  const auto inputs = [&](std::span<const int64_t> samples) { return windows.batch(samples); };
  train_on_batches(
      session, options,
      {.epoch =
           [&](int64_t epoch) {
             return batches_of(shuffled(windows.count(), seed, epoch), batch_, inputs);
           },
       .epochs = has_splits() ? 1 : 20,
       .notes = notes,
       .sample =
           [&](int64_t epoch) { return samples_of(session, options, notes, windows, epoch); }});
}

std::vector<Metric> CharLstmOfText::evaluate(Session& session,
                                             const EvaluateOptions& options) const {
  if (options.split != "train" &&
      !(has_splits() && (options.split == "valid" || options.split == "test"))) {
    throw Error(
        ErrorKind::usage, {},
        fmt::format("char-lstm corpus={}: there is no split '{}': wanted {}", corpus_,
                    options.split, has_splits() ? "train, valid or test" : "train, all it has"));
  }
  const std::string text = text_of(options.data, options.split, options.reading);
  const auto note = options.notes.find("vocabulary");
  const std::string alphabet = note != options.notes.end() ? note->second : alphabet_of(text);
  const Characters characters = characters_of(alphabet);
  const CharacterWindows windows(characters.ids(text), steps_, kStride);
  const std::vector<int64_t> known = known_windows(windows, characters.size() - 1);
  const Unknown unknown = characters.unknown(text);
  if (!unknown.counts.empty()) {
    const std::string found =
        fmt::format("{}: {} of {} windows have none of them", unknown.to_text("characters"),
                    known.size(), windows.count());
    if (known.empty()) throw input_error({}, "{}", found);
    options.reading.say(fmt::format("{}, and are what is evaluated", found));
  }
  const auto inputs = [&](std::span<const int64_t> samples) { return windows.batch(samples); };
  return mean_results(session, "forward", batches_of(known, batch_, inputs), {"loss", "accuracy"});
}

std::unique_ptr<Program> make_char_lstm_of_text(const Parameters& parameters) {
  return std::make_unique<CharLstmOfText>(parameters);
}

}  // namespace graphc::core
