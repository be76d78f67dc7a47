// SPDX-License-Identifier: Apache-2.0
// The Penn Treebank model: its losses against PyTorch's, its recipe, its options.
#include "models/ptb_lm.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "frontend/graphc.h"
#include "ir/text.h"
#include "models/data/text_corpus.h"
#include "models/random_inputs.h"
#include "tests/testing/corpus.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/source_tree.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kGolden = testing::source_path("tests/golden/");

/// A corpus of twelve words, written for the test.
std::string text_of(int words) {
  std::string text;
  for (int i = 0; i < words; ++i)
    text += fmt::format("w{}{}", (i * i + i / 5) % 11, i % 7 == 6 ? "\n" : " ");
  return text + "\n";
}
struct TinyCorpus {
  graphc::core::testing::TemporaryFolder folder;
  TinyCorpus() {
    folder.add("ptb.train.txt", text_of(80));
    folder.add("ptb.valid.txt", text_of(30));
    folder.add("ptb.test.txt", text_of(9));
  }
};

SessionOptions reference(Precision precision = Precision::f32, uint64_t seed = 0) {
  SessionOptions options{
      .target = "reference", .seed = seed, .announce = [](const std::string&) {}};
  options.compile.precision = precision;
  return options;
}

TEST(PtbLm, TheFirstLossesArePyTorchs) {
  const auto corpus = graphc::core::testing::find_corpus("ptb");
  if (!corpus) GTEST_SKIP() << "needs the corpus ptb";
  std::ifstream file(kGolden + "ptb_test_losses.json");
  const auto wanted = nlohmann::json::parse(file)["losses"].get<std::vector<double>>();
  const auto program = make_program("ptb-lm", {"size=test"});
  Session session(program->model(), reference(Precision::f64));
  session.load(kGolden + "ptb_test_init.safetensors");
  std::vector<double> found;
  TrainOptions options{.data = *corpus, .max_steps = int64_t(wanted.size())};
  options.report = [&](const TrainEvent& event) {
    if (event.event == "step") found.push_back(*event.loss);
  };
  program->train(session, options);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-9) << i;
}

/// A program small enough for the tiny corpus, and the events of its training.
struct Tiny {
  std::unique_ptr<Program> program;
  std::vector<TrainEvent> events;
  TrainOptions options;

  TinyCorpus corpus;

  explicit Tiny(std::vector<std::string> more = {}, std::string vocabulary = "20") {
    std::vector<std::string> parameters{"size=test", "batch=2", "steps=2", "hidden=3",
                                        "vocabulary=" + vocabulary};
    parameters.insert(parameters.end(), more.begin(), more.end());
    program = make_program("ptb-lm", parameters);
    options.data = corpus.folder.path();
    options.report = [this](const TrainEvent& event) { events.push_back(event); };
  }
};

int64_t windows_of(const std::vector<int32_t>& stream, int64_t batch, int64_t steps) {
  return Windows(stream, batch, steps).count();
}

TEST(PtbLm, AnEpochHasItsStepsAndEvaluationsAndTheEndATest) {
  Tiny tiny;
  Session session(tiny.program->model(), reference());
  tiny.options.epochs = 3;
  tiny.program->train(session, tiny.options);
  const int64_t steps = windows_of(read_ptb(tiny.corpus.folder.path()).train, 2, 2);
  std::vector<std::string> names, wanted;
  for (const TrainEvent& event : tiny.events) names.push_back(event.event);
  for (int epoch = 0; epoch < 3; ++epoch) {
    wanted.insert(wanted.end(), size_t(steps), "step");
    wanted.insert(wanted.end(), {"epoch", "evaluation"});
  }
  wanted.push_back("end");
  EXPECT_EQ(names, wanted);
  EXPECT_EQ(tiny.events.back().step, 3 * steps);
  EXPECT_GT(*tiny.events.back().metric("test_perplexity"), 1);
  // Perplexity is exp of the mean loss of the epoch's steps.
  double total = 0;
  for (int64_t i = 0; i < steps; ++i) total += *tiny.events[size_t(i)].loss;
  EXPECT_NEAR(*tiny.events[size_t(steps)].metric("train_perplexity"),
              std::exp(total / double(steps)), 1e-4);
  EXPECT_GT(*tiny.events[0].words_per_s, 0);
}

TEST(PtbLm, TheRateDecaysAfterTheConstantEpochs) {
  Tiny tiny;
  Session session(tiny.program->model(), reference());
  tiny.options.epochs = 3;
  tiny.program->train(session, tiny.options);
  std::vector<double> rates;
  for (const TrainEvent& event : tiny.events) {
    if (event.event == "epoch") rates.push_back(*event.learning_rate);
  }
  EXPECT_THAT(rates, ElementsAre(1, 0.5, 0.25));
}

