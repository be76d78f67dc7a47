// SPDX-License-Identifier: Apache-2.0
// The program of docs/first-program.md, stopped after every number of epochs and killed at moments
// of its own: gone on with, it prints the digits of the run that was not stopped. And
// docs/training.md shows the program that is built.
#include <gmock/gmock.h>

#include <algorithm>

#include "runtime/clock.h"
#include "runtime/files/files.h"
#include "tests/testing/counts.h"
#include "tests/testing/documents.h"
#include "tests/testing/source_tree.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

/// The lines of a text that say what an epoch was.
std::vector<std::string> epochs_in(const std::string& text) {
  std::vector<std::string> found = lines_of(text);
  std::erase_if(found, [](const std::string& line) { return !line.starts_with("epoch "); });
  return found;
}

std::string numbered(const char* form, size_t number) {
  return fmt::format(fmt::runtime(form), number);
}

class FirstProgramCpu : public ::testing::Test {
 protected:
  FirstProgramCpu() {
    for (const GraphBlock& file : read_document(document_text("docs/first-program.md")).files)
      folder_.add(file.name, file.text);
  }
  Ran bash(const std::string& script) const { return run_bash(script, folder_); }

  const TemporaryFolder folder_;
};

TEST_F(FirstProgramCpu, StoppedAndResumedAtEveryEpochPrintsTheDigitsOfTheWholeRun) {
  ASSERT_EQ(bash("cmake -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0 && "
                 "cmake --build build --target train")
                .code,
            0);
  const double began = steady_seconds();
  const std::vector<std::string> whole =
      epochs_in(bash("mkdir whole && cd whole && ../build/train").out);
  const double took = steady_seconds() - began;
  ASSERT_GE(whole.size(), 8u);
  const std::string same =
      " && for f in last best; do cmp $f.safetensors ../whole/$f.safetensors || exit 9; done"
      " && cmp forecaster.graphc ../whole/forecaster.graphc";
  for (size_t stop = 1; stop <= whole.size(); stop += stop < 2 ? 1 : 4) {
    const Ran ran = bash(
        numbered("mkdir at{0} && cd at{0} && ../build/train {0} && ../build/train", stop) + same);
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    EXPECT_THAT(ran.out, ::testing::HasSubstr(numbered("goes on after epoch {}\n", stop)));
    EXPECT_EQ(epochs_in(ran.out), whole) << "stopped after " << stop;
    count("stopped and resumed", 1);
  }
  // Killed again and again; nobody waits for a good moment.
  std::string script = "mkdir killed && cd killed\n";
  for (const double share : {0.4, 0.3, 0.5, 0.35, 0.45})
    script += fmt::format("timeout -s KILL {:.3f} ../build/train\n", share * took);
  const Ran ran = bash(script + "../build/train" + same);
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  const std::vector<std::string> found = epochs_in(ran.out);
  for (const std::string& line : found)
    EXPECT_NE(std::ranges::find(whole, line), whole.end()) << line;
  // Nothing is left to do where a killed run had come to its end.
  if (!found.empty()) {
    EXPECT_EQ(found.back(), whole.back());
  }
}

/// The text without spaces at the beginnings of its lines.
std::string without_indents(const std::string& text) {
  std::string plain;
  for (const std::string& line : lines_of(text)) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin != line.npos) plain += line.substr(begin) + "\n";
  }
  return plain;
}

TEST(TrainingPage, ShowsTheExampleAsItIsBuilt) {
  const std::string page = document_text("docs/training.md");
  const size_t begin = page.find("```cpp\n"), end = page.find("```", begin + 7);
  ASSERT_NE(begin, page.npos);
  EXPECT_THAT(without_indents(read_file(source_path("models/examples/fit.cpp"))),
              ::testing::HasSubstr(without_indents(page.substr(begin + 7, end - begin - 7))));
}

}  // namespace
}  // namespace graphc::core::testing
