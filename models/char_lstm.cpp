// SPDX-License-Identifier: Apache-2.0
#include "models/char_lstm.h"

#include <algorithm>
#include <array>

#include "frontend/graphc.h"
#include "models/batch_training.h"
#include "models/data/character_windows.h"
#include "models/data/random_bits.h"
#include "models/data/text_corpus.h"
#include "models/language_model.h"
#include "models/likeliest.h"
#include "models/random_inputs.h"

namespace graphc {
namespace {

constexpr std::array<ParameterRecord, 8> kCharLstmParameters{{
    {"corpus", "synthetic", "synthetic, nietzsche or wikitext-2"},
    {"hidden", "128", "units"},
    {"steps", "40", "characters of a window"},
    {"batch", "128", "windows of a batch; the last one has what is left"},
    {"unroll", "false", "whether the graph has a copy of the cell for each step, or one loop"},
    {"vocabulary", "", "characters that are told apart, or bits; it follows the corpus"},
    {"samples", "50000", "of the synthetic corpus"},
    {"learning-rate", "0.01", "of RMSprop"},
}};

enum class Corpus { synthetic, nietzsche, wikitext2 };
constexpr std::array<std::string_view, 3> kCorpora{"synthetic", "nietzsche", "wikitext-2"};
constexpr std::array<const char*, 3> kVocabularies{"60", "57", "37"};
constexpr int64_t kStride = 3;  ///< characters between the beginnings of windows
constexpr std::array<double, 4> kTemperatures{0.2, 0.5, 1.0, 1.2};

Corpus corpus_of(Parameters& parameters) {
  const size_t corpus = parameters.choice("corpus", kCorpora);
  parameters.set_default("vocabulary", kVocabularies[corpus]);
  return Corpus(corpus);
}

class CharLstm : public Program {
 public:
  explicit CharLstm(Parameters& parameters)
      : corpus_(corpus_of(parameters)),
        hidden_(parameters.integer("hidden")),
        steps_(parameters.integer("steps")),
        batch_(parameters.integer("batch")),
        vocabulary_(parameters.integer("vocabulary", 2)),
        samples_(parameters.integer("samples")),
        unroll_(parameters.flag("unroll")),
        rate_(parameters.positive("learning-rate")),
        model_("char_lstm"),
        w_(model_.param("lstm.w", {vocabulary_, 4 * hidden_}, glorot_uniform())),
        u_(model_.param("lstm.u", {hidden_, 4 * hidden_}, orthogonal())),
        b_(model_.param("lstm.b", {4 * hidden_}, parts({zeros(), constant(1), zeros(), zeros()}))),
        dense_(model_, "dense", hidden_, vocabulary_) {
    model_.graph("train", Mode::training, [this](Inputs& in) {
      Value loss = evaluation(in).values[0];
      const Rmsprop optimizer{.rate = rate_, .decay = 0.9, .epsilon = 1e-7};
      return train_results(loss, minimize(loss, model_.params(), optimizer));
    });
    model_.graph("forward", [this](Inputs& in) { return evaluation(in); });
    if (!is_text()) return;
    model_.graph("generate", [this](Inputs& in) { return drawn(in); });
  }

  Model& model() override { return model_; }

  Extents extents(std::string_view graph) const override {
    if (graph == "generate") return {{"steps", steps_}, {"ranks", 0}};
    return {{"steps", steps_}, {"batch", batch_}};
  }

  std::vector<Tensor> random_inputs(std::string_view graph, uint64_t seed) const override {
    if (graph == "generate") {
      return {random_integers({steps_, 1}, vocabulary_, seed),
              random_integers({1}, steps_, seed + 1),
              Literal::of(1.0f),
              Literal::of(int64_t(seed)),
              Literal::of(int64_t{0}),
              ranks_of(0, vocabulary_)};
    }
    if (!is_text()) return random_bits(numbers(0, batch_), steps_, vocabulary_, seed);
    return {random_integers({steps_, batch_}, vocabulary_, 2 * seed),
            random_integers({batch_}, vocabulary_, 2 * seed + 1)};
  }

  Work work() const override {
    const double h = double(hidden_), v = double(vocabulary_), calls = double(steps_ * batch_);
    // A lookup counts nothing; bits are a product whose input needs no gradient.
    const double input = is_text() ? 0 : calls * 2 * v * 4 * h;
    const double rest = calls * 2 * h * 4 * h + double(batch_) * 2 * h * v;
    return {.examples = batch_,
            .words = batch_,
            .unit = "samples",
            .forward_flop = input + rest,
            .train_flop = 2 * input + 3 * rest};
  }

  void train(Session& session, const TrainOptions& options) const override;
  std::vector<Metric> evaluate(Session& session, const EvaluateOptions& options) const override;
  void generate(Session& session, const GenerateOptions& options) const override;

 private:
  bool is_text() const { return corpus_ != Corpus::synthetic; }

  /// What the inputs give the gates of every step: x w, of which one-hot text takes rows.
  Value projected(Value x) const { return is_text() ? gather(w_, x) : matmul(x, w_); }

  /// One step from z = x w [batch, 4 hidden].
  void step(Value z, State& h, State& c) const {
    const auto [i, f, g, o] = split<4>(z + matmul(h, u_) + b_);
    c = hard_sigmoid(f) * c + hard_sigmoid(i) * tanh(g);
    h = hard_sigmoid(o) * tanh(c);
  }