TEST(PtbLm, SizesAreThePublishedOnes) {
  const auto parameters = [](const char* size) {
    std::string name;
    make_program("ptb-lm", {std::string("size=") + size}, &name);
    return name;
  };
  const std::string all = " batch=20 vocabulary=10000 ",
                    end = " learning-rate=1 unmerged-norm=false";
  EXPECT_EQ(parameters("test"),
            "ptb-lm size=test hidden=2 layers=1 steps=2" + all + "keep=1 clip=1" + end);
  EXPECT_EQ(parameters("small"),
            "ptb-lm size=small hidden=200 layers=2 steps=20" + all + "keep=1 clip=5" + end);
  EXPECT_EQ(parameters("medium"),
            "ptb-lm size=medium hidden=650 layers=2 steps=35" + all + "keep=0.5 clip=5" + end);
  EXPECT_EQ(parameters("large"),
            "ptb-lm size=large hidden=1500 layers=2 steps=35" + all + "keep=0.35 clip=10" + end);
}

TEST(PtbLm, EverySizeHasItsScaleAndItsSchedule) {
  struct Size {
    const char* name;
    double scale;
    int64_t constant, epochs;
    double decay;
  };
  const TinyCorpus corpus;
  for (const Size& size : {Size{"small", 0.1, 4, 13, 0.5}, Size{"medium", 0.05, 6, 39, 0.8},
                           Size{"large", 0.04, 14, 55, 1 / 1.15}}) {
    SCOPED_TRACE(size.name);
    const auto program =
        make_program("ptb-lm", {std::string("size=") + size.name, "hidden=3", "steps=2", "batch=2",
                                "vocabulary=500", "layers=1"});
    Session session(program->model(), reference());
    for (const char* state : {"embedding", "lstm.0.w", "lstm.0.u", "softmax.w", "softmax.b"}) {
      const Literal drawn = session.state(state);
      double most = 0;
      for (int64_t i = 0; i < drawn.elements(); ++i)
        most = std::max(most, std::abs(drawn.element(i)));
      EXPECT_LE(most, size.scale * (1 + 1e-6)) << state;
      EXPECT_GT(most, size.scale * 0.75) << state;
    }
    EXPECT_EQ(session.state("lstm.0.b"), Literal({DType::f32, {12}}));
    for (int64_t late : {0, 1, 2}) {
      TrainEvent step;
      TrainOptions options{.data = corpus.folder.path(), .max_steps = 1};
      options.from.epoch = size.constant - 1 + late;
      options.report = [&](const TrainEvent& event) {
        if (event.event == "step") step = event;
      };
      program->train(session, options);
      EXPECT_DOUBLE_EQ(*step.learning_rate, std::pow(size.decay, double(late)));
      EXPECT_EQ(step.epochs, size.epochs);
    }
  }
}

/// A fresh mask on the embedding's output and on that of each layer; none inside of the loops.
TEST(PtbLm, DropoutIsOnWhatGoesUpAndNowhereElse) {
  const auto program = make_program("ptb-lm", {"size=medium", "hidden=3", "vocabulary=20"});
  const GraphPtr graph = program->model().trace("train", program->extents("train")).graph;
  const std::string text = print(*graph);
  std::vector<std::string> masked;
  for (size_t at = text.find(" = dropout "); at != text.npos; at = text.find(" = dropout ", at + 1))
    masked.push_back(
        text.substr(text.rfind('\n', at) + 1, text.find('\n', at) - text.rfind('\n', at) - 1));
  ASSERT_EQ(masked.size(), 3u) << text;
  for (const std::string& line : masked) {
    EXPECT_THAT(line, ::testing::StartsWith("  %dropout")) << "inside of a loop";
    EXPECT_THAT(line, HasSubstr("{keep = 0.5} : f32[35,20,3]"));
  }
  EXPECT_THAT(masked[0], HasSubstr("dropout %gather"));
}

TEST(PtbLm, StepsAreBounded) {
  Tiny tiny;
  Session session(tiny.program->model(), reference());
  tiny.options.max_steps = 1;
  tiny.program->train(session, tiny.options);
  ASSERT_EQ(tiny.events.size(), 2u);
  EXPECT_EQ(tiny.events[1].event, "end");
  EXPECT_EQ(tiny.events[1].step, 1);
  EXPECT_FALSE(tiny.events[1].metric("test_perplexity"));
}

TEST(PtbLm, EqualSeedsGiveEqualBitsWithDropoutToo) {
  const auto losses = [](uint64_t seed) {
    Tiny tiny({"keep=0.5"});
    Session session(tiny.program->model(), reference(Precision::f32, seed));
    tiny.program->train(session, tiny.options);
    std::vector<double> result;
    for (const TrainEvent& event : tiny.events) {
      if (event.loss) result.push_back(*event.loss);
    }
    return result;
  };
  EXPECT_EQ(losses(3), losses(3));
  EXPECT_NE(losses(3), losses(4));
}

TEST(PtbLm, StatesGoFromWindowToWindowWhileTraining) {
  Tiny tiny({"layers=2"});
  Session session(tiny.program->model(), reference());
  session.run("train", tiny.program->random_inputs("train", 1));
  const Literal h = session.state("h.1");
  EXPECT_NE(h.element(0), 0);
  session.run("train", tiny.program->random_inputs("train", 2));
  EXPECT_FALSE(session.state("h.1") == h);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { session.state("forward.h.1"); }),
              HasSubstr("no state 'forward.h.1'"));
}

