// SPDX-License-Identifier: Apache-2.0
// What becomes of ranks that were started differently, that fail, are slow or are killed.
#include <cmath>

#include "runtime/clock.h"
#include "tests/testing/samples.h"
#include "tests/tools/ranks_test.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class FailingRanksCpu : public RanksCpu {};
class FailingRanksCpuSlow : public RanksCpu {};

TEST_F(FailingRanksCpu, ThatDifferAreNamedBeforeTheFirstStep) {
  folder_.add("others", counted(399));
  struct Case {
    std::string first, second, says;
  };
  const std::string train = kCharLm;
  const std::vector<Case> cases{
      {train + "--seed 1", train + "--seed 2",
       "--seed: rank 1 has '2', and rank 0 has '1': wanted"},
      {train, "graphc train char-lm hidden=9 --data numbers",
       "the model: rank 1 has 'char-lm hidden=9', and rank 0 has 'char-lm hidden=8"},
      {train, train + "--max-steps 7", "the options: rank 1 has '"},
      {train + "--cpu x86-64-v2", train + "--cpu x86-64-v3",
       "--cpu: rank 1 has 'x86-64-v3', and rank 0 has 'x86-64-v2'"},
      {train, train + "--data others", "the data (data.train): rank 1 has '"},
  };
  for (const Case& each : cases) {
    // An option that is given twice counts as the last.
    const std::string second = each.second.find("others") == std::string::npos
                                   ? each.second
                                   : "graphc train char-lm hidden=8 steps=6 batch=12 "
                                     "vocabulary=20 --data others --threads 1";
    const Ran ran =
        bash(fmt::format("{}1 {} --max-steps 3 --log log.jsonl : -n 1 {} {}", mpirun(), each.first,
                         second, each.says.starts_with("the options") ? "" : "--max-steps 3"));
    EXPECT_EQ(ran.code, 3) << ran.err;
    EXPECT_EQ(occurrences(ran.err, each.says), 1) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "log.jsonl") &&
                 std::filesystem::file_size(folder_.path() / "log.jsonl") > 0);
  }
}

TEST_F(FailingRanksCpu, ThatDoNotDivideTheBatchAreRefused) {
  Ran ran = bash(fmt::format("ranks 5 {}", kCharLm));
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(occurrences(ran.err, "error: char-lm: its batch of 12 is not divided by 5 ranks\n"), 1)
      << ran.err;
  ran = bash(fmt::format("{} --shards 8", kCharLm));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("its batch of 12 is not divided by --shards=8"));
  ran = bash(fmt::format("{} --shards 3", kCharLm));
  EXPECT_THAT(ran.err, HasSubstr("--shards is a power of two: found 3"));
  ran = bash(fmt::format("ranks 3 {} --shards 4", kCharLm));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--shards=4 is not divided by 3 ranks"));
}

TEST_F(FailingRanksCpu, WithTheSameErrorReportItOnce) {
  const Ran ran = bash("ranks 3 graphc train char-lm batch=12 --data missing");
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_EQ(occurrences(ran.err, "error: "), 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("missing"));
  EXPECT_THAT(ran.err, Not(HasSubstr("on rank")));
}

TEST_F(FailingRanksCpu, WithAnErrorOfTheirOwnAreNamed) {
  const Ran ran =
      bash(fmt::format("{}1 {} --max-steps 3 : -n 1 graphc train char-lm hidden=8 "
                       "steps=6 batch=12 vocabulary=20 --threads 1 --max-steps 3 "
                       "--data missing",
                       mpirun(), kCharLm));
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_EQ(occurrences(ran.err, "error: "), 1) << ran.err;
  EXPECT_EQ(occurrences(ran.err, "note: on rank 1 of 2\n"), 1) << ran.err;
}

TEST_F(FailingRanksCpu, StopTogetherWhereALogCannotBeWritten) {
  const Ran ran =
      bash(fmt::format("ranks 2 {} --epochs 50 --checkpoint c --log /dev/full; code=$?\n"
                       "graphc inspect c | grep '^step:'; exit $code",
                       kCharLm));
  EXPECT_EQ(ran.code, 5) << ran.err;
  EXPECT_EQ(occurrences(ran.err, "error: /dev/full: No space left on device\n"), 1) << ran.err;
  EXPECT_EQ(ran.out, "step: 1\n");
}

TEST_F(FailingRanksCpu, StopTogetherOnASignalOfOne) {
  const Ran ran =
      bash(fmt::format("ranks 2 {} --epochs 100000 --log log.jsonl --checkpoint c &\n"
                       "until [ -s log.jsonl ]; do sleep 0.05; done\n"
                       "kill -TERM $(rank_of 1)\nwait $!; code=$?\n"
                       "[ -f c/checkpoint.safetensors ] || exit 9\nexit $code",
                       kCharLm));
  EXPECT_EQ(ran.code, 143) << ran.err;
  EXPECT_EQ(occurrences(ran.err, "stopped by signal 15\n"), 1) << ran.err;
  EXPECT_EQ(log("log.jsonl").back()["event"], "end");
}

