// SPDX-License-Identifier: Apache-2.0
// The tools' allocator where there is no memory: however it is asked, the program ends well or says
// so and ends with exit code 5. tools/memory-limits does the same with the tools themselves, which
// sanitized builds cannot.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/tools/shell.h"

namespace graphc::core {
namespace {

using ::testing::AnyOf;
using testing::Ran;
using testing::run_bash;
using testing::TemporaryFolder;

/// The program under a limit of so many KiB of its address space.
Ran allocating(const char* how, int kibibytes) {
  return run_bash(
      fmt::format("ulimit -c 0 -v {}; exec {} {}", kibibytes, GRAPHC_ALLOCATOR_PROGRAM, how),
      TemporaryFolder());
}

/// The least limit, in MiB, under which the loader begins the program.
int least_limit() {
  int mebibytes = 4;
  while (mebibytes < 1024) {
    const int code = allocating("nothing", mebibytes << 10).code;
    if (code == 0 || code == 5) break;
    ++mebibytes;
  }
  return mebibytes;
}

TEST(Allocator, SaysThatMemoryIsOutHoweverItIsAsked) {
  const int least = least_limit();
  ASSERT_LT(least, 1024);
  for (const char* how :
       {"nothing", "small", "one", "aligned", "nothrow", "noexcept", "sorting", "thread"}) {
    int well = 0, out = 0;
    for (int mebibytes = least; mebibytes < least + 320; mebibytes += 16) {
      const Ran ran = allocating(how, mebibytes << 10);
      ASSERT_THAT(ran.code, AnyOf(0, 5)) << how << " with " << mebibytes << " MiB: " << ran.err;
      ++(ran.code == 0 ? well : out);
      const std::string wanted = ran.code == 0 ? "" : "error: out of memory\n";
      ASSERT_THAT(ran.err, AnyOf(wanted, ran.code == 0 ? "" : "error: no thread\n"))
          << how << " with " << mebibytes << " MiB";
    }
    EXPECT_GT(well, 0) << how;
    EXPECT_TRUE(out > 0 || std::string_view(how) == "nothing") << how;
  }
}

}  // namespace
}  // namespace graphc::core
