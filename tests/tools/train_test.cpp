// SPDX-License-Identifier: Apache-2.0
// graphc train and generate: signals, checkpoints, text drawn from them.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/cores.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/counts.h"
#include "tests/testing/temporary_folder.h"
#include "tests/tools/shell.h"

namespace graphc::core {
namespace {

using graphc::core::testing::content;
using graphc::core::testing::graphc;
using graphc::core::testing::Ran;
using graphc::core::testing::run_tool_until_signal;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kEndless =
    "train lstm-layer hidden=8 steps=4 batch=4 --target=reference --epochs 100000 --log - ";

/// The last event of a log.
nlohmann::json last_event(const std::string& log) {
  return nlohmann::json::parse(log.substr(log.rfind("{")));
}

TEST(GraphcTrain, ASignalStopsAfterTheStepAndIsTheExitCode) {
  for (const auto& [signal, code] : {std::pair{"HUP", 129}, {"INT", 130}, {"TERM", 143}}) {
    const Ran ran = run_tool_until_signal(GRAPHC_TOOL, kEndless, signal);
    EXPECT_EQ(ran.code, code);
    EXPECT_EQ(last_event(ran.out)["event"], "end");
  }
}

TEST(GraphcTrain, ASignalSavesWhereTrainingStands) {
  const TemporaryFolder folder;
  const std::string checkpoint = " --checkpoint " + (folder.path() / "c").string();
  const Ran stopped = run_tool_until_signal(GRAPHC_TOOL, kEndless + checkpoint, "TERM");
  EXPECT_EQ(stopped.code, 143);
  const Ran resumed = graphc(kEndless + "--max-steps 1 --resume" + checkpoint);
  EXPECT_THAT(resumed.err, HasSubstr(fmt::format("resumed after step {}\n",
                                                 last_event(stopped.out)["step"].get<int64_t>())));
}

/// A text that even a small model learns a little of.
std::string lines_of_text() {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "one two three four five\n";
  return text;
}

TEST(GraphcTrain, GoesOnFromItsCheckpointAndDrawsText) {
  const TemporaryFolder folder;
  const std::string text = folder.add("text", lines_of_text()).string();
  const auto train = [&](const std::string& checkpoint, const std::string& options) {
    return graphc(
        fmt::format("train char-lm hidden=8 steps=8 batch=4 --target=reference --data {} "
                    "--checkpoint {} --seed 5 {}",
                    text, (folder.path() / checkpoint).string(), options));
  };
  EXPECT_EQ(train("straight", "--max-steps 9").code, 0);
  Ran ran = train("pieces", "--max-steps 4 --resume");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("nothing to resume"));
  ran = train("pieces", "--max-steps 9 --resume --checkpoint-every 2 --sample 7");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("resumed after step 4"));
  const auto file = [&](const char* name) {
    return content((folder.path() / name / "checkpoint.safetensors").string());
  };
  EXPECT_TRUE(file("straight") == file("pieces"));

  const std::string draw = fmt::format("generate {} --target=reference --length 30 --prompt 'one '",
                                       (folder.path() / "pieces").string());
  ran = graphc(draw);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("one "));
  EXPECT_EQ(ran.out.size(), 4u + 30u + 1u);
  EXPECT_EQ(graphc(draw).out, ran.out);
  EXPECT_NE(graphc(draw + " --seed 9").out, ran.out);
  // From the likeliest one alone the likeliest is drawn, however bold.
  EXPECT_EQ(graphc(draw + " --top-k 1 --temperature 9").out, graphc(draw + " --temperature 0").out);
  EXPECT_NE(graphc(draw + " --top-k 4 --temperature 9").out, graphc(draw + " --temperature 9").out);
  EXPECT_EQ(graphc(draw + " --top-k 0").code, 2);
  // More than there are leaves none out.
  EXPECT_EQ(graphc(draw + " --top-k 1000000000000").out, ran.out);

  ran = graphc(fmt::format("train char-lm hidden=9 --data {} --checkpoint {} --resume", text,
                           (folder.path() / "pieces").string()));
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("hidden=8"), HasSubstr("wanted 'char-lm hidden=9")));
  EXPECT_EQ(train("pieces", "--resume --seed 6").code, 2);
  ran = train("pieces", "--max-steps 3");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(
      ran.err,
      HasSubstr("pieces/checkpoint.safetensors is a checkpoint of step 9: --resume "
                "goes on from it; remove it and 1 more (checkpoint.8.safetensors) to begin anew"));
  EXPECT_TRUE(file("straight") == file("pieces"));
  EXPECT_EQ(graphc("generate " + text).code, 3);
  EXPECT_EQ(graphc("generate " + (folder.path() / "nowhere").string()).code, 3);
}

