// SPDX-License-Identifier: Apache-2.0
#include "models/ptb_lm.h"

#include <array>
#include <cmath>

#include "frontend/graphc.h"
#include "models/language_program.h"

namespace graphc::core {
namespace {

constexpr std::array<ParameterRecord, 10> kPtbLmParameters{{
    {"size", "small",
     "test, small, medium or large; the others follow it where they are not given"},
    {"hidden", "", "units of a layer, and width of the embedding"},
    {"layers", "", "LSTM layers, at most 1000"},
    {"steps", "", "words of a window"},
    {"batch", "20", "windows side by side"},
    {"vocabulary", "10000", "words"},
    {"keep", "", "probability that dropout keeps an element"},
    {"clip", "", "limit of the gradients' global norm"},
    {"learning-rate", "1", "of the first epochs; the recipe's decay multiplies it"},
    {"unmerged-norm", "false",
     "whether the norm has the embedding's gradient row by row, before equal words are summed"},
}};

/// Constants of a size that are not parameters: W2's table.
struct Recipe {
  std::string_view name;
  const char *hidden, *layers, *steps, *keep, *clip;
  double scale;              ///< weights are drawn from U(-scale, scale)
  int64_t constant, epochs;  ///< epochs at the full rate, and in total
  double decay;
};
constexpr std::array<Recipe, 4> kRecipes{{
    {"test", "2", "1", "2", "1", "1", 0.1, 1, 1, 0.5},
    {"small", "200", "2", "20", "1", "5", 0.1, 4, 13, 0.5},
    {"medium", "650", "2", "35", "0.5", "5", 0.05, 6, 39, 0.8},
    {"large", "1500", "2", "35", "0.35", "10", 0.04, 14, 55, 1 / 1.15},
}};

const Recipe& recipe_of(Parameters& parameters) {
  std::vector<std::string_view> names;
  for (const Recipe& recipe : kRecipes) names.push_back(recipe.name);
  const Recipe& recipe = kRecipes[parameters.choice("size", names)];
  parameters.set_default("hidden", recipe.hidden);
  parameters.set_default("layers", recipe.layers);
  parameters.set_default("steps", recipe.steps);
  parameters.set_default("keep", recipe.keep);
  parameters.set_default("clip", recipe.clip);
  return recipe;
}

/// Everything is drawn from U(-scale, scale), except the biases of the LSTM, which start at 0.
NetworkInitializers initializers(const Recipe& recipe) {
  const Initializer any = uniform(recipe.scale);
  return {.embedding = any, .lstm = any, .softmax = any, .softmax_bias = any};
}

class PtbLm : public LanguageProgram {
 public:
  PtbLm(const Recipe& recipe, const Parameters& parameters)
      : LanguageProgram({.name = "ptb-lm",
                         .sizes = LanguageSizes(parameters),
                         .initializers = initializers(recipe),
                         .summed = SummedOver::steps,
                         .epochs = recipe.epochs,
                         .tests_by_word = true}),
        recipe_(recipe),
        clip_(parameters.positive("clip")),
        learning_rate_(parameters.positive("learning-rate")),
        unmerged_norm_(parameters.flag("unmerged-norm")) {}

 private:
  Results train_graph(Inputs& in) const override {
    Value tokens = in("tokens", i32, {"steps", "batch"});
    Value targets = in("targets", i32, {"steps", "batch"});
    Value rate = in("rate", f32, {});
    LanguageNetwork::Carried states = network().carried(in, "", in.extent("batch"));

    Value rows = network().embedded(tokens);
    if (unmerged_norm_) rows = watch(rows);
    Value loss =
        window_loss(network().logits(rows, states, sizes().keep), targets, SummedOver::steps);

    Values d = gradients(loss, params());
    Value norm;
    if (unmerged_norm_) {
      // The embedding is the first parameter; only the rows looked up count in the norm.
      Values counted(d.begin() + 1, d.end());
      counted.push_back(gradients(loss, Values{rows})[0]);
      norm = global_norm(counted);
    }
    Sgd{.rate = rate}.update(params(), clip_by_global_norm(d, clip_, norm));
    return train_results(loss, d);
  }

  double rate(const TrainPosition& at, double) const override {
    const double late = double(std::max<int64_t>(at.epoch + 1 - recipe_.constant, 0));
    return learning_rate_ * std::pow(recipe_.decay, late);
  }

  LanguageCorpus read(const CorpusSource& source) const override {
    return read_words(source, [&](const CorpusReading& how) {
      return read_ptb(corpus_folder(source.data, "ptb"), how);
    });
  }

  const Recipe& recipe_;
  double clip_, learning_rate_;
  bool unmerged_norm_;
};

}  // namespace

constinit const ModelRecord ptb_lm_model{
    .name = "ptb-lm",
    .summary = "the word language model of the Penn Treebank: embedding, LSTM layers, softmax",
    .parameters = kPtbLmParameters,
    .make = [](Parameters& parameters) -> std::unique_ptr<Program> {
      const Recipe& recipe = recipe_of(parameters);
      return std::make_unique<PtbLm>(recipe, parameters);
    },
};

}  // namespace graphc::core
