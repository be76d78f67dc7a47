// SPDX-License-Identifier: Apache-2.0
#include "models/word_lm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "frontend/graphc.h"
#include "models/data/characters.h"
#include "models/language_program.h"

namespace graphc::core {
namespace {

constexpr std::array<ParameterRecord, 10> kWordLmParameters{{
    {"hidden", "256", "units of a layer, and width of the embedding"},
    {"layers", "1", "LSTM layers, at most 1000"},
    {"steps", "35", "words of a window"},
    {"batch", "20", "windows side by side"},
    {"vocabulary", "10000", "the most frequent words, and one that stands for all others"},
    {"keep", "0.8", "probability that dropout keeps an element"},
    {"clip", "1", "limit of the gradients' global norm"},
    {"learning-rate", "0.002", "of Adam at the start; it goes down half a cosine to a tenth"},
    {"tied", "false", "whether the softmax's weights are the embedding's table"},
    {"validation", "0.05", "share of the words, at their end, that are not trained on"},
}};

class WordLm : public LanguageProgram {
 public:
  explicit WordLm(const Parameters& parameters)
      : LanguageProgram(
            {.name = "word-lm",
             .sizes = LanguageSizes(parameters, 2),
             .initializers = {.embedding = normal(0.1),
                              .lstm = glorot_uniform(),
                              .softmax = glorot_uniform(),
                              .softmax_bias = zeros(),
                              .forget_bias = 1},
             .weights = parameters.flag("tied") ? SoftmaxWeights::tied : SoftmaxWeights::own,
             .epochs = 4}),
        clip_(parameters.positive("clip")),
        learning_rate_(parameters.positive("learning-rate")),
        validation_(parameters.positive("validation", 1)) {}

  void generate(Session& session, const GenerateOptions& options) const override {
    generate_words(session, options, 1);  // the last id stands for unknown words
  }

  DataKind reads() const override { return DataKind::text; }
  std::string default_split() const override { return "valid"; }

 private:
  Results train_graph(Inputs& in) const override {
    Value loss = this->loss(in, "", sizes().keep);
    Value rate = in("rate", f32, {});
    return train_results(loss, minimize(loss, params(), Adam{.rate = rate, .clip_norm = clip_}));
  }

  double rate(const TrainPosition&, double done) const override {
    return learning_rate_ * (0.55 + 0.45 * std::cos(std::numbers::pi * done));
  }

  LanguageCorpus read(const CorpusSource& source) const override {
    const auto& data = source.data;
    if (!data) {
      throw Error(ErrorKind::usage, {},
                  "word-lm: no text to train on: --data wants a file or a folder");
    }
    std::string text = read_text(*data, source.reading);
    // Words are separated by any white space; only newlines end lines.
    std::ranges::replace_if(
        text, [](char c) { return std::string_view("\t\r\v\f").find(c) != std::string_view::npos; },
        ' ');
    const std::vector<std::string_view> words = split_words(text);
    const auto trained = std::span(words).first(size_t(double(words.size()) * (1 - validation_)));
    const Vocabulary vocabulary = source.vocabulary != nullptr
                                      ? Vocabulary::from_text(*source.vocabulary)
                                      : Vocabulary::most_frequent(trained, sizes().vocabulary);
    if (source.vocabulary != nullptr) {
      const Unknown unknown = vocabulary.unknown(words);
      if (!unknown.counts.empty()) source.reading.say(unknown.to_text("words"));
    }
    LanguageCorpus corpus;
    corpus.vocabulary = vocabulary.to_text();
    corpus.size = vocabulary.size();
    corpus.train = vocabulary.ids(trained, data->string(), text);
    corpus.valid = vocabulary.ids(std::span(words).subspan(trained.size()), data->string(), text);
    return corpus;
  }

  double clip_, learning_rate_, validation_;
};

}  // namespace

constinit const ModelRecord word_lm_model{
    .name = "word-lm",
    .summary = "a language model of the words of any text: embedding, LSTM layers, softmax",
    .parameters = kWordLmParameters,
    .make = [](Parameters& parameters) -> std::unique_ptr<Program> {
      return std::make_unique<WordLm>(parameters);
    },
};

}  // namespace graphc::core
