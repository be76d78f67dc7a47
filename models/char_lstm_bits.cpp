// SPDX-License-Identifier: Apache-2.0
// char-lstm corpus=synthetic: random bits.
#include "models/batch_training.h"
#include "models/char_lstm.h"
#include "models/char_lstm_network.h"
#include "models/data/random_bits.h"
#include "models/random_inputs.h"

namespace graphc::core {
namespace {

class CharLstmOfBits : public Program {
 public:
  explicit CharLstmOfBits(const Parameters& parameters)
      : steps_(parameters.integer("steps")),
        batch_(parameters.integer("batch")),
        samples_(parameters.integer("samples")),
        rate_(parameters.positive("learning-rate")),
        model_("char_lstm"),
        network_(model_, parameters.integer("vocabulary", 2), parameters.integer("hidden"),
                 parameters.flag("unroll")) {
    model_.graph("train", Mode::training, [this](Inputs& in) {
      const Value loss = this->loss(in);
      return train_results(loss, network_.minimize_by_rmsprop(loss, rate_));
    });
    model_.graph("forward", [this](Inputs& in) { return Results{{"loss", loss(in)}}; });
  }

  Model& model() override { return model_; }

  Extents extents(std::string_view) const override {
    return {{"steps", steps_}, {"batch", batch_}};
  }

  std::vector<Tensor> random_inputs(std::string_view, uint64_t seed) const override {
    return random_bits(numbers(0, batch_), steps_, network_.vocabulary(), seed);
  }

  Work work() const override {
    const double h = double(network_.hidden()), v = double(network_.vocabulary());
    const double calls = double(steps_ * batch_);
    // The product with the bits, which need no gradient, and the other products.
    const double input = calls * 2 * v * 4 * h;
    const double rest = calls * 2 * h * 4 * h + double(batch_) * 2 * h * v;
    return {.examples = batch_,
            .words = batch_,
            .unit = "samples",
            .forward_flop = input + rest,
            .train_flop = 2 * input + 3 * rest};
  }

  void train(Session& session, const TrainOptions& options) const override {
    const uint64_t seed = session.options().seed;
    refuse_data("char-lstm corpus=synthetic", options.data);
    if (options.sample > 0) generate(session, {});  // throws: this model has no text
    train_on_batches(session, options, {.epoch = [&](int64_t epoch) {
                       return batches(shuffled(samples_, seed, epoch), seed);
                     }});
  }

  std::vector<Metric> evaluate(Session& session, const EvaluateOptions& options) const override {
    if (options.split != "train") {
      throw Error(ErrorKind::usage, {},
                  fmt::format("char-lstm corpus=synthetic: there is no split '{}': wanted train, "
                              "all it has",
                              options.split));
    }
    refuse_data("char-lstm corpus=synthetic", options.data);
    return mean_results(session, "forward", batches(numbers(0, samples_), session.options().seed),
                        {"loss"});
  }

 private:
  Value loss(Inputs& in) const {
    const int64_t bits = network_.vocabulary();
    Value x = in("x", f32, {"steps", "batch", bits}), y = in("y", f32, {"batch", bits});
    return mean(cross_entropy_with_probabilities(network_.logits(x), y));
  }

  Batches batches(std::vector<int64_t> order, uint64_t seed) const {
    return batches_of(std::move(order), batch_, [this, seed](std::span<const int64_t> samples) {
      return random_bits(samples, steps_, network_.vocabulary(), seed);
    });
  }

  int64_t steps_, batch_, samples_;
  double rate_;
  Model model_;
  CharLstmNetwork network_;
};

}  // namespace

std::unique_ptr<Program> make_char_lstm_of_bits(const Parameters& parameters) {
  return std::make_unique<CharLstmOfBits>(parameters);
}

}  // namespace graphc::core
