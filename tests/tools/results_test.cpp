// SPDX-License-Identifier: Apache-2.0
// tools/results: docs/results.md is what the kept facts give; measuring at tiny sizes; facts of a
// log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/source_tree.h"
#include "tests/testing/temporary_folder.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Ran results(const TemporaryFolder& folder, const std::string& arguments) {
  const std::string bin = std::filesystem::path(GRAPHC_TOOL).parent_path().string();
  return run_bash(
      fmt::format("export ASAN_OPTIONS=detect_leaks=0:malloc_context_size=0:$ASAN_OPTIONS\n"
                  "'{}' --programs='{}' {}",
                  source_path("tools/results"), bin, arguments),
      folder);
}

/// Python with the modules of tools/results_parts; `documents` is a copy of docs/results.
Ran results_python(const TemporaryFolder& folder, const std::string& script) {
  folder.add("script.py", script);
  return run_bash(fmt::format("mkdir -p documents && cp -r '{}' documents/results\n"
                              "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='{}' python3 script.py",
                              source_path("docs/results"), source_path("tools/results_parts")),
                  folder);
}

TEST(Results, ThePageIsWhatTheFactsGive) {
  const TemporaryFolder folder;
  const Ran ran = results(folder, "--check");
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST(Results, APageOrPlotChangedByHandIsNoticed) {
  const TemporaryFolder folder;
  const Ran ran = results_python(folder, R"(
import pathlib
import page
documents = pathlib.Path("documents")
print(page.check(documents))
page.write(documents)
print(page.check(documents))
text = (documents / "results.md").read_text()
(documents / "results.md").write_text(text.replace("118.96", "18.96"))
print(page.check(documents))
page.write(documents)
(documents / "results" / "old.svg").write_text("")
print(page.check(documents))
page.write(documents)
print(page.check(documents))
)");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "4\n0\n4\n4\n0\n");
}

TEST(Results, AFactHasTheEpochsAndTheLossesOfALog) {
  const TemporaryFolder folder;
  const Ran ran = results_python(folder, R"(
import facts
log = [{"event": "step", "epoch": 1 + i // 300, "step": i + 1, "loss": float(i), "words_per_s": 7.0}
       for i in range(600)]
log[300:300] = [{"event": "epoch", "epoch": 1, "step": 300, "train_perplexity": 9.0},
                {"event": "evaluation", "epoch": 1, "step": 300, "valid_perplexity": 8.0}]
log.append({"event": "end", "epoch": 2, "step": 600, "test_perplexity": 5.0})
fact = facts.training_of(log)
print(fact["epochs"])
print(fact["end"], fact["speed"], fact["steps"], len(fact["curve"]), fact["curve"][:2])
)");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "[{'epoch': 1, 'step': 300, 'train_perplexity': 9.0, 'valid_perplexity': 8.0}]\n"
            "{'epoch': 2, 'step': 600, 'test_perplexity': 5.0} {'words_per_s': 7.0} 600 120 "
            "[[5, 2.0], [10, 7.0]]\n");
}

TEST(ResultsCpu, MeasuringGoesThroughItsCommandsAndLeavesOutWhatHasNoData) {
  const TemporaryFolder folder;
  const Ran ran =
      results(folder, "--smoke --data . --only w1-quick,w4-unroll-quick,w2-small-quick");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("w1-quick: an LSTM layer on random data: "),
                             HasSubstr("w4-unroll-quick: char-lstm as a loop and unrolled: "),
                             HasSubstr("w2-small-quick: left out: no folder ")));
  EXPECT_EQ(results(folder, "--check").code, 0);
}

TEST(Results, SaysWhatFailedAndRefusesWhatItDoesNotKnow) {
  const TemporaryFolder folder;
  const Ran unknown = results(folder, "--quick --only w9");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err,
              AllOf(HasSubstr("--only: wanted some of w1-quick, "), HasSubstr("found 'w9'")));
  folder.add("graphc-bench", "#!/bin/sh\necho 'error: no luck' >&2\nexit 5\n");
  const Ran failed = run_bash(
      fmt::format("chmod +x graphc-bench && '{}' --smoke --programs=. --only w2-threads-quick",
                  source_path("tools/results")),
      folder);
  EXPECT_EQ(failed.code, 4);
  EXPECT_THAT(failed.err, AllOf(HasSubstr("w2-threads-quick: graphc-bench ptb-lm size=small "),
                                HasSubstr(": exit code 5: error: no luck")));
}

}  // namespace
}  // namespace graphc::core::testing