TEST_F(FailingRanksCpu, ThatAreKilledEndTheOthers) {
  for (const int killed : {0, 1, 2}) {
    const Ran ran = bash(
        fmt::format("rm -rf log.jsonl c\n"
                    "ranks 3 {} --epochs 100000 --log log.jsonl --checkpoint c --checkpoint-every "
                    "2 &\n"
                    "until [ -s log.jsonl ]; do sleep 0.05; done\n"
                    "kill -KILL $(rank_of {})\nSECONDS=0\nwait $!; code=$?\n"
                    "echo $SECONDS\nexit $code",
                    kCharLm, killed));
    EXPECT_EQ(ran.code, 128 + 9) << ran.err;
    EXPECT_LE(std::stoi(ran.out), 10);
    EXPECT_THAT(ran.err, HasSubstr(fmt::format("process rank {} with PID", killed)));
  }
}

TEST_F(FailingRanksCpu, ThatAreSlowAreNamed) {
  // It has a twentieth of the time, in parts shorter than a step: so it is the other that waits. On
  // a busy machine the parts are longer, and it still has less than a third.
  const Ran ran = bash(
      "ranks 2 graphc train char-lm hidden=192 steps=24 batch=12 vocabulary=20 --data numbers "
      "--threads 1 --epochs 100000 --log log.jsonl &\n"
      "until [ -s log.jsonl ]; do sleep 0.02; done\n"
      "slow=$(rank_of 1)\n"
      "for i in $(seq 40); do kill -STOP $slow; sleep 0.1; kill -CONT $slow; sleep 0.005; done\n"
      "epochs=$(grep -c waited_s log.jsonl)\n"
      "until [ $(grep -c waited_s log.jsonl) -gt $((epochs + 1)) ]; do sleep 0.1; done\n"
      "kill -TERM $slow; wait $!");
  ASSERT_EQ(ran.code, 143) << ran.err;
  EXPECT_THAT(ran.err, ContainsRegex("rank 1 is slow: the others waited [0-9.]+ s for it, of"));
  double waited = 0;
  for (const Json& event : log("log.jsonl")) {
    if (event["event"] == "epoch") waited = std::max(waited, event["waited_s"][0].get<double>());
  }
  EXPECT_GT(waited, 0.5);
}

TEST_F(FailingRanksCpu, WithoutMpiSaySo) {
  const Ran ran = bash(fmt::format("export GRAPHC_MPI=none; ranks 2 {}", kCharLm));
  EXPECT_EQ(ran.code, 5) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("mpirun of Open MPI started this process as rank "));
  EXPECT_THAT(ran.err, HasSubstr(" of 2, and there is no MPI: GRAPHC_MPI is 'none'"));
}

TEST_F(FailingRanksCpu, DoNotCheckEveryOp) {
  const Ran ran = bash(fmt::format("ranks 2 {} --check-nan op", kCharLm));
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(occurrences(ran.err, "error: --check-nan=op is for one rank: found 2\n"), 1) << ran.err;
}

/// Kills a rank of a training so many times, each a few steps after it went on and then at any
/// moment: while ranks start, compute, exchange or save. It goes on with another number of ranks.
/// Ends with 7 if the training ends before it was killed so often, with 6 after another error.
constexpr const char* kKills =
    "train='{0} --shards 4 --epochs 100 --checkpoint-every 1 --max-steps {1} --checkpoint'\n"
    "$train straight || exit 9\n"
    "RANDOM=5; touch log.jsonl\n"
    "for ((kills = 0; kills < {2}; ++kills)); do\n"
    "  n=$((2 << (kills % 2))); lines=$(wc -l < log.jsonl)\n"
    "  ranks $n $train pieces --resume --log log.jsonl > /dev/null 2> last & job=$!\n"
    "  rank=$(rank_of $((RANDOM % n))); lines=$((lines + RANDOM % 4))\n"
    "  while [ -e /proc/$job ] && [ $(wc -l < log.jsonl) -lt $lines ]; do sleep 0.01; done\n"
    "  sleep 0.0$((RANDOM % 10))\n"
    "  kill -KILL $rank 2> /dev/null; killed=$?; wait $job 2> /dev/null; code=$?\n"
    "  [ $code -ne 0 ] || exit 7\n"
    "  [ $killed -eq 0 ] || {{ cat last >&2; exit 6; }}\n"
    "  cat last >> all\n"
    "done\n"
    "ranks 2 $train pieces --resume && cmp */checkpoint.safetensors || exit 5\n"
    "cat all >&2";

TEST_F(FailingRanksCpu, ThatAreKilledAndResumedEndWithTheBytesOfOneProcess) {
  const Ran ran = bash(fmt::format(kKills, kCharLm, 150, 4));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("resumed after step"), Not(HasSubstr("damaged"))));
}

TEST_F(FailingRanksCpuSlow, ThatAreKilledAndResumedEndWithTheBytesOfOneProcess) {
  const Ran ran = bash(fmt::format(kKills, kCharLm, 1500, 50));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, Not(HasSubstr("damaged")));
  EXPECT_GE(occurrences(ran.err, "resumed after step"), 25) << ran.err;
  count("kills of ranks", 50);
}

}  // namespace
}  // namespace graphc::core::testing
