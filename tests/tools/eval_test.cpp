// SPDX-License-Identifier: Apache-2.0
// graphc eval: the figures of a trained model on the parts of its corpus; and where figures other
// than perplexities show while training.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/testing/temporary_folder.h"
#include "tests/testing/transcript.h"
#include "tests/tools/shell.h"

namespace graphc::core {
namespace {

using graphc::core::testing::lines_of;
using graphc::core::testing::Ran;
using graphc::core::testing::run_bash;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class Eval : public ::testing::Test {
 protected:
  Eval() {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "one two three four five\n";
    folder_.add("text", text);
  }
  Ran bash(const std::string& script) const { return run_bash(script, folder_); }

  const TemporaryFolder folder_;
};

TEST_F(Eval, OfALanguageModelIsThePerplexityThatTrainingSaw) {
  ASSERT_EQ(bash("graphc train char-lm hidden=4 steps=6 batch=4 --target=reference --data text "
                 "--checkpoint c --epochs 1 --log log")
                .code,
            0);
  Ran ran = bash(
      "grep valid_ log; graphc eval c --data text --split valid --json "
      "--target=reference");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const size_t begin = ran.out.find("\n{") + 1;
  const auto seen = nlohmann::json::parse(ran.out.substr(0, begin));
  const auto found = nlohmann::json::parse(ran.out.substr(begin));
  EXPECT_EQ(found["perplexity"], seen["valid_perplexity"]);
  EXPECT_DOUBLE_EQ(std::exp(double(found["loss"])), found["perplexity"]);
  EXPECT_EQ(found["step"], seen["step"]);
  EXPECT_EQ(found["split"], "valid");
  // Without a split it is the one that is not trained on.
  ran = bash("graphc eval c --data text --json --target=reference");
  EXPECT_EQ(nlohmann::json::parse(ran.out), found);
  EXPECT_EQ(ran.err, "there is no split 'test': this is 'valid'\n");
  ran = bash("graphc eval c/checkpoint.safetensors --data text --split train --target=reference");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, ContainsRegex("^perplexity  [0-9.]+\nloss        [0-9.]+\ncharacters  "));
}

TEST_F(Eval, SaysWhatItWants) {
  folder_.add("other", "a text of others, and long enough for some windows of six characters");
  ASSERT_EQ(bash("graphc train char-lm hidden=4 steps=6 batch=4 --target=reference --data text "
                 "--checkpoint c --max-steps 1; graphc train lstm-layer hidden=2 steps=2 batch=2 "
                 "--target=reference --checkpoint layer --max-steps 1")
                .code,
            0);
  for (const auto& [arguments, code, says] :
       {std::tuple{"c --data text --split test", 2,
                   "char-lm has no split 'test': there are train, valid, and all"},
        std::tuple{"c --split valid", 2, "no text to train on: --data wants"},
        std::tuple{"c --data nowhere --split valid", 3, "nowhere"},
        std::tuple{"layer", 2, "this model has nothing to be evaluated on"},
        std::tuple{"text", 3, "is not a valid safetensors file"},
        std::tuple{"nowhere", 3, "nowhere"}}) {
    const Ran ran = bash(fmt::format("graphc eval {} --target=reference", arguments));
    EXPECT_EQ(ran.code, code) << arguments;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, AllOf(::testing::StartsWith("error: "), HasSubstr(says)));
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  }
}

TEST_F(Eval, OfAClassifierIsItsAccuracyWhichTrainingLogsToo) {
  Ran ran = bash(
      "graphc train rnn-variants task=classification hidden=3 layers=1 sequences=100 "
      "steps=4 batch=32 --target=reference --epochs 1 --log log --checkpoint c");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("   train loss "), HasSubstr("   valid accuracy "),
                             HasSubstr("   test majority "), Not(HasSubstr("perplexity"))));
  const std::vector<std::string> lines = lines_of(bash("cat log").out);
  const auto end = nlohmann::json::parse(lines.back());
  EXPECT_EQ(end["event"], "end");
  ran = bash("graphc eval c --target=reference --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto found = nlohmann::json::parse(ran.out);
  for (const char* name : {"loss", "accuracy", "majority"})
    EXPECT_EQ(found[name], end[fmt::format("test_{}", name)]) << name;
}

}  // namespace
}  // namespace graphc::core
