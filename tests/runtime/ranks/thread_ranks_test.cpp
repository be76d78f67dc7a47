// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of one process: which error of several their caller gets.
#include "runtime/ranks/thread_ranks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>

#include "ir/error.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::testing {
namespace {

TEST(RunOn, CallsEachRankOnceAndTheFirstOnTheCallersThread) {
  for (const int count : {1, 2, 5}) {
    const auto ranks = thread_ranks(count);
    std::vector<std::thread::id> threads(static_cast<size_t>(count));
    run_on(ranks, [&](size_t rank) {
      EXPECT_EQ(threads[rank], std::thread::id());
      threads[rank] = std::this_thread::get_id();
      float one = 1;
      ranks[rank]->all_reduce(std::span(&one, 1));
      EXPECT_EQ(one, float(count));
    });
    EXPECT_EQ(threads[0], std::this_thread::get_id());
    EXPECT_EQ(std::set(threads.begin(), threads.end()).size(), threads.size());
  }
}

// The others wait for the rank that fails, and end because of it.
TEST(RunOn, GivesTheErrorOfTheRankThatFailedByItself) {
  for (size_t failing = 0; failing < 3; ++failing) {
    const auto ranks = thread_ranks(3);
    std::atomic<int> ended = 0;
    const std::string message = error_of(ErrorKind::input, [&] {
      run_on(ranks, [&](size_t rank) {
        if (rank == failing) throw input_error({}, "rank {} has no data", rank);
        try {
          ranks[rank]->barrier();
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::resource);
          ++ended;
          throw;
        }
      });
    });
    EXPECT_EQ(message, fmt::format("rank {} has no data", failing));
    EXPECT_EQ(ended, 2);
  }
}

TEST(RunOn, GivesOtherExceptionsAndErrorsOfResourcesToo) {
  const auto ranks = thread_ranks(2);
  EXPECT_THROW(run_on(ranks,
                      [](size_t rank) {
                        if (rank == 1) throw std::runtime_error("odd");
                      }),
               std::runtime_error);
  const auto others = thread_ranks(2);
  EXPECT_EQ(error_of(ErrorKind::resource,
                     [&] {
                       run_on(others, [&](size_t rank) {
                         if (rank == 1) throw resource_error("no memory");
                         others[rank]->barrier();
                       });
                     }),
            "no memory");
}

}  // namespace
}  // namespace graphc::core::testing
