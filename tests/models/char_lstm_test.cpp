// SPDX-License-Identifier: Apache-2.0
// char-lstm: what it is trained on and how, and that it goes on with the same bits.
#include "models/char_lstm.h"

#include <gmock/gmock.h>

#include <cmath>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::HasSubstr;

/// 361 characters, 11 of them different: 120 windows of 3. What a line is long is no multiple of 3:
/// windows begin everywhere in it.
std::string rhyme_of_cats() {
  std::string text;
  while (text.size() < 361) text += "The Cat sat on mats\n";
  return text.substr(0, 361);
}

SessionOptions session_of_cats(const char* target) {
  return {.target = target, .seed = 3, .announce = [](const std::string&) {}};
}

struct TrainedCharLstm {
  TemporaryFolder folder;
  std::unique_ptr<Program> program;
  Session session;
  TrainOptions options;
  std::vector<TrainEvent> events;
  std::vector<TrainPosition> positions;
  Notes notes;

  explicit TrainedCharLstm(const std::vector<std::string>& more = {}, const char* target = "cpu")
      : program(make_program("char-lstm", all(more))),
        session(program->model(), session_of_cats(target)) {
    options.data = folder.add("text", rhyme_of_cats());
    options.report = [&](const TrainEvent& event) { events.push_back(event); };
    options.save = [&](const TrainPosition& at, const Notes& saved) {
      positions.push_back(at);
      notes = saved;
    };
  }
  static std::vector<std::string> all(std::vector<std::string> more) {
    for (const char* parameter :
         {"corpus=nietzsche", "hidden=12", "steps=3", "vocabulary=11", "batch=50"}) {
      const std::string_view name = std::string_view(parameter).substr(0, 5);
      const bool given =
          std::ranges::any_of(more, [&](const std::string& one) { return one.starts_with(name); });
      if (!given) more.emplace_back(parameter);
    }
    return more;
  }
  void train(int64_t epochs) {
    options.epochs = epochs;
    program->train(session, options);
  }
  std::vector<double> losses(const std::string& of = "step") const {
    std::vector<double> found;
    for (const TrainEvent& event : events) {
      if (event.event != of) continue;
      found.push_back(of == "step" ? *event.loss : event.metrics.at(0).value);
    }
    return found;
  }
  std::string draw(const std::string& prompt, int64_t length) {
    std::string text;
    program->generate(session,
                      {.prompt = prompt,
                       .length = length,
                       .temperature = 0,
                       .notes = notes,
                       .write = [&](std::string_view more) { return text += more, true; }});
    return text;
  }
};

TEST(CharLstmCpu, LearnsARhymeAndSaysIt) {
  TrainedCharLstm cats({"steps=9", "batch=20"});
  cats.train(30);
  const std::vector<double> epochs = cats.losses("epoch");
  ASSERT_EQ(epochs.size(), 30u);
  EXPECT_LT(epochs.back(), 0.5);
  EXPECT_GT(epochs.front(), 1.5);
  const std::vector<Metric> metrics = cats.program->evaluate(
      cats.session, {.data = cats.options.data, .split = "train", .notes = cats.notes});
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[0].name, "loss");
  EXPECT_EQ(metrics[1].name, "accuracy");
  EXPECT_GT(metrics[1].value, 0.9);
  // A prompt shorter than a window, one longer, and capitals.
  EXPECT_EQ(cats.draw("The cat sat on", 10), " mats\nthe ");
  EXPECT_EQ(cats.draw("t on mats\n", 4), "the ");
}

TEST(CharLstmCpu, TheLastBatchIsTheMeanOfItsRows) {
  TrainedCharLstm cats;
  cats.options.max_steps = 3;
  cats.train(1);
  // 120 windows: batches of 50, 50 and 20, and the epoch's loss counts every window once.
  const std::vector<double> steps = cats.losses();
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_NEAR(cats.losses("epoch").at(0), (50 * steps[0] + 50 * steps[1] + 20 * steps[2]) / 120,
              1e-6);
  // A batch of 20 is the mean of two batches of 10, and not of 50 with 30 that are nothing.
  const std::vector<Tensor> twenty =
      make_program("char-lstm", TrainedCharLstm::all({"batch=20"}))->random_inputs("forward", 1);
  double halves = 0;
  for (const int64_t begin : {0, 10}) {
    std::vector<int32_t> x, y;
    for (int64_t t = 0; t < 3; ++t) {
      for (int64_t row = begin; row < begin + 10; ++row)
        x.push_back(twenty[0].data<int32_t>()[size_t(t * 20 + row)]);
    }
    for (int64_t row = begin; row < begin + 10; ++row)
      y.push_back(twenty[1].data<int32_t>()[size_t(row)]);
    halves += cats.session("forward", Data(x, {3, 10}), Data(y, {10}))["loss"].scalar() / 2;
  }
  EXPECT_NEAR(cats.session.run("forward", twenty)["loss"].scalar(), halves, 1e-6);
}

TEST(CharLstmCpu, CopiesOfTheCellAreTheLoop) {
  TrainedCharLstm loop({"unroll=false"}), copies({"unroll=true"});
  loop.train(2);
  copies.train(2);
  const std::vector<double> found = copies.losses(), wanted = loop.losses();
  ASSERT_EQ(found.size(), 6u);
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-5) << i;
  const auto nodes = [](TrainedCharLstm& cats) {
    const Extents extents{{"steps", 3}, {"batch", 50}};
    int64_t scans = 0;
    const TracedGraph traced = cats.program->model().trace("forward", extents);
    for (const Node& node : traced.graph->nodes()) scans += node.is(ops::scan) ? 1 : 0;
    return scans;
  };
  EXPECT_EQ(nodes(loop), 1);
  EXPECT_EQ(nodes(copies), 0);
}

