// SPDX-License-Identifier: Apache-2.0
#include "models/ptb_lm.h"

#include <array>
#include <cmath>

#include "frontend/graphc.h"
#include "models/data/text_corpus.h"
#include "models/language_model.h"
#include "models/random_inputs.h"

namespace graphc {
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

/// What depends on the size and is no parameter: W2's table.
struct Recipe {
  std::string_view name;
  const char *hidden, *layers, *steps, *keep, *clip;
  double scale;              ///< weights are drawn from U(-scale, scale)
  int64_t constant, epochs;  ///< epochs at the full rate, and all of them
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

/// Everything is drawn from U(-scale, scale) but the biases of the LSTM, which start at 0.
NetworkInitializers initializers(const Recipe& recipe) {
  const Initializer any = uniform(recipe.scale);
  return {.embedding = any, .lstm = any, .softmax = any, .softmax_bias = any};
}

class PtbLm : public Program {
 public:
  explicit PtbLm(Parameters& parameters)
      : recipe_(recipe_of(parameters)),
        hidden_(parameters.integer("hidden")),
        layers_(parameters.layers()),
        steps_(parameters.integer("steps")),
        batch_(parameters.integer("batch")),
        vocabulary_(parameters.integer("vocabulary")),
        keep_(parameters.number("keep")),
        clip_(parameters.number("clip")),
        learning_rate_(parameters.number("learning-rate")),
        unmerged_norm_(parameters.flag("unmerged-norm")),
        model_("ptb_lm"),
        network_(model_, vocabulary_, hidden_, layers_, initializers(recipe_)) {
    if (!(keep_ > 0 && keep_ <= 1)) {
      throw Error(ErrorKind::usage, {},
                  fmt::format("ptb-lm: parameter 'keep' is in (0, 1]: found '{}'", keep_));
    }
    if (!(learning_rate_ > 0 && std::isfinite(learning_rate_))) {
      throw Error(
          ErrorKind::usage, {},
          fmt::format("ptb-lm: parameter 'learning-rate' is above 0: found '{}'", learning_rate_));
    }
    model_.graph("train", Mode::training, [this](Inputs& in) { return train_graph(in); });
    model_.graph("forward", [this](Inputs& in) { return evaluation_graph(in, "forward."); });
    model_.graph("test", [this](Inputs& in) { return evaluation_graph(in, "test."); });
    model_.graph("generate", [this](Inputs& in) { return network_.generate(in); });
  }

  Model& model() override { return model_; }

  Extents extents(std::string_view graph) const override {
    if (graph == "test") return {{"steps", 1}, {"batch", 1}};
    return {{"steps", steps_}, {"batch", batch_}};
  }

  std::vector<Tensor> random_inputs(std::string_view graph, uint64_t seed) const override {
    if (graph == "generate") return network_.random_generate_inputs(steps_, seed);
    const Extents extents = this->extents(graph);
    const Shape shape{extents.at("steps"), extents.at("batch")};
    std::vector<Tensor> inputs{random_integers(shape, vocabulary_, 2 * seed),
                               random_integers(shape, vocabulary_, 2 * seed + 1)};
    if (graph == "train") inputs.push_back(rate(1));
    return inputs;
  }

  Work work() const override {
    const double h = double(hidden_), layers = double(layers_), words = double(steps_ * batch_);
    const double forward = words * (layers * 2 * 2 * h * 4 * h + 2 * h * double(vocabulary_));
    return {.examples = batch_,
            .words = steps_ * batch_,
            .forward_flop = forward,
            .train_flop = 3 * forward};
  }

  void train(Session& session, const TrainOptions& options) const override;
  void generate(Session& session, const GenerateOptions& options) const override;

 private:
  /// The cost: nats summed over the steps, mean over the batch.
  static Value cost(Value logits, Value targets) {
    return sum(cross_entropy(logits, targets)) / targets.shape()[1];
  }

