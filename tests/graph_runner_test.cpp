// SPDX-License-Identifier: Apache-2.0
// The runner of text tests: what it accepts, and above all what it fails.
#include "tests/testing/graph_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/run_directive.h"
#include "tests/testing/targets.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// The failures of the only test of the content.
std::vector<std::string> failures(const std::string& content) {
  const std::vector<GraphTest> tests = graph_tests(content, "t.graph");
  EXPECT_EQ(tests.size(), 1u);
  return run_graph_test(tests.at(0), ".").failures;
}

/// A failure for each target, in the order of their names, with its name before `what`.
auto on_every_target(const std::string& before, const std::string& what) {
  std::vector<std::string> names;
  for (const TestTarget& row : all_test_targets()) {
    if (row.target->unavailable().empty()) names.emplace_back(row.target->name);
  }
  std::ranges::sort(names);
  std::vector<::testing::Matcher<std::string>> wanted;
  for (const std::string& name : names)
    wanted.push_back(HasSubstr(fmt::format("{}{}: {}", before, name, what)));
  return ::testing::ElementsAreArray(wanted);
}

const std::string kGraph = "graph @f (%x: f32[2]) {\n  %y = mul %x, 2.\n  return %y\n}\n";

TEST(GraphRunner, AcceptsWhatHolds) {
  EXPECT_THAT(failures("# a remark\n\ntest verify\n" + kGraph), IsEmpty());
  EXPECT_THAT(failures("test run target=reference\n" + kGraph + "# run: @f([1, 2]) == [2, 4]\n"),
              IsEmpty());
  EXPECT_THAT(
      failures("test print\n" + kGraph + "becomes { %y = mul %x, 2. : f32[2]\n return %y }"),
      ElementsAre(HasSubstr("it becomes")));
  EXPECT_THAT(failures("test print\n" + kGraph +
                       "becomes {\n %y = mul %x, 2. : f32[2]\n   return %y   # remark\n}"),
              IsEmpty());
  EXPECT_THAT(failures("test print\n" + kGraph + "# check: mul\n# check: return\n# not: add\n"),
              IsEmpty());
}

TEST(GraphRunner, FailsUnknownVerbsOptionsAndDirectives) {
  EXPECT_THAT(failures("test verifi\n" + kGraph),
              ElementsAre(HasSubstr("t.graph:1: unknown verb")));
  EXPECT_THAT(failures("tset verify\n" + kGraph), ElementsAre(HasSubstr("begins with 'test'")));
  EXPECT_THAT(failures("# nothing\n"), ElementsAre(HasSubstr("a test without a verb")));
  EXPECT_THAT(failures(""), ElementsAre(HasSubstr("a test without a verb")));
  EXPECT_THAT(failures("test verify fast=1\n" + kGraph),
              ElementsAre(HasSubstr("no option 'fast'")));
  EXPECT_THAT(failures("test verify fast\n" + kGraph),
              ElementsAre(HasSubstr("'fast' is not an option with a value")));
  EXPECT_THAT(failures("test print\n" + kGraph + "# CEHCK: mul\n"),
              ElementsAre("t.graph:6: unknown directive '# CEHCK:'"));
  EXPECT_THAT(failures("test print\n" + kGraph + "# check:\n"),
              ElementsAre("t.graph:6: '# check:' says nothing"));
  EXPECT_THAT(failures("test run target=abacus\n" + kGraph + "# run: @f([1,2]) == [2,4]\n"),
              ElementsAre(HasSubstr("unknown target 'abacus'")));
}

TEST(GraphRunner, FailsExpectationsThatTheVerbDoesNotLookAt) {
  EXPECT_THAT(failures("test verify\n" + kGraph + "becomes { return %x }\n"),
              ElementsAre("t.graph:6: 'verify' takes no 'becomes'"));
  EXPECT_THAT(failures("test verify\n" + kGraph + "# check: mul\n"),
              ElementsAre("t.graph:6: 'verify' takes no '# check:'"));
  EXPECT_THAT(failures("test verify\n" + kGraph + "# run: @f([1,2]) == [2,4]\n"),
              ElementsAre("t.graph:6: 'verify' takes no '# run:'"));
  EXPECT_THAT(failures("test run\n" + kGraph), ElementsAre(HasSubstr("nothing to run")));
  EXPECT_THAT(failures("test passes=cse\n" + kGraph),
              ElementsAre("t.graph:1: the test expects nothing"));
  EXPECT_THAT(failures("test print\nbecomes { return %x }\n" + kGraph),
              ElementsAre("t.graph:2: 'becomes' before any graph"));
  EXPECT_THAT(failures("test print\n# check: x\n" + kGraph),
              ElementsAre("t.graph:2: '# check:' before any graph"));
  EXPECT_THAT(failures("test print\n" + kGraph + "becomes\n"),
              ElementsAre("t.graph:6: 'becomes' without a block"));
}

