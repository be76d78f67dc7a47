// SPDX-License-Identifier: Apache-2.0
// Trainings that go on, or begin with what another has learned: on the same data and on others, of
// every model that reads data.
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/samples.h"
#include "tests/testing/temporary_folder.h"
#include "tests/testing/transcript.h"
#include "tests/tools/shell.h"

namespace graphc::core {
namespace {

using graphc::core::testing::is_sampled;
using graphc::core::testing::lines_of;
using graphc::core::testing::Ran;
using graphc::core::testing::run_bash;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Lines = std::vector<std::string>;

/// Lines that all have the same words, in an order of their own: whatever lines are left out, the
/// vocabulary is the same.
Lines sentences() {
  const Lines words{"one", "two", "three", "two", "three", "one", "three", "two", "three"};
  Lines lines;
  for (size_t i = 0; i < 150; ++i) {
    Lines turned = words;
    std::ranges::rotate(turned, turned.begin() + long((i * i * 7 + i / 3) % words.size()));
    lines.push_back(fmt::format("{}", fmt::join(turned, " ")));
  }
  return lines;
}

Lines numbers() {
  Lines lines;
  for (int i = 0; i < 160; ++i) lines.push_back(fmt::format("{}", i * i * 7 % 31));
  return lines;
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// A model, and how lines become its data.
struct Case {
  const char* model;
  const char* data;     ///< what --data names
  const char* heading;  ///< the first line, which stays
  Lines (*lines)();
  std::vector<const char*> parts;  ///< files that have the lines; all but the first keep theirs
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"char-lm hidden=4 steps=12 batch=8 validation=0.2", "t", "", sentences, {"t"}},
      {"word-lm hidden=4 steps=6 batch=2 validation=0.2 vocabulary=9", "t", "", sentences, {"t"}},
      {"ptb-lm size=test steps=6 batch=2 hidden=4 vocabulary=9",
       ".",
       "",
       sentences,
       {"ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"}},
      {"wikitext2-lm steps=6 batch=2 hidden=4 layers=1 vocabulary=9",
       ".",
       "",
       sentences,
       {"wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"}},
      {"forecast target=load steps=3 hidden=2 batch=8", "t.csv", "load", numbers, {"t.csv"}}};
  return all;
}

class OtherData : public ::testing::Test {
 protected:
  Ran bash(const std::string& script) const { return run_bash(script, folder_); }
  void write(const std::string& name, const Case& each, const Lines& lines) const {
    const std::string heading = *each.heading == '\0' ? "" : fmt::format("{}\n", each.heading);
    folder_.add(name, heading + text_of(lines));
  }
  void write_all(const Case& each, const Lines& lines) const {
    for (const char* part : each.parts) write(part, each, lines);
  }
  Ran train(const Case& each, const std::string& options) const {
    return bash(fmt::format("graphc train {} --target=reference --quiet --data {} {}", each.model,
                            each.data, options));
  }
  /// Takes what says which data it was trained on out of a checkpoint, as one of before has none.
  void age(const std::string& name) const {
    const std::filesystem::path path = folder_.path() / name;
    Safetensors content = read_safetensors(path);
    std::erase_if(content.metadata,
                  [](const auto& entry) { return entry.first.starts_with("note.data."); });
    content.metadata["checksum"] = checksum(content, "checksum");
    write_safetensors(path, content);
  }
  nlohmann::json last_event(const std::string& log) const {
    return nlohmann::json::parse(lines_of(read_file(folder_.path() / log)).back());
  }

