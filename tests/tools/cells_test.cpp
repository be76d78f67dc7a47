// SPDX-License-Identifier: Apache-2.0
// The cells of docs/cells compute what they say, at small extents, and tools/cells measures cells
// beside the LSTM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/testing/source_tree.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> cells() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("docs/cells")))
    if (entry.path().extension() == ".graph") names.push_back(entry.path().stem());
  std::ranges::sort(names);
  return names;
}

/// The cell with every extent, which stands in brackets, made small.
std::string made_small(const std::string& name) {
  static const std::map<std::string, std::string> extents{
      {"1", "1"},    {"8", "4"},     {"30", "3"},    {"64", "5"},   {"128", "2"},
      {"512", "20"}, {"1024", "40"}, {"1536", "60"}, {"2048", "80"}};
  const std::string text = content(source_path("docs/cells/" + name + ".graph"));
  const std::regex shape(R"(\[[0-9,]+\])"), extent("[0-9]+");
  std::string small;
  size_t at = 0;
  for (std::sregex_iterator found(text.begin(), text.end(), shape), end; found != end; ++found) {
    const std::string brackets = found->str();
    small += text.substr(at, size_t(found->position()) - at);
    size_t inside = 0;
    for (std::sregex_iterator one(brackets.begin(), brackets.end(), extent); one != end; ++one) {
      small += brackets.substr(inside, size_t(one->position()) - inside) + extents.at(one->str());
      inside = size_t(one->position() + one->length());
    }
    small += brackets.substr(inside);
    at = size_t(found->position() + found->length());
  }
  return small + text.substr(at);
}

class CellsCpu : public ::testing::TestWithParam<std::string> {};

TEST_P(CellsCpu, AgreeWithTheEvaluatorAndTheirDerivativesWithDifferences) {
  const TemporaryFolder folder;
  folder.add("cell.graph", made_small(GetParam()));
  const Ran ran = run_bash("graphc check cell.graph --gradient", folder);
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("@" + GetParam() + ": cpu agrees with the evaluator within"),
                             ContainsRegex("  %u1? +[-0-9.e]+, by differences"),
                             Not(HasSubstr("differ\n"))));
}

INSTANTIATE_TEST_SUITE_P(OfDocs, CellsCpu, ::testing::ValuesIn(cells()),
                         [](const auto& tested) { return tested.param; });

/// tools/cells with the LSTM and the cells made small, in their folder.
Ran cells(const std::string& arguments) {
  const TemporaryFolder folder;
  for (const char* name : {"lstm", "race"})
    folder.add(name + std::string(".graph"), made_small(name));
  const std::string forward = "graph @f(%x: f32[2]) {\n  return tanh(%x)\n}\n";
  folder.add("forward.graph", forward);
  folder.add("both.graph", forward + made_small("race"));
  return run_bash(
      fmt::format("'{}' --lstm=lstm.graph --rounds=1 --programs='{}' {}",
                  source_path("tools/cells"),
                  std::filesystem::path(GRAPHC_BENCH).parent_path().string(), arguments),
      folder);
}

TEST(MeasuredCells, StandBesideTheLstm) {
  const Ran ran = cells("race.graph --threads=1 --precision=f32");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              ContainsRegex("^cell +ms a step +GFLOP/s +over the LSTM\n"
                            "lstm +[0-9.e-]+ +[0-9.e-]+ *\n"
                            "race +[0-9.e-]+ +[0-9.e-]+ +[0-9.]+ \\([0-9.]+ to [0-9.]+\\)\n"));
}

TEST(MeasuredCells, OfTheSameNameHaveTheirPaths) {
  const Ran ran = cells("./lstm.graph race.graph ./race.graph --threads=1");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(ContainsRegex("\nrace +"), ContainsRegex("\n./race.graph +"),
                             Not(HasSubstr("./lstm.graph"))));
}

TEST(MeasuredCells, AreRefusedWithTheReason) {
  const Ran forward = cells("forward.graph");
  EXPECT_EQ(forward.code, 3);
  EXPECT_THAT(forward.err,
              HasSubstr("tools/cells: forward.graph: found a graph that only runs forwards, "
                        "wanted a training step"));
  const Ran both = cells("both.graph");
  EXPECT_EQ(both.code, 3);
  EXPECT_THAT(both.err, HasSubstr("tools/cells: both.graph: found 2 graphs, wanted one"));
  const Ran absent = cells("absent.graph");
  EXPECT_EQ(absent.code, 3);
  EXPECT_THAT(absent.err, HasSubstr("absent.graph"));
  EXPECT_EQ(cells("race.graph --rounds=0").code, 2);
  const Ran unbuilt = cells("race.graph --programs=nowhere");
  EXPECT_EQ(unbuilt.code, 5);
  EXPECT_THAT(unbuilt.err, HasSubstr("no nowhere/graphc-bench: build it"));
}

}  // namespace
}  // namespace graphc::core::testing