TEST(GraphcTrain, EndsWhenValidationIsNoBetterForLong) {
  const TemporaryFolder folder;
  // What is learned is not what it is validated with.
  std::string backwards = lines_of_text();
  std::ranges::reverse(backwards);
  const std::string text = folder.add("text", lines_of_text() + backwards).string();
  const auto train = [&](const std::string& checkpoint, const std::string& options) {
    return graphc(
        fmt::format("train char-lm hidden=4 steps=8 batch=4 learning-rate=0.02 validation=0.5 "
                    "--target=reference --data {} --log - --checkpoint {} --epochs 30 {}",
                    text, (folder.path() / checkpoint).string(), options));
  };
  const Ran whole = train("whole", "--patience 2");
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_THAT(whole.err, HasSubstr("\n2 validations were no better than the best before\nend "));
  const nlohmann::json end = last_event(whole.out);
  EXPECT_EQ(end["event"], "end");
  EXPECT_EQ(end["text"], "2 validations were no better than the best before");
  // The last two validations were not the best, the one before them was.
  std::vector<double> losses;
  for (size_t at = 0; (at = whole.out.find("\"valid_perplexity\":", at)) != std::string::npos; ++at)
    losses.push_back(std::stod(whole.out.substr(at + 19)));
  ASSERT_GE(losses.size(), 3u);
  ASSERT_LT(losses.size(), 30u);
  EXPECT_EQ(end["epoch"], losses.size());
  EXPECT_EQ(std::ranges::min_element(losses) - losses.begin(), int64_t(losses.size()) - 3);
  // Stopped between the two and gone on with it ends in the same place; going on changes nothing.
  EXPECT_EQ(
      train("pieces", fmt::format("--patience 2 --max-steps {}", int64_t(end["step"]) - 3)).code,
      0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(train("pieces", "--patience 2 --resume").code, 0);
  EXPECT_TRUE(content((folder.path() / "whole/checkpoint.safetensors").string()) ==
              content((folder.path() / "pieces/checkpoint.safetensors").string()));
  const Ran none = graphc("train lstm-layer hidden=2 --patience 1 --checkpoint " +
                          (folder.path() / "none").string());
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("--patience: 'lstm-layer' has no validation to wait for"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "none"));
}

/// What `graphc eval --json` with these arguments says.
nlohmann::json evaluated(const std::string& arguments) {
  const Ran ran = graphc("eval --target=reference --json " + arguments);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return nlohmann::json::parse(ran.out);
}

/// A table of which little can be learnt: the noise is learnt by heart.
std::string noisy_table() {
  std::string text = "y\n";
  uint32_t state = 7;
  for (int i = 0; i < 300; ++i) {
    state = state * 1664525 + 1013904223;
    text += fmt::format("{:.4f}\n", std::sin(0.3 * i) + 3e-10 * double(state));
  }
  return text;
}

