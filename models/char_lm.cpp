// SPDX-License-Identifier: Apache-2.0
#include "models/char_lm.h"

#include <array>
#include <cmath>
#include <numbers>

#include "frontend/graphc.h"
#include "models/data/characters.h"
#include "models/language_program.h"

namespace graphc::core {
namespace {

constexpr std::array<ParameterRecord, 11> kCharLmParameters{{
    {"hidden", "256", "units of a layer, and width of the embedding"},
    {"cell", "lstm",
     "of the layers: lstm, gated-delta, mlstm, slstm, selective-scan, rwkv7, rg-lru or min-gru"},
    {"heads", "", "of gated-delta, mlstm, slstm and rwkv7, 4 if not given; 1 of the others"},
    {"layers", "1", "recurrent layers, at most 1000"},
    {"steps", "64", "characters of a window"},
    {"batch", "32", "windows side by side"},
    {"vocabulary", "128", "the most frequent characters, and one that stands for all others"},
    {"keep", "1", "probability that dropout keeps an element"},
    {"clip", "1", "limit of the gradients' global norm"},
    {"learning-rate", "0.004", "of Adam at the start; it goes down half a cosine to a tenth"},
    {"validation", "0.05", "share of the text, at its end, that is not trained on"},
}};

LanguageCell cell_of(Parameters& parameters) {
  const std::vector<std::string_view> cells = language_cells();
  const std::string_view name = cells[parameters.choice("cell", cells)];
  parameters.set_default("heads", has_heads(name) ? "4" : "1");
  const int64_t heads = parameters.integer("heads");
  if (heads != 1 && !has_heads(name)) {
    throw Error(ErrorKind::usage, {},
                fmt::format("char-lm cell={}: it has no heads: found heads={}", name, heads));
  }
  return {name, heads};
}

class CharLm : public LanguageProgram {
 public:
  explicit CharLm(Parameters& parameters)
      : LanguageProgram({.name = "char-lm",
                         .sizes = LanguageSizes(parameters, 2),
                         .initializers = {.embedding = normal(0.1),
                                          .lstm = glorot_uniform(),
                                          .softmax = glorot_uniform(),
                                          .softmax_bias = zeros(),
                                          .forget_bias = 1},
                         .epochs = 4,
                         .unit = "characters",
                         .cell = cell_of(parameters)}),
        clip_(parameters.positive("clip")),
        learning_rate_(parameters.positive("learning-rate")),
        validation_(parameters.positive("validation", 1)) {}

  void generate(Session& session, const GenerateOptions& options) const override {
    const Characters characters = Characters::from_text(vocabulary_note(options.notes));
    check_size(characters.size(), "the vocabulary");
    // Without a prompt, start a line.
    const std::string prompt = options.prompt.empty() ? "\n" : options.prompt;
    refuse_unknown(characters.unknown(prompt), "characters", options);
    generate_tokens(session, network(), characters.ids(prompt), characters.size() - 1, options,
                    [&](int32_t token) { return options.write(characters.text(token)); });
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
    if (!source.data) {
      throw Error(ErrorKind::usage, {},
                  "char-lm: no text to train on: --data wants a file or a folder");
    }
    const std::string text = read_text(*source.data, source.reading);
    const Characters characters = source.vocabulary != nullptr
                                      ? Characters::from_text(*source.vocabulary)
                                      : Characters(text, int32_t(sizes().vocabulary));
    if (source.vocabulary != nullptr) {
      const Unknown unknown = characters.unknown(text);
      if (!unknown.counts.empty()) source.reading.say(unknown.to_text("characters"));
    }
    const std::vector<int32_t> ids = characters.ids(text);
    const auto end = ids.begin() + long(double(ids.size()) * (1 - validation_));
    LanguageCorpus corpus;
    corpus.vocabulary = characters.to_text();
    corpus.size = characters.size();
    corpus.train.assign(ids.begin(), end);
    corpus.valid.assign(end, ids.end());
    return corpus;
  }

  double clip_, learning_rate_, validation_;
};

}  // namespace

constinit const ModelRecord char_lm_model{
    .name = "char-lm",
    .summary = "a language model of the characters of any text: embedding, layers, softmax",
    .parameters = kCharLmParameters,
    .make = [](Parameters& parameters) -> std::unique_ptr<Program> {
      return std::make_unique<CharLm>(parameters);
    },
};

}  // namespace graphc::core
