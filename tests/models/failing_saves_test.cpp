// SPDX-License-Identifier: Apache-2.0
// A training step whose result is saved while each call of the system fails in turn: an error of
// the machine, the old file as it was, and a session that can save afterwards what it had to save.
#include <gtest/gtest.h>

#include "frontend/graphc.h"
#include "models/checkpoint.h"
#include "models/registry.h"
#include "runtime/files/files.h"
#include "tests/runtime/files/failing_calls.h"
#include "tests/testing/counts.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core::testing {
namespace {

/// Fails every call of the saving, and expects that it writes the same bytes before and after.
void expect_survives(const Saving& saving) {
  const TemporaryFolder folder;
  const std::string before = (folder.path() / "before").string(),
                    after = (folder.path() / "after").string();
  saving.save(before);
  const int64_t failures = expect_each_failure_keeps_the_old_file(saving);
  EXPECT_GT(failures, 30);
  saving.save(after);
  EXPECT_TRUE(read_file(before) == read_file(after));
  count("failed calls of the system", failures);
}

TEST(FailingSavesCpu, ASessionThatTrainedKeepsTheOldFileAndItsParameters) {
  Model model("line");
  Param w = model.param("w", {4, 3}, uniform(0.5));
  model.graph("train", Mode::training, [&](Inputs& in) {
    const Value loss = mean(square(matmul(in("x", f32, {2, 4}), w)));
    minimize(loss, {w}, Adam{});
    return loss;
  });
  Session session(model, {.target = "cpu"});
  const Literal untrained = session.state("w");
  session.run("train", {Tensor(Literal::filled({f32, {2, 4}}, 1.5))});
  const Literal trained = session.state("w");
  EXPECT_FALSE(trained == untrained);
  expect_survives({"parameters", [&](const std::string& path) { session.save(path); }});
  EXPECT_TRUE(session.state("w") == trained);
}

TEST(FailingSavesCpu, ACheckpointOfATrainingKeepsTheOldOne) {
  std::string name;
  const auto program = make_program("lstm-layer", {"hidden=4", "steps=3", "batch=2"}, &name);
  Session session(program->model(), {.target = "cpu", .seed = 7});
  TrainPosition reached;
  TrainOptions options{.epochs = 1, .max_steps = 1};
  options.save = [&](const TrainPosition& position, const Notes&) { reached = position; };
  program->train(session, options);
  EXPECT_EQ(reached.step, 1);
  expect_survives({"checkpoint", [&](const std::string& path) {
                     write_checkpoint(path, *program, session, name, reached, {{"note", "text"}});
                   }});
}

}  // namespace
}  // namespace graphc::core::testing
