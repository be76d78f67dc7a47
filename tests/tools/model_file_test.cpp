// SPDX-License-Identifier: Apache-2.0
// Model files, summaries, profiles and remarks on the command line.
#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "runtime/files/files.h"
#include "runtime/files/npy.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// y = tanh(x w + b), saved with w of 0.5 and b of 1 as m.graphc.
void write_model(const TemporaryFolder& folder) {
  Model model("neuron");
  const Param w = model.param("out.w", {2, 1}, constant(0.5)),
              b = model.param("out.b", {1}, constant(1));
  model.graph("predict", [&](Inputs& in) {
    const Value z = matmul(in("x", f32, {"batch", 2}), w) + b;
    return Results{{"answer", tanh(z)}, {"z", z}};
  });
  Session session(model, {.target = "reference"});
  save(session, {"predict"}, {{"batch", 2}}, (folder.path() / "m.graphc").string());
  write_npy(folder.path() / "x.npy", Literal(std::vector<double>{1, 1, 2, 4}, {2, 2}));
}

TEST(ModelFileCommands, RunAFileWithItsWeightsAndTheNamesOfItsResults) {
  const TemporaryFolder folder;
  write_model(folder);
  const std::string run = "graphc run m.graphc --input x=@x.npy ";
  EXPECT_EQ(run_bash(run + "--target=reference --output z=- | tail -c 8 | od -An -f", folder).code,
            0);
  const Ran all = run_bash(run, folder);
  EXPECT_THAT(all.out,
              AllOf(HasSubstr("%answer: f32[2,1] = "), HasSubstr("%z: f32[2,1] = [[2], [4]]")));
  // What is given goes before what the file has.
  EXPECT_THAT(run_bash(run + "--input out.b=0", folder).out,
              HasSubstr("%z: f32[2,1] = [[1], [3]]"));
  EXPECT_EQ(run_bash("graphc run m.graphc", folder).code, 2);
}

TEST(ModelFileCommands, EveryVerbTakesAFile) {
  const TemporaryFolder folder;
  write_model(folder);
  EXPECT_THAT(run_bash("graphc check m.graphc --gradient", folder).out, HasSubstr("agrees with"));
  EXPECT_THAT(run_bash("graphc dump m.graphc", folder).out,
              HasSubstr("graph @predict (%x: f32[2,2])"));
  EXPECT_THAT(run_bash("graphc opt m.graphc", folder).out, HasSubstr("graph @predict"));
  EXPECT_EQ(run_bash("graphc-bench m.graphc --repeat=2 --threads=1", folder).code, 0);
  EXPECT_THAT(run_bash("graphc summary m.graphc", folder).out,
              AllOf(HasSubstr("neuron: 3 parameters, 12 B\n  out  3  w f32[2,1], b f32[1]\n"),
                    HasSubstr("@predict (x f32[2,2]) -> answer f32[2,1], z f32[2,1]: ")));
}

TEST(ModelFileCommands, ADamagedOrForeignFileIsRefusedInALine) {
  const TemporaryFolder folder;
  write_model(folder);
  const std::string whole = read_file(folder.path() / "m.graphc");
  folder.add("cut.graphc", whole.substr(0, whole.size() - 3));
  folder.add("text.graphc", "graph @f(%x: f32[2]) { return %x }");
  for (const char* verb : {"run", "check", "dump", "summary", "opt"}) {
    for (const char* file : {"cut.graphc", "text.graphc", "missing.graphc"}) {
      const Ran ran = run_bash(fmt::format("graphc {} {}", verb, file), folder);
      EXPECT_EQ(ran.code, 3) << verb << " " << file << ran.err;
      EXPECT_THAT(ran.err, HasSubstr(file));
      EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    }
  }
}