/// The global norm's effect: how far a step moves the softmax's bias, with a limit that always
/// clips.
double move(const char* unmerged) {
  Tiny tiny({"clip=0.001", std::string("unmerged-norm=") + unmerged});
  Session session(tiny.program->model(), reference(Precision::f64));
  const Literal before = session.state("softmax.b");
  // Every word is word 3: its rows are summed into one.
  const Tensor words = Literal::filled({DType::i32, {2, 2}}, 3);
  session("train", words, words, Tensor(Literal::of(1.0f)));
  return session.state("softmax.b").element(3) - before.element(3);
}

TEST(PtbLm, TheUnmergedNormCountsRowsBeforeTheyAreSummed) {
  // Four equal-signed rows have a smaller norm apart than summed: less clipping, a larger step.
  const double merged = move("false"), unmerged = move("true");
  EXPECT_GT(merged, 0);
  EXPECT_GT(unmerged, merged * (1 + 1e-9));
}

TEST(PtbLm, DrawsWordsOfItsCorpus) {
  Tiny tiny;
  Session session(tiny.program->model(), reference());
  Notes notes;
  TrainOptions options{.data = tiny.corpus.folder.path(), .epochs = 1};
  options.sample = 5;
  options.save = [&](const TrainPosition&, const Notes& saved) { notes = saved; };
  std::string sample;
  options.report = [&](const TrainEvent& event) { sample += event.text; };
  tiny.program->train(session, options);
  EXPECT_EQ(split_words(sample).size(), 5u) << sample;
  std::string text;
  tiny.program->generate(
      session,
      {.prompt = "w0 w1", .length = 200, .notes = notes, .write = [&](std::string_view more) {
         return text += more, true;
       }});
  const std::vector<std::string_view> words = split_words(text);
  EXPECT_EQ(words.size(), 200u);
  for (std::string_view word : words)
    EXPECT_TRUE(word == kEndOfLine || word.starts_with("w")) << word;
  EXPECT_GT(std::set<std::string_view>(words.begin(), words.end()).size(), 3u);
}

TEST(PtbLm, ErrorsSayWhatDoesNotFit) {
  EXPECT_THAT(error_of(ErrorKind::usage, [] { make_program("ptb-lm", {"size=smal"}); }),
              HasSubstr("did you mean 'small'"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { make_program("ptb-lm", {"keep=0"}); }),
              HasSubstr("'keep' is in (0, 1]: found '0'"));
  Tiny tiny({}, "2");
  Session session(tiny.program->model(), reference());
  EXPECT_THAT(error_of(ErrorKind::input, [&] { tiny.program->train(session, tiny.options); }),
              HasSubstr("the model's vocabulary has 2"));
}

TEST(PtbLm, ALossThatIsNotFiniteStops) {
  Tiny tiny;
  Session session(tiny.program->model(), reference());
  Literal bias = session.state("softmax.b");
  bias.mutable_data<float>()[0] = NAN;
  session.set_state("softmax.b", bias);
  EXPECT_EQ(error_of(ErrorKind::check, [&] { tiny.program->train(session, tiny.options); }),
            "the loss is nan at step 1 of epoch 1: training stops");
}

TEST(LstmLayer, TrainsDownOnRandomData) {
  for (const char* cell : {"lstm", "gru-reset-before", "layer-norm-lstm"}) {
    SCOPED_TRACE(cell);
    const auto program =
        make_program("lstm-layer", {"hidden=4", "steps=3", "batch=5", std::string("cell=") + cell});
    Session session(program->model(), reference());
    const std::vector<Tensor> inputs = program->random_inputs("train", 1);
    double first = 0, last = 0;
    for (int step = 0; step < 30; ++step) {
      last = session.run("train", inputs)["loss"].scalar();
      if (step == 0) first = last;
    }
    EXPECT_LT(last, first);
    const Tensor forward = session.run("forward", program->random_inputs("forward", 1));
    EXPECT_EQ(forward.shape(), Shape({5, 4}));
  }
}

TEST(LstmLayer, RefusesToDrawText) {
  const auto program = make_program("lstm-layer", {"hidden=3", "steps=2", "batch=2"});
  Session session(program->model(), reference());
  TrainOptions options;
  options.sample = 5;
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { program->train(session, options); }),
              HasSubstr("draws no text"));
}

TEST(LstmLayer, TrainsByNameForTheStepsAsked) {
  const auto program = make_program("lstm-layer", {"hidden=2", "steps=2", "batch=3", "cell=rnn"});
  Session session(program->model(), reference());
  std::vector<double> losses;
  TrainOptions options{.max_steps = 4};
  options.report = [&](const TrainEvent& event) {
    if (event.loss) losses.push_back(*event.loss);
  };
  program->train(session, options);
  EXPECT_EQ(losses.size(), 4u);
  EXPECT_NE(losses[0], losses[1]);
}

}  // namespace
}  // namespace graphc::core