  const TemporaryFolder folder_;
};

/// Other lines with the same vocabulary and columns.
std::vector<std::pair<std::string, Lines>> variants(const Lines& lines) {
  Lines shorter(lines.begin(), lines.begin() + 100), reversed(lines.rbegin(), lines.rend()),
      longer = lines, moved = lines, swapped = lines;
  longer.insert(longer.end(), shorter.begin(), shorter.end());
  std::ranges::rotate(moved, moved.begin() + 1);
  std::swap(swapped[2], swapped[4]);
  return {{"shorter", shorter},
          {"reversed", reversed},
          {"longer", longer},
          {"moved", moved},
          {"swapped", swapped}};
}

TEST_F(OtherData, AreNotGoneOnWith) {
  for (const Case& each : cases()) {
    const Lines lines = each.lines();
    write_all(each, lines);
    ASSERT_EQ(train(each, "--max-steps 9 --checkpoint c").code, 0) << each.model;
    for (const auto& [name, other] : variants(lines)) {
      write(each.parts[0], each, other);
      const Ran ran = train(each, "--max-steps 12 --checkpoint c --resume");
      EXPECT_EQ(ran.code, 3) << each.model << name << ran.err;
      EXPECT_THAT(ran.err, AllOf(HasSubstr("error: the data are not those of the checkpoint: "),
                                 HasSubstr("  note: --resume needs the data of the checkpoint")))
          << each.model << name;
      if (name == "shorter") {
        EXPECT_THAT(ran.err,
                    AllOf(HasSubstr("split 'train' is "), HasSubstr(": the checkpoint's was ")));
      }
    }
    write_all(each, lines);
    if (each.parts.size() > 1) {
      write(each.parts[1], each, variants(lines)[1].second);
      Ran ran = train(each, "--max-steps 12 --checkpoint c --resume");
      EXPECT_EQ(ran.code, 3) << ran.err;
      EXPECT_THAT(ran.err, HasSubstr("split 'valid' is "));
      write_all(each, lines);
      write(each.parts[2], each, variants(lines)[1].second);
      ran = train(each, "--max-steps 10 --checkpoint c --resume");
      EXPECT_EQ(ran.code, 0) << ran.err;
      EXPECT_THAT(ran.err, HasSubstr(": the test at the end is of other data\n"));
      write_all(each, lines);
    }
    const Ran ran = train(each, "--max-steps 12 --checkpoint c --resume");
    EXPECT_EQ(ran.code, 0) << each.model << ran.err;
    // The checkpoint of the resumed training notes the test it was resumed with.
    if (each.parts.size() == 1) {
      EXPECT_THAT(ran.err, Not(HasSubstr("data")));
    }
    bash("rm -r c");
  }
}

TEST_F(OtherData, OfACheckpointThatDoesNotSayAreARemarkOrBeyondTheirEnd) {
  for (const Case& each : cases()) {
    const Lines lines = each.lines();
    write_all(each, lines);
    ASSERT_EQ(train(each, "--max-steps 9 --checkpoint c").code, 0);
    age("c/checkpoint.safetensors");
    Ran ran = train(each, "--max-steps 12 --checkpoint c --resume");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("the checkpoint does not say what data it was trained on"));
    bash("rm -r c");
    // At the last step of an epoch: one of less text has fewer.
    ASSERT_EQ(train(each, "--epochs 1 --checkpoint-every 1 --keep 9 --checkpoint c").code, 0);
    ASSERT_EQ(bash("rm c/checkpoint.safetensors").code, 0);
    const std::string newest = lines_of(bash("ls c | sort -t . -n -k 2 | tail -1").out).at(0);
    age("c/" + newest);
    write(each.parts[0], each, variants(lines)[0].second);
    ran = train(each, "--epochs 2 --checkpoint c --resume");
    EXPECT_EQ(ran.code, 3) << each.model << ran.err;
    EXPECT_THAT(ran.err,
                AllOf(HasSubstr("it stands after step "), HasSubstr(" of an epoch, which has ")));
    bash("rm -r c");
  }
}

TEST_F(OtherData, AreWhatAModelIsTrainedOnFurther) {
  size_t turn = 0;  // models take turns of the files
  for (const Case& each : cases()) {
    ++turn;
    const Lines lines = each.lines();
    write_all(each, lines);
    ASSERT_EQ(
        train(each, "--epochs 1 --patience 3 --checkpoint c && graphc export c m.graphc").code, 0);
    // Other frequencies: by itself the text would number its elements otherwise.
    Lines other(90, each.lines == numbers ? "40" : "one one one one one one one one one");
    other.insert(other.end(), lines.begin() + 60, lines.end());
    write_all(each, other);
    const std::string eval = fmt::format("--data {} --split train --target=reference", each.data);
    const Ran learned = bash("graphc eval c " + eval);
    ASSERT_EQ(learned.code, 0) << learned.err;
    for (const char* file : {"c", "c/checkpoint.safetensors", "c/best.safetensors", "m.graphc"}) {
      if (!is_sampled(turn++, 5)) continue;
      Ran ran = train(each, fmt::format("--epochs 0 --checkpoint d --init {}", file));
      EXPECT_EQ(ran.code, 0) << each.model << file << ran.err;
      EXPECT_EQ(bash("graphc eval d " + eval).out, learned.out) << each.model << file;
      ran = train(each, "--max-steps 2 --checkpoint d --resume");
      EXPECT_EQ(ran.code, 0) << each.model << file << ran.err;
      EXPECT_NE(bash("graphc eval d " + eval).out, learned.out) << each.model << file;
      bash("rm -r d");
    }
    std::string deeper = each.model;
    deeper = deeper.substr(0, deeper.find(" layers")) + " layers=3";
    const Ran refused = bash(
        fmt::format("graphc train {} --target=reference --data {} --init c", deeper, each.data));
    EXPECT_EQ(refused.code, 3) << refused.err;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("c/best.safetensors: not the parameters of model"),
                                   Not(HasSubstr("Loading"))));
    bash("rm -r c");
  }
}

