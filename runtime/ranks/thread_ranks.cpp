// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/thread_ranks.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "ir/error.h"
#include "runtime/ranks/tree.h"

namespace graphc::core {
namespace {

/// Where the ranks meet. What an operation reads of others lies in their callers' memory, which
/// stays theirs until all have met again.
class Meeting {
 public:
  explicit Meeting(int count) : offers(size_t(count)), count_(count) {}

  struct Offer {
    std::string what;  ///< the operation and its size, the same on all ranks
    const void* data = nullptr;
  };
  std::vector<Offer> offers;  ///< by rank; read between two meetings

  /// Returns when all ranks have come. Throws if one has aborted.
  void meet() {
    std::unique_lock lock(mutex_);
    check();
    const uint64_t own = generation_;
    if (++present_ == count_) {
      present_ = 0;
      ++generation_;
      all_there_.notify_all();
      return;
    }
    all_there_.wait(lock, [&] { return generation_ != own || aborted_; });
    if (generation_ == own) check();
  }

  void abort(const std::string& message) {
    std::lock_guard lock(mutex_);
    if (!aborted_) aborted_ = message;
    all_there_.notify_all();
  }

 private:
  void check() const {
    if (aborted_) throw resource_error("{}", *aborted_);
  }

  const int count_;
  std::mutex mutex_;
  std::condition_variable all_there_;
  int present_ = 0;
  uint64_t generation_ = 0;
  std::optional<std::string> aborted_;
};

class ThreadRank : public Ranks {
 public:
  ThreadRank(std::shared_ptr<Meeting> meeting, int rank, int count)
      : meeting_(std::move(meeting)), rank_(rank), count_(count) {}

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  int local_rank() const override { return rank_; }
  int local_count() const override { return count_; }
  std::string engine() const override { return "threads"; }

  using Ranks::all_reduce;
  void all_reduce(std::span<const float> mine, std::span<float> sum) override {
    reduce(mine, sum, "all_reduce of f32");
  }
  void all_reduce(std::span<const double> mine, std::span<double> sum) override {
    reduce(mine, sum, "all_reduce of f64");
  }
  void all_reduce(std::span<const BFloat16> mine, std::span<BFloat16> sum) override {
    reduce(mine, sum, "all_reduce of bf16");
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    GRAPHC_CHECK(all.size() == mine.size() * size_t(count_), "all_gather of {} bytes into {}",
                 mine.size(), all.size());
    offer(fmt::format("all_gather of {} bytes", mine.size()), mine.data());
    for (size_t r = 0; r < size_t(count_) && !mine.empty(); ++r)
      std::memcpy(all.data() + r * mine.size(), meeting_->offers[r].data, mine.size());
    meeting_->meet();
  }

  void broadcast(std::span<std::byte> values, int root) override {
    offer(fmt::format("broadcast of {} bytes from rank {}", values.size(), root), values.data());
    if (rank_ != root && !values.empty())
      std::memcpy(values.data(), meeting_->offers[size_t(root)].data, values.size());
    meeting_->meet();
  }

  void barrier() override {
    offer("barrier", nullptr);
    meeting_->meet();
  }

  [[noreturn]] void abort(std::string_view message, int) override {
    meeting_->abort(std::string(message));
    throw resource_error("{}", message);
  }

 private:
  /// Shows the others what this rank has, and finds what they have.
  void offer(std::string what, const void* data) {
    meeting_->offers[size_t(rank_)] = {std::move(what), data};
    meeting_->meet();
    for (size_t r = 0; r < size_t(count_); ++r) {
      const std::string &own = meeting_->offers[size_t(rank_)].what,
                        &other = meeting_->offers[r].what;
      GRAPHC_CHECK(own == other, "rank {} does {}, rank {} does {}", rank_, own, r, other);
    }
  }

  template <typename Number>
  void reduce(std::span<const Number> mine, std::span<Number> to, std::string_view what) {
    offer(fmt::format("{} elements, {}", mine.size(), what), mine.data());
    std::vector<const Number*> parts;
    for (const Meeting::Offer& each : meeting_->offers)
      parts.push_back(static_cast<const Number*>(each.data));
    sum_.resize(mine.size() * sizeof(Number));
    const std::span sum(reinterpret_cast<Number*>(sum_.data()), mine.size());
    sum_parts(parts, sum);
    meeting_->meet();
    std::ranges::copy(sum, to.begin());
  }

  std::shared_ptr<Meeting> meeting_;
  const int rank_, count_;
  std::vector<std::byte> sum_;
};

}  // namespace

std::vector<std::shared_ptr<Ranks>> thread_ranks(int count) {
  GRAPHC_CHECK(count >= 1, "{} ranks", count);
  const auto meeting = std::make_shared<Meeting>(count);
  std::vector<std::shared_ptr<Ranks>> ranks;
  for (int r = 0; r < count; ++r) ranks.push_back(std::make_shared<ThreadRank>(meeting, r, count));
  return ranks;
}

void run_on(std::span<const std::shared_ptr<Ranks>> ranks,
            const std::function<void(size_t rank)>& function) {
  std::vector<std::exception_ptr> errors(ranks.size());
  const auto end_others = [&](size_t rank, std::string_view message) {
    errors[rank] = std::current_exception();
    try {
      ranks[rank]->abort(message, 1);
    } catch (const Error&) {
      // They no longer wait.
    }
  };
  const auto run_one = [&](size_t rank) {
    try {
      function(rank);
    } catch (const Error& error) {
      end_others(rank, error.message());
    } catch (const std::exception& error) {
      end_others(rank, error.what());
    }
  };
  std::vector<std::thread> others;
  for (size_t rank = 1; rank < ranks.size(); ++rank) others.emplace_back(run_one, rank);
  run_one(0);
  for (std::thread& thread : others) thread.join();
  for (const bool own : {true, false}) {
    for (const std::exception_ptr& error : errors) {
      if (error == nullptr) continue;
      try {
        std::rethrow_exception(error);
      } catch (const Error& each) {
        if (!own || each.kind() != ErrorKind::resource) throw;
      }
    }
  }
}

}  // namespace graphc::core
