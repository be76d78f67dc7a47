// SPDX-License-Identifier: Apache-2.0
// The thread team: pinned workers, a dissemination barrier, exceptions propagated to the caller.
//
// In round k of a barrier, thread i signals thread i + 2^k and waits for the signal of thread i -
// 2^k. After log2(n) rounds each has heard from all; for two threads it is one store and one load.
// Each slot has one writer and only counts up, so nothing is reset between barriers.
#include "runtime/thread_team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <array>
#include <bit>
#include <chrono>
#include <system_error>
#include <utility>

#include "ir/error.h"
#include "runtime/clock.h"
#include "runtime/cores.h"

namespace graphc::core {
namespace {

/// Pause instructions before a waiting thread yields its CPU: 20 to 100 microseconds, longer than
/// any wait in a balanced step. Threads that share CPUs yield sooner.
constexpr int kPausesPinned = 2000;
constexpr int kPausesShared = 20;
/// How long it then yields before it sleeps, and for how long it sleeps at a time. No barrier of a
/// step waits so long; threads without a kernel left to compile do, and threads whose CPUs are
/// taken by other programs.
constexpr double kSecondsOffered = 1e-3;
constexpr std::chrono::microseconds kNap{50};
/// How long a worker spins for the next run before it sleeps.
constexpr double kSecondsBeforeSleep = 100e-6;

/// Larger teams never take turns because of other programs: one thread in place of many would be
/// slower than many disturbed ones.
constexpr int kMostInTurns = 4;

/// The runtime whose threads run steps.
std::atomic<const OpenMp*> openmp{nullptr};

/// The team that the calling thread is running for.
thread_local const ThreadTeam* current_team = nullptr;

/// Marks the calling thread as inside a run of a team.
class Inside {
 public:
  explicit Inside(const ThreadTeam* team) : outer_(std::exchange(current_team, team)) {}
  ~Inside() { current_team = outer_; }
  Inside(const Inside&) = delete;

 private:
  const ThreadTeam* outer_;
};

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// A mask for up to 8192 CPUs; sched.h's own is limited to 1024.
struct CpuMask {
  std::array<unsigned long, 128> words{};