  Value train_graph(Inputs& in) const {
    Value tokens = in("tokens", i32, {"steps", "batch"});
    Value targets = in("targets", i32, {"steps", "batch"});
    Value rate = in("rate", f32, {});
    LanguageNetwork::Carried states = network_.carried(in, "", in.extent("batch"));

    Value rows = network_.embedded(tokens);
    if (unmerged_norm_) rows = watch(rows);
    Value loss = cost(network_.logits(rows, states, keep_), targets);

    const Params params = model_.params();
    Values d = gradients(loss, params);
    Value norm;
    if (unmerged_norm_) {
      // The embedding is the first parameter; its part of the norm is that of the rows looked up.
      Values counted(d.begin() + 1, d.end());
      counted.push_back(gradients(loss, Values{rows})[0]);
      norm = global_norm(counted);
    }
    Sgd{.rate = rate}.update(params, clip_by_global_norm(d, clip_, norm));
    return loss;
  }

  Value evaluation_graph(Inputs& in, const std::string& prefix) const {
    Value tokens = in("tokens", i32, {"steps", "batch"});
    Value targets = in("targets", i32, {"steps", "batch"});
    LanguageNetwork::Carried states = network_.carried(in, prefix, in.extent("batch"));
    return cost(network_.logits(network_.embedded(tokens), states, 1), targets);
  }

  static Tensor rate(double value) { return Literal::of(float(value)); }

  const Recipe& recipe_;
  int64_t hidden_, layers_, steps_, batch_, vocabulary_;
  double keep_, clip_, learning_rate_;
  bool unmerged_norm_;
  Model model_;
  LanguageNetwork network_;
};

void PtbLm::train(Session& session, const TrainOptions& options) const {
  const TextCorpus corpus = read_ptb(corpus_folder(options.data, "ptb"));
  if (corpus.vocabulary.size() > vocabulary_) {
    throw input_error({}, "the corpus has {} words: the model's vocabulary has {}",
                      corpus.vocabulary.size(), vocabulary_);
  }
  const Notes notes{{"vocabulary", corpus.vocabulary.to_text()}};
  check_notes(options, notes);
  const Windows train(corpus.train, batch_, steps_), valid(corpus.valid, batch_, steps_),
      test(corpus.test, 1, 1);
  const auto rate_of = [this](int64_t epoch, double) {
    const double late = double(std::max<int64_t>(epoch + 1 - recipe_.constant, 0));
    return learning_rate_ * std::pow(recipe_.decay, late);
  };
  train_language_model(session, options,
                       {.program = *this,
                        .network = network_,
                        .train = train,
                        .valid = valid,
                        .test = &test,
                        .epochs = recipe_.epochs,
                        .rate = rate_of,
                        .notes = notes});
}

void PtbLm::generate(Session& session, const GenerateOptions& options) const {
  const Vocabulary words = Vocabulary::from_text(vocabulary_note(options));
  if (words.size() > vocabulary_) {
    throw input_error({}, "the vocabulary has {} words: the model's has {}", words.size(),
                      vocabulary_);
  }
  // Without a prompt a sentence begins.
  const std::string prompt = options.prompt.empty() ? "\n" : options.prompt;
  const std::vector<std::string_view> split = split_words(prompt);
  if (split.empty()) throw input_error({}, "a prompt without words: '{}'", prompt);
  const auto write = [&](int32_t token) {
    const std::string& word = words.word(token);
    return options.write(word == kEndOfLine ? "\n" : fmt::format(" {}", word));
  };
  generate_tokens(session, network_, words.ids(split, "the prompt"), words.size(), options, write);
}

}  // namespace

constinit const ModelRecord ptb_lm_model{
    .name = "ptb-lm",
    .summary = "the word language model of the Penn Treebank: embedding, LSTM layers, softmax",
    .parameters = kPtbLmParameters,
    .make = [](Parameters& parameters) -> std::unique_ptr<Program> {
      return std::make_unique<PtbLm>(parameters);
    },
};

}  // namespace graphc
