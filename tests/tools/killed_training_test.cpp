// SPDX-License-Identifier: Apache-2.0
// Trainings that are killed or interrupted at any moment and resumed, again and again, end with the
// bytes of one that was left alone; and what the verbs say of files that are damaged.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/files/files.h"
#include "runtime/files/npy.h"
#include "tests/testing/counts.h"
#include "tests/testing/temporary_folder.h"
#include "tests/tools/shell.h"

namespace graphc::core {
namespace {

using graphc::core::testing::Ran;
using graphc::core::testing::run_bash;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTrain =
    "graphc train lstm-layer hidden=2 steps=2 batch=2 --target=reference --epochs 9 --seed 4 ";

/// Kills a training so many times, each a random part of a second after it began or went on, every
/// third by SIGINT.
void expect_same_bytes_after_kills(int kills) {
  const TemporaryFolder folder;
  const Ran ran = run_bash(
      fmt::format("{0} --max-steps 120 --checkpoint straight --checkpoint-every 1 || exit 9\n"
                  "RANDOM=7\n"
                  "for ((i = 0; i < {1}; ++i)); do\n"
                  "  {0} --max-steps 120 --checkpoint pieces --checkpoint-every 1 --resume &\n"
                  "  sleep 0.$(printf %03d $((RANDOM % 300)))\n"
                  "  if ((i % 3 == 0)); then kill -INT $!; else kill -KILL $!; fi\n"
                  "  wait $! 2> /dev/null\n"
                  "done\n"
                  "{0} --max-steps 120 --checkpoint pieces --resume && cmp */{2}",
                  kTrain, kills, "checkpoint.safetensors"),
      folder);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, Not(HasSubstr("damaged")));
  testing::count("kills", kills);
}

TEST(KilledTraining, EndsWithTheBytesOfOneThatWasLeftAlone) { expect_same_bytes_after_kills(4); }

TEST(KilledTrainingSlow, EndsWithTheBytesOfOneThatWasLeftAlone) {
  expect_same_bytes_after_kills(60);
}

class DamagedCheckpoints : public ::testing::Test {
 protected:
  DamagedCheckpoints() {
    const Ran ran =
        bash(fmt::format("for s in 2 4 6; do {} --max-steps $s --checkpoint c --resume "
                         "--keep 3 || exit 9; done",
                         kTrain));
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
  Ran bash(const std::string& script) const { return run_bash(script, folder_); }
  /// Changes a byte of the numbers.
  void damage(const std::string& name) const {
    std::string bytes = read_file(folder_.path() / "c" / name);
    bytes.back() = char(bytes.back() ^ 16);
    folder_.add("c/" + name, bytes);
  }

  const TemporaryFolder folder_;
};

TEST_F(DamagedCheckpoints, AreNamedAndTheNewestWholeOneIsGoneOnFrom) {
  damage("checkpoint.safetensors");
  Ran ran = bash(fmt::format("{} --max-steps 7 --checkpoint c --resume", kTrain));
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("c/checkpoint.safetensors: it is damaged: its checksum is "
                                       "not that of what it holds; it is "
                                       "'checkpoint.safetensors.damaged' now\n"),
                             HasSubstr("resumed after step 4\n")));
  damage("checkpoint.safetensors");
  damage("checkpoint.4.safetensors");
  ran = bash("ls c; graphc generate c");
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.out,
            "checkpoint.4.safetensors\ncheckpoint.safetensors\n"
            "checkpoint.safetensors.damaged\n");
  EXPECT_THAT(ran.err, HasSubstr("error: c/checkpoint.safetensors: it is damaged: its checksum is "
                                 "not that of what it holds; nor can the 1 before it be read\n"));
}

TEST_F(DamagedCheckpoints, AreShownByInspectAndAreAnError) {
  Ran ran = bash("graphc inspect c && graphc inspect c/checkpoint.2.safetensors --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("format: graphc checkpoint 2\n"), HasSubstr("checksum: whole\n"),
                    HasSubstr("model: lstm-layer hidden=2 steps=2 batch=2 cell=lstm\n"),
                    HasSubstr("step: 6\n"), HasSubstr("\nu     f32[2,8] ")));
  const auto found = nlohmann::json::parse(ran.out.substr(ran.out.find('{')));
  EXPECT_EQ(found["metadata"]["step"], "2");
  EXPECT_EQ(found["checksum"], "whole");
  ASSERT_EQ(found["arrays"].size(), 3u);
  EXPECT_EQ(found["arrays"][1]["shape"], (std::vector<int>{2, 8}));
  EXPECT_LE(found["arrays"][1]["least"], found["arrays"][1]["mean"]);
  damage("checkpoint.safetensors");
  ran = bash("graphc inspect c");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("checksum: damaged\n"), HasSubstr("step: 6\n")));
  EXPECT_THAT(ran.err, HasSubstr("c/checkpoint.safetensors: it is damaged"));
}

TEST_F(DamagedCheckpoints, AreNeitherTakenForNothingNorReplaced) {
  const Ran ran = bash(fmt::format("rm c/checkpoint.safetensors; {} --checkpoint c", kTrain));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("c/checkpoint.4.safetensors is a checkpoint of step 4: --resume "
                                 "goes on from it; remove it and 1 more (checkpoint.2.safetensors) "
                                 "to begin anew\n"));
}

TEST(Inspect, CountsWhatIsNotFiniteAndRefusesOtherFiles) {
  const TemporaryFolder folder;
  const float values[] = {1, -3, NAN, INFINITY, -INFINITY, NAN};
  folder.add("x.npy", npy_bytes(Literal(std::span<const float>(values), Shape{2, 3})));
  folder.add("none", "");
  folder.add("text", "one two\n");
  folder.add("table", "1,2\n3,4\n");
  Ran ran = run_bash("graphc inspect x.npy", folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("format: npy\n"), HasSubstr("f32[2,3]"),
                             ::testing::ContainsRegex(" -3 +1 +-1 +2 +2\n")));
  for (const auto& [file, says] :
       {std::pair{"none", "the file is empty"},
        std::pair{"text", "is not a valid safetensors file"},
        std::pair{"table", "is a table of text"}, std::pair{".", "a folder without a checkpoint"},
        std::pair{"missing", "No such file"}}) {
    ran = run_bash(fmt::format("graphc inspect {}", file), folder);
    EXPECT_EQ(ran.code, 3) << file;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(says));
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  }
}

}  // namespace
}  // namespace graphc::core
