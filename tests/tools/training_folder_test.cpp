// SPDX-License-Identifier: Apache-2.0
// What a training leaves in the files of others and of its own: logs, modes, locks, remains.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "runtime/files/files.h"
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
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TrainingFolder : public ::testing::Test {
 protected:
  Ran train(const std::string& options) const {
    return run_bash(
        "graphc train lstm-layer hidden=3 steps=2 batch=2 --target=reference " + options, folder_);
  }
  std::string file(const std::string& name) const { return read_file(folder_.path() / name); }

  /// The steps of the events `step` in a log, of which every line is an event.
  std::vector<int> steps(const std::string& name) const {
    std::vector<int> found;
    for (const std::string& line : lines_of(file(name))) {
      const auto event = nlohmann::json::parse(line);
      if (event["event"] == "step") found.push_back(event["step"]);
    }
    return found;
  }

  const TemporaryFolder folder_;
};

TEST_F(TrainingFolder, ResumingGoesOnWithTheLog) {
  EXPECT_EQ(train("--max-steps 2 --checkpoint c --log log").code, 0);
  EXPECT_THAT(steps("log"), ElementsAre(1, 2));
  EXPECT_EQ(train("--max-steps 4 --checkpoint c --log log --resume").code, 0);
  EXPECT_THAT(steps("log"), ElementsAre(1, 2, 3, 4));
  // Where the checkpoint is behind the log, as after a kill, steps are done and logged again.
  EXPECT_EQ(train("--max-steps 2 --checkpoint d").code, 0);
  EXPECT_EQ(train("--max-steps 3 --checkpoint d --log log --resume").code, 0);
  EXPECT_THAT(steps("log"), ElementsAre(1, 2, 3, 4, 3));
  // So does resuming where no checkpoint was saved yet.
  EXPECT_EQ(train("--max-steps 1 --checkpoint e --log log --resume").code, 0);
  EXPECT_THAT(steps("log"), ElementsAre(1, 2, 3, 4, 3, 1));
}

TEST_F(TrainingFolder, ANewTrainingBeginsItsLogAnew) {
  // A training that cannot begin takes nothing from the log of the one before.
  folder_.add("log", "of before\n");
  EXPECT_EQ(train("--data nowhere --log log").code, 2);
  EXPECT_EQ(read_file(folder_.path() / "log"), "of before\n");
  EXPECT_EQ(train("--max-steps 2 --log log").code, 0);
  EXPECT_EQ(train("--max-steps 1 --log log").code, 0);
  EXPECT_THAT(steps("log"), ElementsAre(1));
}

TEST_F(TrainingFolder, ALineOfTheLogThatWasCutShortIsTakenAway) {
  EXPECT_EQ(train("--max-steps 2 --checkpoint c --log log").code, 0);
  const std::string whole = file("log");
  for (const char* rest : {"{\"event\":\"step\",\"epo", "{\"ev", "{"}) {
    folder_.add("log", whole + rest);
    EXPECT_EQ(train("--max-steps 2 --checkpoint c --log log --resume").code, 0);
    EXPECT_THAT(file("log"), ::testing::StartsWith(whole + "{\"event\":\"end\""));
    EXPECT_THAT(steps("log"), ElementsAre(1, 2)) << rest;
  }
  // What is no event was not written by a training.
  folder_.add("notes", "first line\nand more");
  EXPECT_EQ(train("--max-steps 2 --checkpoint c --log notes --resume").code, 0);
  EXPECT_THAT(file("notes"), HasSubstr("first line\nand more\n{\"event\""));
}

TEST_F(TrainingFolder, ALogMayBeAPipe) {
  const Ran ran = run_bash(
      "graphc train lstm-layer hidden=3 steps=2 batch=2 --target=reference --max-steps 1 "
      "--checkpoint c --resume --log >(cat > piped); sleep 0.2; cat piped",
      folder_);
  EXPECT_THAT(ran.out, HasSubstr("\"event\":\"end\""));
}

TEST_F(TrainingFolder, ACheckpointKeepsItsMode) {
  EXPECT_EQ(run_bash("umask 022", folder_).code, 0);
  EXPECT_EQ(train("--max-steps 1 --checkpoint c").code, 0);
  const std::string path = (folder_.path() / "c/checkpoint.safetensors").string();
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(train("--max-steps 2 --checkpoint c --resume").code, 0);
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(TrainingFolder, OnlyTheCheckpointIsLeftInIt) {
  folder_.add("c/checkpoint.safetensors.99999999.0.graphc.tmp", "left by a process that is gone");
  folder_.add("c/training.lock", "99999999\n");
  EXPECT_EQ(train("--max-steps 1 --checkpoint c").code, 0);
  EXPECT_EQ(run_bash("ls c", folder_).out, "checkpoint.safetensors\n");
}

TEST_F(TrainingFolder, OneTrainingAtATimeHasIt) {
  const Ran ran = run_bash(
      "endless='graphc train lstm-layer hidden=3 steps=2 batch=2 --target=reference "
      "--epochs 1000000 --checkpoint c --checkpoint-every 1 --keep 1'\n"
      "$endless --log log 2> /dev/null & first=$!\n"
      "while ! [ -s c/checkpoint.safetensors ]; do sleep 0.05; done\n"
      "$endless 2> second; echo $?\n"
      "$endless --resume --log log 2> third; echo $?\n"
      "kill -9 $first; wait $first 2> /dev/null\n"
      "graphc train lstm-layer hidden=3 steps=2 batch=2 --target=reference --max-steps 1 "
      "--checkpoint c --resume 2> /dev/null; echo $?\n"
      "ls c; echo $first",
      folder_);
  const std::vector<std::string> lines = lines_of(ran.out);
  ASSERT_EQ(lines.size(), 5u) << ran.out << ran.err;
  EXPECT_EQ(lines[0], "5");
  EXPECT_EQ(lines[1], "5");
  EXPECT_EQ(lines[2], "0") << "the lock of a killed process holds nobody up";
  EXPECT_EQ(lines[3], "checkpoint.safetensors");
  for (const char* name : {"second", "third"}) {
    EXPECT_EQ(file(name), fmt::format("error: another training is using the folder 'c' (process "
                                      "{}): wanted exclusive use ('c/training.lock')\n",
                                      lines[4]));
  }
  // The one that was refused has not touched the log.
  EXPECT_THAT(file("log"), HasSubstr("\"step\":1,"));
}

}  // namespace
}  // namespace graphc::core