TEST(GraphRunner, FailsWrongExpectations) {
  EXPECT_THAT(failures("test passes=cse\n" + kGraph + "becomes { return mul(%x, 3.) }\n"),
              ElementsAre(HasSubstr("t.graph:6: it becomes")));
  EXPECT_THAT(failures("test passes=cse\n" + kGraph + "becomes { return mul(%z, 3.) }\n").at(0),
              HasSubstr("unknown value %z"));
  EXPECT_THAT(failures("test print\n" + kGraph),
              ElementsAre(HasSubstr("the text is not canonical")));
  EXPECT_THAT(failures("test print\n" + kGraph + "# check: return\n# check: mul\n"),
              ElementsAre(HasSubstr("t.graph:7: 'mul' is not below the checks before")));
  EXPECT_THAT(failures("test print\n" + kGraph + "# not: mul\n"),
              ElementsAre(HasSubstr("t.graph:6: found 'mul'")));
  EXPECT_THAT(failures("test run\n" + kGraph + "# run: @f([1, 2]) == [2, 5]\n"),
              on_every_target("t.graph:6: ", "result 0 (%y) differs at element 1: 4 for 5"));
  EXPECT_THAT(
      failures("test run target=cpu\n" + kGraph + "# run: @f([1, 2]) == [2.01, 4] within 1e-3\n"),
      ElementsAre(HasSubstr("differs at element 0")));
  EXPECT_THAT(failures("test run\n" + kGraph + "# run: @f([1, 2]) == [2.01, 4] within 2e-2\n"),
              IsEmpty());
}

TEST(GraphRunner, FailsWrongErrors) {
  const std::string bad = "test verify\ngraph (%x: f32[2,3]) {\n  %y = matmul %x, %x  ";
  const std::string rest = "\n  return %y\n}\n";
  EXPECT_THAT(failures(bad + "# error: inner dimensions differ: 3 and 2" + rest), IsEmpty());
  EXPECT_THAT(failures(bad + rest), ElementsAre(HasSubstr("inner dimensions")));
  EXPECT_THAT(failures(bad + "# error: outer dimensions" + rest),
              ElementsAre(HasSubstr("wanted the error: outer dimensions: found")));
  EXPECT_THAT(failures(bad + "\n # error: inner dimensions" + rest),
              ElementsAre(HasSubstr("t.graph:4: wanted the error")));
  EXPECT_THAT(failures("test verify\n" + kGraph + "# error: anything\n"),
              ElementsAre(HasSubstr("t.graph:6: wanted an error: anything")));
  EXPECT_THAT(failures("test verify\n$   # error: unexpected character '$'\n"), IsEmpty());
}

TEST(GraphRunner, FailsMalformedRuns) {
  const auto run = [](const std::string& text) {
    const auto found = failures("test run target=reference\n" + kGraph + "# run: " + text + "\n");
    return found.size() == 1 ? found[0] : "";
  };
  EXPECT_THAT(run("@g([1,2]) == [2,4]"), HasSubstr("there is no graph @g"));
  EXPECT_THAT(run("@f([1,2]) = [2,4]"), HasSubstr("wanted '='"));
  EXPECT_THAT(run("@f([1]) == [2,4]"), HasSubstr("wanted ','"));
  EXPECT_THAT(run("@f([1,2]) == [2,4] wihtin 1"), HasSubstr("wanted the end of the directive"));
  EXPECT_THAT(run("@f([1,2]) == [2,4] within 0"), HasSubstr("a number above 0"));
  EXPECT_THAT(run("@f([1,2]; %w = 1) == [2,4]"), HasSubstr("'w' is not a state"));
  EXPECT_THAT(run("@f(@nowhere.npy) == [2,4]"), HasSubstr("nowhere.npy"));
}

