// SPDX-License-Identifier: Apache-2.0
// rnn-variants: each task trains and goes on, and what stands in padding is nobody's business.
#include "models/rnn_variants.h"

#include <gmock/gmock.h>

#include <cmath>

#include "frontend/graphc.h"
#include "models/data/task_12ax.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kFrames{"task=returnn", "hidden=6", "layers=2",
                                       "batch=8",      "steps=20", "sequences=12"};
const std::vector<std::string> kWaves{
    "task=classification", "hidden=8",          "layers=2", "batch=32",
    "sequences=500",       "learning-rate=0.02"};

struct TrainedVariant {
  std::unique_ptr<Program> program;
  Session session;
  TrainOptions options;
  std::vector<double> losses;
  std::map<std::string, std::vector<double>> metrics;
  TrainPosition last;
  std::vector<std::string> announced;

  explicit TrainedVariant(const std::vector<std::string>& parameters, const char* target = "cpu")
      : program(make_program("rnn-variants", parameters)),
        session(program->model(),
                {.target = target, .seed = 2, .announce = [this](const std::string& line) {
                   announced.push_back(line);
                 }}) {
    options.report = [&](const TrainEvent& event) {
      if (event.loss) losses.push_back(*event.loss);
      for (const Metric& metric : event.metrics) metrics[metric.name].push_back(metric.value);
    };
    options.save = [&](const TrainPosition& at, const Notes&) { last = at; };
  }
  void train(int64_t epochs) {
    options.epochs = epochs;
    program->train(session, options);
  }
};

void expect_goes_on(const std::vector<std::string>& parameters) {
  TrainedVariant whole(parameters), parts(parameters);
  whole.train(2);
  parts.options.max_steps = int64_t(whole.losses.size()) - 1;
  parts.train(2);
  ASSERT_GT(parts.last.window, 0);
  parts.options.from = parts.last;
  parts.options.max_steps = 1000;
  parts.train(2);
  EXPECT_EQ(parts.losses, whole.losses);
  EXPECT_EQ(parts.metrics, whole.metrics);
  for (const Param& param : whole.program->model().params())
    EXPECT_TRUE(parts.session.state(param.name()) == whole.session.state(param.name()));
}

TEST(RnnVariantsCpu, FramesAreLearnedAndEvaluated) {
  TrainedVariant frames(kFrames);
  frames.train(6);
  const std::vector<double>& losses = frames.metrics["train_loss"];
  ASSERT_EQ(losses.size(), 6u);
  EXPECT_LT(losses.back(), 0.8 * losses.front());
  EXPECT_EQ(frames.metrics["valid_loss"].size(), 6u);
  EXPECT_GT(frames.metrics["valid_accuracy"].back(), 0.7);
  const std::vector<Metric> test = frames.program->evaluate(frames.session, {});
  EXPECT_EQ(test.at(0).name, "loss");
  EXPECT_NE(test.at(0).value, frames.metrics["valid_loss"].back());
  EXPECT_EQ(frames.program->evaluate(frames.session, {.split = "valid"}).at(0).value,
            frames.metrics["valid_loss"].back());
}

/// The same frames in batches of other shapes, of which there are few.
TEST(RnnVariantsCpu, BucketsChangeNoFigureAndTrain) {
  std::vector<std::string> drawn = kFrames;
  drawn.insert(drawn.end(), {"longest=20", "shortest=1"});
  std::vector<std::string> bucketed = drawn;
  bucketed.push_back("bucket=5");
  TrainedVariant some(drawn), like(bucketed);
  const std::vector<Metric> found = like.program->evaluate(like.session, {}),
                            wanted = some.program->evaluate(some.session, {});
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found[i].value, wanted[i].value, 1e-6) << found[i].name;
  EXPECT_THAT(some.announced, IsEmpty());
  // 12 sequences in batches of 8: the longer ones, and those of up to about 14 symbols.
  EXPECT_THAT(like.announced, ElementsAre(HasSubstr("compiled again: forward: steps ")));
  like.train(4);
  EXPECT_LT(like.metrics["train_loss"].back(), 0.9 * like.metrics["train_loss"].front());
}

TEST(RnnVariantsCpu, TrainingGoesOnInTheMiddleOfAnEpochWithTheSameBits) {
  expect_goes_on(kFrames);
  std::vector<std::string> bucketed = kFrames;
  bucketed.push_back("bucket=4");
  expect_goes_on(bucketed);
  expect_goes_on(kWaves);
}

/// Loss and gradients: the second loss tells what the first update was.
TEST(RnnVariantsCpu, NotANumberInPaddingChangesNoBit) {
  TrainedVariant zeros(kFrames), padded(kFrames);
  const std::vector<Tensor> inputs = zeros.program->random_inputs("train", 4);
  std::vector<Tensor> other = inputs;
  Literal x = inputs[0].copy(), labels = inputs[2].copy();
  const std::span<const int32_t> lengths = inputs[1].data<int32_t>();
  int64_t filled = 0;
  for (int64_t t = 0; t < 20; ++t) {
    for (int64_t row = 0; row < 8; ++row) {
      if (t < lengths[size_t(row)]) continue;
      for (int64_t i = 0; i < 9; ++i) x.mutable_data<float>()[size_t((t * 8 + row) * 9 + i)] = NAN;
      labels.mutable_data<int32_t>()[size_t(t * 8 + row)] = 1;
      ++filled;
    }
  }
  ASSERT_GT(filled, 0);
  other[0] = x;
  other[2] = labels;
  for (int step = 0; step < 2; ++step) {
    EXPECT_EQ(padded.session.run("train", other)["loss"].scalar(),
              zeros.session.run("train", inputs)["loss"].scalar());
  }
  for (const std::shared_ptr<StateCell>& state : zeros.program->model().states())
    EXPECT_TRUE(padded.session.state(state->name) == zeros.session.state(state->name))
        << state->name;
  EXPECT_EQ(padded.session.run("forward", other)["accuracy"].scalar(),
            zeros.session.run("forward", inputs)["accuracy"].scalar());
}