TEST(Summary, OfAModelHasItsLayersAndGraphs) {
  const TemporaryFolder folder;
  const Ran ran = run_bash("graphc summary char-lm hidden=8 steps=4 batch=2", folder);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(ContainsRegex("^char-lm: [0-9]+ parameters, [0-9.]+ kB\n"),
                             ContainsRegex("@train \\([^\n]*: [0-9]+ nodes, [0-9]+ kernels, of "
                                           "these [0-9]+ a whole loop; [0-9.]+ kB planned")));
  EXPECT_EQ(run_bash("graphc summary abacus", folder).code, 2);
}

/// A loop that no recurrent kernel takes: it carries a number for all rows together.
constexpr const char* kPieces = R"(
graph @pieces(%x: f32[5,4,3], %h0: f32[4,3], %s0: f32[]) {
  %y, %h.e, %s.e = scan %x.t in %x carry %h = %h0, %s = %s0 {
    %h.1 = tanh(add(mul(%h, %s), %x.t))
    next %h = %h.1, %s = mean(%h.1) {axes = [0,1]}
    emit %h.1
  }
  return %y
}
)";

TEST(Remarks, ALoopInPiecesIsSaidInALineUnlessQuiet) {
  const TemporaryFolder folder;
  folder.add("pieces.graph", kPieces);
  const std::string run =
      "graphc run pieces.graph --input x=1 --input h0=0 --input s0=1 --target=cpu";
  EXPECT_THAT(run_bash(run, folder).err,
              ContainsRegex("^pieces.graph:3: remark: fuse: %y: a loop, not one recurrent kernel: "
                            "[^\n]*\n$"));
  EXPECT_THAT(run_bash(run + " --quiet", folder).err, IsEmpty());
  const Ran dump = run_bash("graphc dump pieces.graph --remarks", folder);
  EXPECT_THAT(dump.err, HasSubstr("pieces.graph:3: remark: fuse: %y: a loop, not"));
  EXPECT_THAT(run_bash("graphc dump pieces.graph", folder).err, IsEmpty());
  EXPECT_THAT(run_bash("graphc summary pieces.graph", folder).out,
              HasSubstr("  pieces.graph:3: remark"));
}

TEST(ProfileCpu, PerfIsToldTheNamesOfKernelsWhereItIsAskedFor) {
  const TemporaryFolder folder;
  folder.add("one.graph", "graph @one(%x: f32[64,64], %w: f32[64,64]) { return matmul(%x, %w) }");
  const std::string run =
      "graphc run one.graph --input x=1 --input w=1 --target=cpu > /dev/null & wait $!\n"
      "cat /tmp/perf-$!.map; rm -f /tmp/perf-$!.map";
  EXPECT_THAT(run_bash("export GRAPHC_PERF_MAP=1\n" + run, folder).out,
              ContainsRegex("^[0-9a-f]+ [1-9a-f][0-9a-f]+ graphc one gemm %[a-z]+\n$"));
  EXPECT_THAT(run_bash(run, folder).out, IsEmpty());
}

TEST(ProfileCpu, HasALineForEachKernelWithItsShareAndTheUsersLine) {
  const TemporaryFolder folder;
  folder.add("two.graph",
             "graph @two(%x: f32[64,64], %w: f32[64,64]) {\n"
             "  %y = matmul(%x, %w)\n  %z = sum(%y) {axes = [0,1]}\n  return %z\n}\n");
  const Ran ran = run_bash("graphc-bench two.graph --profile --threads=1", folder);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(
      ran.out,
      AllOf(HasSubstr("fused two.graph graph=two, forward\nshare "),
            ContainsRegex("[0-9.]+% +[0-9.]+ +1 +[0-9.]+ +[0-9.]+  gemm %[^\n]*two.graph:2\n"),
            ContainsRegex("[0-9.]+% +[0-9.]+ +1 +- +[0-9.]+  map %[^\n]*two.graph:3\n"),
            ContainsRegex("\nall +[0-9.]+\n$")));
  const Ran none = run_bash("graphc-bench two.graph --profile --target=reference", folder);
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("does not say what its kernels take"));
}

