// SPDX-License-Identifier: Apache-2.0
// The WikiText-2 models: their losses against PyTorch's, initial values, the schedule that follows
// the validation.
#include "models/wikitext2_lm.h"

#include <gmock/gmock.h>

#include <cmath>

#include "frontend/graphc.h"
#include "models/data/text_corpus.h"
#include "tests/testing/corpus.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/golden.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::tiny_wikitext2;
using ::testing::HasSubstr;

SessionOptions evaluator(Precision precision = Precision::f32) {
  SessionOptions options{.target = "reference", .announce = [](const std::string&) {}};
  options.compile.precision = precision;
  return options;
}

/// The model small enough for a corpus of a hundred words.
std::unique_ptr<Program> tiny(const std::vector<std::string>& more) {
  std::vector<std::string> parameters{"hidden=4", "layers=2", "steps=3", "batch=2",
                                      "vocabulary=24"};
  parameters.insert(parameters.end(), more.begin(), more.end());
  return make_program("wikitext2-lm", parameters);
}

std::vector<TrainEvent> events_of(const Program& program, Session& session, TrainOptions options) {
  std::vector<TrainEvent> events;
  options.data = tiny_wikitext2();
  options.report = [&](const TrainEvent& event) { events.push_back(event); };
  program.train(session, options);
  return events;
}

/// The losses of so many steps from the weights of the reference
/// (tools/references/wikitext2_lm.py).
std::vector<double> losses_of(const std::vector<std::string>& parameters,
                              const SessionOptions& options, size_t steps) {
  const auto program = tiny(parameters);
  Session session(program->model(), options);
  const std::map<std::string, Literal> start =
      graphc::core::testing::golden_arrays("wikitext2_init");
  for (const Param& param : program->model().params())
    session.set_state(param.name(), start.at(param.name()));
  std::vector<double> losses;
  for (const TrainEvent& event : events_of(*program, session, {.max_steps = int64_t(steps)})) {
    if (event.loss) losses.push_back(*event.loss);
  }
  return losses;
}

struct ReferenceRun {
  const char* file;
  std::vector<std::string> parameters;
};
const ReferenceRun kReferenceRuns[] = {
    {"kawakami_untied", {"keep=1", "learning-rate=0.015625"}},
    {"kawakami_tied", {"tied=true", "keep=1", "learning-rate=0.015625"}},
    // Three epochs and a step: the second's validation is no better than the first's.
    {"pytorch_untied", {"config=pytorch", "keep=1", "learning-rate=20"}},
    {"pytorch_tied", {"config=pytorch", "tied=true", "keep=1", "learning-rate=2"}},
};

TEST(Wikitext2Lm, TheFirstLossesArePyTorchs) {
  for (const auto& [file, parameters] : kReferenceRuns) {
    SCOPED_TRACE(file);
    const std::vector<double> wanted =
        graphc::core::testing::golden_losses(std::string("wikitext2_") + file);
    const std::vector<double> found =
        losses_of(parameters, evaluator(Precision::f64), wanted.size());
    ASSERT_EQ(found.size(), wanted.size());
    ASSERT_EQ(wanted.size(), file == std::string("pytorch_untied") ? 64u : 20u);
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-9) << i;
  }
}

TEST(Wikitext2LmCpu, CompiledItHasThemToo) {
  for (const auto& [file, parameters] : {kReferenceRuns[1], kReferenceRuns[2]}) {
    SCOPED_TRACE(file);
    const std::vector<double> wanted =
        graphc::core::testing::golden_losses(std::string("wikitext2_") + file);
    SessionOptions options = evaluator();
    options.target = "cpu";
    const std::vector<double> found = losses_of(parameters, options, wanted.size());
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4) << i;
  }
}

/// Root of the mean square, and the largest magnitude.
std::pair<double, double> size_of(const Literal& values) {
  double squares = 0, most = 0;
  for (int64_t i = 0; i < values.elements(); ++i) {
    squares += values.element(i) * values.element(i);
    most = std::max(most, std::abs(values.element(i)));
  }
  return {std::sqrt(squares / double(values.elements())), most};
}

