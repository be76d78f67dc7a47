// SPDX-License-Identifier: Apache-2.0
// A training that is killed at each call of the system that saving makes, before and after it, and
// goes on: the folder has a whole checkpoint at every moment, and the end has the same bytes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "frontend/graphc.h"
#include "models/checkpoint_folder.h"
#include "models/registry.h"
#include "runtime/files/files.h"
#include "tests/runtime/files/failing_calls.h"
#include "tests/testing/counts.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core::testing {
namespace {

/// Goes on with the training of the folder until so many steps are done; each is saved.
void train_on(const std::filesystem::path& path, int64_t steps) {
  std::string name;
  const auto program = make_program("lstm-layer", {"hidden=2", "steps=2", "batch=2"}, &name);
  Session session(program->model(), {.target = "reference", .seed = 3});
  CheckpointFolder folder(path, 2);
  TrainOptions options{.epochs = 1, .max_steps = steps, .save_every = 1};
  if (const auto checkpoint = folder.resume()) {
    EXPECT_TRUE(checkpoint->passed_over.empty());
    restore(*checkpoint, *program, session);
    options.from = checkpoint->position;
  }
  options.save = [&](const TrainPosition& position, const Notes& notes) {
    folder.save(*program, session, name, position, notes);
  };
  program->train(session, options);
}

/// The same in a process that is killed at a call; whether it was.
bool killed(const std::filesystem::path& path, int64_t steps, int call, bool after) {
  const pid_t child = fork();
  if (child == 0) {
    killed_at_call(call, after, [&] { train_on(path, steps); });
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) {
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    return true;
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
  return false;
}

TEST(KilledSaves, LeaveAWholeCheckpointAndTheSameBitsInTheEnd) {
  const TemporaryFolder folder;
  const auto straight = folder.path() / "straight", pieces = folder.path() / "pieces";
  for (const auto& path : {straight, pieces}) {
    std::filesystem::create_directory(path);
    train_on(path, 1);
  }
  train_on(straight, 4);
  const std::string wanted = read_file(straight / kCheckpointName);
  int64_t kills = 0;
  for (bool after : {false, true}) {
    for (int call = 0;; ++call) {
      SCOPED_TRACE(fmt::format("call {}{}", call, after ? ", done" : ""));
      const auto path = folder.path() / fmt::format("{}.{}", call, after);
      std::filesystem::copy(pieces, path);
      if (!killed(path, 4, call, after)) break;
      ++kills;
      const Checkpoint left = read_checkpoint(path);
      EXPECT_TRUE(left.passed_over.empty());
      EXPECT_GE(left.position.step, 1);
      EXPECT_LE(left.position.step, 4);
      train_on(path, 4);
      EXPECT_TRUE(read_file(path / kCheckpointName) == wanted);
      // What killed trainings left is gone: the newest and the one before it are all there is.
      EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path), {}), 2);
    }
  }
  EXPECT_GT(kills, 40);
  count("kills", kills);
}

}  // namespace
}  // namespace graphc::core::testing
