// SPDX-License-Identifier: Apache-2.0
// What becomes of the loops of models/examples: one recurrent kernel each, forward and backward, or
// a line on stderr that says why not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "tests/testing/source_tree.h"
#include "tests/testing/temporary_folder.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> lines_with(const std::string& text, std::string_view part) {
  std::vector<std::string> found;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.find(part) != line.npos) found.push_back(line);
    at = end + 1;
  }
  return found;
}

struct Loops {
  std::vector<std::string> kernels;    ///< the recurrent kernels that were compiled
  std::vector<std::string> in_pieces;  ///< the remarks on the others
};

/// An example that stops after a step. Loops that are the same to the letter share
/// a kernel.
Loops loops_of(const std::string& example) {
  const TemporaryFolder folder;
  const Ran ran = run_bash(
      "export GRAPHC_PERF_MAP=1\n"
      "seq 1 400 | awk 'BEGIN { print \"load\" } { print sin($1 / 4) }' > load.csv\n"
      "yes 'one two three four five' | head -300 > numbers.txt\n"
      "golden='" +
          source_path("tests/golden") +
          "'\n"
          "example-" +
          example +
          " > /dev/null & wait $! || echo failed\n"
          "cat /tmp/perf-$!.map; rm -f /tmp/perf-$!.map",
      folder);
  EXPECT_THAT(lines_with(ran.out, "failed"), IsEmpty()) << ran.err;
  return {lines_with(ran.out, " recurrent "), lines_with(ran.err, "not one recurrent kernel")};
}

TEST(ExamplesCpu, WrongUseIsSaidWithTheDocumentedExitCode) {
  const TemporaryFolder folder;
  folder.add("load.csv", "hour,load\n0,1\n1,2\n");
  folder.add("ragged.csv", "hour,load\n0,1\n1\n");
  folder.add("text.csv", "hour,load\n0,1\n1,high\n");
  folder.add("empty.txt", "");
  folder.add("line.txt", "one line\n");
  const std::tuple<const char*, int, const char*> cases[] = {
      {"forecast", 2, "usage: example-forecast FILE COLUMN"},
      {"forecast load.csv", 2, "usage: "},
      {"forecast none.csv load", 3, "none.csv"},
      {"forecast load.csv zz", 3, "there is no column 'zz'"},
      {"forecast ragged.csv load", 3, "ragged.csv:3: 1 cells: wanted 2"},
      {"forecast text.csv load", 3, "text.csv:3: column 'load' has 'high'"},
      {"forecast load.csv load", 3, "2 rows: wanted more than 60"},
      {"char-lm", 2, "usage: "},
      {"char-lm empty.txt s 1", 3, "'empty.txt': 0 characters were read"},
      {"char-lm none.txt s 1", 3, "'none.txt': 0 characters were read"},
      {"char-lm line.txt s 1", 3, "'line.txt': 9 characters were read: wanted more than 33"},
      {"pytorch-weights", 2, "usage: "},
      {"pytorch-weights none none", 3, "none"}};
  for (const auto& [call, code, says] : cases) {
    const Ran ran = run_bash(std::string("example-") + call, folder);
    EXPECT_EQ(ran.code, code) << call << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(says)) << call;
  }
}

TEST(ExamplesCpu, ACellOfOnesOwnIsAKernelForwardAndOneBackward) {
  const Loops loops = loops_of("own-cell --once");
  EXPECT_THAT(loops.in_pieces, IsEmpty());
  EXPECT_THAT(loops.kernels, AllOf(SizeIs(2), Each(HasSubstr("graphc train recurrent %"))));
}

TEST(ExamplesCpu, LayersAreAKernelForwardAndOneBackward) {
  const Loops characters = loops_of("char-lm numbers.txt checkpoint.safetensors 3");
  EXPECT_THAT(characters.in_pieces, IsEmpty());
  EXPECT_THAT(characters.kernels, SizeIs(2));
  const Loops forecast = loops_of("forecast load.csv load --once");
  EXPECT_THAT(forecast.in_pieces, IsEmpty());
  EXPECT_THAT(forecast.kernels, SizeIs(2));
  // Three layers, of which nobody asks for a derivative.
  const Loops imported = loops_of(
      "pytorch-weights $golden/pytorch_state.safetensors $golden/pytorch_state_run.safetensors");
  EXPECT_THAT(imported.in_pieces, IsEmpty());
  EXPECT_THAT(imported.kernels, SizeIs(3));
}

TEST(ExamplesCpu, LayersWithLengthsAreAKernelForEachLoop) {
  const Loops loops = loops_of("lengths --once");
  EXPECT_THAT(loops.in_pieces, IsEmpty());
  // Two layers, one from each end. Back through a layer are two kernels: what its state holds after
  // a row's end has a cycle of its own.
  EXPECT_THAT(loops.kernels, SizeIs(6));
}

// Attention multiplies the state by what the encoder has made for this row, at this step: there is
// no matrix that a kernel could keep. The encoder is not concerned.
TEST(ExamplesCpu, ADecoderWithAttentionSaysWhyItIsInPieces) {
  const Loops loops = loops_of("seq2seq --once");
  EXPECT_THAT(loops.kernels, SizeIs(2));
  EXPECT_THAT(loops.in_pieces,
              AllOf(SizeIs(2), Each(HasSubstr("models/examples/seq2seq.cpp:54: remark: fuse: %")),
                    Each(HasSubstr("changes with each step"))));
}

}  // namespace
}  // namespace graphc::core::testing
