// SPDX-License-Identifier: Apache-2.0
// Traces of trainings: what is in them, beside the log and the compile report.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

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
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

/// Microseconds, of begin and length.
constexpr double kRounding = 0.002;

struct Span {
  std::string name;
  double begin = 0, end = 0;
  nlohmann::json facts;
};

/// The spans of a trace by the name of their track.
std::map<std::string, std::vector<Span>> spans_of(const std::string& text) {
  std::map<std::string, std::vector<Span>> spans;
  std::map<int, std::string> tracks;
  for (const nlohmann::json& event : nlohmann::json::parse(text)) {
    if (event["name"] == "thread_name") tracks[event["tid"]] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    const double begin = event["ts"], length = event["dur"];
    EXPECT_GE(length, 0);
    spans[tracks.at(event["tid"])].push_back({event["name"], begin, begin + length, event["args"]});
  }
  return spans;
}

/// Every two spans of a track are apart, or one is inside the other.
void expect_nested(std::vector<Span> spans) {
  std::ranges::sort(spans, [](const Span& a, const Span& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<Span> around;
  for (const Span& span : spans) {
    while (!around.empty() && around.back().end <= span.begin + kRounding) around.pop_back();
    if (!around.empty()) {
      EXPECT_LE(span.end, around.back().end + kRounding) << span.name;
    }
    around.push_back(span);
  }
}

std::vector<Span> named(const std::vector<Span>& spans, std::string_view name) {
  std::vector<Span> found;
  std::ranges::copy_if(spans, std::back_inserter(found),
                       [&](const Span& span) { return span.name == name; });
  return found;
}

std::string train(const std::string& more) {
  return "graphc train char-lm hidden=8 steps=6 batch=4 --threads 2 --data text --log log " + more;
}

/// A text of a few batches an epoch.
void add_text(const TemporaryFolder& folder) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "one two three four five\n";
  folder.add("text", text);
}

using Tracks = std::map<std::string, std::vector<Span>>;

/// The steps, their numbers and losses are those of the log.
void expect_steps_of(const std::string& log, Tracks& spans) {
  std::vector<nlohmann::json> logged;
  for (const std::string& line : lines_of(log)) {
    const auto event = nlohmann::json::parse(line);
    if (event["event"] == "step") logged.push_back(event);
  }
  const std::vector<Span> steps = named(spans["training"], "step");
  ASSERT_EQ(steps.size(), logged.size());
  ASSERT_GT(steps.size(), 6u);
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const char* fact : {"epoch", "step", "loss"})
      EXPECT_EQ(steps[i].facts[fact], logged[i][fact]);
  }
  EXPECT_EQ(named(spans["graphs run"], "train").size(), steps.size());
}

/// Compilations have their phases in them, which are disjoint and all of the time.
void expect_phases(Tracks& spans) {
  const std::vector<Span> compiled = named(spans["compilation"], "compile train");
  ASSERT_EQ(compiled.size(), 1u);
  for (const char* phase : {"trace", "passes", "plan", "fuse", "codegen", "allocate"}) {
    const std::vector<Span> found = named(spans["compilation"], phase);
    ASSERT_FALSE(found.empty()) << phase;
    EXPECT_GE(found[0].begin, compiled[0].begin - kRounding) << phase;
    EXPECT_LE(found[0].end, compiled[0].end + kRounding) << phase;
  }
  double phases = 0, compiling = 0;
  for (const Span& span : spans["compilation"]) {
    const double length = span.end - span.begin;
    if (span.name.starts_with("compile ")) compiling += length;
    for (const char* phase :
         {"trace", "driver", "library", "passes", "plan", "emit", "codegen", "link", "allocate"}) {
      if (span.name == phase) phases += length;
    }
  }
  EXPECT_NEAR(phases, compiling, 0.1);
}

/// Nothing of `others` takes place while one of `spans` does.
void expect_apart(const std::vector<Span>& spans, const std::vector<Span>& others) {
  EXPECT_FALSE(spans.empty());
  EXPECT_FALSE(others.empty());
  for (const Span& span : spans) {
    for (const Span& other : others) {
      EXPECT_TRUE(other.end <= span.begin + kRounding || other.begin >= span.end - kRounding)
          << span.name << " and " << other.name;
    }
  }
}

/// Both workers go through the same phases, `runs` times in each of graphs train and forward.
void expect_workers(Tracks& spans, int64_t runs) {
  std::vector<std::string> phases[2];
  for (const int worker : {0, 1}) {
    for (const Span& span : spans[fmt::format("worker {}", worker)]) {
      phases[worker].push_back(span.name);
      if (span.name.starts_with("recurrent")) {
        EXPECT_THAT(std::string(span.facts["line"]), HasSubstr("language_layer.cpp:"));
        EXPECT_GT(span.facts["flop of all workers"], 0.0);
      }
    }
  }
  EXPECT_EQ(phases[0], phases[1]);
  EXPECT_EQ(std::ranges::count(phases[0], "wait"), std::ranges::ssize(phases[0]) / 2);
  const auto loops = std::ranges::count_if(
      phases[0], [](const std::string& name) { return name.starts_with("recurrent"); });
  // One layer forward, one backward; evaluation has the first alone.
  EXPECT_EQ(loops, runs * 2 + runs);
}

