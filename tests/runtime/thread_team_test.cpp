// SPDX-License-Identifier: Apache-2.0
// The thread team: every thread once, barriers, exceptions, sharing, pinning and sleep.
#include "runtime/thread_team.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/cores.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using testing::error_of;

class ThreadTeamOfSize : public ::testing::TestWithParam<std::tuple<int, TeamThreads>> {
 protected:
  TeamThreads where() const { return std::get<1>(GetParam()); }
  ThreadTeam team{std::get<0>(GetParam()), where()};
};
INSTANTIATE_TEST_SUITE_P(Sizes, ThreadTeamOfSize,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 7),
                                            ::testing::Values(TeamThreads::adaptive,
                                                              TeamThreads::own,
                                                              TeamThreads::in_turns)));

TEST_P(ThreadTeamOfSize, RunsEveryThreadOnce) {
  EXPECT_EQ(team.size(), std::get<0>(GetParam()));
  std::vector<int> runs(size_t(team.size()), 0);
  std::vector<std::thread::id> ids(size_t(team.size()));
  const auto call = [&](int thread) {
    ++runs[size_t(thread)];
    ids[size_t(thread)] = std::this_thread::get_id();
  };
  const auto threads = [&] { return std::set<std::thread::id>(ids.begin(), ids.end()).size(); };
  for (int repeat = 1; repeat <= 200; ++repeat) {
    team.run_step(call);
    for (int count : runs) ASSERT_EQ(count, 2 * repeat - 1);
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    if (where() != TeamThreads::adaptive) {
      EXPECT_EQ(threads(), where() == TeamThreads::own ? ids.size() : 1u);
    }
    // Only steps take turns.
    team.run(call);
    for (int count : runs) ASSERT_EQ(count, 2 * repeat);
    EXPECT_EQ(threads(), ids.size());
  }
}

/// Each thread writes its own element, meets, and adds what its neighbours wrote: two barriers a
/// step, and any thread that passes one too early reads a wrong number (and is a race for tsan).
template <typename Barrier>
int64_t exchange(ThreadTeam& team, int steps, Barrier barrier) {
  const int size = team.size();
  std::vector<int> written(static_cast<size_t>(size), -1);
  std::vector<int64_t> wrong(static_cast<size_t>(size), 0);
  team.run_step([&](int thread) {
    for (int step = 0; step < steps; ++step) {
      written[size_t(thread)] = step;
      barrier(thread);
      for (int value : written) wrong[size_t(thread)] += value != step;
      barrier(thread);
    }
  });
  int64_t sum = 0;
  for (int64_t count : wrong) sum += count;
  return sum;
}

TEST_P(ThreadTeamOfSize, NoThreadPassesABarrierEarly) {
  for (int repeat = 0; repeat < 5; ++repeat) {
    EXPECT_EQ(exchange(team, 300, [&](int thread) { team.barrier(thread); }), 0);
  }
}

TEST_P(ThreadTeamOfSize, CompiledBarrier) {
  const BarrierFunction barrier = &ThreadTeam::compiled_barrier;
  EXPECT_EQ(exchange(team, 300, [&](int thread) { barrier(&team, thread); }), 0);
}

TEST_P(ThreadTeamOfSize, AThrowReleasesTheOthersAndTheTeamGoesOn) {
  for (int thrower = 0; thrower < team.size(); ++thrower) {
    const std::string message = error_of(ErrorKind::input, [&] {
      team.run_step([&](int thread) {
        for (int step = 0; step < 20; ++step) {
          if (thread == thrower && step == 10) throw input_error({}, "thread {}", thread);
          team.barrier(thread);
        }
        ADD_FAILURE() << "thread " << thread << " passed a barrier that another never reached";
      });
    });
    EXPECT_EQ(message, "thread " + std::to_string(thrower));
    EXPECT_EQ(exchange(team, 20, [&](int thread) { team.barrier(thread); }), 0);
  }
}

TEST_P(ThreadTeamOfSize, TheLowestThreadsExceptionIsReported) {
  try {
    team.run_step([](int thread) { throw std::runtime_error(std::to_string(thread)); });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "0");
  }
}

TEST(ThreadTeam, CompiledBarrierReturnsAfterAThrow) {
  for (const TeamThreads where : {TeamThreads::own, TeamThreads::in_turns}) {
    ThreadTeam team(2, where);
    bool returned = false;
    const std::string message = error_of(ErrorKind::resource, [&] {
      team.run_step([&](int thread) {
        if (thread == 1) throw resource_error("gone");
        ThreadTeam::compiled_barrier(&team, thread);
        ThreadTeam::compiled_barrier(&team, thread);
        returned = true;
        team.barrier(thread);
        ADD_FAILURE() << "barrier() lets a thread of an aborted run go on";
      });
    });
    EXPECT_EQ(message, "gone");
    EXPECT_TRUE(returned);
  }
}

