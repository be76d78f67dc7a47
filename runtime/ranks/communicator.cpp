// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/communicator.h"

#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "ir/error.h"

namespace graphc::core {

std::shared_ptr<Communicator> Communicator::of(const std::shared_ptr<Ranks>& ranks) {
  static std::mutex mutex;
  static std::map<std::weak_ptr<Ranks>, std::weak_ptr<Communicator>, std::owner_less<>> all;
  std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& entry) { return entry.first.expired(); });
  std::weak_ptr<Communicator>& known = all[ranks];
  if (std::shared_ptr<Communicator> communicator = known.lock()) return communicator;
  auto communicator = std::make_shared<Communicator>(ranks);
  known = communicator;
  return communicator;
}

Communicator::Communicator(std::shared_ptr<Ranks> ranks) : ranks_(std::move(ranks)) {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    throw resource_error("cannot create the communication thread: {}", error.what());
  }
}

Communicator::~Communicator() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    waiting_.clear();
  }
  handed_over_.notify_all();
  thread_.join();
}

void Communicator::start(Operation operation) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(operation));
    ++started_;
  }
  handed_over_.notify_one();
}

void Communicator::wait(int64_t count) {
  std::unique_lock lock(mutex_);
  wait_until(lock, [&] { return ended_ >= count || error_ != nullptr; });
  if (error_ != nullptr) std::rethrow_exception(error_);
}

void Communicator::wait_until(std::unique_lock<std::mutex>& lock,
                              const std::function<bool()>& condition) {
  if (condition()) return;
  // Of threads that wait at once, the time of the first.
  std::optional<Ranks::Waiting> waiting;
  if (waiters_++ == 0) waiting.emplace(*ranks_);
  done_.wait(lock, condition);
  --waiters_;
}

void Communicator::finish() {
  std::unique_lock lock(mutex_);
  wait_until(lock, [&] { return (ended_ == started_ || error_ != nullptr) && !running_; });
  const std::exception_ptr error = std::exchange(error_, nullptr);
  waiting_.clear();
  started_ = ended_ = 0;
  if (error != nullptr) std::rethrow_exception(error);
}

void Communicator::abandon() noexcept {
  std::unique_lock lock(mutex_);
  waiting_.clear();
  done_.wait(lock, [&] { return !running_; });
  started_ = ended_ = 0;
  error_ = nullptr;
}

void Communicator::run() {
  Ranks::mark_communication_thread();
  std::unique_lock lock(mutex_);
  while (true) {
    handed_over_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    const Operation operation = std::move(waiting_.front());
    waiting_.pop_front();
    running_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      operation(*ranks_);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    running_ = false;
    ++ended_;
    // After an error the ranks are no longer at the same operation.
    if (error != nullptr) {
      waiting_.clear();
      if (error_ == nullptr) error_ = error;
    }
    done_.notify_all();
  }
}

}  // namespace graphc::core
