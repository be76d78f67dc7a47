// SPDX-License-Identifier: Apache-2.0
// graphc train on several ranks of mpirun: the files of one process, whatever their number.
#include "tests/tools/ranks_test.h"

#include <cmath>

#include "runtime/files/safetensors.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Every workload, small; their batches are divided by 1 to 4 ranks.
constexpr const char* kModels[] = {
    "lstm-layer hidden=8 steps=3 batch=12",
    "lstm-layer cell=layer-norm-lstm hidden=8 steps=3 batch=12",
    "ptb-lm size=test vocabulary=200 batch=12 steps=4 keep=0.5 --data corpus",
    "wikitext2-lm hidden=8 steps=4 batch=12 vocabulary=200 --data corpus",
    "char-lstm hidden=8 steps=5 batch=12 samples=120",
    "char-lm hidden=8 steps=6 batch=12 vocabulary=20 keep=0.8 --data numbers",
    "rnn-variants task=returnn hidden=6 layers=2 steps=10 batch=12 sequences=20",
    "rnn-variants task=classification hidden=6 steps=5 batch=12 sequences=300",
};

std::vector<std::string> file_names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// The same events with figures that agree to rounding. Speeds are not compared.
void expect_same_log(const std::vector<Json>& found, const std::vector<Json>& wanted,
                     double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    for (const auto& [name, value] : wanted[i].items()) {
      if (name.ends_with("_per_s")) continue;
      ASSERT_TRUE(found[i].contains(name)) << found[i];
      if (value.is_number_float()) {
        const double at = value.get<double>();
        EXPECT_NEAR(found[i][name].get<double>(), at, tolerance * std::max(1.0, std::abs(at)))
            << name << " of " << wanted[i];
      } else {
        EXPECT_EQ(found[i][name], value) << name << " of " << wanted[i];
      }
    }
  }
}

TEST_F(RanksCpu, WriteTheFilesOfOneProcess) {
  for (const std::string model : kModels) {
    SCOPED_TRACE(model);
    const Ran ran = bash(fmt::format(
        "train='graphc train {} --threads 1 --max-steps 4 --seed 3 --checkpoint-every 2'\n"
        "rm -rf one* two* three* four*\n"
        "$train --log one.jsonl --checkpoint one || exit 9\n"
        "ranks 2 $train --log two.jsonl --checkpoint two || exit 8\n"
        "ranks 3 $train --log three.jsonl --checkpoint three || exit 7\n"
        "ranks 4 $train --log four.jsonl --checkpoint four || exit 6\n",
        model));
    ASSERT_EQ(ran.code, 0) << ran.err;
    for (const char* ranks : {"two", "three", "four"}) {
      SCOPED_TRACE(ranks);
      expect_same_log(log(fmt::format("{}.jsonl", ranks)), log("one.jsonl"), 1e-4);
      EXPECT_EQ(file_names(folder_.path() / ranks), file_names(folder_.path() / "one"));
    }
    count("trainings on ranks", 3);
  }
}

TEST_F(RanksCpu, WithShardsTheBitsDoNotDependOnTheirNumber) {
  for (const std::string model : kModels) {
    SCOPED_TRACE(model);
    const Ran ran = bash(fmt::format(
        "train='graphc train {} --threads 1 --max-steps 5 --shards 4 --checkpoint'\n"
        "rm -rf one two four\n"
        "$train one || exit 9\nranks 2 $train two || exit 8\nranks 4 $train four || exit 7\n"
        "sha256sum < one/checkpoint.safetensors\nsha256sum < two/checkpoint.safetensors\n"
        "sha256sum < four/checkpoint.safetensors\n",
        model));
    ASSERT_EQ(ran.code, 0) << ran.err;
    const std::vector<std::string> sums = lines_of(ran.out);
    ASSERT_EQ(sums.size(), 3u) << ran.out;
    EXPECT_EQ(sums[0], sums[1]);
    EXPECT_EQ(sums[0], sums[2]);
  }
}