  /// The logits behind the last step of x w [steps, batch, 4 hidden].
  Value logits(Value z, ScanOptions options = {}) const {
    State h(filled({z.shape()[1], hidden_}, 0)), c(filled({z.shape()[1], hidden_}, 0));
    if (unroll_ && !options.lengths) {
      for (int64_t t = 0; t < z.shape()[0]; ++t) step(at(z, t), h, c);
    } else {
      scan(z, [&](Value now) { step(now, h, c); }, options);
    }
    return dense_(h);
  }

  /// The loss and, of text, the share of characters that are the likeliest.
  Results evaluation(Inputs& in) const {
    if (!is_text()) {
      Value x = in("x", f32, {"steps", "batch", vocabulary_});
      Value y = in("y", f32, {"batch", vocabulary_});
      return {{"loss", mean(cross_entropy_with_probabilities(logits(projected(x)), y))}};
    }
    Value x = in("x", i32, {"steps", "batch"}), y = in("y", i32, {"batch"});
    Value logits = this->logits(projected(x));
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
    Value logits = this->logits(projected(x), {.lengths = length});
    // No temperature is too low: a quotient of this size leaves the noise no say.
    return categorical(fold_in(key, index),
                       keep_likeliest(logits / maximum(temperature, 1e-6), ranks));
  }

  std::string text_of(const std::optional<std::filesystem::path>& data,
                      std::string_view part) const;
  Characters characters_of(std::string_view alphabet) const;
  Batches synthetic(std::vector<int64_t> order, uint64_t seed) const {
    return batches_of(std::move(order), batch_, [this, seed](std::span<const int64_t> samples) {
      return random_bits(samples, steps_, vocabulary_, seed);
    });
  }
  std::string samples_of(Session& session, const TrainOptions& options, const Notes& notes,
                         const CharacterWindows& windows, int64_t epoch) const;

  Corpus corpus_;
  int64_t hidden_, steps_, batch_, vocabulary_, samples_;
  bool unroll_;
  double rate_;
  Model model_;
  Param w_, u_, b_;
  Linear dense_;
};

/// A part of the corpus, as it is trained on.
std::string CharLstm::text_of(const std::optional<std::filesystem::path>& data,
                              std::string_view part) const {
  const std::filesystem::path path = corpus_folder(data, kCorpora[size_t(corpus_)]);
  return corpus_ == Corpus::nietzsche ? read_nietzsche(path)
                                      : read_wikitext2_characters(path, part);
}

Characters CharLstm::characters_of(std::string_view alphabet) const {
  Characters characters = Characters::from_text(alphabet);
  // The id of the others is none of the model's: its text has no others.
  if (characters.size() - 1 == vocabulary_) return characters;
  throw input_error({}, "the text has {} different characters: wanted {}, the model's vocabulary",
                    characters.size() - 1, vocabulary_);
}

void CharLstm::train(Session& session, const TrainOptions& options) const {
  const uint64_t seed = session.options().seed;
  if (!is_text()) {
    refuse_data("char-lstm corpus=synthetic", options.data);
    if (options.sample > 0) Program::generate(session, {});  // refuses: there is no text here
    train_on_batches(session, options, {.epoch = [&](int64_t epoch) {
                       return synthetic(shuffled(samples_, seed, epoch), seed);
                     }});
    return;
  }
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
       .epochs = corpus_ == Corpus::nietzsche ? 20 : 1,
       .notes = notes,
       .sample =
           [&](int64_t epoch) { return samples_of(session, options, notes, windows, epoch); }});
}

/// Text at each temperature, as the script draws it: without a prompt it goes on from a window of
/// the text, another one after each epoch.
std::string CharLstm::samples_of(Session& session, const TrainOptions& options, const Notes& notes,
                                 const CharacterWindows& windows, int64_t epoch) const {
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

std::vector<Metric> CharLstm::evaluate(Session& session, const EvaluateOptions& options) const {
  const bool splits = corpus_ == Corpus::wikitext2;
  if (options.split != "train" &&
      !(splits && (options.split == "valid" || options.split == "test"))) {
    throw Error(ErrorKind::usage, {},
                fmt::format("char-lstm corpus={}: there is no split '{}': wanted {}",
                            kCorpora[size_t(corpus_)], options.split,
                            splits ? "train, valid or test" : "train, all it has"));
  }
  if (!is_text()) {
    refuse_data("char-lstm corpus=synthetic", options.data);
    return mean_results(session, "forward", synthetic(numbers(0, samples_), session.options().seed),
                        {"loss"});
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

void CharLstm::generate(Session& session, const GenerateOptions& options) const {
  if (!is_text()) Program::generate(session, options);
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
  const Tensor ranks = ranks_of(options.top_k, vocabulary_);
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

constinit const ModelRecord char_lstm_model{
    .name = "char-lstm",
    .summary = "the character behind a window of text: Keras' LSTM, the last state, softmax",
    .parameters = kCharLstmParameters,
    .make = [](Parameters& parameters) -> std::unique_ptr<Program> {
      return std::make_unique<CharLstm>(parameters);
    },
};

}  // namespace graphc
