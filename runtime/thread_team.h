// SPDX-License-Identifier: Apache-2.0
// The thread team: every thread runs the same function and meets the others at barriers.
//
// A compiled step has a meeting every few microseconds, and waking a sleeping thread costs fifty:
// so threads are pinned, wait for each other by spinning, and sleep between runs alone, or when one
// keeps the others waiting for a millisecond. Where other programs use their CPUs, a small team's
// threads take turns on the caller's: every function still is called with the same numbers.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "runtime/crowding.h"
#include "runtime/fibers.h"

namespace graphc::core {

/// Where the functions of a step are called: each on a thread of its own; all on the caller's, in
/// turns; or `adaptive`, in turns where there is one CPU, and while other programs use those of a
/// team of up to four (runtime/crowding.h).
enum class TeamThreads : uint8_t { adaptive, own, in_turns };

/// A barrier as compiled code calls it: the team, and the calling thread's index.
using BarrierFunction = void (*)(void* team, int thread);

class ThreadTeam {
 public:
  /// A team of `threads`, at least 1: the caller of run() and `threads - 1` workers. Each thread
  /// gets a CPU of its own when the constructing thread may use that many; otherwise none is
  /// pinned. Throws ErrorKind::input for a count outside 1..4096, ErrorKind::resource when no
  /// thread can be made.
  explicit ThreadTeam(int threads, TeamThreads where = TeamThreads::adaptive);
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam();

  int size() const { return size_; }
  /// True when each worker is pinned to a CPU of its own, which leaves one for the caller.
  bool pinned() const { return !cpus_.empty(); }

  /// Calls `function(thread)` on every thread, 0 on the caller's, and returns when all have
  /// returned. The caller is moved to the CPU that no worker has; its affinity stays its own. If
  /// calls throw, the others are released from barriers, and the exception of the lowest thread is
  /// thrown here. Calls from several threads take turns, those on a team of one do not; a call from
  /// inside a run is a defect.
  template <typename Function>
  void run(Function&& function) {
    run_call(function, Meetings::few);
  }

  /// The same for functions that meet every few microseconds, need little stack (Fibers) and hold
  /// no lock at a barrier: they may all be called on the caller's thread, each from barrier to
  /// barrier in turn (TeamThreads).
  template <typename Function>
  void run_step(Function&& function) {
    run_call(function, Meetings::many);
  }

  /// Waits, inside a run, until every thread has called barrier() as often as this one. What a
  /// thread wrote before is seen by all after. If another thread has thrown, leaves the function by
  /// an exception that run() swallows.
  void barrier(int thread);

  /// The same for compiled code, which no exception may cross: returns at once after a throw, and
  /// the thread leaves at its next barrier(). `team` is a ThreadTeam.
  static void compiled_barrier(void* team, int thread) noexcept;

 private:
  using Call = void (*)(void* target, int thread);
  enum class Meetings : uint8_t { few, many };
  struct Aborted {};

  /// A counter alone on its cache lines (two: the hardware fetches pairs).
  struct alignas(128) Slot {
    std::atomic<uint64_t> generation{0};
  };
  struct alignas(128) Member {
    // Only its own thread touches these during a run.
    uint64_t generation = 0;  ///< barriers passed
    double lost = 0;          ///< seconds that other programs had of its yields
    std::exception_ptr exception;
  };

  template <typename Function>
  void run_call(Function& function, Meetings meetings) {
    run_call([](void* target, int thread) { (*static_cast<Function*>(target))(thread); },
             const_cast<void*>(static_cast<const void*>(std::addressof(function))), meetings);
  }
  void run_call(Call call, void* target, Meetings meetings);
  /// On threads of their own. Returns the seconds that other programs had of their yields.
  double run_together();
  /// False when there is no memory for the stacks that it takes.
  bool run_in_turns();
  bool wants_turns() const;
  void rethrow();
  void execute(int thread) noexcept;
  void work(int thread) noexcept;
  uint32_t wait_for_run(uint32_t seen);
  bool meet(int thread);
  template <typename Ready>
  void spin_until(int thread, Ready ready);
  void start_workers();
  void stop_workers();
  void reset_barriers();

  const int size_;
  TeamThreads where_;
  int rounds_ = 0;  ///< of the barrier: log2 of the size, rounded up
  std::vector<int> cpus_;
  std::unique_ptr<Slot[]> slots_;  ///< [round][thread]
  std::unique_ptr<Member[]> members_;
  std::vector<std::thread> workers_;

  std::mutex running_;
  Call call_ = nullptr;
  void* target_ = nullptr;
  bool stopping_ = false;
  Crowding crowding_;
  std::unique_ptr<Fibers> fibers_;               ///< made when they are first wanted
  bool in_turns_ = false;                        ///< the run that is going on
  alignas(128) std::atomic<uint32_t> epoch_{0};  ///< runs begun; workers wait for it to change
  alignas(128) std::atomic<int> remaining_{0};   ///< workers that have not finished this run
  alignas(128) std::atomic<bool> aborted_{false};
};

}  // namespace graphc::core