TEST(ExportCpu, WritesWhatWasTrainedAsAFileToRun) {
  const TemporaryFolder folder;
  std::string rows = "x\n";
  for (int row = 0; row < 60; ++row) rows += row % 2 == 0 ? "100\n" : "300\n";
  folder.add("t.csv", rows);
  Ran ran = run_bash(
      "graphc train forecast steps=4 hidden=4 batch=8 learning-rate=0.05 --data t.csv --epochs 8 "
      "--checkpoint c 2> messages && graphc export c m.graphc && graphc inspect m.graphc > shown "
      "&& "
      "graphc run m.graphc --input x=100",
      folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              ContainsRegex("^%forecast: f32\\[1,1,1\\] = \\[\\[\\[-?[0-9.]+\\]\\]\\]\n$"));
  // Of windows that end with 300 the next number is 100, of the others 300.
  const float windows[] = {100, 300, 300, 100, 100, 300, 300, 100};
  folder.add("x.npy", npy_bytes(Literal(std::span<const float>(windows), Shape{4, 2, 1})));
  ran = run_bash(
      "graphc export c two.graphc --graph predict --extent batch=2 && "
      "graphc run two.graphc --input x=@x.npy --output forecast=y.npy",
      folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Literal found = read_npy(folder.path() / "y.npy");
  EXPECT_NEAR(found.element(0), 100, 20);
  EXPECT_NEAR(found.element(1), 300, 20);
}

TEST(Export, ErrorsSayWhatIsWanted) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_bash("graphc train lstm-layer hidden=2 steps=2 batch=2 --target=reference "
                     "--max-steps 1 --checkpoint c",
                     folder)
                .code,
            0);
  const auto error = [&](const std::string& arguments, int code) {
    const Ran ran = run_bash("graphc export " + arguments, folder);
    EXPECT_EQ(ran.code, code) << arguments;
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "m.graphc"));
    return ran.err;
  };
  EXPECT_EQ(error("c m.txt", 2), "error: 'm.txt': wanted a name that ends in .graphc\n");
  EXPECT_THAT(error("c m.graphc --graph predict", 2), HasSubstr("there is no graph 'predict'"));
  EXPECT_THAT(error("c m.graphc --extent batsh=3", 2), HasSubstr("did you mean 'batch'?"));
  EXPECT_THAT(error("c m.graphc --extent batch=1x", 2), HasSubstr("found '1x'"));
  EXPECT_THAT(error("nowhere m.graphc", 3), HasSubstr("No such file"));
  EXPECT_THAT(error("c nowhere/m.graphc", 5), HasSubstr("cannot write 'nowhere/m.graphc'"));
}

/// Bytes planned for a step of W3, its states included, beside those that no plan can do without:
/// parameters, gradients until the update, moments, and of each word what the layer reads, its
/// gates and both its states.
TEST(SummaryCpu, AStepOfWikitext2KeepsLittleMoreThanItMust) {
  const TemporaryFolder folder;
  const Ran ran = run_bash(
      "graphc summary wikitext2-lm --threads 2 | sed -n 's/.*parameters, //p; s/.* beside them, "
      "//p; s/^@train.* a whole loop; //p' | grep -o '^[0-9.]* MB'",
      folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  double parameters = 0, others = 0, arena = 0;
  ASSERT_EQ(std::sscanf(ran.out.c_str(), "%lf MB\n%lf MB\n%lf MB", &parameters, &others, &arena), 3)
      << ran.out;
  const double words = 128 * 128, hidden = 1024, vocabulary = 33279;
  EXPECT_NEAR(parameters,
              4e-6 * (2 * vocabulary * hidden + vocabulary + 8 * hidden * hidden + 4 * hidden),
              0.1);
  // Of the embedding the rows of the words of a step have a gradient.
  const double gradients = parameters + 4e-6 * (words - vocabulary) * hidden;
  EXPECT_LE(parameters + others + arena,
            1.15 * (parameters + gradients + 2 * parameters + 4e-6 * words * 7 * hidden));
}

}  // namespace
}  // namespace graphc::core::testing
