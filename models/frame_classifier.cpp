// SPDX-License-Identifier: Apache-2.0
// rnn-variants task=returnn: a class for every frame of chunks with different lengths.
#include <algorithm>
#include <memory>
#include <utility>

#include "frontend/graphc.h"
#include "models/batch_training.h"
#include "models/data/task_12ax.h"
#include "models/random_inputs.h"
#include "models/rnn_variants.h"

namespace graphc::core {
namespace {

constexpr int64_t kSymbols = int64_t(k12AxSymbols.size()), kClasses = 2;
constexpr int64_t kMostFrames = 2000;  ///< per batch, padding included

class FrameClassifier : public Program {
 public:
  explicit FrameClassifier(const Parameters& parameters)
      : hidden_(parameters.integer("hidden")),
        count_(parameters.layers()),
        steps_(parameters.integer("steps")),
        batch_(std::clamp<int64_t>(kMostFrames / steps_, 1, parameters.integer("batch"))),
        sequences_(parameters.integer("sequences")),
        lengths_{.shortest = parameters.integer("shortest"),
                 .longest = parameters.integer("longest", lengths_.shortest)},
        bucket_(parameters.integer("bucket", 0, steps_)),
        rate_(parameters.positive("learning-rate")),
        model_("frame_classifier"),
        layers_(model_, "lstm", int(count_), kSymbols, hidden_),
        out_(model_, "out", 2 * hidden_, kClasses) {
    model_.graph("train", Mode::training, [this](Inputs& in) {
      Value loss = evaluation(in).values[0];
      return train_results(loss, minimize(loss, model_.params(), Adam{.rate = rate_}));
    });
    model_.graph("forward", [this](Inputs& in) { return evaluation(in); });
  }

  Model& model() override { return model_; }

  Extents extents(std::string_view) const override {
    return {{"steps", steps_}, {"batch", batch_}};
  }

  std::vector<Tensor> random_inputs(std::string_view, uint64_t seed) const override {
    std::vector<Chunk12Ax> chunks = chunks_12ax(batch_, steps_, half(), seed, lengths_);
    chunks.resize(size_t(batch_));
    return batch_12ax(chunks, steps_, batch_);
  }

  /// Counts the frames of a batch without padding.
  Work work() const override {
    const double h = double(hidden_), frames = double(steps_ * batch_);
    const double first = frames * 2 * 2 * double(kSymbols) * 4 * h;
    const double others = frames * double(count_ - 1) * 2 * 2 * 2 * h * 4 * h;
    const double recurrent = frames * double(count_) * 2 * 2 * h * 4 * h;
    const double rest = others + recurrent + frames * 2 * 2 * h * double(kClasses);
    return {.examples = batch_,
            .words = steps_ * batch_,
            .unit = "frames",
            .forward_flop = first + rest,
            .train_flop = 2 * first + 3 * rest};
  }

  bool validates() const override { return true; }

  void train(Session& session, const TrainOptions& options) const override {
    refuse_data("rnn-variants", options.data);
    if (options.sample > 0) generate(session, {});  // throws: this model has no text
    const uint64_t seed = session.options().seed;
    const auto figures = [&] { return figures_of(session, "valid"); };
    train_on_batches(
        session, options,
        {.epoch = [this, seed](int64_t epoch) { return drawn(SplitMix(seed)() + uint64_t(epoch)); },
         .epochs = 10,
         .unit = "frames",
         .validate = [&] { return prefixed("valid_", figures()); }});
  }

  std::vector<Metric> evaluate(Session& session, const EvaluateOptions& options) const override {
    refuse_data("rnn-variants", options.data);
    return figures_of(session, options.split);
  }

 private:
  /// Chunks begin every half chunk.
  int64_t half() const { return std::max<int64_t>(1, steps_ / 2); }

  /// The loss and the share of correct frames, as means over the valid frames.
  Results evaluation(Inputs& in) const {
    Value x = in("x", f32, {"steps", "batch", kSymbols});
    Value lengths = in("lengths", i32, {"batch"}), labels = in("labels", i32, {"steps", "batch"});
    Value logits = out_(layers_(x, {.lengths = lengths}));
    Value right = cast(equal(argmax(logits, 2), labels), f32);
    return {{"loss", mean_over_steps(cross_entropy(logits, labels), lengths)},
            {"accuracy", mean_over_steps(right, lengths)}};
  }

  /// The chunks of an epoch in batches: in the order drawn, or grouped by similar length.
  std::vector<std::vector<Chunk12Ax>> batches_of_chunks(uint64_t seed) const {
    std::vector<Chunk12Ax> chunks = chunks_12ax(sequences_, steps_, half(), seed, lengths_);
    const auto count = int64_t(chunks.size());
    std::vector<int64_t> order = numbers(0, count), like(size_t(count), 0);
    if (bucket_ > 0) {
      order = shuffled(count, seed, 0);
      for (int64_t i = 0; i < count; ++i) like[size_t(i)] = chunks[size_t(i)].length();
    }
    std::vector<std::vector<Chunk12Ax>> batches;
    for (const std::vector<int64_t>& rows : batches_by_length(order, like, batch_)) {
      batches.emplace_back();
      for (const int64_t row : rows) batches.back().push_back(std::move(chunks[size_t(row)]));
    }
    return batches;
  }

  /// The number of steps that a batch is padded to.
  int64_t padded(const std::vector<Chunk12Ax>& batch) const {
    if (bucket_ == 0) return steps_;
    const int64_t longest = std::ranges::max(batch, {}, &Chunk12Ax::length).length();
    return std::min(steps_, (longest + bucket_ - 1) / bucket_ * bucket_);
  }

  /// The batches of an epoch, all with the same number of rows: some rows of the last are empty.
  Batches drawn(uint64_t seed) const {
    const auto all =
        std::make_shared<const std::vector<std::vector<Chunk12Ax>>>(batches_of_chunks(seed));
    Batches batches;
    for (const std::vector<Chunk12Ax>& chunks : *all) {
      batches.elements.push_back(0);
      for (const Chunk12Ax& chunk : chunks) batches.elements.back() += chunk.length();
    }
    batches.inputs = [this, all](int64_t index) {
      const std::vector<Chunk12Ax>& chunks = all->at(size_t(index));
      return batch_12ax(chunks, padded(chunks), batch_);
    };
    return batches;
  }

  /// The metrics on as many sequences as an epoch has, drawn only for this split.
  std::vector<Metric> figures_of(Session& session, const std::string& split) const {
    const bool test = split == "test";
    if (!test && split != "valid") {
      throw Error(ErrorKind::usage, {},
                  fmt::format("rnn-variants: there is no split '{}': wanted valid or test", split));
    }
    // Epochs use this number and larger ones, so smaller ones are not in any epoch.
    const uint64_t seed = SplitMix(session.options().seed)() - (test ? 2 : 1);
    return mean_results(session, "forward", drawn(seed), {"loss", "accuracy"});
  }

  int64_t hidden_, count_, steps_, batch_, sequences_;
  Lengths12Ax lengths_;
  int64_t bucket_;
  double rate_;
  Model model_;
  Stacked<Bidirectional<Lstm>> layers_;
  Linear out_;
};

}  // namespace

std::unique_ptr<Program> make_frame_classifier(const Parameters& parameters) {
  return std::make_unique<FrameClassifier>(parameters);
}

}  // namespace graphc::core
