// SPDX-License-Identifier: Apache-2.0
// Steps on the threads of an OpenMP runtime that the process has loaded.
#include "runtime/openmp.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/thread_team.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using testing::error_of;

constexpr const char* kRuntime = "libgomp.so.1";

// The thread sanitizer does not see how the runtime synchronises.
#if !defined(__SANITIZE_THREAD__)

class StepsOnOpenMp : public ::testing::Test {
 protected:
  void SetUp() override {
    // It is there where g++ is.
    ASSERT_NE(dlopen(kRuntime, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
    runtime_ = OpenMp::of_library(kRuntime);
    ASSERT_TRUE(runtime_);
    set_threads_ = reinterpret_cast<void (*)(int)>(
        dlsym(dlopen(kRuntime, RTLD_NOW | RTLD_NOLOAD), "omp_set_num_threads"));
    set_threads_(2);
    ThreadTeam::use_threads_of(&*runtime_);
  }
  void TearDown() override { ThreadTeam::use_threads_of(nullptr); }

  /// The threads that ran a step of the team, which meet in it.
  static std::vector<std::thread::id> threads_of_step(ThreadTeam& team) {
    std::vector<std::thread::id> ids(size_t(team.size()));
    std::vector<int> seen(size_t(team.size()), 0);
    team.run_step([&](int thread) {
      ids[size_t(thread)] = std::this_thread::get_id();
      team.barrier(thread);
      for (const std::thread::id& id : ids) seen[size_t(thread)] += id != std::thread::id();
    });
    for (int count : seen) EXPECT_EQ(count, team.size());
    return ids;
  }

  /// The second thread of the runtime's own regions.
  std::thread::id thread_of_runtime() const {
    std::thread::id ids[2];
    EXPECT_TRUE(runtime_->run(
        2,
        [](void* data, int thread) {
          static_cast<std::thread::id*>(data)[thread] = std::this_thread::get_id();
        },
        ids));
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    return ids[1];
  }

  std::optional<OpenMp> runtime_;
  void (*set_threads_)(int) = nullptr;
};

TEST_F(StepsOnOpenMp, RunOnTheThreadsOfTheRuntime) {
  ThreadTeam team(2, TeamThreads::own);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const std::vector<std::thread::id> ids = threads_of_step(team);
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    EXPECT_EQ(ids[1], thread_of_runtime());
  }
}

TEST_F(StepsOnOpenMp, OtherWorkKeepsTheTeamsThreads) {
  ThreadTeam team(2, TeamThreads::own);
  std::thread::id second;
  team.run([&](int thread) {
    if (thread == 1) second = std::this_thread::get_id();
  });
  EXPECT_NE(second, thread_of_runtime());
}

TEST_F(StepsOnOpenMp, AnotherNumberOfThreadsRunsOnTheTeamsOwn) {
  ThreadTeam three(3, TeamThreads::own), two(2, TeamThreads::own);
  const std::vector<std::thread::id> ids = threads_of_step(three);
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), 3u);
  for (size_t i = 1; i < 3; ++i) EXPECT_NE(ids[i], thread_of_runtime());
  set_threads_(1);
  EXPECT_EQ(runtime_->threads(), 1);
  EXPECT_NE(threads_of_step(two)[1], std::thread::id());
}

TEST_F(StepsOnOpenMp, InsideARegionRunsOnTheTeamsOwn) {
  ThreadTeam team(2, TeamThreads::own);
  struct Region {
    ThreadTeam& team;
    std::thread::id outer[2], inner;
  } region{team, {}, {}};
  ASSERT_TRUE(runtime_->run(
      2,
      [](void* data, int thread) {
        Region& here = *static_cast<Region*>(data);
        here.outer[thread] = std::this_thread::get_id();
        if (thread == 0) here.inner = threads_of_step(here.team)[1];
      },
      &region));
  EXPECT_NE(region.inner, region.outer[0]);
  EXPECT_NE(region.inner, region.outer[1]);
}

TEST_F(StepsOnOpenMp, AThrowReleasesTheOthers) {
  ThreadTeam team(2, TeamThreads::own);
  for (int thrower = 0; thrower < 2; ++thrower) {
    const std::string message = error_of(ErrorKind::input, [&] {
      team.run_step([&](int thread) {
        if (thread == thrower) throw input_error({}, "thread {}", thread);
        team.barrier(thread);
      });
    });
    EXPECT_EQ(message, "thread " + std::to_string(thrower));
    threads_of_step(team);
  }
}

TEST_F(StepsOnOpenMp, ARunInsideAStepIsADefect) {
  ThreadTeam team(2, TeamThreads::own);
  error_of(ErrorKind::internal, [&] {
    team.run_step([&](int thread) {
      if (thread == 1) team.run([](int) {});
    });
  });
}

TEST_F(StepsOnOpenMp, FewerThreadsThanAskedForAreNoRun) {
  // A region inside a region has one thread.
  struct Region {
    const OpenMp& runtime;
    std::atomic<int> inner_runs{0}, inner_calls{0};
  } region{*runtime_};
  ASSERT_TRUE(runtime_->run(
      2,
      [](void* data, int) {
        Region& here = *static_cast<Region*>(data);
        const auto call = [](void* calls, int) { ++*static_cast<std::atomic<int>*>(calls); };
        here.inner_runs += here.runtime.run(2, call, &here.inner_calls);
      },
      &region));
  EXPECT_EQ(region.inner_runs, 0);
  EXPECT_EQ(region.inner_calls, 0);
}

#endif

TEST(OpenMp, ALibraryThatIsNotLoadedOrHasNoRuntime) {
  EXPECT_FALSE(OpenMp::of_library("/no/such/library.so"));
  EXPECT_FALSE(OpenMp::of_library("libc.so.6"));
}

}  // namespace
}  // namespace graphc::core
