// SPDX-License-Identifier: Apache-2.0
// rnn-variants task=classification: one of two classes per sequence.
#include "frontend/graphc.h"
#include "models/batch_training.h"
#include "models/data/wave_classes.h"
#include "models/random_inputs.h"
#include "models/rnn_variants.h"

namespace graphc::core {
namespace {

/// Parts of the sequences in thousandths: of 10,000, they are 8,190, 810 and 1,000.
constexpr int64_t kTrainPart = 819, kValidPart = 81;

class SequenceClassifier : public Program {
 public:
  explicit SequenceClassifier(const Parameters& parameters)
      : hidden_(parameters.integer("hidden")),
        count_(parameters.layers()),
        steps_(parameters.integer("steps")),
        batch_(parameters.integer("batch")),
        sequences_(parameters.integer("sequences", 100)),
        rate_(parameters.positive("learning-rate")),
        model_("sequence_classifier"),
        layers_(model_, "lstm", int(count_), 2, hidden_, {.keep = parameters.keep()}),
        out_(model_, "out", hidden_, 1) {
    model_.graph("train", Mode::training, [this](Inputs& in) {
      Value loss = evaluation(in).values[0];
      const Params params = model_.params();
      const Values d = gradients(loss, params);
      Adam{.rate = rate_}.update(params, clip_by_norm(clip_by_value(d, 5), 100));
      return train_results(loss, d);
    });
    model_.graph("forward", [this](Inputs& in) { return evaluation(in); });
  }

  Model& model() override { return model_; }

  Extents extents(std::string_view) const override {
    return {{"steps", steps_}, {"batch", batch_}};
  }

  std::vector<Tensor> random_inputs(std::string_view, uint64_t seed) const override {
    return WaveClasses(batch_, steps_, seed).batch(numbers(0, batch_));
  }

  Work work() const override {
    const double h = double(hidden_), calls = double(steps_ * batch_);
    const double first = calls * 2 * 2 * 4 * h;
    const double rest = calls * double(2 * count_ - 1) * 2 * h * 4 * h + double(batch_) * 2 * h;
    return {.examples = batch_,
            .words = batch_,
            .unit = "sequences",
            .forward_flop = first + rest,
            .train_flop = 2 * first + 3 * rest};
  }

  bool validates() const override { return true; }

  void train(Session& session, const TrainOptions& options) const override {
    refuse_data("rnn-variants", options.data);
    if (options.sample > 0) generate(session, {});  // throws: this model has no text
    const uint64_t seed = session.options().seed;
    const WaveClasses data(sequences_, steps_, seed);
    const std::vector<int64_t> train = part(data, "train");
    const auto inputs = [&](std::span<const int64_t> samples) { return data.batch(samples); };
    // The training part comes first, so indices are sequence numbers.
    const auto count = int64_t(train.size());
    train_on_batches(
        session, options,
        {.epoch =
             [&](int64_t epoch) {
               return batches_of(shuffled(count, seed, epoch), batch_, inputs);
             },
         .epochs = 50,
         .unit = "sequences",
         .validate = [&] { return prefixed("valid_", figures(session, data, "valid")); },
         .test = [&] { return prefixed("test_", figures(session, data, "test")); }});
  }

  std::vector<Metric> evaluate(Session& session, const EvaluateOptions& options) const override {
    refuse_data("rnn-variants", options.data);
    const WaveClasses data(sequences_, steps_, session.options().seed);
    return figures(session, data, options.split);
  }

 private:
  /// The loss and the share of correct classes.
  Results evaluation(Inputs& in) const {
    Value x = in("x", f32, {"steps", "batch", 2}), y = in("y", f32, {"batch", 1});
    Value logits = out_(mean(layers_(x), 0));
    Value right = cast(equal(cast(logits > 0, f32), y), f32);
    return {{"loss", mean(sigmoid_cross_entropy(logits, y))}, {"accuracy", mean(right)}};
  }

  /// The numbers of the sequences in a part.
  static std::vector<int64_t> part(const WaveClasses& data, std::string_view name) {
    const int64_t train = data.count() * kTrainPart / 1000;
    const int64_t valid = data.count() * kValidPart / 1000;
    const int64_t begin = name == "train" ? 0 : name == "valid" ? train : train + valid;
    const int64_t end = name == "train" ? train : name == "valid" ? train + valid : data.count();
    if (name != "train" && name != "valid" && name != "test") {
      throw Error(
          ErrorKind::usage, {},
          fmt::format("rnn-variants: there is no split '{}': wanted train, valid or test", name));
    }
    return numbers(begin, end);
  }

  /// Loss, accuracy, and the share of the more frequent class.
  std::vector<Metric> figures(Session& session, const WaveClasses& data,
                              std::string_view name) const {
    const std::vector<int64_t> sequences = part(data, name);
    const auto inputs = [&](std::span<const int64_t> samples) { return data.batch(samples); };
    std::vector<Metric> found = mean_results(
        session, "forward", batches_of(sequences, batch_, inputs), {"loss", "accuracy"});
    found.push_back({"majority", data.majority(sequences)});
    return found;
  }

  int64_t hidden_, count_, steps_, batch_, sequences_;
  double rate_;
  Model model_;
  Stacked<Lstm> layers_;
  Linear out_;
};

}  // namespace

std::unique_ptr<Program> make_sequence_classifier(const Parameters& parameters) {
  return std::make_unique<SequenceClassifier>(parameters);
}

}  // namespace graphc::core
