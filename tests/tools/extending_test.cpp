// SPDX-License-Identifier: Apache-2.0
// The worked examples of docs/extending.md: the patches apply, and what they add works.
#include <gmock/gmock.h>

#include "tests/testing/documents.h"
#include "tests/testing/source_tree.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The blocks of the document that are marked `diff`.
std::vector<std::string> patches() {
  std::vector<std::string> patches;
  bool inside = false;
  for (const std::string& line : lines_of(document_text("docs/extending.md"))) {
    if (line.starts_with("```")) {
      if (line == "```diff") patches.emplace_back();
      inside = line == "```diff";
    } else if (inside) {
      patches.back() += line + "\n";
    }
  }
  return patches;
}

TEST(Extending, PatchesApply) {
  ASSERT_EQ(patches().size(), 6u);
  for (const std::string& patch : patches()) {
    const TemporaryFolder folder;
    const std::string file = folder.add("it.patch", patch).string();
    const auto check = [&](const std::string& options) {
      return run_bash(
          fmt::format("cd '{}' && git apply --check {} '{}'", source_path(""), options, file),
          folder);
    };
    EXPECT_EQ(check("").code, 0) << check("").err << patch;
    EXPECT_NE(check("--reverse").code, 0) << patch;
  }
}

/// The sources, without what was built from them.
void copy_sources(const std::filesystem::path& to) {
  for (const auto& entry : std::filesystem::directory_iterator(source_path(""))) {
    const std::string name = entry.path().filename().string();
    if (name == "build" || name == ".git") continue;
    std::filesystem::copy(entry.path(), to / name, std::filesystem::copy_options::recursive);
  }
}

/// The copy built without sanitizers, unoptimised.
constexpr const char* kBuild = R"(
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
launcher=
if command -v ccache > /dev/null; then launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 $launcher
cmake --build build --target \
  graphc_tool graphc_ir_tests graphc_passes_tests graphc_graph_files_tests \
  graphc_codegen_tests)";

TEST(ExtendingSlow, WhatThePatchesAddWorks) {
  const TemporaryFolder folder;
  copy_sources(folder.path());
  for (const std::string& patch : patches()) {
    folder.add("it.patch", patch);
    ASSERT_EQ(run_bash("git apply it.patch", folder).code, 0) << patch;
  }
  const auto run = [&](const std::string& script) {
    const Ran ran = run_bash("set -e\n" + script, folder, true);
    EXPECT_EQ(ran.code, 0) << script << "\n" << ran.out;
    return ran.out;
  };
  run(kBuild);
  if (HasFailure()) return;

  // The evaluator and machine code, by hand.
  folder.add("f.graph",
             "graph @f(%x: f32[3,5]) { return sum(rms_norm(softsign(%x))) {axes = [0,1]} }\n");
  for (const char* target : {"reference", "cpu"}) {
    EXPECT_EQ(run(fmt::format("build/bin/graphc run - --target={} --input x=-3 <<< "
                              "'graph @f(%x: f32[2]) {{ return softsign(%x) }}'",
                              target)),
              "%softsign: f32[2] = [-0.75, -0.75]\n");
    EXPECT_THAT(run(fmt::format("build/bin/graphc check f.graph --gradient --target={}", target)),
                HasSubstr("agrees with the evaluator"));
  }
  EXPECT_EQ(run("build/bin/graphc run - --input x=3 <<< "
                "'graph @f(%x: f32[2]) { return round(mul(cosh(%x), 1000.)) }'"),
            "%round: f32[2] = [10068, 10068]\n");
  EXPECT_THAT(run("build/bin/graphc opt f.graph --passes=expand"), HasSubstr("rsqrt"));
  EXPECT_THAT(run("build/bin/graphc passes"), HasSubstr("reciprocals"));

  // The target: by hand, and by the tests that go over the list.
  EXPECT_THAT(run("build/bin/graphc check f.graph --gradient --target=sketch"),
              HasSubstr("sketch agrees with the evaluator"));
  EXPECT_THAT(run("build/bin/graphc dump f.graph --stage=plan --target=sketch --threads=3"),
              HasSubstr("arena"));

  // What is generated from the records: the reference has a sample of each, which is checked.
  const std::string reference = run("build/bin/graphc ops --markdown");
  for (const char* op : {"softsign", "cosh", "rms_norm"}) {
    const size_t begin = reference.find(fmt::format("### {}\n", op));
    ASSERT_NE(begin, reference.npos) << op;
    const std::string section = reference.substr(begin, reference.find("\n### ", begin) - begin);
    const Document document = read_document(section);
    ASSERT_FALSE(document.graphs.empty()) << section;
    folder.add("sample.graph", document.graphs[0].text);
    EXPECT_THAT(run("build/bin/graphc check sample.graph --gradient --target=cpu"),
                AllOf(HasSubstr("agrees with the evaluator"), Not(HasSubstr("they differ"))));
  }
  const auto tests = [&](const std::string& binary, const std::string& filter) {
    EXPECT_THAT(run(fmt::format("build/bin/{} --gtest_filter='{}'", binary, filter)),
                AllOf(HasSubstr("PASSED"), Not(HasSubstr("Running 0 tests"))))
        << binary;
  };
  tests("graphc_ir_tests", "*Sample*:*EveryOp*");
  tests("graphc_passes_tests", "Autodiff.EveryOp*:*TextRules*abs_square*");
  tests("graphc_graph_files_tests", "*reciprocals*");
  tests("graphc_codegen_tests", "Targets.*:*Golden*/lstm*:*ConformanceCpu.EveryOp*/0");
}

}  // namespace
}  // namespace graphc::core::testing
