// SPDX-License-Identifier: Apache-2.0
// graphc train on several ranks of mpirun: the files of one process, whatever their number.
#include "tests/tools/ranks_test.h"

#include <cmath>

#include "runtime/files/safetensors.h"
#include "tests/testing/samples.h"

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

/// Which of some numbers of ranks the model at `place` is trained on: one of them in a sample, in
/// turn from model to model, all of them otherwise.
std::vector<int> sampled_counts(size_t place, const std::vector<int>& counts) {
  std::vector<int> sampled;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (is_sampled(place + i, counts.size())) sampled.push_back(counts[i]);
  }
  return sampled;
}

TEST_F(RanksCpu, WriteTheFilesOfOneProcess) {
  for (size_t place = 0; place < std::size(kModels); ++place) {
    SCOPED_TRACE(kModels[place]);
    const std::string train = fmt::format(
        "graphc train {} --threads 1 --max-steps 4 --seed 3 --checkpoint-every 2", kModels[place]);
    const Ran one = bash("rm -rf one*; " + train + " --log one.jsonl --checkpoint one");
    ASSERT_EQ(one.code, 0) << one.err;
    for (const int ranks : sampled_counts(place, {2, 3, 4})) {
      SCOPED_TRACE(fmt::format("{} ranks", ranks));
      const Ran all = bash(
          fmt::format("rm -rf all*; ranks {} {} --log all.jsonl --checkpoint all", ranks, train));
      ASSERT_EQ(all.code, 0) << all.err;
      expect_same_log(log("all.jsonl"), log("one.jsonl"), 1e-4);
      EXPECT_EQ(file_names(folder_.path() / "all"), file_names(folder_.path() / "one"));
      count("trainings on ranks", 1);
    }
  }
}

TEST_F(RanksCpu, WithShardsTheBitsDoNotDependOnTheirNumber) {
  for (size_t place = 0; place < std::size(kModels); ++place) {
    SCOPED_TRACE(kModels[place]);
    const std::string train = fmt::format(
        "graphc train {} --threads 1 --max-steps 5 --shards 4 --checkpoint", kModels[place]);
    for (const int ranks : sampled_counts(place, {4, 2})) {
      const Ran ran =
          bash(fmt::format("rm -rf one all; {1} one || exit 9\nranks {0} {1} all || exit 8\n"
                           "cmp one/checkpoint.safetensors all/checkpoint.safetensors",
                           ranks, train));
      EXPECT_EQ(ran.code, 0) << ranks << " ranks: " << ran.out << ran.err;
      count("trainings on ranks", 1);
    }
  }
}

/// Processes whose GPUs a mock of NCCL connects.
TEST_F(RanksCpu, OnGpusHaveTheBitsOfOneProcess) {
  const Ran ran =
      bash("export GRAPHC_CUDA_LIBRARIES=" GRAPHC_MOCK_FOLDER
           " GRAPHC_MOCK_DEVICES=2\n"
           "train='graphc train char-lm hidden=4 steps=3 batch=4 vocabulary=20 --data numbers "
           "--max-steps 3 --shards 2 --checkpoint'\n"
           "$train one --target cuda --log one.jsonl || exit 9\n"
           "ranks 2 $train two --target cuda --log two.jsonl || exit 8\n"
           "cmp one/checkpoint.safetensors two/checkpoint.safetensors || exit 7\n"
           "$train cpu --log cpu.jsonl || exit 6\n"
           "GRAPHC_MOCK_DEVICES=1 ranks 2 $train none --target cuda");
  EXPECT_EQ(ran.code, int(ErrorKind::resource)) << ran.out << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("Duplicate GPU detected"));
  const auto one = log("one.jsonl"), two = log("two.jsonl"), cpu = log("cpu.jsonl");
  expect_same_log(two, one, 0);
  ASSERT_EQ(cpu.size(), two.size());
  for (size_t i = 0; i < cpu.size(); ++i) {
    if (!cpu[i].contains("loss")) continue;
    EXPECT_NEAR(double(two[i]["loss"]), double(cpu[i]["loss"]), 1e-4) << cpu[i];
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

TEST_F(RanksCpu, SendGradientsInBf16WhereAsked) {
  const Ran ran =
      bash(fmt::format("ranks 2 {0} --epochs 1 --log wide.jsonl || exit 9\n"
                       "ranks 2 {0} --epochs 1 --gradients bf16 --log narrow.jsonl || exit 8\n"
                       "ranks 2 {0} --epochs 1 --gradients bf16 --log again.jsonl",
                       kCharLm));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(occurrences(ran.err, ", gradients sent in bf16\n"), 2) << ran.err;
  const auto wide = log("wide.jsonl"), narrow = log("narrow.jsonl"), again = log("again.jsonl");
  ASSERT_EQ(wide.size(), narrow.size());
  bool differ = false;
  for (size_t i = 0; i < wide.size(); ++i) {
    if (wide[i]["event"] == "epoch") {
      EXPECT_EQ(wide[i]["gradients"], "f32");
      EXPECT_EQ(narrow[i]["gradients"], "bf16");
    }
    if (!wide[i].contains("loss")) continue;
    const double loss = wide[i]["loss"];
    EXPECT_NEAR(double(narrow[i]["loss"]), loss, 2e-3 * loss) << narrow[i];
    EXPECT_EQ(narrow[i]["loss"], again[i]["loss"]);
    differ |= narrow[i]["loss"] != wide[i]["loss"];
  }
  EXPECT_TRUE(differ);
  const Ran refused =
      bash(fmt::format("ranks 2 {} --max-steps 1 --gradients bf16 --shards 4", kCharLm));
  EXPECT_EQ(refused.code, int(ErrorKind::usage)) << refused.err;
  EXPECT_EQ(occurrences(refused.err, "--gradients=bf16 rounds what ranks send"), 1) << refused.err;
  // Each process reads its command line before it knows of the others.
  const Ran unknown = bash(fmt::format("ranks 1 {} --max-steps 1 --gradients fp8", kCharLm));
  EXPECT_EQ(unknown.code, int(ErrorKind::usage)) << unknown.err;
  EXPECT_EQ(occurrences(unknown.err, "--gradients is f32 or bf16: found 'fp8'"), 1) << unknown.err;
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

TEST_F(RanksCpu, TraceTheirExchangesBesideTheirKernels) {
  const Ran ran = bash(fmt::format("ranks 2 {} --max-steps 4 --trace trace", kCharLm));
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* file : {"trace", "trace.1"}) {
    SCOPED_TRACE(file);
    int64_t exchanges = -1, begun = 0, ended = 0;
    double last_end = 0;
    for (const Json& event : Json::parse(read_file(folder_.path() / file))) {
      if (event["name"] == "thread_name" && event["args"]["name"] == "exchanges with other ranks")
        exchanges = event["tid"];
      if (event["ph"] != "X") continue;
      const std::string name = event["name"];
      const bool is_exchange = name.starts_with("all_reduce ") || name.starts_with("all_gather ");
      if (event["tid"] != exchanges) {
        begun += int64_t(is_exchange);
        continue;
      }
      // One exchange after another, to the microseconds of a trace.
      EXPECT_TRUE(is_exchange) << name;
      const double at = event["ts"];
      EXPECT_GE(at + 0.002, last_end);
      last_end = at + double(event["dur"]);
      ++ended;
    }
    EXPECT_GE(begun, 8);
    EXPECT_EQ(ended, begun);
  }
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
