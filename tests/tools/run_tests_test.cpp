// SPDX-License-Identifier: Apache-2.0
// tools/run_tests: what becomes of cases that share a process when one of them fails, crashes,
// hangs, or leaves something behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/source_tree.h"
#include "tests/testing/temporary_folder.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

/// Says what a GoogleTest program does of the cases it is asked for; what one does is its name.
/// How many processes there were is in `started`.
constexpr const char* kProgram = R"(#!/bin/bash
echo x >>started
code=0 ran=0
chosen=${1#--gtest_filter=}
for name in ${chosen//:/ }; do
  printf 'chatter without an end[ RUN      ] %s\n' "$name"
  result='      OK' words=
  case $name in
    *Fails*) result=' FAILED ' words='what it says of itself' ;;
    *FailsAfterOthers) ;;
    *NeedsToBeFirst) ((ran)) && result=' FAILED ' ;;
    *Crashes) echo last words; kill -SEGV $$ ;;
    *Ends) exit 0 ;;
    *Hangs) sleep 60 ;;
    *Skipped) result=' SKIPPED' ;;
    *Leaks) code=23 ;;
    *LeaksAfterOthers) ((ran)) && code=24 ;;
    *ForKernels) echo "kernels: $GRAPHC_CACHE"; result=' FAILED ' ;;
  esac
  [[ $result == ' FAILED ' && $code == 0 ]] && code=1
  echo "$words"
  printf '[ %s ] %s (3 ms)\n' "$result" "$name"
  ran=1
done
exit $code
)";

/// A build folder with such a program, and a report of the run.
class RunTests : public ::testing::Test {
 protected:
  void add(const std::string& test, const std::string& command, const std::string& properties) {
    list_ += fmt::format("add_test({} {})\nset_tests_properties({} PROPERTIES {})\n", test, command,
                         test, properties);
  }
  void add_cases(const std::vector<std::string>& names, const std::string& properties = "") {
    folder_.add("program", kProgram);
    for (const std::string& name : names) {
      add("Suite." + name, fmt::format("\"{}/program\" \"--gtest_filter=Suite.{}\"", here(), name),
          fmt::format("LABELS text TIMEOUT 2 WORKING_DIRECTORY \"{}\" {}", here(), properties));
    }
  }
  Ran run(const std::string& options = "") {
    folder_.add("CTestTestfile.cmake", list_);
    return run_bash(fmt::format("chmod +x program 2>/dev/null\n'{}' . --report report.xml {}",
                                source_path("tools/run_tests"), options),
                    folder_);
  }
  std::string content(const std::string& name) { return run_bash("cat " + name, folder_).out; }
  int processes() { return int(std::ranges::count(content("started"), 'x')); }
  std::string here() const { return folder_.path().string(); }

  TemporaryFolder folder_;

 private:
  std::string list_;
};

TEST_F(RunTests, CasesOfAProgramShareAProcess) {
  add_cases({"A", "B", "IsSkipped", "C"});
  const Ran ran = run();
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, ContainsRegex("\n3 passed, 0 failed, 1 skipped in [0-9]+ s\n$"));
  EXPECT_EQ(processes(), 1);
  EXPECT_THAT(content("report.xml"),
              HasSubstr("tests=\"4\" disabled=\"0\" failures=\"0\" skipped=\"1\""));
}

TEST_F(RunTests, WhatFailsIsToldFromWhatFailsAfterOthers) {
  add_cases({"A", "Fails", "NeedsToBeFirst", "B"});
  const Ran ran = run();
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("--- Suite.Fails: failed\n"), HasSubstr("what it says of itself"),
                    HasSubstr("--- Suite.NeedsToBeFirst: failed, but not alone: it "
                              "depends on the cases before it\n"),
                    HasSubstr("\n2 passed, 2 failed in ")));
  EXPECT_EQ(processes(), 3);
}

TEST_F(RunTests, ACrashHidesNoOtherCase) {
  add_cases({"A", "Crashes", "Fails", "B", "Ends", "C"});
  const Ran ran = run();
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("--- Suite.Crashes: ended by SIGSEGV\n"),
                             HasSubstr("last words"), HasSubstr("--- Suite.Fails: failed\n"),
                             HasSubstr("--- Suite.Ends: the program ended with status 0\n"),
                             HasSubstr("\n3 passed, 3 failed in ")));
}

TEST_F(RunTests, EachCaseHasItsTime) {
  add_cases({"A", "Hangs", "B"});
  const Ran ran = run();
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("--- Suite.Hangs: no end after 2 s\n"),
                             HasSubstr("\n2 passed, 1 failed in ")));
}

TEST_F(RunTests, WhatAProgramSaysAtItsEndIsOfOneCaseOrOfAll) {
  add_cases({"A", "Leaks", "B", "Fails"});
  const Ran ran = run();
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("--- Suite.Leaks: the program ended with status 23\n"),
                    HasSubstr("--- Suite.Fails: failed\n"), HasSubstr("\n2 passed, 2 failed in ")));
}

TEST_F(RunTests, WhatOnlySeveralCasesLeaveIsAFailureToo) {
  add_cases({"A", "LeaksAfterOthers"});
  const Ran ran = run();
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("the program ended with status 24 after 2 cases, after none "
                                       "of them alone\n"),
                             HasSubstr("\n1 passed, 1 failed in ")));
}

TEST_F(RunTests, KernelsAreKeptInAFolderThatIsEmptyAtFirst) {
  add_cases({"ForKernels"}, "ENVIRONMENT GRAPHC_CACHE=none");
  folder_.add("kernels_of_tests/of_another_run", "x");
  EXPECT_THAT(run().out, HasSubstr(here() + "/kernels_of_tests\n"));
  EXPECT_EQ(run_bash("ls kernels_of_tests 2>&1", folder_).code, 2);
  EXPECT_THAT(run("--no-cache").out, HasSubstr("kernels: none\n"));
}

TEST_F(RunTests, CommandsWaitForWhatTheyDependOn) {
  add("second", "bash -c \"cat first && echo it is >&2\"",
      fmt::format("LABELS text DEPENDS first WORKING_DIRECTORY \"{}\"", here()));
  add("first", "bash -c \"sleep 0.3 && echo done > first\"",
      fmt::format("LABELS text WORKING_DIRECTORY \"{}\"", here()));
  add("other", "false", "LABELS slow");
  const Ran ran = run("--labels '^text$' --jobs 2");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\n2 passed, 0 failed in "));
  const Ran all = run("--jobs 2");
  EXPECT_EQ(all.code, 1);
  EXPECT_THAT(all.out, AllOf(HasSubstr("--- other: ended with status 1\n"),
                             HasSubstr("\n2 passed, 1 failed in ")));
}

TEST_F(RunTests, NoTestsAreAnError) {
  add_cases({"A"});
  const Ran ran = run("--labels '^cuda$'");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("tools/run_tests: no tests"));
}

}  // namespace
}  // namespace graphc::core::testing