TEST_F(RanksCpu, AreAnnouncedOnceAndOnlyTheFirstSpeaks) {
  const Ran ran = bash(fmt::format("ranks 2 {} --max-steps 3 --log -", kCharLm));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(occurrences(ran.err, "2 ranks on 1 machine (Open MPI v"), 1) << ran.err;
  EXPECT_EQ(occurrences(ran.err, "), 1 thread each\n"), 1) << ran.err;
  EXPECT_EQ(occurrences(ran.err, "char-lm: "), 1) << ran.err;
  EXPECT_EQ(occurrences(ran.out, "\"event\":\"step\""), 3) << ran.out;
  EXPECT_EQ(occurrences(ran.out, "\"event\":\"end\""), 1) << ran.out;
}

TEST_F(RanksCpu, OffIsATrainingOfEachProcess) {
  const Ran ran = bash(fmt::format("ranks 2 {} --max-steps 2 --ranks off --log -", kCharLm));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(occurrences(ran.out, "\"event\":\"step\""), 4) << ran.out;
  EXPECT_THAT(ran.err, Not(HasSubstr("2 ranks")));
}

TEST_F(RanksCpu, AResumedTrainingMayHaveAnotherNumber) {
  const Ran ran =
      bash(fmt::format("train='{} --shards 4 --epochs 2 --checkpoint'\n"
                       "$train straight --max-steps 12 || exit 9\n"
                       "ranks 4 $train pieces --max-steps 3 || exit 8\n"
                       "$train pieces --max-steps 5 --resume || exit 7\n"
                       "ranks 2 $train pieces --max-steps 12 --resume || exit 6\n"
                       "cmp */checkpoint.safetensors",
                       kCharLm));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("resumed after step 3\n"), HasSubstr("after step 5\n")));
}

TEST_F(RanksCpu, KeepTheBestAndSampleAsOneProcess) {
  const Ran ran = bash(fmt::format(
      "train='{} --shards 2 --epochs 3 --patience 1 --sample 20 --checkpoint'\n"
      "$train one --log one.jsonl || exit 9\nranks 2 $train two --log two.jsonl || exit 8\n"
      "cmp */best.safetensors",
      kCharLm));
  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_same_log(log("two.jsonl"), log("one.jsonl"), 0);
}

TEST_F(RanksCpu, LogTheTimeThatEachWaited) {
  const Ran ran = bash(fmt::format("ranks 3 {} --epochs 1 --log log.jsonl", kCharLm));
  ASSERT_EQ(ran.code, 0) << ran.err;
  int64_t epochs = 0;
  for (const Json& event : log("log.jsonl")) {
    EXPECT_EQ(event.contains("waited_s"), event["event"] == "epoch") << event;
    if (event["event"] != "epoch") continue;
    ++epochs;
    ASSERT_EQ(event["waited_s"].size(), 3u) << event;
    double least = 1e9;
    for (const Json& seconds : event["waited_s"]) least = std::min(least, seconds.get<double>());
    EXPECT_EQ(least, 0) << event;
  }
  EXPECT_EQ(epochs, 1);
}

TEST_F(RanksCpu, TrainWithFitInAProgramOfAUsers) {
  const Ran ran =
      bash(fmt::format("mkdir one two four; '{0}' 3 one || exit 9\n"
                       "ranks 2 '{0}' 2 two || exit 8\nranks 4 '{0}' 3 two || exit 7\n"
                       "ranks 4 '{0}' 3 four || exit 6\n"
                       "cmp one/last.safetensors two/last.safetensors || exit 5\n"
                       "cmp one/last.safetensors four/last.safetensors || exit 4\n"
                       "cmp one/curve.csv two/curve.csv || exit 3\n"
                       "ls four/board | wc -l",
                       GRAPHC_FIT_RANKS_PROGRAM));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "3 epochs\n2 epochs\n3 epochs\n3 epochs\n1\n");
  EXPECT_THAT(ran.err, HasSubstr("two/last.safetensors: goes on after epoch 2"));
}

}  // namespace
}  // namespace graphc::core::testing