TEST(GraphRunner, RunsWithStates) {
  const std::string text =
      "test run\ngraph @g (%x: f32[]) state (%w: f32[], %n: i64[]) {\n"
      "  next %w = add(%w, %x), %n = add(%n, 1)\n  return mul(%w, %x)\n}\n# run: ";
  EXPECT_THAT(failures(text + "@g(3; %w = 2, %n = 7) == 6; %w = 5, %n = 8   # all\n"), IsEmpty());
  EXPECT_THAT(failures(text + "@g(3; %w = 2, %n = 7) == 6; %n = 9\n"),
              on_every_target("", "state %n differs"));
  EXPECT_THAT(failures(text + "@g(3; %w = 2) == 6\n"),
              on_every_target("", "error: state 'n' has no value"));
  const std::string unassigned =
      "test run\ngraph @g (%x: f32[]) state (%w: f32[]) { return mul(%w, %x) }\n# run: ";
  EXPECT_THAT(failures(unassigned + "@g(3; %w = 2) == 6; %w = 2\n"),
              on_every_target("", "state %w is not assigned"));
}

TEST(GraphRunner, AWantedErrorMustComeOnEveryTarget) {
  const std::string text =
      "test run\ngraph @f (%t: f32[2,1], %i: i32[1]) {\n"
      "  %y = gather %t, %i   # error: index 7\n  return %y\n}\n# run: @f([[1], [2]], ";
  EXPECT_THAT(failures(text + "[7]) == [[1]]\n"), IsEmpty());
  EXPECT_THAT(
      failures(text + "[8]) == [[1]]\n"),
      AllOf(
          SizeIs(all_test_targets().size()),
          Each(HasSubstr("wanted the error: index 7: found t.graph:3:8: error: gather: index 8"))));
  EXPECT_THAT(failures(text + "[1]) == [[2]]\n"),
              on_every_target("t.graph:3: ", "wanted an error: index 7"));
}

TEST(GraphRunner, TestsOfAFileAreSeparate) {
  const auto tests =
      graph_tests("test verify\n" + kGraph + "---\ntest print\n" + kGraph, "t.graph");
  ASSERT_EQ(tests.size(), 2u);
  EXPECT_EQ(tests[0].verb, "verify");
  EXPECT_EQ(tests[1].line, 7);
  EXPECT_EQ(tests[1].graphs.at(0).line, 8);
  EXPECT_EQ(parse(tests[1].text, "t").graphs[0]->find("y").node->where.line, 9);
}

TEST(GraphRunner, CorrectionsMakeTheTestPass) {
  const std::string content = "test verify\n" + kGraph + "---\n# two\ntest passes=cse\n" + kGraph +
                              "becomes { return %x }   # here\n" +
                              "graph @g (%x: f32[2]) { return %x }\nbecomes { return tanh(%x) }\n";
  const auto tests = graph_tests(content, "t.graph");
  const GraphTestResult result = run_graph_test(tests.at(1), ".");
  EXPECT_EQ(result.failures.size(), 2u);
  const std::string fixed = corrected(content, result.corrections);
  EXPECT_THAT(fixed, HasSubstr("becomes {\n  %y = mul %x, 2. : f32[2]\n  return %y\n}   # here\n"));
  EXPECT_THAT(run_graph_test(graph_tests(fixed, "t.graph").at(1), ".").failures, IsEmpty());
}

TEST(GraphRunner, ValuesAreReadExactly) {
  const Literal big = literal_from("[9007199254740993, -1]", {DType::i64, {2}}, ".");
  EXPECT_EQ(big.data<int64_t>()[0], 9007199254740993);
  EXPECT_EQ(literal_from("[[0.1, inf], [nan, -0.]]", {DType::f32, {2, 2}}, ".").to_text(),
            "[[0.1, inf], [nan, -0]]");
  EXPECT_EQ(literal_from("[true, false]", {DType::boolean, {2}}, ".").element(0), 1);
  EXPECT_THAT(error_of(ErrorKind::input, [] { literal_from("1.5 2", {DType::f32, {}}, "."); }),
              HasSubstr("wanted the end of the value"));
}

}  // namespace
}  // namespace graphc::core::testing
