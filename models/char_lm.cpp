// SPDX-License-Identifier: Apache-2.0
#include "models/char_lm.h"

#include <array>
#include <cmath>
#include <numbers>

#include "frontend/graphc.h"
#include "models/data/characters.h"
#include "models/language_model.h"
#include "models/random_inputs.h"

namespace graphc {
namespace {

constexpr std::array<ParameterRecord, 9> kCharLmParameters{{
    {"hidden", "256", "units of a layer, and width of the embedding"},
    {"layers", "1", "LSTM layers, at most 1000"},
    {"steps", "64", "characters of a window"},
    {"batch", "32", "windows side by side"},
    {"vocabulary", "128", "the most frequent characters, and one that stands for all others"},
    {"keep", "1", "probability that dropout keeps an element"},
    {"clip", "1", "limit of the gradients' global norm"},
    {"learning-rate", "0.004", "of Adam at the start; it goes down half a cosine to a tenth"},
    {"validation", "0.05", "share of the text, at its end, that is not trained on"},
}};

double in_range(const Parameters& parameters, const char* name, double above, double below) {
  const double value = parameters.number(name);
  if (value > above && value < below) return value;
  throw Error(ErrorKind::usage, {},
              fmt::format("char-lm: parameter '{}' is above {} and below {}: found '{}'", name,
                          above, below, value));
}

class CharLm : public Program {
 public:
  explicit CharLm(const Parameters& parameters)
      : hidden_(parameters.integer("hidden")),
        layers_(parameters.layers()),
        steps_(parameters.integer("steps")),
        batch_(parameters.integer("batch")),
        vocabulary_(parameters.integer("vocabulary", 2)),
        keep_(parameters.number("keep")),
        clip_(in_range(parameters, "clip", 0, HUGE_VAL)),
        learning_rate_(in_range(parameters, "learning-rate", 0, HUGE_VAL)),
        validation_(in_range(parameters, "validation", 0, 1)),
        model_("char_lm"),
        network_(model_, vocabulary_, hidden_, layers_,
                 {.embedding = normal(0.1),
                  .lstm = glorot_uniform(),
                  .softmax = glorot_uniform(),
                  .softmax_bias = zeros(),
                  .forget_bias = 1}) {
    if (!(keep_ > 0 && keep_ <= 1)) {
      throw Error(ErrorKind::usage, {},
                  fmt::format("char-lm: parameter 'keep' is in (0, 1]: found '{}'", keep_));
    }
    model_.graph("train", Mode::training, [this](Inputs& in) {
      Value loss = this->loss(in, "", keep_);
      Value rate = in("rate", f32, {});
      const Params params = model_.params();
      const Values d = clip_by_global_norm(gradients(loss, params), clip_);
      Adam{.rate = rate}.update(params, d);
      return loss;
    });
    model_.graph("forward", [this](Inputs& in) { return loss(in, "forward.", 1); });
    model_.graph("generate", [this](Inputs& in) { return network_.generate(in); });
  }

  Model& model() override { return model_; }

  Extents extents(std::string_view) const override {
    return {{"steps", steps_}, {"batch", batch_}};
  }

  std::vector<Tensor> random_inputs(std::string_view graph, uint64_t seed) const override {
    if (graph == "generate") return network_.random_generate_inputs(steps_, seed);
    const Shape shape{steps_, batch_};
    std::vector<Tensor> inputs{random_integers(shape, vocabulary_, 2 * seed),
                               random_integers(shape, vocabulary_, 2 * seed + 1)};
    if (graph == "train") inputs.push_back(Literal::of(float(learning_rate_)));
    return inputs;
  }

  Work work() const override {
    const double h = double(hidden_), words = double(steps_ * batch_);
    const double forward =
        words * (double(layers_) * 2 * 2 * h * 4 * h + 2 * h * double(vocabulary_));
    return {.examples = batch_,
            .words = steps_ * batch_,
            .unit = "characters",
            .forward_flop = forward,
            .train_flop = 3 * forward};
  }

  void train(Session& session, const TrainOptions& options) const override;
  void generate(Session& session, const GenerateOptions& options) const override;

 private:
  /// The mean nats of a character.
  Value loss(Inputs& in, const std::string& prefix, double keep) const {
    Value tokens = in("tokens", i32, {"steps", "batch"});
    Value targets = in("targets", i32, {"steps", "batch"});
    LanguageNetwork::Carried states = network_.carried(in, prefix, in.extent("batch"));
    return mean(cross_entropy(network_.logits(network_.embedded(tokens), states, keep), targets));
  }

  int64_t hidden_, layers_, steps_, batch_, vocabulary_;
  double keep_, clip_, learning_rate_, validation_;
  Model model_;
  LanguageNetwork network_;
};

void CharLm::train(Session& session, const TrainOptions& options) const {
  if (!options.data) {
    throw Error(ErrorKind::usage, {},
                "char-lm: no text to train on: --data wants a file or a folder");
  }
  const std::string text = read_text(*options.data);
  const Characters characters(text, int32_t(vocabulary_));
  const Notes notes{{"vocabulary", characters.to_text()}};
  check_notes(options, notes);
  const std::vector<int32_t> ids = characters.ids(text);
  const std::span<const int32_t> all(ids);
  const size_t kept = size_t(double(ids.size()) * (1 - validation_));
  const Windows train(all.first(kept), batch_, steps_), valid(all.subspan(kept), batch_, steps_);

  const auto rate = [this](int64_t, double done) {
    return learning_rate_ * (0.55 + 0.45 * std::cos(std::numbers::pi * done));
  };
  train_language_model(session, options,
                       {.program = *this,
                        .network = network_,
                        .train = train,
                        .valid = valid,
                        .epochs = 4,
                        .summed_over_steps = false,
                        .rate = rate,
                        .notes = notes,
                        .unit = "characters"});
}

void CharLm::generate(Session& session, const GenerateOptions& options) const {
  const Characters characters = Characters::from_text(vocabulary_note(options));
  if (characters.size() > vocabulary_) {
    throw input_error({}, "the vocabulary has {} characters: the model's has {}", characters.size(),
                      vocabulary_);
  }
  // Without a prompt a line begins.
  const std::string prompt = options.prompt.empty() ? "\n" : options.prompt;
  generate_tokens(session, network_, characters.ids(prompt), characters.size() - 1, options,
                  [&](int32_t token) { return options.write(characters.text(token)); });
}

}  // namespace

constinit const ModelRecord char_lm_model{
    .name = "char-lm",
    .summary = "a language model of the characters of any text: embedding, LSTM layers, softmax",
    .parameters = kCharLmParameters,
    .make = [](Parameters& parameters) -> std::unique_ptr<Program> {
      return std::make_unique<CharLm>(parameters);
    },
};

}  // namespace graphc
