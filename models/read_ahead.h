// SPDX-License-Identifier: Apache-2.0
// Prefetching: a separate thread prepares the inputs of the next steps while the current step runs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "ir/error.h"
#include "models/program.h"
#include "runtime/clock.h"

namespace graphc::core {

/// Calls a function repeatedly on a separate thread and returns its results in order; the thread is
/// at most a few calls ahead.
template <typename Item>
class ReadAhead {
 public:
  struct Read {
    Item item;
    TimeSpan made;  ///< when it was made
  };

  /// Starts at once. `make` returns nothing at the end; it must not share what it writes. At most
  /// `ahead` items wait to be taken. Throws ErrorKind::resource if the system cannot create a
  /// thread.
  explicit ReadAhead(std::function<std::optional<Item>()> make, int64_t ahead = 2)
      : make_(std::move(make)), ahead_(ahead) {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error& error) {
      throw resource_error("no thread to read ahead with: {}", error.code().message());
    }
  }
  ReadAhead(const ReadAhead&) = delete;
  /// Waits for the running call of `make`.
  ~ReadAhead() {
    {
      const std::lock_guard lock(mutex_);
      wanted_ = false;
    }
    changed_.notify_all();
    thread_.join();
  }

  /// The item that next() will return, or null at the end; waits until it is made. Throws what
  /// `make` threw in its place.
  const Item* front() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !queue_.empty() || ended_; });
    if (!queue_.empty()) return &queue_.front().item;
    if (error_) std::rethrow_exception(error_);
    return nullptr;
  }
  /// Removes the front item. There must be one.
  Read next() {
    GRAPHC_CHECK(front() != nullptr, "there is no item left to read ahead");
    const std::lock_guard lock(mutex_);
    Read read = std::move(queue_.front());
    queue_.pop_front();
    changed_.notify_all();
    return read;
  }

 private:
  void work() {
    try {
      while (has_room()) {
        const double began = steady_seconds();
        std::optional<Item> item = make_();
        if (!item) break;
        const std::lock_guard lock(mutex_);
        queue_.push_back({std::move(*item), {began, steady_seconds()}});
        changed_.notify_all();
      }
    } catch (...) {
      error_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  /// Waits for room; returns false if no more items are wanted.
  bool has_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !wanted_ || int64_t(queue_.size()) < ahead_; });
    return wanted_;
  }

  const std::function<std::optional<Item>()> make_;
  const int64_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Read> queue_;
  bool wanted_ = true, ended_ = false;
  std::exception_ptr error_;
  std::thread thread_;  ///< last: it uses the others
};

}  // namespace graphc::core
