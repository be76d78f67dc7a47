// SPDX-License-Identifier: Apache-2.0
// Checkpoints: training that stops and goes on ends with the bits of training that never stopped.
#include "models/checkpoint.h"

#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "models/registry.h"
#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/corpus.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/source_tree.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::HasSubstr;

struct Workload {
  std::string model;
  std::vector<std::string> parameters;
  std::filesystem::path data;
};
const Workload kWorkloads[] = {
    {"ptb-lm", {"size=test", "hidden=5", "batch=1", "keep=0.5"}, testing::tiny_ptb()},
    {"wikitext2-lm",
     {"config=pytorch", "hidden=4", "steps=8", "batch=4", "vocabulary=24", "learning-rate=40"},
     testing::tiny_wikitext2()},
    {"char-lm",
     {"hidden=6", "steps=40", "batch=8", "keep=0.5", "validation=0.3"},
     testing::source_path("tests/README.md")},
    {"lstm-layer", {"hidden=4", "steps=3", "batch=2"}, {}},
};

/// Trains until so many steps are done, from the file if there is one, and saves to it.
void train(const Workload& workload, const std::filesystem::path& file, int64_t steps,
           int threads = 1, int64_t save_every = 0) {
  std::string name;
  const auto program = make_program(workload.model, workload.parameters, &name);
  SessionOptions session_options{.target = "cpu", .seed = 7, .announce = [](const std::string&) {}};
  session_options.compile.threads = threads;
  Session session(program->model(), session_options);
  TrainOptions options{.epochs = 9, .max_steps = steps, .save_every = save_every};
  if (!workload.data.empty()) options.data = workload.data;
  if (std::filesystem::exists(file)) {
    const Checkpoint checkpoint = read_checkpoint(file);
    restore(checkpoint, *program, session);
    options.from = checkpoint.position;
    options.notes = checkpoint.notes;
  }
  options.save = [&](const TrainPosition& position, const Notes& notes) {
    write_checkpoint(file, *program, session, name, position, notes);
  };
  program->train(session, options);
}

TEST(CheckpointCpu, TrainingThatGoesOnEndsWithTheBitsOfOneThatNeverStopped) {
  for (const Workload& workload : kWorkloads) {
    SCOPED_TRACE(workload.model);
    const TemporaryFolder folder;
    const auto straight = folder.path() / "straight", pieces = folder.path() / "pieces";
    train(workload, straight, 17);
    for (int64_t steps : {1, 6, 12, 13, 17}) train(workload, pieces, steps);
    EXPECT_TRUE(read_file(straight) == read_file(pieces));
    const TrainPosition position = read_checkpoint(straight).position;
    EXPECT_EQ(position.step, 17);
    // The third validation is worse than the second; there is a pause between them, and one later.
    if (workload.model == "wikitext2-lm") {
      EXPECT_EQ(position.stalls, 1);
    }
    // Nor do threads or saving in between change a byte.
    const auto other = folder.path() / "other";
    train(workload, other, 17, 2, 2);
    EXPECT_TRUE(read_file(straight) == read_file(other));
  }
}

TEST(CheckpointCpu, HoldsEverythingTheNextStepNeeds) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "c.safetensors";
  train(kWorkloads[0], file, 8);
  const Checkpoint checkpoint = read_checkpoint(file);
  EXPECT_THAT(checkpoint.model, HasSubstr("ptb-lm size=test hidden=5 layers=1 steps=2 batch=1"));
  EXPECT_EQ(checkpoint.seed, 7u);
  EXPECT_EQ(checkpoint.position.step, 8);
  EXPECT_EQ(checkpoint.position.epoch, 1);
  EXPECT_EQ(checkpoint.position.window, 2);
  for (const char* state : {"embedding", "lstm.0.w", "h.0", "c.0", "random.step", "random.seed"})
    EXPECT_TRUE(checkpoint.states.contains(state)) << state;
  EXPECT_TRUE(checkpoint.notes.contains("vocabulary"));
}

TEST(Checkpoint, WhatIsNoneIsAnErrorAndChangesNothing) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "f.safetensors";
  const auto message = [&](const Safetensors& content) {
    write_safetensors(file, content);
    return error_of(ErrorKind::input, [&] { read_checkpoint(file); });
  };
  EXPECT_THAT(message({}), HasSubstr("no checkpoint: its metadata lacks 'format'"));
  std::map<std::string, std::string> metadata{{"format", "graphc checkpoint 1"},
                                              {"model", "m"},
                                              {"seed", "0"},
                                              {"epoch", "0"},
                                              {"window", "0"},
                                              {"step", "x"},
                                              {"total", "0x0p+0"}};
  EXPECT_THAT(message({.metadata = metadata}), HasSubstr("'step' is a number from 0: found 'x'"));
  metadata["step"] = "1";
  metadata["total"] = "";
  EXPECT_THAT(message({.metadata = metadata}), HasSubstr("'total' is a number: found ''"));
  metadata["total"] = std::string("1\0x", 3);
  EXPECT_THAT(message({.metadata = metadata}), HasSubstr("'total' is a number: found '1"));
  metadata["format"] = "graphc checkpoint 9";
  EXPECT_THAT(message({.metadata = metadata}), HasSubstr("wanted 'graphc checkpoint 2'"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { read_checkpoint(folder.path()); }),
              HasSubstr("checkpoint.safetensors"));
}

/// A file of few arrays whose metadata say that there are many layers is refused before anything of
/// their number is made but the names: a limit of its own, and the arrays that it lacks.
TEST(Checkpoint, LayersThatTheFileDoesNotHaveAreRefused) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "f.safetensors";
  train(kWorkloads[2], file, 1);
  Checkpoint bad = read_checkpoint(file);
  const size_t at = bad.model.find("layers=1 ");
  ASSERT_NE(at, std::string::npos) << bad.model;
  const std::string model = bad.model;
  const auto message = [&](const std::string& layers) {
    bad.model = model;
    bad.model.replace(at, 8, "layers=" + layers);
    return error_of(ErrorKind::input, [&] { program_of(bad); });
  };
  EXPECT_THAT(message("1000"), HasSubstr("lacks the state 'lstm.1.w'"));
  EXPECT_THAT(message("1000000000"),
              HasSubstr("'layers' is a whole number from 1 to 1000: found '1000000000'"));
}

TEST(Checkpoint, StatesOfAnotherModelAreRefused) {
  const auto program = make_program("lstm-layer", {"hidden=2", "steps=2", "batch=2"});
  Session session(program->model(), {.target = "reference"});
  const TemporaryFolder folder;
  const auto file = folder.path() / "c.safetensors";
  write_checkpoint(file, *program, session, "m", {}, {});
  const Checkpoint good = read_checkpoint(file);
  restore(good, *program, session);
  const std::string state = good.states.begin()->first;
  const Literal before = session.state(state);
  const auto message = [&](const Checkpoint& bad) {
    const std::string what = error_of(ErrorKind::input, [&] { restore(bad, *program, session); });
    EXPECT_TRUE(session.state(state) == before);
    return what;
  };
  Checkpoint bad = good;
  bad.states.begin()->second = Literal::of(1.0f);
  EXPECT_THAT(message(bad), HasSubstr("is f32[]: wanted f32["));
  bad = good;
  bad.states.erase(std::prev(bad.states.end()));
  EXPECT_THAT(message(bad), HasSubstr("lacks the state"));
  bad = good;
  bad.states.emplace("other", Literal::of(1.0f));
  EXPECT_THAT(message(bad), HasSubstr("states: training 'm' has 3"));
}

}  // namespace
}  // namespace graphc::core
