// SPDX-License-Identifier: Apache-2.0
// The thread team: all threads run the same function and synchronise at barriers.
//
// A compiled step has a barrier every few microseconds, and waking a sleeping thread takes fifty.
// So threads are pinned, wait by spinning, and sleep only between runs or when one thread keeps the
// others waiting for a millisecond. If other programs use the CPUs, the threads of a small team
// take turns on the caller's thread: every function is still called with the same indices. In a
// program with threads of OpenMP, steps can run on those (use_threads_of()).
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
#include "runtime/openmp.h"

namespace graphc::core {

/// Where the functions of a step run: each on its own thread; all on the caller's thread, in turns;
/// or `adaptive`: in turns if there is one CPU, and while other programs use the CPUs of a team of
/// up to four (runtime/crowding.h).
enum class TeamThreads : uint8_t { adaptive, own, in_turns };

/// A barrier as called by compiled code: the team, and the calling thread's index.
using BarrierFunction = void (*)(void* team, int thread);

class ThreadTeam {
 public:
  /// A team of `threads`, at least 1: the caller of run() and `threads - 1` workers. Threads are
  /// pinned to distinct CPUs if the constructing thread may use that many; otherwise none is
  /// pinned. Throws ErrorKind::input for a count outside 1..4096, ErrorKind::resource if a thread
  /// cannot be created.
  explicit ThreadTeam(int threads, TeamThreads where = TeamThreads::adaptive);
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam();

  int size() const { return size_; }
  /// Whether each worker is pinned to its own CPU, leaving one for the caller.
  bool pinned() const { return !cpus_.empty(); }

  /// Calls `function(thread)` on every thread, 0 on the caller's, and returns when all have
  /// returned. Moves the caller to the CPU without a worker, but does not change its affinity. If a
  /// call throws, the others are released from barriers, and the exception of the lowest thread is
  /// rethrown here. Concurrent calls on a team of several threads are serialised; on a team of one
  /// they are not. A call from inside a run is a defect.
  template <typename Function>
  void run(Function&& function) {
    run_call(function, Barriers::few);
  }

  /// The same for functions with a barrier every few microseconds that need little stack (Fibers)
  /// and hold no lock at a barrier: they may all be called on the caller's thread, taking turns at
  /// barriers (TeamThreads).
  template <typename Function>
  void run_step(Function&& function) {
    run_call(function, Barriers::many);
  }

  /// From now on, steps of all teams of the process run on the threads of this runtime where it has
  /// as many for the calling thread as the team; others run as before, and all with nullptr. The
  /// runtime outlives its use. Any thread may call it, while none runs a step.
  static void use_threads_of(const OpenMp* runtime);

  /// Inside a run, waits until every thread has called barrier() as many times as this one. Writes
  /// before it are visible after it on all threads. If another thread has thrown, it leaves the
  /// function by an exception that run() handles.
  void barrier(int thread);

  /// The same for compiled code, through which exceptions cannot propagate: returns at once after a
  /// throw, and the thread leaves at its next barrier(). `team` is a ThreadTeam.
  static void compiled_barrier(void* team, int thread) noexcept;

 private:
  using Call = void (*)(void* target, int thread);
  enum class Barriers : uint8_t { few, many };
  struct Aborted {};

  /// A counter alone on its cache lines (two: the hardware prefetches pairs).
  struct alignas(128) Slot {
    std::atomic<uint64_t> generation{0};
  };
  struct alignas(128) Member {
    // During a run only the owning thread accesses these.
    uint64_t generation = 0;  ///< barriers passed
    double lost = 0;          ///< seconds of its yields used by other programs
    std::exception_ptr exception;
  };

  template <typename Function>
  void run_call(Function& function, Barriers barriers) {
    run_call([](void* target, int thread) { (*static_cast<Function*>(target))(thread); },
             const_cast<void*>(static_cast<const void*>(std::addressof(function))), barriers);
  }
  void run_call(Call call, void* target, Barriers barriers);
  /// Runs on separate threads. Returns the seconds of their yields used by other programs.
  double run_together(Barriers barriers);
  void run_on_workers();
  /// Returns false if the process has no threads of OpenMP that fit.
  bool run_on_openmp();
  /// Returns false if there is no memory for the stacks.
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
  std::unique_ptr<Fibers> fibers_;               ///< created on first use
  bool in_turns_ = false;                        ///< the current run
  alignas(128) std::atomic<uint32_t> epoch_{0};  ///< runs begun; workers wait for a change
  alignas(128) std::atomic<int> remaining_{0};   ///< workers that have not finished this run
  alignas(128) std::atomic<bool> aborted_{false};
};

}  // namespace graphc::core
