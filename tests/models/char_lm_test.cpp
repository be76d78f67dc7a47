// SPDX-License-Identifier: Apache-2.0
// char-lm: it learns a text it can learn, and draws what it learned.
#include "models/char_lm.h"

#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "models/language_model.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/samples.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::HasSubstr;

/// A text in which what comes next follows from the two characters before.
std::string rhyme(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += "the cat sat on a mat\n";
  return text;
}

SessionOptions on(const char* target, uint64_t seed = 3) {
  return {.target = target, .seed = seed, .announce = [](const std::string&) {}};
}

const std::vector<std::string> kSmall{"hidden=24", "steps=21", "batch=4", "vocabulary=20",
                                      "learning-rate=0.02"};

/// A model, its session, and what training reported.
struct TrainedModel {
  TemporaryFolder folder;
  std::unique_ptr<Program> program = make_program("char-lm", kSmall);
  Session session;
  std::vector<TrainEvent> events;
  Notes notes;

  explicit TrainedModel(const char* target, int64_t epochs, int64_t sample = 0)
      : session(program->model(), on(target)) {
    TrainOptions options{.data = folder.add("text", rhyme(120)), .epochs = epochs};
    options.sample = sample;
    options.sample_prompt = "the ";
    options.report = [&](const TrainEvent& event) { events.push_back(event); };
    options.save = [&](const TrainPosition&, const Notes& saved) { notes = saved; };
    program->train(session, options);
  }

  std::string draw(const std::string& prompt, int64_t length, double temperature) {
    std::string text;
    program->generate(session,
                      {.prompt = prompt,
                       .length = length,
                       .temperature = temperature,
                       .notes = notes,
                       .write = [&](std::string_view more) { return text += more, true; }});
    return text;
  }
};

TEST(CharLmCpu, LearnsARhymeAndSaysIt) {
  TrainedModel trained("cpu", 12);
  double last = 0;
  for (const TrainEvent& event : trained.events)
    last = event.metric("valid_perplexity").value_or(last);
  EXPECT_LT(last, 1.2);
  // A prompt longer than a call, and more characters than one.
  const std::string prompt = rhyme(3) + "the c";
  EXPECT_EQ(trained.draw(prompt, 60, 0), rhyme(4).substr(5, 60).substr(0, 60));
  EXPECT_EQ(trained.draw("the ", 17, 0), "cat sat on a mat\n");
}

/// Blocks learn too: a perplexity below 2 takes more than the character before.
TEST(CharLmCpu, LearnsARhymeWithOtherCells) {
  size_t number = 0;
  for (const std::string_view cell : language_cells()) {
    if (cell == "lstm" || !graphc::core::testing::is_sampled(number++, 2)) continue;
    SCOPED_TRACE(cell);
    TemporaryFolder folder;
    const auto program = make_program(
        "char-lm",
        {"hidden=16", "steps=21", "batch=4", "vocabulary=20", "learning-rate=0.03",
         "validation=0.2", fmt::format("cell={}", cell), has_heads(cell) ? "heads=2" : "heads=1"});
    Session session(program->model(), on("cpu"));
    TrainOptions options{.data = folder.add("text", rhyme(40)), .epochs = 8};
    Notes notes;
    double last = 100;
    options.report = [&](const TrainEvent& event) {
      last = event.metric("valid_perplexity").value_or(last);
    };
    options.save = [&](const TrainPosition&, const Notes& saved) { notes = saved; };
    program->train(session, options);
    EXPECT_LT(last, 2);
    std::string text;
    program->generate(session,
                      {.prompt = "the ",
                       .length = 17,
                       .temperature = 0,
                       .notes = notes,
                       .write = [&](std::string_view more) { return text += more, true; }});
    EXPECT_EQ(text.size(), 17u);
    EXPECT_EQ(text.find_first_not_of("the cats on m\n"), std::string::npos) << text;
  }
  const std::vector<std::string> small{"hidden=6", "vocabulary=20"};
  const auto message = [&](const std::string& cell, const std::string& heads) {
    return error_of(ErrorKind::usage, [&] {
      make_program("char-lm", {small[0], small[1], "cell=" + cell, "heads=" + heads});
    });
  };
  EXPECT_EQ(message("mlstm", "4"), "cell=mlstm: wanted heads that divide the 6 units: found 4");
  EXPECT_EQ(message("min-gru", "2"), "char-lm cell=min-gru: it has no heads: found heads=2");
}

TEST(CharLmCpu, DrawsTheSameForASeedAndMoreBoldlyWhenHot) {
  TrainedModel trained("cpu", 1);
  const std::string cold = trained.draw("t", 100, 0), hot = trained.draw("t", 100, 2);
  EXPECT_EQ(trained.draw("t", 100, 2), hot);
  EXPECT_EQ(trained.draw("t", 100, 0), cold);
  const auto distinct = [](const std::string& text) {
    return std::set<char>(text.begin(), text.end()).size();
  };
  EXPECT_GT(distinct(hot), distinct(cold));

  Session other(trained.program->model(), on("cpu", 4));
  for (const Param& param : trained.program->model().params())
    other.set_state(param.name(), trained.session.state(param.name()));
  std::string text;
  trained.program->generate(other,
                            {.prompt = "t",
                             .length = 100,
                             .temperature = 2,
                             .notes = trained.notes,
                             .write = [&](std::string_view more) { return text += more, true; }});
  EXPECT_NE(text, hot);
}

TEST(CharLmCpu, ASampleAfterEachEpochChangesNothingThatIsLearned) {
  TrainedModel without("cpu", 2), with("cpu", 2, 10);
  std::vector<std::string> samples;
  for (const TrainEvent& event : with.events) {
    if (event.event == "sample") samples.push_back(event.text);
  }
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].size(), 14u);
  EXPECT_TRUE(samples[0].starts_with("the ")) << samples[0];
  for (const Param& param : with.program->model().params())
    EXPECT_TRUE(with.session.state(param.name()) == without.session.state(param.name()));
}

TEST(CharLm, WritingMayEndDrawing) {
  TrainedModel trained("reference", 0);
  int drawn = 0;
  trained.program->generate(
      trained.session, {.length = 1000, .notes = trained.notes, .write = [&](std::string_view) {
                          return ++drawn < 3;
                        }});
  EXPECT_EQ(drawn, 3);
}

TEST(CharLm, ErrorsSayWhatDoesNotFit) {
  const auto program = make_program("char-lm", kSmall);
  Session session(program->model(), on("reference"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { program->train(session, {}); }),
              HasSubstr("no text to train on"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { program->generate(session, {}); }),
              HasSubstr("no vocabulary"));
  const TemporaryFolder folder;
  TrainOptions options{.data = folder.add("short", "a few letters")};
  EXPECT_THAT(error_of(ErrorKind::input, [&] { program->train(session, options); }),
              HasSubstr("too few"));
  options.data = folder.add("text", rhyme(120));
  options.notes = {{"vocabulary", "xyz"}};
  EXPECT_THAT(error_of(ErrorKind::input, [&] { program->train(session, options); }),
              HasSubstr("another vocabulary than the checkpoint"));
  for (const char* wrong : {"keep=0", "clip=0", "learning-rate=-1", "validation=1", "vocabulary=1"})
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { make_program("char-lm", {wrong}); }),
                HasSubstr("char-lm"));
}

}  // namespace
}  // namespace graphc::core
