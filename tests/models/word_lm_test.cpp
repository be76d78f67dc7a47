// SPDX-License-Identifier: Apache-2.0
// word-lm: it learns a text of words it can learn, and draws what it learned.
#include "models/word_lm.h"

#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "models/data/text_corpus.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::HasSubstr;

/// Lines in which what comes next follows from the two words before; white space of every kind.
std::string song(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i)
    text += i % 2 == 0 ? "the cat\tsat on  a mat\r\n" : "the cat sat on a mat\n";
  return text;
}

struct WordModel {
  TemporaryFolder folder;
  std::unique_ptr<Program> program;
  Session session;
  Notes notes;
  double valid = 0;

  WordModel(const char* target, std::vector<std::string> parameters, const std::string& text,
            int64_t epochs)
      : program(make_program("word-lm", parameters)),
        session(program->model(),
                {.target = target, .seed = 3, .announce = [](const std::string&) {}}) {
    TrainOptions options{.data = folder.add("text", text), .epochs = epochs};
    options.report = [&](const TrainEvent& event) {
      valid = event.metric("valid_perplexity").value_or(valid);
    };
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

TEST(WordLmCpu, LearnsASongAndSaysIt) {
  for (const char* tied : {"tied=false", "tied=true"}) {
    SCOPED_TRACE(tied);
    WordModel trained("cpu",
                      {"hidden=16", "steps=7", "batch=4", "vocabulary=20", "learning-rate=0.03",
                       "keep=1", "validation=0.2", tied},
                      song(60), 8);
    EXPECT_LT(trained.valid, 1.2);
    EXPECT_EQ(trained.notes.at("vocabulary"), "<eos> a cat mat on sat the <unk>");
    EXPECT_EQ(trained.draw("the cat", 7, 0), " sat on a mat\n the cat");
    EXPECT_EQ(trained.draw("", 4, 0), " the cat sat on");
  }
}

TEST(WordLm, NeverDrawsTheWordForAllOthers) {
  // Most words of the text are others.
  std::string text;
  for (int i = 0; i < 70; ++i) text += fmt::format("rare{} rare{} often\n", 2 * i, 2 * i + 1);
  WordModel trained("reference", {"hidden=4", "steps=4", "batch=2", "vocabulary=3", "keep=1"}, text,
                    1);
  EXPECT_EQ(trained.notes.at("vocabulary"), "<eos> often <unk>");
  // A prompt may have them, beside words that are known.
  const std::string drawn = trained.draw("often rare7", 100, 1);
  EXPECT_THAT(drawn, Not(HasSubstr("<unk>")));
  EXPECT_EQ(split_words(drawn).size(), 100u);
}

TEST(WordLm, ErrorsSayWhatDoesNotFit) {
  const auto program = make_program("word-lm", {"hidden=4", "steps=4", "batch=2"});
  Session session(program->model(), {.target = "reference"});
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { program->train(session, {}); }),
              HasSubstr("word-lm: no text to train on"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { program->generate(session, {}); }),
              HasSubstr("no vocabulary"));
  EXPECT_THAT(error_of(ErrorKind::input,
                       [&] { program->generate(session, {.notes = {{"vocabulary", "<unk>"}}}); }),
              HasSubstr("a vocabulary of 1 words: wanted more than 1"));
  const TemporaryFolder folder;
  TrainOptions options{.data = folder.add("short", "some words that are too few to validate on")};
  try {
    program->train(session, options);
    ADD_FAILURE() << "it trained";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(error.message(),
              "8 tokens make 2 rows of 4: too few for 4 steps and the token after them");
    EXPECT_THAT(error.what(), HasSubstr("split 'train': wanted more text"));
  }
  options.data = folder.path() / "nowhere";
  EXPECT_THAT(error_of(ErrorKind::input, [&] { program->train(session, options); }),
              HasSubstr("nowhere"));
  for (const char* wrong :
       {"keep=0", "clip=0", "learning-rate=-1", "validation=1", "vocabulary=1", "tied=maybe"})
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { make_program("word-lm", {wrong}); }),
                HasSubstr("word-lm: "));
}

}  // namespace
}  // namespace graphc::core
