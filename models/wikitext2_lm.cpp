// SPDX-License-Identifier: Apache-2.0
#include "models/wikitext2_lm.h"

#include <array>
#include <cmath>

#include "frontend/graphc.h"
#include "models/language_program.h"

namespace graphc::core {
namespace {

constexpr const char* kWikitext2 = "wikitext2-lm";
constexpr const char* kNoClip = "none";

constexpr std::array<ParameterRecord, 10> kWikitext2LmParameters{{
    {"config", "kawakami",
     "kawakami (Adam) or pytorch (SGD); the others follow it where they are not given"},
    {"tied", "false", "whether the softmax's weights are the embedding's table"},
    {"hidden", "", "units of a layer, and width of the embedding"},
    {"layers", "", "LSTM layers, at most 1000"},
    {"steps", "", "words of a window"},
    {"batch", "", "windows side by side"},
    {"vocabulary", "", "words; kawakami has one more than the corpus"},
    {"keep", "", "probability that dropout keeps an element"},
    {"clip", "", "limit of the gradients' global norm, or none"},
    {"learning-rate", "", "at the start; pytorch divides it by 4 when validation stalls"},
}};

enum class Config { kawakami, pytorch };
constexpr std::array<std::string_view, 2> kConfigs{"kawakami", "pytorch"};

/// The defaults of the parameters from `hidden` on, for W3's two configurations.
constexpr const char* kDefaults[][8] = {
    {"1024", "1", "128", "128", "33279", "0.5", kNoClip, "0.0002"},
    {"1500", "2", "35", "20", "33278", "0.35", "0.25", "20"},
};

Config config_of(Parameters& parameters) {
  const size_t config = parameters.choice("config", kConfigs);
  for (size_t i = 0; i < 8; ++i)
    parameters.set_default(kWikitext2LmParameters[i + 2].name, kDefaults[config][i]);
  return Config(config);
}

/// PyTorch's default: U(+-1/sqrt(fan_in)), biases included. One configuration draws the embedding
/// from N(0, 1); the other draws it and the softmax from U(+-0.1), with zero biases.
NetworkInitializers initializers(Config config, int64_t hidden) {
  const Initializer by_width = uniform(1 / std::sqrt(double(hidden)));
  if (config == Config::pytorch) {
    return {.embedding = uniform(0.1),
            .lstm = by_width,
            .softmax = uniform(0.1),
            .softmax_bias = zeros(),
            .lstm_bias = by_width};
  }
  return {.embedding = normal(1),
          .lstm = by_width,
          .softmax = by_width,
          .softmax_bias = by_width,
          .lstm_bias = by_width};
}

class Wikitext2Lm : public LanguageProgram {
 public:
  Wikitext2Lm(Config config, const Parameters& parameters)
      : LanguageProgram(
            {.name = kWikitext2,
             .sizes = LanguageSizes(parameters),
             .initializers = initializers(config, parameters.integer("hidden")),
             .weights = parameters.flag("tied") ? SoftmaxWeights::tied : SoftmaxWeights::own,
             .summed =
                 config == Config::pytorch ? SummedOver::nothing : SummedOver::steps_and_batch,
             .epochs = 10}),
        config_(config),
        learning_rate_(parameters.positive("learning-rate")) {
    if (parameters.text("clip") != kNoClip) clip_ = parameters.positive("clip");
  }

 private:
  Results train_graph(Inputs& in) const override {
    Value loss = this->loss(in, "", sizes().keep);
    Value rate = in("rate", f32, {});
    const Values d = config_ == Config::pytorch
                         ? minimize(loss, params(), Sgd{.rate = rate, .clip_norm = clip_})
                         : minimize(loss, params(), Adam{.rate = rate, .clip_norm = clip_});
    return train_results(loss, d);
  }

  /// For `pytorch`: divided by four after each epoch that did not improve the validation loss.
  double rate(const TrainPosition& at, double) const override {
    return config_ == Config::pytorch ? learning_rate_ * std::pow(0.25, double(at.stalls))
                                      : learning_rate_;
  }

  /// In `pytorch` a blank line counts as a line end; in `kawakami` it does not.
  LanguageCorpus read(const CorpusSource& source) const override {
    const BlankLines blank = config_ == Config::pytorch ? BlankLines::kept : BlankLines::dropped;
    return read_words(source, [&](const CorpusReading& how) {
      return read_wikitext2(corpus_folder(source.data, "wikitext-2"), blank, how);
    });
  }

  Config config_;
  double learning_rate_;
  std::optional<double> clip_;
};

}  // namespace

constinit const ModelRecord wikitext2_lm_model{
    .name = kWikitext2,
    .summary = "the word language models of WikiText-2: embedding, LSTM layers, softmax",
    .parameters = kWikitext2LmParameters,
    .make = [](Parameters& parameters) -> std::unique_ptr<Program> {
      const Config config = config_of(parameters);
      return std::make_unique<Wikitext2Lm>(config, parameters);
    },
};

}  // namespace graphc::core