TEST(RnnVariantsCpu, RowsWithoutFramesCountForNothing) {
  TrainedVariant frames(kFrames);
  std::vector<Chunk12Ax> chunks = chunks_12ax(8, 20, 10, 3);
  chunks.resize(4);
  double loss = 0, all = 0;
  for (const Chunk12Ax& chunk : chunks) {
    const double length = double(chunk.labels.size());
    const std::vector<Tensor> alone = batch_12ax(std::span(&chunk, 1), 20, 8);
    loss += length * frames.session.run("forward", alone)["loss"].scalar();
    all += length;
  }
  EXPECT_NEAR(frames.session.run("forward", batch_12ax(chunks, 20, 8))["loss"].scalar(), loss / all,
              1e-5);
}

TEST(RnnVariantsCpu, WavesAreLearnedBetterThanTheMajority) {
  TrainedVariant waves(
      {"task=classification", "hidden=8", "batch=64", "sequences=2000", "learning-rate=0.02"});
  waves.train(6);
  EXPECT_LT(waves.metrics["train_loss"].back(), 0.8 * waves.metrics["train_loss"].front());
  ASSERT_EQ(waves.metrics["test_accuracy"].size(), 1u);
  EXPECT_LT(waves.metrics["test_majority"].at(0), 0.68);
  EXPECT_GT(waves.metrics["test_accuracy"].at(0), 0.1 + waves.metrics["test_majority"].at(0));
}

TEST(RnnVariants, ALayerIsLstmLayers) {
  const std::vector<std::string> size{"hidden=5", "steps=3", "batch=2", "cell=gru"};
  const auto layer = make_program("lstm-layer", size), variant = make_program("rnn-variants", size);
  Session one(layer->model(), {.target = "reference"}),
      other(variant->model(), {.target = "reference"});
  for (uint64_t step = 0; step < 2; ++step) {
    EXPECT_EQ(one.run("train", layer->random_inputs("train", step))["loss"].scalar(),
              other.run("train", variant->random_inputs("train", step))["loss"].scalar());
  }
}

TEST(RnnVariants, HasTheSizesOfTheWorkload) {
  std::string name;
  const auto returnn = make_program("rnn-variants", {"task=returnn"}, &name);
  EXPECT_EQ(name,
            "rnn-variants task=returnn cell=lstm hidden=500 layers=5 steps=50 batch=40 "
            "sequences=500 shortest=10 longest=100 bucket=0 keep=1 learning-rate=0.01");
  EXPECT_EQ(returnn->model().params().size(), 5 * 2 * 3u + 2);
  EXPECT_EQ(returnn->extents("train"), (Extents{{"steps", 50}, {"batch", 40}}));
  // At most 2000 frames a batch.
  EXPECT_EQ(make_program("rnn-variants", {"task=returnn", "steps=100"})->extents("train"),
            (Extents{{"steps", 100}, {"batch", 20}}));
  EXPECT_EQ(make_program("rnn-variants", {"task=classification"})->model().parameter_count(),
            2 * 256 + 64 * 256 + 256 + 128 * 256 + 256 + 65);
}

TEST(RnnVariants, ErrorsSayWhatIsWanted) {
  const auto message = [](const std::vector<std::string>& parameters) {
    return error_of(ErrorKind::usage, [&] { make_program("rnn-variants", parameters); });
  };
  EXPECT_THAT(message({"task=returm"}), HasSubstr("did you mean 'returnn'?"));
  EXPECT_EQ(message({"task=returnn", "cell=gru"}),
            "rnn-variants task=returnn: cell=lstm is all there is: found 'gru'");
  EXPECT_EQ(message({"layers=2"}), "rnn-variants task=layer: layers=1 is all there is: found '2'");
  EXPECT_THAT(message({"task=returnn", "keep=0.5"}), HasSubstr("keep=1 is all there is"));
  EXPECT_THAT(message({"task=classification", "keep=0"}), HasSubstr("is in (0, 1]"));
  EXPECT_THAT(message({"task=returnn", "learning-rate=0"}), HasSubstr("is above 0"));
  EXPECT_EQ(message({"bucket=5"}), "rnn-variants task=layer: bucket=0 is all there is: found '5'");
  EXPECT_THAT(message({"task=returnn", "shortest=20", "longest=19"}),
              HasSubstr("parameter 'longest' is a whole number from 20: found '19'"));
  EXPECT_THAT(message({"task=returnn", "bucket=51"}), HasSubstr("from 0 to 50: found '51'"));
  TrainedVariant waves(kWaves, "reference");
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { waves.program->evaluate(waves.session, {.split = "all"}); }),
      HasSubstr("no split 'all': wanted train, valid or test"));
  waves.options.data = "somewhere";
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { waves.train(1); }),
              HasSubstr("no use for --data somewhere"));
  waves.options.data.reset();
  waves.options.sample = 3;
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { waves.train(1); }), HasSubstr("draws no text"));
}

}  // namespace
}  // namespace graphc::core