/// Inputs are made before the step that they are for begins; waiting for them is all that is
/// between a run and what was before it.
void expect_reading(Tracks& spans) {
  const std::vector<Span> read = spans["reading"], wait = named(spans["training"], "wait"),
                          steps = named(spans["training"], "step");
  ASSERT_EQ(read.size(), steps.size());
  ASSERT_EQ(wait.size(), steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(read[i].name, "read");
    EXPECT_EQ(read[i].facts["step"], steps[i].facts["step"]);
    EXPECT_LE(read[i].end, wait[i].end + kRounding) << i;
    EXPECT_LE(wait[i].end, steps[i].begin + kRounding) << i;
  }
  expect_apart(wait, spans["graphs run"]);
  expect_apart(wait, named(spans["compilation"], "compile train"));
}

TEST(TraceCpu, HasTheStepsOfTheLogTheCompilationsAndWhatEachWorkerDid) {
  const TemporaryFolder folder;
  add_text(folder);
  const Ran ran =
      run_bash(train("--epochs 2 --trace t.json --trace-runs 3 --checkpoint c --sample 5"), folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  Tracks spans = spans_of(read_file(folder.path() / "t.json"));
  for (const auto& [track, all] : spans) expect_nested(all);
  expect_steps_of(read_file(folder.path() / "log"), spans);
  for (const char* name : {"evaluation", "sample", "checkpoint"})
    EXPECT_EQ(named(spans["training"], name).size(), 2u) << name;
  expect_reading(spans);
  // No text is drawn while a model is evaluated.
  expect_apart(named(spans["training"], "evaluation"), named(spans["graphs run"], "generate"));
  expect_phases(spans);
  expect_workers(spans, 3);
}

TEST(TraceCpu, IsWholeAfterAnErrorAndChangesNoLoss) {
  const TemporaryFolder folder;
  add_text(folder);
  const std::string losses = "sed 's/,\"characters_per_s.*//' log > ";
  const Ran ran = run_bash(train("--max-steps 5 && ") + losses + "alone && " +
                               train("--max-steps 5 --trace t.json && ") + losses +
                               "traced && diff alone traced && " +
                               train("learning-rate=1e38 --trace stopped.json"),
                           folder);
  EXPECT_EQ(ran.code, 4) << ran.err;
  auto spans = spans_of(read_file(folder.path() / "stopped.json"));
  EXPECT_FALSE(spans["graphs run"].empty());
}

TEST(Trace, IsNotTheLogUnderAnyName) {
  const TemporaryFolder folder;
  add_text(folder);
  folder.add("log", "of before\n");
  const Ran ran = run_bash("ln -s log other; " + train("--trace other"), folder);
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "error: --trace and --log are the same file: 'other'\n");
  EXPECT_EQ(read_file(folder.path() / "log"), "of before\n");
}

TEST(Trace, HasStepsAloneWhereTheTargetKnowsNoKernels) {
  const TemporaryFolder folder;
  add_text(folder);
  const Ran ran = run_bash(
      "graphc train char-lm hidden=3 steps=6 batch=4 --target=reference --data text --max-steps 2 "
      "--trace t.json",
      folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("the target reference does not say what its kernels take"));
  std::set<std::string> tracks;
  for (const auto& [track, all] : spans_of(read_file(folder.path() / "t.json")))
    tracks.insert(track);
  EXPECT_THAT(tracks, UnorderedElementsAre("training", "reading", "graphs run", "compilation"));
}

TEST(Trace, ThatCannotBeWrittenIsAnErrorBeforeTraining) {
  const TemporaryFolder folder;
  const Ran nowhere = run_bash("graphc train lstm-layer hidden=2 --trace no/t.json", folder);
  EXPECT_EQ(nowhere.code, 5);
  EXPECT_THAT(nowhere.err, HasSubstr("no/t.json: No such file or directory"));
  const Ran full =
      run_bash("graphc train lstm-layer hidden=2 steps=2 --max-steps 9 --trace /dev/full", folder);
  EXPECT_EQ(full.code, 5);
  EXPECT_THAT(full.err, HasSubstr("/dev/full: No space left on device"));
  const Ran alone = run_bash("graphc train lstm-layer hidden=2 --trace-runs 3", folder);
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.err, HasSubstr("--trace-runs wants --trace with a file"));
}

}  // namespace
}  // namespace graphc::core