/// A training whose validation gets worse, and what it said of the epochs.
class Patience : public ::testing::Test {
 protected:
  Patience() {
    const Ran whole = train("whole", "");
    EXPECT_EQ(whole.code, 0) << whole.err;
    std::istringstream lines(whole.out);
    for (std::string line; std::getline(lines, line);) {
      end_ = nlohmann::json::parse(line);
      if (end_["event"] == "evaluation")
        validations_.emplace_back(end_["valid_loss"], end_["step"]);
    }
    best_ = *std::ranges::min_element(validations_);
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  Ran train(const std::string& checkpoint, const std::string& options) const {
    return graphc(
        fmt::format("train forecast target=y steps=8 hidden=12 batch=16 learning-rate=0.03 --seed "
                    "2 --epochs 40 "
                    "--patience 4 --quiet --target=reference --data {} --log - {} {}",
                    data_, checkpoint.empty() ? "" : "--checkpoint " + path(checkpoint), options));
  }

  const TemporaryFolder folder_;
  const std::string data_ = folder_.add("noisy.csv", noisy_table()).string();
  std::vector<std::pair<double, int64_t>> validations_;  ///< with their steps
  std::pair<double, int64_t> best_;
  nlohmann::json end_;
};

// The model of the best validation is kept beside the last one; it is what is tested in the end,
// evaluated and exported.
TEST_F(Patience, KeepsTestsAndExportsTheBest) {
  ASSERT_LT(validations_.size(), 40u);
  ASSERT_EQ(best_, validations_[validations_.size() - 5]);
  const std::string whole = path("whole") + " --data " + data_;
  nlohmann::json found = evaluated(whole + " --split valid");
  EXPECT_EQ(found["step"], best_.second);
  EXPECT_DOUBLE_EQ(found["loss"], best_.first);
  found = evaluated(whole + " --split valid --last");
  EXPECT_EQ(found["step"], validations_.back().second);
  EXPECT_DOUBLE_EQ(found["loss"], validations_.back().first);
  EXPECT_DOUBLE_EQ(end_["test_loss"], evaluated(whole)["loss"]);
  EXPECT_NE(end_["test_loss"], evaluated(whole + " --last")["loss"]);
  // Without a folder, too, the best is tested.
  EXPECT_EQ(last_event(train("", "").out)["test_loss"], end_["test_loss"]);

  for (const char* option : {"", "--last"})
    EXPECT_EQ(graphc(fmt::format("export {} {} {}", path("whole"),
                                 path(fmt::format("m{}.graphc", option)), option))
                  .code,
              0);
  const auto weights = [&](const std::string& file) {
    return read_safetensors(path(file)).arrays.at("lstm.0.w");
  };
  EXPECT_TRUE(weights("m.graphc") == weights("whole/best.safetensors"));
  EXPECT_TRUE(weights("m--last.graphc") == weights("whole/checkpoint.safetensors"));
  EXPECT_FALSE(weights("m.graphc") == weights("m--last.graphc"));
}

TEST_F(Patience, StoppedAnywhereAndGoneOnWithLeavesTheSameFiles) {
  const int64_t last = validations_.back().second, at = best_.second;
  for (const int64_t stop : {int64_t{1}, at - 3, at, at + 1, last - 2, last}) {
    const std::string pieces = fmt::format("stopped{}", stop);
    EXPECT_EQ(train(pieces, fmt::format("--max-steps {}", stop)).code, 0);
    const Ran rest = train(pieces, "--resume");
    EXPECT_EQ(rest.code, 0) << rest.err;
    for (const char* name : {"/best.safetensors", "/checkpoint.safetensors"}) {
      EXPECT_TRUE(content(path(pieces + name)) == content(path("whole") + name)) << stop << name;
    }
    const nlohmann::json end = last_event(rest.out);
    EXPECT_EQ(end.value("test_loss", 0.0), double(end_["test_loss"])) << stop;
  }
}

TEST_F(Patience, TheBestOfATrainingBeforeIsNotReplaced) {
  for (const auto& file : std::filesystem::directory_iterator(path("whole"))) {
    if (file.path().filename().string().starts_with("checkpoint.")) std::filesystem::remove(file);
  }
  const Ran refused = train("whole", "");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("whole/best.safetensors is the best of a training before: "
                                     "remove it to begin anew"));
}