TEST(ThreadTeam, RunsFromSeveralThreadsTakeTurns) {
  ThreadTeam team(2);
  // Not atomic: tsan and the count both see two runs at once.
  std::vector<int> counts(2, 0);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        team.run([&](int thread) {
          ++counts[size_t(thread)];
          team.barrier(thread);
          ++counts[size_t(1 - thread)];
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(counts[0], 1200);
  EXPECT_EQ(counts[1], 1200);
}

TEST(ThreadTeam, CallersOfATeamOfOneRunSideBySide) {
  ThreadTeam team(1);
  std::atomic<int> inside{0};
  std::atomic<bool> met{true};
  const auto call = [&] {
    team.run([&](int thread) {
      ++inside;
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (inside < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      if (inside < 2) met = false;
      team.barrier(thread);
    });
  };
  std::thread other(call);
  call();
  other.join();
  EXPECT_TRUE(met);
}

TEST(ThreadTeam, ARunInsideARunIsADefect) {
  for (int trial = 0; trial < 3; ++trial) {
    const int size = trial == 0 ? 1 : 2;
    ThreadTeam team(size, trial == 2 ? TeamThreads::in_turns : TeamThreads::own);
    for (int thread_that_runs = 0; thread_that_runs < size; ++thread_that_runs) {
      error_of(ErrorKind::internal, [&] {
        team.run_step([&](int thread) {
          if (thread == thread_that_runs) team.run([](int) {});
        });
      });
    }
    team.run_step([](int) {});
  }
}

TEST(ThreadTeam, TeamsRunInsideEachOther) {
  ThreadTeam outer(2), inner(2);
  std::atomic<int> calls{0};
  outer.run([&](int) { inner.run([&](int) { ++calls; }); });
  EXPECT_EQ(calls, 4);
}

TEST(ThreadTeam, SizesOutOfRange) {
  EXPECT_EQ(error_of(ErrorKind::input, [] { ThreadTeam(0); }),
            "a team has 1 to 4096 threads: found 0");
  error_of(ErrorKind::input, [] { ThreadTeam(-3); });
  error_of(ErrorKind::input, [] { ThreadTeam(1 << 20); });
}

/// Binds the calling thread, and those it makes, to a CPU.
void bind_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  EXPECT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

std::set<int> affinity_of_this_thread() {
  const std::vector<int> cpus = allowed_cpus();
  return {cpus.begin(), cpus.end()};
}

TEST(ThreadTeam, WorkersHaveCpusOfTheirOwnAndTheCallerKeepsIts) {
  const std::set<int> before = affinity_of_this_thread();
  const int size = int(before.size());
  {
    ThreadTeam team(size);
    EXPECT_EQ(team.pinned(), size > 1);
    std::vector<std::set<int>> masks(static_cast<size_t>(size));
    team.run([&](int thread) { masks[size_t(thread)] = affinity_of_this_thread(); });
    std::set<int> taken;
    for (int thread = 1; thread < size; ++thread) {
      EXPECT_EQ(masks[size_t(thread)].size(), 1u);
      taken.insert(masks[size_t(thread)].begin(), masks[size_t(thread)].end());
    }
    EXPECT_EQ(int(taken.size()), size - 1);
    EXPECT_EQ(masks[0], before);
    EXPECT_EQ(affinity_of_this_thread(), before);
  }
  EXPECT_EQ(affinity_of_this_thread(), before);
}

/// Whether the two functions of a run with many barriers were called on one thread.
bool takes_turns(ThreadTeam& team) {
  std::array<std::thread::id, 2> ids;
  EXPECT_EQ(exchange(team, 50,
                     [&](int thread) {
                       ids[size_t(thread)] = std::this_thread::get_id();
                       team.barrier(thread);
                     }),
            0);
  return ids[0] == ids[1];
}

TEST(ThreadTeam, WhereOthersUseItsCpusTheThreadsComeToTakeTurns) {
  std::atomic<bool> done{false};
  std::vector<std::thread> others;
  for (const int cpu : allowed_cpus()) {
    others.emplace_back([&done, cpu] {
      bind_to(cpu);
      while (!done) {
      }
    });
  }
  ThreadTeam team(2);
  // However slow the machine: a team that never comes to it stays here until the time limit.
  while (!takes_turns(team)) {
  }
  done = true;
  for (std::thread& other : others) other.join();
}

TEST(ThreadTeam, OnOneCpuTheThreadsTakeTurnsFromTheBeginning) {
  std::thread([] {
    bind_to(allowed_cpus()[0]);
    ThreadTeam team(2), own(2, TeamThreads::own);
    EXPECT_TRUE(takes_turns(team));
    EXPECT_FALSE(takes_turns(own));
  }).join();
}

TEST(ThreadTeam, TooFewCpusPinNobody) {
  const std::set<int> cpus = affinity_of_this_thread();
  ThreadTeam team(int(cpus.size()) + 1);
  EXPECT_FALSE(team.pinned());
  team.run([&](int) { EXPECT_EQ(affinity_of_this_thread(), cpus); });
}

TEST(ThreadTeam, SignalsGoToTheProgramsOwnThreads) {
  ThreadTeam team(2);
  team.run([](int thread) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    EXPECT_EQ(sigismember(&blocked, SIGINT), thread == 0 ? 0 : 1);
  });
}

double cpu_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(ThreadTeam, WorkersSleepBetweenRunsAndWakeUp) {
  ThreadTeam team(2);
  for (int repeat = 0; repeat < 3; ++repeat) {
    team.run([](int) {});
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_LT(cpu_seconds() - before, 0.05);
    int runs[2] = {0, 0};
    team.run([&](int thread) { runs[thread] = 1; });
    EXPECT_EQ(runs[0] + runs[1], 2);
  }
}

}  // namespace
}  // namespace graphc::core