TEST(Wikitext2Lm, WeightsAreDrawnAsTheConfigurationSays) {
  const std::vector<std::string> sizes{"hidden=16", "vocabulary=500"};
  const auto drawn = [&](std::vector<std::string> more, const char* state) {
    more.insert(more.end(), sizes.begin(), sizes.end());
    const auto program = make_program("wikitext2-lm", more);
    Session session(program->model(), evaluator());
    return size_of(session.state(state));
  };
  // N(0, 1); the rest U(+-1/sqrt(16)), whose deviation is 1/sqrt(3) of its limit.
  EXPECT_NEAR(drawn({}, "embedding").first, 1, 0.05);
  EXPECT_NEAR(drawn({"tied=true"}, "embedding").first, 1, 0.05);
  for (const char* state : {"lstm.0.w", "lstm.0.u", "softmax.w", "softmax.b", "lstm.0.b"}) {
    SCOPED_TRACE(state);
    const auto [mean, most] = drawn({}, state);
    EXPECT_LE(most, 0.25);
    EXPECT_NEAR(mean, 0.25 / std::sqrt(3), 0.03);
  }
  for (const char* state : {"embedding", "softmax.w"}) {
    SCOPED_TRACE(state);
    const auto [mean, most] = drawn({"config=pytorch"}, state);
    EXPECT_LE(most, 0.1f);
    EXPECT_NEAR(mean, 0.1 / std::sqrt(3), 0.005);
  }
  EXPECT_NEAR(drawn({"config=pytorch"}, "lstm.1.b").first, 0.25 / std::sqrt(3), 0.03);
  EXPECT_EQ(drawn({"config=pytorch"}, "softmax.b").second, 0);
}

TEST(Wikitext2Lm, TiedWeightsAreOneParameter) {
  const auto program = tiny({"tied=true"});
  for (const Param& param : program->model().params()) EXPECT_NE(param.name(), "softmax.w");
  // Not a row of the table stays what it was, looked up or not: the softmax has them all.
  Session session(program->model(), evaluator());
  const Literal before = session.state("embedding");
  events_of(*program, session, {.max_steps = 1});
  const Literal after = session.state("embedding");
  for (int64_t i = 0; i < before.elements(); i += 4)
    EXPECT_NE(before.element(i), after.element(i)) << "row " << i / 4;
}

TEST(Wikitext2Lm, TheRateIsAQuarterAfterEveryValidationThatIsNoBetter) {
  const auto program = tiny({"config=pytorch", "learning-rate=20"});
  Session session(program->model(), evaluator());
  double best = HUGE_VAL, rate = 20;
  int stalls = 0, epochs = 0;
  for (const TrainEvent& event : events_of(*program, session, {.epochs = 8})) {
    if (event.event == "step") {
      EXPECT_EQ(*event.learning_rate, rate) << event.step;
    }
    if (!event.metric("valid_perplexity")) continue;
    ++epochs;
    if (*event.metric("valid_perplexity") < best) {
      best = *event.metric("valid_perplexity");
    } else {
      rate /= 4;
      ++stalls;
    }
  }
  EXPECT_EQ(epochs, 8);
  EXPECT_GT(stalls, 1);
  EXPECT_LT(stalls, 7);
}

TEST(Wikitext2Lm, TheOtherConfigurationKeepsItsRate) {
  const auto program = tiny({"learning-rate=8"});
  Session session(program->model(), evaluator());
  // As if three validations had been no better.
  const TrainOptions options{.epochs = 9, .max_steps = 2, .from = {.epoch = 4, .stalls = 3}};
  for (const TrainEvent& event : events_of(*program, session, options)) {
    if (event.event == "step") {
      EXPECT_EQ(*event.learning_rate, 8) << event.step;
    }
  }
}

TEST(Wikitext2Lm, ParametersAreThoseOfTheConfiguration) {
  std::string name;
  make_program("wikitext2-lm", {}, &name);
  EXPECT_EQ(name,
            "wikitext2-lm config=kawakami tied=false hidden=1024 layers=1 steps=128 batch=128 "
            "vocabulary=33279 keep=0.5 clip=none learning-rate=0.0002");
  make_program("wikitext2-lm", {"config=pytorch", "hidden=3"}, &name);
  EXPECT_EQ(name,
            "wikitext2-lm config=pytorch tied=false hidden=3 layers=2 steps=35 batch=20 "
            "vocabulary=33278 keep=0.35 clip=0.25 learning-rate=20");
}

TEST(Wikitext2Lm, ErrorsSayWhatDoesNotFit) {
  for (const char* wrong :
       {"config=torch", "tied=1", "clip=0", "clip=inf", "learning-rate=0", "keep=2"}) {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { make_program("wikitext2-lm", {wrong}); }),
                HasSubstr("wikitext2-lm: "))
        << wrong;
  }
  const auto program =
      make_program("wikitext2-lm", {"hidden=3", "steps=3", "batch=2", "vocabulary=10"});
  Session session(program->model(), evaluator());
  EXPECT_THAT(error_of(ErrorKind::input, [&] { events_of(*program, session, {}); }),
              HasSubstr("the corpus has 18 words: the model's vocabulary has 10"));
}

}  // namespace
}  // namespace graphc::core
