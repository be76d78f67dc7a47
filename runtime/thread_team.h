// SPDX-License-Identifier: Apache-2.0
// The thread team: every thread runs the same function and meets the others at barriers.
//
// A compiled step has a meeting every few microseconds, and waking a sleeping thread costs fifty:
// so threads are pinned, wait for each other by spinning, and sleep between runs alone, or when one
// keeps the others waiting for a millisecond.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace graphc {

/// A barrier as compiled code calls it: the team, and the calling thread's index.
using BarrierFunction = void (*)(void* team, int thread);

class ThreadTeam {
 public:
  /// A team of `threads`, at least 1: the caller of run() and `threads - 1` workers. Each thread
  /// gets a CPU of its own when the constructing thread may use that many; otherwise none is
  /// pinned. Throws ErrorKind::input for a count outside 1..4096, ErrorKind::resource when no
  /// thread can be made.
  explicit ThreadTeam(int threads);
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
    using Callee = std::remove_reference_t<Function>;
    run_call([](void* target, int thread) { (*static_cast<Callee*>(target))(thread); },
             const_cast<void*>(static_cast<const void*>(std::addressof(function))));
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
  struct Aborted {};

  /// A counter alone on its cache lines (two: the hardware fetches pairs).
  struct alignas(128) Slot {
    std::atomic<uint64_t> generation{0};
  };
  struct alignas(128) Member {
    uint64_t generation = 0;  ///< barriers passed; only its own thread touches it during a run
    std::exception_ptr exception;
  };

  void run_call(Call call, void* target);
  void execute(int thread) noexcept;
  void work(int thread) noexcept;
  uint32_t wait_for_run(uint32_t seen);
  bool meet(int thread);
  template <typename Ready>
  void spin_until(Ready ready) const;
  void start_workers();
  void stop_workers();
  void reset_barriers();

  const int size_;
  int rounds_ = 0;  ///< of the barrier: log2 of the size, rounded up
  std::vector<int> cpus_;
  std::unique_ptr<Slot[]> slots_;  ///< [round][thread]
  std::unique_ptr<Member[]> members_;
  std::vector<std::thread> workers_;

  std::mutex running_;
  Call call_ = nullptr;
  void* target_ = nullptr;
  bool stopping_ = false;
  alignas(128) std::atomic<uint32_t> epoch_{0};  ///< runs begun; workers wait for it to change
  alignas(128) std::atomic<int> remaining_{0};   ///< workers that have not finished this run
  alignas(128) std::atomic<bool> aborted_{false};
};

}  // namespace graphc
