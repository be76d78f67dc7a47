// SPDX-License-Identifier: Apache-2.0
// The communication thread of a rank: runs its collectives one after another, beside the work of
// other threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/ranks/ranks.h"

namespace graphc::core {

class Communicator {
 public:
  /// Throws ErrorKind::resource if the thread cannot be created.
  explicit Communicator(std::shared_ptr<Ranks> ranks);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  /// Waits for the operation that runs; drops the others.
  ~Communicator();

  /// The one of these ranks in this process.
  static std::shared_ptr<Communicator> of(const std::shared_ptr<Ranks>& ranks);

  using Operation = std::function<void(Ranks& ranks)>;
  /// Hands over an operation, which runs after all those before it. What it touches must stay until
  /// wait() has returned. The caller's thread is one at a time.
  void start(Operation operation);
  /// Waits for the first `count` operations since finish(), called from any number of threads.
  /// Rethrows the error of one of them.
  void wait(int64_t count);
  /// Waits for all operations, and counts from 0 again. Rethrows the error of one of them.
  void finish();
  /// Drops the operations that have not begun, waits for the one that runs, and counts from 0
  /// again.
  void abandon() noexcept;

 private:
  void run();
  /// Waits for done_, which counts as waiting of the rank.
  void wait_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& condition);

  const std::shared_ptr<Ranks> ranks_;
  std::mutex mutex_;
  std::condition_variable handed_over_, done_;
  std::deque<Operation> waiting_;
  bool running_ = false, stopping_ = false;
  int waiters_ = 0;
  int64_t started_ = 0, ended_ = 0;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace graphc::core
