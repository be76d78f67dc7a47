// SPDX-License-Identifier: Apache-2.0
// What the language models say of themselves on parts of their corpora: the figures of training.
#include <gmock/gmock.h>

#include <cmath>

#include "frontend/graphc.h"
#include "models/data/text_corpus.h"
#include "models/registry.h"
#include "tests/testing/corpus.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/source_tree.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::HasSubstr;

/// A model that was trained on a small corpus, and what it reported last.
struct EvaluatedModel {
  std::filesystem::path data;
  std::unique_ptr<Program> program;
  Session session;
  Notes notes;
  double valid = 0, test = 0;

  EvaluatedModel(const char* model, const std::vector<std::string>& parameters,
                 std::filesystem::path corpus)
      : data(std::move(corpus)),
        program(make_program(model, parameters)),
        session(program->model(), {.target = "reference", .announce = [](const std::string&) {}}) {
    TrainOptions options{.data = data, .epochs = 1};
    options.report = [&](const TrainEvent& event) {
      valid = event.metric("valid_perplexity").value_or(valid);
      test = event.metric("test_perplexity").value_or(test);
    };
    options.save = [&](const TrainPosition&, const Notes& saved) { notes = saved; };
    program->train(session, options);
  }

  std::vector<Metric> on(const std::string& split) {
    return program->evaluate(session, {.data = data, .split = split, .notes = notes});
  }
};

void expect_figures(const std::vector<Metric>& found, double perplexity, int64_t count,
                    const char* unit = "words") {
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0], (Metric{"perplexity", perplexity}));
  EXPECT_EQ(found[1].name, "loss");
  EXPECT_DOUBLE_EQ(std::exp(found[1].value), perplexity);
  EXPECT_EQ(found[2], (Metric{unit, double(count)}));
}

TEST(Evaluate, SaysOfPtbWhatTrainingSaid) {
  EvaluatedModel trained("ptb-lm", {"size=test", "batch=1", "vocabulary=20", "keep=0.5"},
                         testing::tiny_ptb());
  // 4 words make one window of two; 5 words are read one by one.
  expect_figures(trained.on("valid"), trained.valid, 2);
  expect_figures(trained.on("test"), trained.test, 4);
  const std::vector<Metric> train = trained.on("train");
  expect_figures(train, train[0].value, 12);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { trained.on("dev"); }),
              "ptb-lm has no split 'dev': there are train, valid, test, and all");
}

TEST(Evaluate, SaysOfWikitext2WhatTrainingSaid) {
  for (const char* config : {"config=kawakami", "config=pytorch"}) {
    SCOPED_TRACE(config);
    EvaluatedModel trained("wikitext2-lm",
                           {config, "hidden=3", "layers=1", "steps=4", "batch=2", "vocabulary=20"},
                           testing::tiny_wikitext2());
    const TextCorpus corpus =
        read_wikitext2(trained.data, config == std::string("config=pytorch") ? BlankLines::kept
                                                                             : BlankLines::dropped);
    expect_figures(trained.on("valid"), trained.valid, 8 * Windows(corpus.valid, 2, 4).count());
    expect_figures(trained.on("test"), trained.test, 8 * Windows(corpus.test, 2, 4).count());
  }
}

TEST(Evaluate, OfAnyTextHasTwoParts) {
  EvaluatedModel trained("char-lm",
                         {"hidden=3", "steps=40", "batch=4", "vocabulary=20", "validation=0.3"},
                         testing::source_path("tests/README.md"));
  const std::vector<Metric> valid = trained.on("valid");
  expect_figures(valid, trained.valid, int64_t(valid[2].value), "characters");
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { trained.on("test"); }),
              "char-lm has no split 'test': there are train, valid, and all");
}

TEST(Evaluate, ScoresDataByTheVocabularyOfTheCheckpoint) {
  EvaluatedModel trained("ptb-lm", {"size=test", "batch=1", "vocabulary=20"}, testing::tiny_ptb());
  const graphc::core::testing::TemporaryFolder folder;
  for (const char* split : {"ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"})
    folder.add(split, "one two three four five six\n");
  trained.data = folder.path();
  // By the checkpoint's vocabulary, which has a word for those that it does not know.
  EXPECT_GT(trained.on("valid")[0].value, 1);
  trained.notes = {{"other", "note"}};
  EXPECT_THAT(error_of(ErrorKind::input, [&] { trained.on("valid"); }), HasSubstr("no vocabulary"));
  // Without a checkpoint there is nothing to compare with.
  trained.notes.clear();
  EXPECT_GT(trained.on("valid")[0].value, 1);
}

TEST(Evaluate, AModelWithoutACorpusRefuses) {
  const auto program = make_program("lstm-layer", {"hidden=2", "steps=2", "batch=2"});
  Session session(program->model(), {.target = "reference"});
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { program->evaluate(session, {}); }),
              HasSubstr("nothing to be evaluated on"));
}

}  // namespace
}  // namespace graphc::core