TEST(GraphcTrain, ACheckpointThatIsOfNoModelIsAnErrorOfTheFile) {
  const TemporaryFolder folder;
  const std::string made = (folder.path() / "made").string();
  ASSERT_EQ(graphc("train lstm-layer hidden=3 steps=2 batch=2 --target=reference --max-steps 1 "
                   "--checkpoint " +
                   made)
                .code,
            0);
  for (const auto& [model, wanted] :
       {std::pair{"nonsense x=1", "unknown model 'nonsense'"},
        {"non\x1b[31m\nsense", "unknown model 'non\\x1b[31m\\x0asense'"},
        {"lstm-layer hidden=99999999", "a shape has at most 2^48 elements: found [99999999,"},
        {"lstm-layer hidden=99999", "state '"},
        {"lstm-layer hidden=0", "parameter 'hidden' is a whole number from 1: found '0'"},
        {"lstm-layer hiden=3", "unknown parameter 'hiden'"},
        {"lstm-layer cell=gru hidden=3", "state '"},
        {" ", "it names no model"}}) {
    Safetensors content = read_safetensors(made + "/checkpoint.safetensors");
    content.metadata["model"] = model;
    content.metadata["checksum"] = checksum(content, "checksum");
    const std::string path = (folder.path() / "changed.safetensors").string();
    write_safetensors(path, content);
    const Ran ran = graphc("generate --target=reference " + path);
    EXPECT_EQ(ran.code, 3) << model;
    EXPECT_THAT(ran.err, AllOf(StartsWith("error: " + path + ": "), HasSubstr(wanted)));
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
    testing::count("bad inputs", 1);
  }
}

TEST(GraphcTrain, PeopleAndTheLogCountEpochsFromOne) {
  const Ran ran =
      graphc("train lstm-layer hidden=3 steps=2 batch=2 --target=reference --max-steps 1 --log -");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("\nepoch 1   step 1 "));
  EXPECT_EQ(nlohmann::json::parse(ran.out.substr(0, ran.out.find('\n')))["epoch"], 1);
}

TEST(GraphcTrain, CheckNanNamesTheOpAndKeepsTheLastGoodStep) {
  const TemporaryFolder folder;
  const std::string text = folder.add("text", lines_of_text()).string();
  const std::string checkpoint = (folder.path() / "c").string();
  const std::string train = fmt::format(
      "train char-lm hidden=8 steps=8 batch=4 --target=reference --data {} --checkpoint {} ", text,
      checkpoint);
  Ran ran = graphc(train + "learning-rate=3e38 --check-nan=op");
  EXPECT_EQ(ran.code, 4);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("models/language_layer.cpp:"), HasSubstr(" = matmul %h"),
                             HasSubstr("is the first value that is not finite: "),
                             HasSubstr(" of the loop %"), HasSubstr("in step 2 of epoch 1")));
  // The folder has the step before, without a NaN or an infinity.
  ran = graphc("inspect " + checkpoint + "/checkpoint.safetensors");
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::istringstream lines(ran.out);
  int arrays = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" f32[") == std::string::npos) continue;
    ++arrays;
    EXPECT_TRUE(line.ends_with(" 0        0")) << line;
  }
  EXPECT_GT(arrays, 10) << ran.out;
  ran = graphc(train + "learning-rate=3e38 --resume --check-nan=op");
  EXPECT_EQ(ran.code, 4);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("resumed after step 1\n"), HasSubstr("in step 2 of epoch")));
}

TEST(GraphcTrain, CheckNanLooksAtTheLossAlonePerDefault) {
  const TemporaryFolder folder;
  const std::string text = folder.add("text", lines_of_text()).string();
  const std::string train = fmt::format(
      "train char-lm hidden=8 steps=8 batch=4 learning-rate=3e38 --target=reference --data {} ",
      text);
  const Ran ran = graphc(train);
  EXPECT_EQ(ran.code, 4);
  EXPECT_THAT(ran.err, HasSubstr("error: the loss is nan at step 2 of epoch 1: training stops\n"));
  EXPECT_THAT(graphc(train + "--check-nan=loss").err,
              HasSubstr("error: the loss is nan at step 2"));
  const Ran refused = graphc(train + "--check-nan=all");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--check-nan is loss or op: found 'all'"));
}

/// On one CPU the threads take turns, and meet in every step of these loops.
TEST(GraphcTrainCpu, ThreadsThatTakeTurnsGiveTheSameBytes) {
  const TemporaryFolder folder;
  for (const char* threads : {"2", "3"}) {
    const Ran ran = testing::run_bash(
        fmt::format("train='graphc train lstm-layer hidden=64 steps=20 batch=32 --variant basic "
                    "--max-steps 3 --quiet --threads {}'\n"
                    "$train --checkpoint apart && taskset -c {} $train --checkpoint in_turns && "
                    "cmp */checkpoint.safetensors && rm -r apart in_turns",
                    threads, allowed_cpus()[0]),
        folder);
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  }
}

}  // namespace
}  // namespace graphc::core