TEST(CharLstmCpu, GoesOnInTheMiddleOfAnEpochWithTheSameBits) {
  TrainedCharLstm whole, parts;
  whole.train(2);
  parts.options.max_steps = 4;
  parts.train(2);
  ASSERT_EQ(parts.positions.back().window, 1);
  ASSERT_EQ(parts.positions.back().epoch, 1);
  parts.options.from = parts.positions.back();
  parts.options.notes = parts.notes;
  parts.options.max_steps = 100;
  parts.train(2);
  EXPECT_EQ(parts.losses(), whole.losses());
  EXPECT_EQ(parts.losses("epoch"), whole.losses("epoch"));
  EXPECT_EQ(parts.positions.back(), whole.positions.back());
  for (const Param& param : whole.program->model().params())
    EXPECT_TRUE(parts.session.state(param.name()) == whole.session.state(param.name()));
}

TEST(CharLstmCpu, DrawsTextAtFourTemperaturesAfterAnEpochAndLearnsTheSame) {
  TrainedCharLstm with, without;
  with.options.sample = 5;
  with.train(1);
  without.train(1);
  std::string text;
  for (const TrainEvent& event : with.events) text += event.event == "sample" ? event.text : "";
  for (const char* temperature : {"0.2:\n", "0.5:\n", "1:\n", "1.2:\n"})
    EXPECT_THAT(text, HasSubstr(std::string("temperature ") + temperature));
  // Four headings, windows of three characters, and five drawn behind each.
  EXPECT_EQ(text.size(), 3 * 17u + 15u + 4 * 8u + 3u);
  EXPECT_TRUE(with.session.state("lstm.u") == without.session.state("lstm.u"));
}

TEST(CharLstm, TheSyntheticCorpusHasBitsOfItsSeed) {
  const auto program =
      make_program("char-lstm", {"hidden=4", "steps=3", "vocabulary=5", "samples=7", "batch=4"});
  Session session(program->model(), session_of_cats("reference"));
  std::vector<double> losses;
  TrainOptions options{.epochs = 1};
  options.report = [&](const TrainEvent& event) {
    if (event.loss) losses.push_back(*event.loss);
  };
  program->train(session, options);
  EXPECT_EQ(losses.size(), 2u);
  const std::vector<Tensor> inputs = program->random_inputs("train", 1);
  for (const float bit : inputs[0].to_vector()) EXPECT_TRUE(bit == 0 || bit == 1);
  // The loss is that of all samples, whatever the batches are.
  const auto evaluated = [&](const char* batch) {
    const auto other =
        make_program("char-lstm", {"hidden=4", "steps=3", "vocabulary=5", "samples=7", batch});
    Session fresh(other->model(), session_of_cats("reference"));
    return other->evaluate(fresh, {.split = "train"}).at(0).value;
  };
  EXPECT_NEAR(evaluated("batch=4"), evaluated("batch=7"), 1e-5);
}

TEST(CharLstm, BeginsAsKerasDoes) {
  const auto program = make_program("char-lstm", TrainedCharLstm::all({}));
  Session session(program->model(), session_of_cats("reference"));
  const Literal w = session.state("lstm.w"), u = session.state("lstm.u"),
                b = session.state("lstm.b");
  const float limit = std::sqrt(6.0f / (11 + 48));
  for (const float element : w.data<float>()) EXPECT_LE(std::abs(element), limit);
  for (size_t i = 0; i < 12; ++i) {
    for (size_t j = 0; j < 12; ++j) {
      double product = 0;
      for (size_t k = 0; k < 48; ++k)
        product += double(u.data<float>()[i * 48 + k]) * u.data<float>()[j * 48 + k];
      EXPECT_NEAR(product, i == j ? 1 : 0, 1e-5);
    }
  }
  for (size_t i = 0; i < 48; ++i) EXPECT_EQ(b.data<float>()[i], i >= 12 && i < 24 ? 1 : 0);
}

TEST(CharLstm, ErrorsSayWhatDoesNotFit) {
  TrainedCharLstm cats({}, "reference");
  EXPECT_THAT(error_of(ErrorKind::input, [&] { cats.draw("a", 1); }), HasSubstr("no vocabulary"));
  cats.notes = {{"vocabulary", "\n acehmnost"}};
  EXPECT_THAT(error_of(ErrorKind::input, [&] { cats.draw("xylophone", 1); }),
              HasSubstr("4 of 9 characters are not in the model's vocabulary"));
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] { cats.program->evaluate(cats.session, {.data = cats.options.data}); }),
              HasSubstr("there is no split 'test': wanted train"));
  cats.options.notes = {{"vocabulary", "xyz"}};
  EXPECT_THAT(error_of(ErrorKind::input, [&] { cats.train(1); }),
              HasSubstr("other characters than the checkpoint's"));
  TrainedCharLstm other({"vocabulary=12"}, "reference");
  EXPECT_THAT(error_of(ErrorKind::input, [&] { other.train(1); }),
              HasSubstr("has 11 different characters: wanted 12"));
  const auto bits = make_program("char-lstm", {"hidden=2", "steps=2"});
  Session session(bits->model(), session_of_cats("reference"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { bits->train(session, {.data = "x"}); }),
              HasSubstr("no use for --data x"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { bits->generate(session, {}); }),
              HasSubstr("draws no text"));
  for (const char* wrong : {"corpus=bible", "unroll=1", "learning-rate=0", "vocabulary=1"})
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { make_program("char-lstm", {wrong}); }),
                HasSubstr("char-lstm"));
}

}  // namespace
}  // namespace graphc::core
