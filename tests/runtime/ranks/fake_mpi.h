// SPDX-License-Identifier: Apache-2.0
// A module in place of graphc_mpi whose ranks are threads of the test.
#pragma once

#include <barrier>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/ranks/mpi_module.h"

namespace graphc::core::testing {

/// The state that the threads of one run share.
struct FakeMpi {
  explicit FakeMpi(int ranks) : count(ranks), all_here(ranks), sent(size_t(ranks)) {}

  const int count;
  std::barrier<> all_here;
  std::vector<const void*> sent;  ///< what each rank passed to the current call
  int calls = 0;                  ///< of collectives, by rank 0
  int64_t longest = 0;            ///< bytes of a rank in one of them
  std::string fails;              ///< the function that says so
  int meetings = 0;               ///< of rank 0
  int late = -1;                  ///< the rank that leaves each meeting long after the others
  std::vector<std::byte> memory;  ///< what the ranks share

  static inline FakeMpi* current = nullptr;
  static inline thread_local int rank = 0;

  /// Where the part of a rank begins: at a multiple of 64.
  std::byte* part(int of, int64_t bytes) {
    const auto begin = reinterpret_cast<uintptr_t>(memory.data());
    return memory.data() + (64 - begin % 64) % 64 + of * bytes;
  }

  /// Every rank passes `mine`, and copies what it wants of all.
  static const char* exchange(const char* function, const void* mine, int64_t bytes,
                              const std::function<void()>& copy) {
    FakeMpi& fake = *current;
    if (fake.fails == function) return "MPI_ERR_OTHER: as the test wants";
    if (rank == 0) {
      ++fake.calls;
      fake.longest = std::max(fake.longest, bytes);
    }
    fake.sent[size_t(rank)] = mine;
    fake.all_here.arrive_and_wait();
    copy();
    fake.all_here.arrive_and_wait();
    return nullptr;
  }
};

inline const GraphcMpiModule fake_module{
    .version = kGraphcMpiVersion,
    .library = [] { return "Fake MPI v1.2, package: none\nmore"; },
    .start = [](GraphcMpiWorld* world) -> const char* {
      if (FakeMpi::current->fails == "start") return "MPI_ERR_OTHER: as the test wants";
      *world = {FakeMpi::rank, FakeMpi::current->count, FakeMpi::rank, FakeMpi::current->count, 0};
      return nullptr;
    },
    .all_to_all =
        [](const void* mine, void* received, int64_t bytes) {
          return FakeMpi::exchange("all_to_all", mine, bytes, [&] {
            for (int from = 0; from < FakeMpi::current->count; ++from) {
              std::memcpy(static_cast<char*>(received) + from * bytes,
                          static_cast<const char*>(FakeMpi::current->sent[size_t(from)]) +
                              FakeMpi::rank * bytes,
                          size_t(bytes));
            }
          });
        },
    .all_gather =
        [](const void* mine, void* all, int64_t bytes) {
          return FakeMpi::exchange("all_gather", mine, bytes, [&] {
            for (int from = 0; from < FakeMpi::current->count; ++from)
              std::memcpy(static_cast<char*>(all) + from * bytes,
                          FakeMpi::current->sent[size_t(from)], size_t(bytes));
          });
        },
    .broadcast =
        [](void* values, int64_t bytes, int root) {
          return FakeMpi::exchange("broadcast", values, bytes, [&] {
            const void* from = FakeMpi::current->sent[size_t(root)];
            if (from != values) std::memcpy(values, from, size_t(bytes));
          });
        },
    .barrier = [] { return FakeMpi::exchange("barrier", nullptr, 0, [] {}); },
    .share = [](int64_t bytes, void** parts) -> const char* {
      FakeMpi& fake = *FakeMpi::current;
      if (fake.fails == "share") return "MPI_ERR_NO_MEM: as the test wants";
      if (FakeMpi::rank == 0) fake.memory.resize(size_t(fake.count * bytes + 64));
      fake.all_here.arrive_and_wait();
      for (int of = 0; of < fake.count; ++of) parts[of] = fake.part(of, bytes);
      return nullptr;
    },
    .meet = []() -> const char* {
      if (FakeMpi::current->fails == "meet") return "MPI_ERR_OTHER: as the test wants";
      if (FakeMpi::rank == 0) ++FakeMpi::current->meetings;
      FakeMpi::current->all_here.arrive_and_wait();
      if (FakeMpi::rank == FakeMpi::current->late)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      return nullptr;
    },
    .finish = [](double) -> const char* { return nullptr; },
    .abort = [](int) {}};

/// Calls the function on a thread for each rank.
inline void on_ranks(FakeMpi& fake, const std::function<void(int rank)>& function) {
  FakeMpi::current = &fake;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < fake.count; ++rank) {
    threads.emplace_back([&, rank] {
      FakeMpi::rank = rank;
      function(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace graphc::core::testing