TEST_F(OtherData, ATrainingThatIsDoneGivesItsTestAgain) {
  for (const Case& each : cases()) {
    if (std::string(each.data) == "t") continue;  // it has no test
    write_all(each, each.lines());
    ASSERT_EQ(train(each, "--epochs 2 --checkpoint c --log whole").code, 0);
    const nlohmann::json whole = last_event("whole");
    ASSERT_EQ(whole["event"], "end");
    ASSERT_TRUE(whole.dump().find("\"test_") != std::string::npos) << whole;
    // Killed behind the checkpoint of the last epoch, and before the end.
    Ran ran = train(each, "--epochs 2 --checkpoint c --resume --log again");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(last_event("again"), whole);
    EXPECT_THAT(ran.err, HasSubstr("test "));
    EXPECT_EQ(train(each, "--epochs 0 --checkpoint none --log none.log").code, 0);
    EXPECT_EQ(last_event("none.log").dump().find("\"test_"), std::string::npos);
    bash("rm -r c none");
  }
}

TEST_F(OtherData, TheCurveIsThatOfTheWholeTraining) {
  const Case& each = cases().back();
  write_all(each, each.lines());
  ASSERT_EQ(train(each, "--epochs 4 --checkpoint whole --plot whole.svg").code, 0);
  for (const int steps : {1, 15, 16, 17, 40}) {
    ASSERT_EQ(train(each, fmt::format("--epochs 4 --checkpoint c --max-steps {}", steps)).code, 0);
    const Ran ran = train(each, "--epochs 4 --checkpoint c --resume --plot pieces.svg");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(bash("cmp whole.svg pieces.svg && cmp */checkpoint.safetensors").code, 0) << steps;
    bash("rm -r c");
  }
}

TEST_F(OtherData, WhatCannotBeWrittenDownCostsNothingThatWasLearned) {
  const Case& each = cases().back();
  write_all(each, each.lines());
  Ran ran = train(each, "--checkpoint c --plot nowhere/p.svg");
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.err, HasSubstr("nowhere/p.svg"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "c"));
  // A log on a full disk.
  ran = train(each, "--checkpoint c --log /dev/full");
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.err, HasSubstr("/dev/full: No space left on device"));
  EXPECT_THAT(bash("graphc inspect c").out, HasSubstr("step: 1\n"));
  // The folder of the picture goes while it is trained.
  ran = bash(fmt::format(
      "mkdir p; graphc train {} --target=reference --quiet --data t.csv --epochs 100000 "
      "--checkpoint d --plot p/p.svg --log log 2> messages & pid=$!\n"
      "while ! [ -s p/p.svg ]; do sleep 0.05; done\n"
      "while kill -0 $pid 2> /dev/null; do rm -rf p; sleep 0.05; done\n"
      "wait $pid; echo $?; grep -c '\"event\":\"evaluation\"' log; graphc inspect d | grep ^epoch",
      each.model));
  const std::vector<std::string> lines = lines_of(ran.out);
  ASSERT_EQ(lines.size(), 3u) << ran.out << ran.err;
  EXPECT_EQ(lines[0], "5");
  EXPECT_EQ(lines[2], "epoch: " + lines[1]);
  // A limit of the size of files is no signal.
  ran = bash(
      "ulimit -f 4; graphc train lstm-layer hidden=40 steps=2 batch=2 --target=reference "
      "--max-steps 1 --checkpoint e");
  EXPECT_EQ(ran.code, 5) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("cannot write 'e/checkpoint.safetensors': File too large"));
}

}  // namespace
}  // namespace graphc::core
