// SPDX-License-Identifier: Apache-2.0
// Ranks that mpirun started: what they exchange, which cores they have, and how they end.
#include "tests/testing/mpirun.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "runtime/clock.h"
#include "runtime/cores.h"
#include "tests/tools/run_tool.h"

namespace graphc::core {
namespace {

using graphc::core::testing::mpirun;
using graphc::core::testing::Ran;
using graphc::core::testing::run_tool;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kProgram = GRAPHC_RANKS_PROGRAM;

Ran run_ranks(int count, const std::string& what) {
  return run_tool("env", fmt::format("{}{} '{}' {}", mpirun(), count, kProgram, what));
}

int64_t occurrences(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class Mpirun : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { GRAPHC_NEEDS_MPIRUN(); }
};

TEST_P(Mpirun, SumsAreThoseOfTheSerialTree) {
  const Ran ran = run_ranks(GetParam(), "sums");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
}

TEST_P(Mpirun, ValuesAreGatheredAndBroadcast) {
  const Ran ran = run_ranks(GetParam(), "moves");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
}

INSTANTIATE_TEST_SUITE_P(Ranks, Mpirun, ::testing::Values(1, 2, 3, 4));

class MpirunOfThree : public ::testing::Test {
 protected:
  void SetUp() override { GRAPHC_NEEDS_MPIRUN(); }
};

TEST_F(MpirunOfThree, SayWhatConnectsThem) {
  EXPECT_THAT(run_ranks(3, "engine").out, StartsWith("3 of 3, Open MPI v"));
  EXPECT_EQ(run_ranks(1, "engine").out, "1 of 1, one process\n");
}

TEST_F(MpirunOfThree, MeasureHowLongTheyWaited) {
  const Ran ran = run_ranks(3, "waits");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

TEST_F(MpirunOfThree, DivideTheCores) {
  const int cores = default_thread_count();
  for (const int count : {1, 2, 3}) {
    const Ran ran = run_ranks(count, "cores");
    std::istringstream lines(ran.out);
    std::multiset<std::string> used;
    for (std::string line; std::getline(lines, line);) {
      int threads = 0;
      std::istringstream words(line);
      std::string word;
      words >> threads >> word >> word;
      EXPECT_GE(threads, std::max(1, cores / count)) << line;
      while (words >> word) used.insert(word);
    }
    // No two ranks have a core in common as long as there are enough.
    if (count <= cores) {
      EXPECT_EQ(used.size(), std::set(used.begin(), used.end()).size()) << ran.out;
    }
    EXPECT_EQ(int(used.size()), std::max(cores, count)) << ran.out << ran.err;
  }
}

TEST_F(MpirunOfThree, AnErrorOfAllIsTheExitCode) {
  const Ran ran = run_ranks(3, "differs");
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("the corpus: rank 2 has 'b', and rank 0 has 'a': wanted the same "
                                 "on all 3 ranks"));
}

TEST_F(MpirunOfThree, AnErrorOfOneIsThatOfAll) {
  const Ran ran = run_ranks(3, "throws");
  EXPECT_EQ(ran.code, 5) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("error: no space left on the device\n  note: on rank 0 of 3\n"));
}

TEST_F(MpirunOfThree, OneThatAbortsEndsTheOthers) {
  const double began = steady_seconds();
  const Ran ran = run_ranks(3, "aborts");
  EXPECT_LT(steady_seconds() - began, 10);
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_EQ(occurrences(ran.err, "error: rank 2 gives up\n"), 1) << ran.err;
}

TEST_F(MpirunOfThree, OneThatIsKilledEndsTheOthers) {
  const double began = steady_seconds();
  const Ran ran = run_ranks(3, "dies");
  EXPECT_LT(steady_seconds() - began, 10);
  EXPECT_EQ(ran.code, 128 + 9) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("process rank 2 with PID"));
}

TEST(MpirunSlow, OneThatEndsLongBeforeTheOthersEndsThem) {
  GRAPHC_NEEDS_MPIRUN();
  const double began = steady_seconds();
  const Ran ran = run_ranks(2, "ends");
  EXPECT_LT(steady_seconds() - began, 20);
  EXPECT_EQ(ran.code, 5) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("error: rank 1 of 2 has ended: the other ranks go on: all end\n"));
}

TEST(WithoutMpi, ALaunchedProcessSaysWhatIsMissing) {
  const Ran ran =
      run_tool("env", fmt::format("GRAPHC_MPI=none PMI_RANK=1 PMI_SIZE=2 '{}' engine", kProgram));
  EXPECT_EQ(ran.code, 5);
  EXPECT_EQ(ran.err,
            "error: mpiexec of MPICH started this process as rank 1 of 2, and there is no MPI: "
            "GRAPHC_MPI is 'none'\n");
}

TEST(WithoutMpi, AProcessAloneNeedsNone) {
  const Ran ran = run_tool("env", fmt::format("GRAPHC_MPI=none '{}' engine", kProgram));
  EXPECT_EQ(ran.out, "1 of 1, one process\n") << ran.err;
}

TEST_F(MpirunOfThree, AnotherLauncherThanTheMpisIsNamed) {
  const Ran ran = run_tool(
      "env",
      fmt::format("ASAN_OPTIONS=detect_leaks=0 PMI_RANK=1 PMI_SIZE=2 '{}' engine", kProgram));
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.err, HasSubstr("error: mpiexec of MPICH started 2 processes, and Open MPI v"));
  EXPECT_THAT(ran.err, HasSubstr(" knows of 1: wanted the launcher of the same MPI"));
}

TEST(MpiModule, CompilesWithTheHeadersOfMpich) {
  const char* include = nullptr;
  for (const char* folder :
       {"/usr/include/x86_64-linux-gnu/mpich", "/usr/lib/x86_64-linux-gnu/mpich/include"}) {
    if (std::filesystem::exists(fmt::format("{}/mpi.h", folder))) include = folder;
  }
  if (include == nullptr) GTEST_SKIP() << "needs MPICH";
  const Ran ran =
      run_tool(GRAPHC_COMPILER, fmt::format("-std=c++20 -fsyntax-only -Wall -Wextra -Werror -I'{}' "
                                            "-isystem {} '{}/runtime/ranks/mpi/module.cpp'",
                                            GRAPHC_SOURCES, include, GRAPHC_SOURCES));
  EXPECT_EQ(ran.code, 0) << ran.err;
}

}  // namespace
}  // namespace graphc::core