  size_t size() const { return sizeof(words); }
  cpu_set_t* set() { return reinterpret_cast<cpu_set_t*>(words.data()); }
  static CpuMask of(int cpu) {
    CpuMask mask;
    CPU_SET_S(size_t(cpu), mask.size(), mask.set());
    return mask;
  }
};

/// Moves the calling thread to `cpu` unless it is there; does not change its affinity. The
/// scheduler has no reason to migrate it to a CPU where a pinned worker runs. Setting the affinity
/// for each run would cost four microseconds; this costs nothing if the thread stays.
void move_to(int cpu) {
  if (sched_getcpu() == cpu) return;
  CpuMask before, there = CpuMask::of(cpu);
  if (sched_getaffinity(0, before.size(), before.set()) < 0) return;
  if (sched_setaffinity(0, there.size(), there.set()) == 0) {
    sched_setaffinity(0, before.size(), before.set());
  }
}

/// Blocks signals in the calling thread, and so in threads created meanwhile: a program's handlers
/// then run on its own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

int checked_size(int threads) {
  if (threads < 1 || threads > 4096) {
    throw input_error({}, "a team has 1 to 4096 threads: found {}", threads);
  }
  return threads;
}

}  // namespace

ThreadTeam::ThreadTeam(int threads, TeamThreads where)
    : size_(checked_size(threads)),
      where_(where),
      rounds_(std::bit_width(unsigned(size_) - 1)),
      slots_(std::make_unique<Slot[]>(size_t(rounds_) * size_t(size_))),
      members_(std::make_unique<Member[]>(size_t(size_))) {
  if (size_ == 1) return;
  cpus_ = allowed_cpus();
  if (where_ == TeamThreads::adaptive && cpus_.size() == 1) where_ = TeamThreads::in_turns;
  if (cpus_.size() < size_t(size_)) cpus_.clear();
  try {
    start_workers();
  } catch (const std::system_error& error) {
    const size_t made = workers_.size();
    stop_workers();
    throw resource_error("cannot make a team of {} threads, only {}: {}", size_, made + 1,
                         error.code().message());
  } catch (...) {
    stop_workers();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { stop_workers(); }

void ThreadTeam::start_workers() {
  const SignalsBlocked blocked;
  workers_.reserve(size_t(size_ - 1));
  for (int thread = 1; thread < size_; ++thread) {
    workers_.emplace_back([this, thread] { work(thread); });
    if (cpus_.empty()) continue;
    // Pin before the first run, so that two spinning threads never share a CPU.
    CpuMask mask = CpuMask::of(cpus_[size_t(thread)]);
    const int error =
        pthread_setaffinity_np(workers_.back().native_handle(), mask.size(), mask.set());
    if (error != 0) throw std::system_error(error, std::generic_category());
  }
}

void ThreadTeam::stop_workers() {
  stopping_ = true;
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadTeam::reset_barriers() {
  for (int i = 0; i < rounds_ * size_; ++i) {
    slots_[size_t(i)].generation.store(0, std::memory_order_relaxed);
  }
  for (int i = 0; i < size_; ++i) members_[size_t(i)].generation = 0;
  aborted_.store(false, std::memory_order_relaxed);
}

void ThreadTeam::run_call(Call call, void* target, Barriers barriers) {
  GRAPHC_CHECK(current_team != this, "a run inside a run of the same team");
  if (size_ == 1) {
    // Nothing to synchronise or share: callers of a team of one run concurrently.
    const Inside inside(this);
    call(target, 0);
    return;
  }
  std::lock_guard lock(running_);
  call_ = call;
  target_ = target;
  if (barriers == Barriers::few) {
    run_together(barriers);
  } else if (!wants_turns() || !run_in_turns()) {
    const double begin = steady_seconds();
    const double lost = run_together(barriers);
    const double end = steady_seconds();
    // Unpinned threads may yield to each other, so their yields prove nothing.
    if (pinned() && size_ <= kMostInTurns) crowding_.ran_together(end, end - begin, lost);
  }
  if (aborted_.load(std::memory_order_relaxed)) rethrow();
}

bool ThreadTeam::wants_turns() const {
  return where_ == TeamThreads::in_turns || (where_ == TeamThreads::adaptive && crowding_.alone());
}

bool ThreadTeam::run_in_turns() {
  try {
    if (!fibers_) fibers_ = std::make_unique<Fibers>(size_);
  } catch (const std::bad_alloc&) {
    return false;
  }
  in_turns_ = true;
  {
    const Inside inside(this);
    fibers_->run([](void* team, int thread) { static_cast<ThreadTeam*>(team)->execute(thread); },
                 this);
  }
  in_turns_ = false;
  crowding_.ran_alone(steady_seconds());
  return true;
}

void ThreadTeam::use_threads_of(const OpenMp* runtime) {
  openmp.store(runtime, std::memory_order_release);
}

double ThreadTeam::run_together(Barriers barriers) {
  if (barriers == Barriers::few || !run_on_openmp()) run_on_workers();
  double lost = 0;
  for (int thread = 0; thread < size_; ++thread)
    lost += std::exchange(members_[size_t(thread)].lost, 0);
  return lost;
}

bool ThreadTeam::run_on_openmp() {
  const OpenMp* const runtime = openmp.load(std::memory_order_acquire);
  if (runtime == nullptr || runtime->threads() != size_) return false;
  return runtime->run(
      size_,
      [](void* target, int thread) {
        auto* const team = static_cast<ThreadTeam*>(target);
        const Inside inside(team);
        team->execute(thread);
        // The runtime would spin for the others, rather than yield to them.
        team->meet(thread);
      },
      this);
}

void ThreadTeam::run_on_workers() {
  if (pinned()) move_to(cpus_[0]);
  remaining_.store(size_ - 1, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  {
    const Inside inside(this);
    execute(0);
  }
  spin_until(0, [&] { return remaining_.load(std::memory_order_acquire) == 0; });
}

void ThreadTeam::rethrow() {
  std::exception_ptr failure;
  for (int thread = size_ - 1; thread >= 0; --thread) {
    const auto exception = std::exchange(members_[size_t(thread)].exception, nullptr);
    if (exception) failure = exception;
  }
  reset_barriers();
  std::rethrow_exception(failure);
}

void ThreadTeam::execute(int thread) noexcept {
  try {
    call_(target_, thread);
  } catch (const Aborted&) {
    // Another thread threw first; its exception is reported.
  } catch (...) {
    members_[size_t(thread)].exception = std::current_exception();
    aborted_.store(true, std::memory_order_release);
  }
}

void ThreadTeam::work(int thread) noexcept {
  current_team = this;
  for (uint32_t seen = 0;;) {
    seen = wait_for_run(seen);
    if (stopping_) return;
    execute(thread);
    remaining_.fetch_sub(1, std::memory_order_release);
  }
}

uint32_t ThreadTeam::wait_for_run(uint32_t seen) {
  const double deadline = steady_seconds() + (pinned() ? kSecondsBeforeSleep : 0);
  while (steady_seconds() < deadline) {
    for (int i = 0; i < 32; ++i) {
      if (epoch_.load(std::memory_order_acquire) != seen) return seen + 1;
      pause_briefly();
    }
  }
  epoch_.wait(seen, std::memory_order_acquire);
  return seen + 1;
}

template <typename Ready>
void ThreadTeam::spin_until(int thread, Ready ready) {
  for (int i = pinned() ? kPausesPinned : kPausesShared; i > 0; --i) {
    if (ready()) return;
    pause_briefly();
  }
  double now = steady_seconds();
  const double deadline = now + kSecondsOffered;
  while (!ready()) {
    if (now >= deadline) {
      std::this_thread::sleep_for(kNap);
      continue;
    }
    sched_yield();
    const double before = std::exchange(now, steady_seconds());
    if (now - before > Crowding::kSlice) members_[size_t(thread)].lost += now - before;
  }
}

bool ThreadTeam::meet(int thread) {
  if (size_ == 1) return true;
  if (in_turns_) {
    // The others reach this barrier before this call's turn comes again.
    if (!aborted_.load(std::memory_order_relaxed)) fibers_->pass();
    return !aborted_.load(std::memory_order_relaxed);
  }
  const uint64_t generation = ++members_[size_t(thread)].generation;
  for (int round = 0, distance = 1; round < rounds_; ++round, distance *= 2) {
    Slot* slots = &slots_[size_t(round) * size_t(size_)];
    slots[(thread + distance) % size_].generation.store(generation, std::memory_order_release);
    const std::atomic<uint64_t>& mine = slots[thread].generation;
    spin_until(thread, [&] {
      return mine.load(std::memory_order_acquire) >= generation ||
             aborted_.load(std::memory_order_relaxed);
    });
    if (aborted_.load(std::memory_order_acquire)) return false;
  }
  return true;
}

void ThreadTeam::barrier(int thread) {
  if (!meet(thread)) throw Aborted{};
}

void ThreadTeam::compiled_barrier(void* team, int thread) noexcept {
  static_cast<ThreadTeam*>(team)->meet(thread);
}

}  // namespace graphc::core
