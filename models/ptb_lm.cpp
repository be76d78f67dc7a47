// SPDX-License-Identifier: Apache-2.0
#include "models/ptb_lm.h"

#include <array>
#include <cmath>

#include "frontend/graphc.h"
#include "models/data/text_corpus.h"
#include "models/random_inputs.h"
#include "models/training.h"

namespace graphc {
namespace {

constexpr std::array<ParameterRecord, 10> kParameters{{
    {"size", "small",
     "test, small, medium or large; the others follow it where they are not given"},
    {"hidden", "", "units of a layer, and width of the embedding"},
    {"layers", "", "LSTM layers"},
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

/// The network: its parameters, and the equations from words to logits.
struct Network {
  Network(Model& m, int64_t vocabulary, int64_t hidden, int64_t layers, const Recipe& recipe)
      : embedding(m, "embedding", vocabulary, hidden, uniform(recipe.scale)) {
    for (int64_t l = 0; l < layers; ++l) {
      lstm.emplace_back(m, fmt::format("lstm.{}", l), hidden, hidden, uniform(recipe.scale), 0);
    }
    softmax.emplace(m, "softmax", hidden, vocabulary, uniform(recipe.scale), uniform(recipe.scale));
  }

  /// Embedded words [steps, batch, hidden] to logits [steps, batch, vocabulary]; the states h and c
  /// go from the window's first step to its last.
  Value operator()(Value x, std::vector<State>& h, std::vector<State>& c, double keep) const {
    x = dropout(x, keep);
    for (size_t l = 0; l < lstm.size(); ++l) x = dropout(lstm[l].run(x, h[l], c[l]), keep);
    return (*softmax)(x);
  }

  Embedding embedding;
  std::vector<Lstm> lstm;
  std::optional<Linear> softmax;
};

class PtbLm : public Program {
 public:
  explicit PtbLm(Parameters& parameters)
      : recipe_(recipe_of(parameters)),
        hidden_(parameters.integer("hidden")),
        layers_(parameters.integer("layers")),
        steps_(parameters.integer("steps")),
        batch_(parameters.integer("batch")),
        vocabulary_(parameters.integer("vocabulary")),
        keep_(parameters.number("keep")),
        clip_(parameters.number("clip")),
        learning_rate_(parameters.number("learning-rate")),
        unmerged_norm_(parameters.flag("unmerged-norm")),
        model_("ptb_lm"),
        network_(model_, vocabulary_, hidden_, layers_, recipe_) {
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
  }

  Model& model() override { return model_; }

  Extents extents(std::string_view graph) const override {
    if (graph == "test") return {{"steps", 1}, {"batch", 1}};
    return {{"steps", steps_}, {"batch", batch_}};
  }

  std::vector<Tensor> random_inputs(std::string_view graph, uint64_t seed) const override {
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

 private:
  struct Carried {
    std::vector<State> h, c;
  };
  /// The states between windows of one graph; each graph has its own.
  Carried carried(Inputs& in, const std::string& prefix) const {
    const Shape shape{in.extent("batch"), hidden_};
    Carried states;
    for (int64_t l = 0; l < layers_; ++l) {
      states.h.push_back(in.state(fmt::format("{}h.{}", prefix, l), shape));
      states.c.push_back(in.state(fmt::format("{}c.{}", prefix, l), shape));
    }
    return states;
  }

  /// The cost: nats summed over the steps, mean over the batch.
  static Value cost(Value logits, Value targets) {
    return sum(cross_entropy(logits, targets)) / targets.shape()[1];
  }

  Value train_graph(Inputs& in) const {
    Value tokens = in("tokens", i32, {"steps", "batch"});
    Value targets = in("targets", i32, {"steps", "batch"});
    Value rate = in("rate", f32, {});
    Carried states = carried(in, "");

    Value rows = network_.embedding(tokens);
    if (unmerged_norm_) rows = watch(rows);
    Value loss = cost(network_(rows, states.h, states.c, keep_), targets);

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
    Carried states = carried(in, prefix);
    return cost(network_(network_.embedding(tokens), states.h, states.c, 1), targets);
  }

  static Tensor rate(double value) { return Literal::of(float(value)); }

  void reset_states(Session& session, const std::string& prefix) const {
    for (int64_t l = 0; l < layers_; ++l) {
      session.reset(fmt::format("{}h.{}", prefix, l));
      session.reset(fmt::format("{}c.{}", prefix, l));
    }
  }

  /// exp(total cost / total steps) over the windows of a stream.
  double perplexity(Session& session, const std::string& graph, const Windows& windows) const;

  const Recipe& recipe_;
  int64_t hidden_, layers_, steps_, batch_, vocabulary_;
  double keep_, clip_, learning_rate_;
  bool unmerged_norm_;
  Model model_;
  Network network_;
};

double PtbLm::perplexity(Session& session, const std::string& graph, const Windows& windows) const {
  const Type type{DType::i32, {windows.steps(), windows.batch()}};
  session.compile(graph, {type, type});
  reset_states(session, graph + ".");
  double total = 0;
  for (int64_t i = 0; i < windows.count(); ++i) {
    const Window window = windows.window(i);
    total += session(graph, window.tokens, window.targets).scalar();
  }
  return std::exp(total / double(windows.count() * windows.steps()));
}

void PtbLm::train(Session& session, const TrainOptions& options) const {
  const TextCorpus corpus = read_ptb(corpus_folder(options.data, "ptb"));
  if (corpus.vocabulary.size() > vocabulary_) {
    throw input_error({}, "the corpus has {} words: the model's vocabulary has {}",
                      corpus.vocabulary.size(), vocabulary_);
  }
  const Windows windows(corpus.train, batch_, steps_), valid(corpus.valid, batch_, steps_),
      test(corpus.test, 1, 1);
  const Type type{DType::i32, {steps_, batch_}};
  session.compile("train", {type, type, {DType::f32, {}}});

  Training training(options, recipe_.epochs);
  for (int64_t epoch = 0; epoch < training.epochs() && training.goes_on(); ++epoch) {
    const double late = double(std::max<int64_t>(epoch + 1 - recipe_.constant, 0));
    const double learning_rate = learning_rate_ * std::pow(recipe_.decay, late);
    const Tensor rate_now = rate(learning_rate);
    reset_states(session, "");
    training.begin_epoch(epoch, learning_rate);
    double total = 0;
    int64_t i = 0;
    for (; i < windows.count() && training.goes_on(); ++i) {
      const Window window = windows.window(i);
      const double loss = session("train", window.tokens, window.targets, rate_now).scalar();
      training.step(loss / double(steps_), steps_ * batch_);
      total += loss;
    }
    // An epoch cut short has no perplexities: they would compare with nothing.
    if (i < windows.count()) break;
    training.end_epoch(std::exp(total / double(i * steps_)), perplexity(session, "forward", valid));
    if (epoch + 1 == training.epochs()) {
      training.end(perplexity(session, "test", test));
      return;
    }
  }
  training.end({});
}

}  // namespace

constinit const ModelRecord ptb_lm_model{
    .name = "ptb-lm",
    .summary = "the word language model of the Penn Treebank: embedding, LSTM layers, softmax",
    .parameters = kParameters,
    .make = [](Parameters& parameters) -> std::unique_ptr<Program> {
      return std::make_unique<PtbLm>(parameters);
    },
};

}  // namespace graphc
