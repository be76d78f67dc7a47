// SPDX-License-Identifier: Apache-2.0
// What `graphc dump` shows of the CPU target, from kernels to assembly.
#include <gmock/gmock.h>

#include "codegen/target.h"
#include "models/registry.h"

namespace graphc::core {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string shown(std::string_view stage, const CompileOptions& options = {},
                  std::string_view graph = "forward") {
  const auto program = make_program("lstm-layer", {"hidden=32", "steps=7", "batch=5"});
  return targets::cpu.show(program->model().trace(graph, program->extents(graph)).graph, options,
                           stage);
}

TEST(DumpStages, KernelsShowFamilyStagesAndTile) {
  const std::string text = shown("kernels");
  EXPECT_THAT(text, ContainsRegex("kernel %[^\n]*: f32.5,32[^\n]*, family recurrent\n  7 steps\n  "
                                  "5 rows, stages 0[.][.]1\n"));
  // The product with what is carried is a stage of its own, four gates wide.
  EXPECT_THAT(text, ContainsRegex("= matmul %h, %[^\n]* : f32.5,128.  # stage 1, rows and columns, "
                                  "4 parts of 32\n"));
  EXPECT_THAT(text,
              ContainsRegex("  nest [0-9]+, tiles of [0-9]+ rows x [0-9]+ columns x 4 parts"));
  EXPECT_THAT(text, ContainsRegex("\nnest 0, [^\n]* [{]\n"));
}

TEST(DumpStages, KernelsInsideALoopAreShownInIt) {
  CompileOptions options;
  options.variant = "basic";
  const std::string text = shown("kernels", options);
  EXPECT_THAT(text,
              ContainsRegex("loop %[^\n]*: 7 steps\n(  [^\n]*\n)*  kernel %[^\n]*family gemm"));
  EXPECT_THAT(text, Not(HasSubstr("recurrent")));
}

TEST(DumpStages, TheBackwardLoopSaysSo) {
  EXPECT_THAT(shown("kernels", {}, "train"), HasSubstr("  7 steps, backwards\n"));
}

TEST(DumpStages, ThePlanHasPhasesAndPeak) {
  const std::string text = shown("plan");
  EXPECT_THAT(text, AllOf(HasSubstr("plan @forward: arena "), HasSubstr("\nphase 0: ")));
  // x [7, 5, 32], and the result [5, 32].
  EXPECT_THAT(text, ContainsRegex("peak: arena [0-9]+ bytes, inputs 4480, states [0-9]+, outputs "
                                  "640, constants "));
}

TEST(DumpStages, ACallThatChangesNoWeightPutsNothingIntoPanels) {
  const std::string forward = shown("plan");
  EXPECT_THAT(forward, AllOf(HasSubstr("when %w has changed: panels -> %w.panels"),
                             HasSubstr("when %u has changed: panels -> %u.panels")));
  EXPECT_THAT(forward, ContainsRegex("phase [0-9]+: recurrent"));
  EXPECT_THAT(forward, Not(ContainsRegex("phase [0-9]+: panels")));
}

TEST(DumpStages, CodeStandsUnderItsNest) {
  EXPECT_THAT(shown("llvm"), AllOf(HasSubstr("; nest 0, "), HasSubstr("define void @nest_0(")));
  EXPECT_THAT(shown("asm"), AllOf(HasSubstr("# nest 0, "), HasSubstr("\nnest_0:")));
}

TEST(DumpStages, ALesserCpuHasItsOwnCode) {
  CompileOptions options;
  options.architecture = "x86-64";
  const std::string text = shown("asm", options);
  EXPECT_THAT(text, AllOf(HasSubstr("%xmm"), Not(HasSubstr("%ymm")), Not(HasSubstr("%zmm"))));
}

TEST(DumpStages, UnrollWritesTheLoopOut) {
  CompileOptions options;
  EXPECT_THAT(shown("kernels", options), HasSubstr("7 steps"));
  options.unroll = "full";
  EXPECT_THAT(shown("kernels", options), Not(HasSubstr("7 steps")));
}

}  // namespace
}  // namespace graphc::core
