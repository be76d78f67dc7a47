// SPDX-License-Identifier: Apache-2.0
// Saving, with each call of the system failing in turn: an error that names the file, the old file
// as it was, nothing left beside it.
#include "tests/runtime/files/failing_calls.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "runtime/files/files.h"
#include "runtime/files/npy.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/counts.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core::testing {
namespace {

std::vector<Saving> files() {
  const Literal array = Literal::filled({DType::f32, {40, 3}}, 1.5);
  return {{"safetensors",
           [=](const std::string& path) {
             write_safetensors(path, {{{"a", array}, {"b", array}}, {{"step", "3"}}});
           }},
          {"npy", [=](const std::string& path) { write_npy(path, array); }},
          {"text", [](const std::string& path) { write_file_atomically(path, "new content"); }}};
}

TEST(FailingCalls, EachInTurnKeepsTheOldFile) {
  int64_t failures = 0;
  for (const Saving& file : files()) failures += expect_each_failure_keeps_the_old_file(file);
  EXPECT_GT(failures, 100);
  count("failed calls of the system", failures);
}

TEST(FailingCalls, ShortWritesAreContinued) {
  const TemporaryFolder folder;
  for (const Saving& file : files()) {
    const std::string path = (folder.path() / "file").string();
    file.save(path);
    const std::string whole = read_file(path);
    for (const size_t most : {1, 7, 100}) {
      EXPECT_EQ(save_under(file, folder.add("file", "old").string(), {.index = -1, .most = most}),
                "");
      EXPECT_EQ(read_file(path), whole) << file.name << " " << most;
      if (whole.size() <= most) continue;
      // A disk that fills up in the middle, one that takes nothing, and a signal in the middle.
      for (const int error : {ENOSPC, 0, EINTR})
        EXPECT_TRUE(check_failure(file, {.index = 1, .error = error, .most = most}));
    }
  }
}

}  // namespace
}  // namespace graphc::core::testing
