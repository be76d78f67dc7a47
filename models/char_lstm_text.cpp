// SPDX-License-Identifier: Apache-2.0
// char-lstm on text: Nietzsche, or WikiText-2's characters.
#include <algorithm>
#include <array>

#include "models/batch_training.h"
#include "models/char_lstm.h"
#include "models/char_lstm_network.h"
#include "models/data/character_windows.h"
#include "models/data/text_corpus.h"
#include "models/language_model.h"
#include "models/likeliest.h"
#include "models/random_inputs.h"

namespace graphc {
namespace {

constexpr int64_t kStride = 3;  ///< characters between the beginnings of windows
constexpr std::array<double, 4> kTemperatures{0.2, 0.5, 1.0, 1.2};

class CharLstmOfText : public Program {
 public:
  explicit CharLstmOfText(const Parameters& parameters)
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

  Model& model() override { return model_; }

  Extents extents(std::string_view graph) const override {
    if (graph == "generate") return {{"steps", steps_}, {"ranks", 0}};
    return {{"steps", steps_}, {"batch", batch_}};
  }

  std::vector<Tensor> random_inputs(std::string_view graph, uint64_t seed) const override {
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

  /// Looking characters up counts nothing.
  Work work() const override {
    const double h = double(network_.hidden()), v = double(network_.vocabulary());
    const double forward = double(steps_ * batch_) * 2 * h * 4 * h + double(batch_) * 2 * h * v;
    return {.examples = batch_,
            .words = batch_,
            .unit = "samples",
            .forward_flop = forward,
            .train_flop = 3 * forward};
  }

  void train(Session& session, const TrainOptions& options) const override;
  std::vector<Metric> evaluate(Session& session, const EvaluateOptions& options) const override;
  void generate(Session& session, const GenerateOptions& options) const override;

 private:
  /// The loss, and the share of characters that are the likeliest.
  Results evaluation(Inputs& in) const {
    Value x = in("x", i32, {"steps", "batch"}), y = in("y", i32, {"batch"});
    Value logits = network_.logits(x);
    return {{"loss", mean(cross_entropy(logits, y))},
            {"accuracy", mean(cast(equal(argmax(logits, 1), y), f32))}};
  }

  /// The character behind a window, of which the first `length` are there: training has seen
  /// windows that begin with a state of zeros, so nothing is carried from one to the next.
  Value drawn(Inputs& in) const {
    Value x = in("x", i32, {"steps", 1}), length = in("length", i32, {1});
    Value temperature = in("temperature", f32, {});
    Value key = in("key", i64, {}), index = in("index", i64, {});
    Value ranks = in("ranks", i32, {"ranks"});
    Value logits = network_.logits(x, {.lengths = length});
    // No temperature is too low: a quotient of this size leaves the noise no say.
    return categorical(fold_in(key, index),
                       keep_likeliest(logits / maximum(temperature, 1e-6), ranks));
  }

  bool has_splits() const { return corpus_ == "wikitext-2"; }
  std::string text_of(const std::optional<std::filesystem::path>& data,
                      std::string_view part) const;
  Characters characters_of(std::string_view alphabet) const;
  std::string samples_of(Session& session, const TrainOptions& options, const Notes& notes,
                         const CharacterWindows& windows, int64_t epoch) const;

  std::string corpus_;
  int64_t steps_, batch_;
  double rate_;
  Model model_;
  CharLstmNetwork network_;
};

/// A part of the corpus, as it is trained on.
std::string CharLstmOfText::text_of(const std::optional<std::filesystem::path>& data,
                                    std::string_view part) const {
  const std::filesystem::path path = corpus_folder(data, corpus_);
  return has_splits() ? read_wikitext2_characters(path, part) : read_nietzsche(path);
}

Characters CharLstmOfText::characters_of(std::string_view alphabet) const {
  Characters characters = Characters::from_text(alphabet);
  // The id of the others is none of the model's: its text has no others.
  if (characters.size() - 1 == network_.vocabulary()) return characters;
  throw input_error({}, "the text has {} different characters: wanted {}, the model's vocabulary",
                    characters.size() - 1, network_.vocabulary());
}

void CharLstmOfText::train(Session& session, const TrainOptions& options) const {
  const uint64_t seed = session.options().seed;
  const std::string text = text_of(options.data, "train");
  const std::string alphabet = alphabet_of(text);
  const Notes notes{{"vocabulary", alphabet}};
  if (!options.notes.empty() && options.notes != notes)
    throw input_error({}, "the text has other characters than the checkpoint's: wanted its text");
  const CharacterWindows windows(characters_of(alphabet).ids(text), steps_, kStride);
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

/// Text at each temperature, as the script draws it: without a prompt it goes on from a window of
/// the text, another one after each epoch.
std::string CharLstmOfText::samples_of(Session& session, const TrainOptions& options,
                                       const Notes& notes, const CharacterWindows& windows,
                                       int64_t epoch) const {
  if (options.sample <= 0) return {};
  std::string prompt = options.sample_prompt;
  if (prompt.empty()) {
    const Characters characters = characters_of(notes.at("vocabulary"));
    SplitMix draw(SplitMix(session.options().seed)() + uint64_t(epoch));
    for (const int32_t id : windows.window(draw.below(windows.count())))
      prompt += characters.text(id);
  }
  std::string all;
  for (const double temperature : kTemperatures) {
    all += fmt::format("{}temperature {}:\n{}", all.empty() ? "" : "\n", temperature, prompt);
    generate(session, {.prompt = prompt,
                       .length = options.sample,
                       .temperature = temperature,
                       .notes = notes,
                       .write = [&](std::string_view more) { return all += more, true; }});
  }
  return all;
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
  const std::string text = text_of(options.data, options.split);
  const auto note = options.notes.find("vocabulary");
  const std::string alphabet = note != options.notes.end() ? note->second : alphabet_of(text);
  const Characters characters = characters_of(alphabet);
  std::vector<int32_t> ids = characters.ids(text);
  if (std::ranges::find(ids, characters.size() - 1) != ids.end())
    throw input_error({}, "the text has characters that the checkpoint's text had not");
  const CharacterWindows windows(std::move(ids), steps_, kStride);
  const auto inputs = [&](std::span<const int64_t> samples) { return windows.batch(samples); };
  return mean_results(session, "forward", batches_of(numbers(0, windows.count()), batch_, inputs),
                      {"loss", "accuracy"});
}

void CharLstmOfText::generate(Session& session, const GenerateOptions& options) const {
  const Characters characters = characters_of(vocabulary_note(options.notes));
  // Without a prompt the first of all characters begins: a newline, or a space.
  std::vector<int32_t> ids =
      options.prompt.empty() ? std::vector<int32_t>{0} : characters.ids(lower_case(options.prompt));
  if (std::ranges::find(ids, characters.size() - 1) != ids.end()) {
    throw input_error({},
                      "the prompt has a character that the text the model learned has not: '{}'",
                      options.prompt);
  }
  const Tensor temperature = Literal::of(float(options.temperature));
  const Tensor key = Literal::of(initial_key(session.options().seed, "generate"));
  const Tensor ranks = ranks_of(options.top_k, network_.vocabulary());
  for (int64_t drawn = 0; drawn < options.length; ++drawn) {
    const size_t length = std::min(ids.size(), size_t(steps_));
    Literal x(Type{DType::i32, {steps_, 1}}), known(Type{DType::i32, {1}});
    std::copy(ids.end() - long(length), ids.end(), x.mutable_data<int32_t>().begin());
    known.mutable_data<int32_t>()[0] = int32_t(length);
    const Tensor next = session("generate", x, known, temperature, key, Literal::of(drawn), ranks);
    ids.push_back(next.item<int32_t>());
    if (!options.write(characters.text(ids.back()))) return;
  }
}

}  // namespace

std::unique_ptr<Program> make_char_lstm_of_text(const Parameters& parameters) {
  return std::make_unique<CharLstmOfText>(parameters);
}

}  // namespace graphc
