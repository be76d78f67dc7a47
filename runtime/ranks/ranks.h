// SPDX-License-Identifier: Apache-2.0
// Ranks: the processes, or for tests the threads, that train one model together, and the collective
// operations between them. An engine implements them: MPI, or threads of one process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ir/stored.h"

// Where an installed graphc has its modules; of use to programs that link it.
#ifndef GRAPHC_MODULES
#define GRAPHC_MODULES nullptr
#endif

namespace graphc::core {

/// How the ranks of a training communicate. Every operation is collective: all ranks call the same
/// operations in the same order, with the same sizes, or the result is undefined (check_same()
/// detects it before a training begins). One thread at a time calls them. An operation throws
/// ErrorKind::resource, with the rank that failed as far as it is known, if another rank has ended.
class Ranks {
 public:
  virtual ~Ranks() = default;

  /// The ranks of this process's launcher (mpirun, srun): one rank where none started it. The first
  /// call starts MPI (runtime/ranks/launch.h), shares this machine's cores out among its ranks and
  /// binds the process to its own, so call it before anything that makes threads. The ranks end
  /// together: where one ends ten seconds before another, it ends them all, with an error. Throws
  /// ErrorKind::resource, with the reason, if a launcher started several processes and MPI cannot
  /// be used. `folder` is a folder to find the module graphc_mpi in.
  static std::shared_ptr<Ranks> world(const char* folder = GRAPHC_MODULES);

  /// This rank, 0 <= rank() < count().
  virtual int rank() const = 0;
  virtual int count() const = 0;
  /// This rank among those on the same machine, and their number.
  virtual int local_rank() const = 0;
  virtual int local_count() const = 0;
  /// What communicates, for people: "Open MPI 4.1.4", "threads".
  virtual std::string engine() const = 0;

  /// `sum` = the sum of `mine` over the ranks, element by element, in a tree that depends on
  /// count() alone: every rank gets the same bits in every run. With counts that are powers of two,
  /// the tree over 2 n ranks is that over n ranks whose values are sums of two neighbours. `sum`
  /// has the size of `mine`, and is the same memory or does not overlap it.
  virtual void all_reduce(std::span<const float> mine, std::span<float> sum) = 0;
  virtual void all_reduce(std::span<const double> mine, std::span<double> sum) = 0;
  /// The same of bf16: the tree is one of f32, and its sum is rounded.
  virtual void all_reduce(std::span<const BFloat16> mine, std::span<BFloat16> sum) = 0;
  /// In place.
  template <typename Number>
  void all_reduce(std::span<Number> values) {
    all_reduce(std::span<const Number>(values), values);
  }
  /// all[r * mine.size() ...] = `mine` of rank r. `all` has count() * mine.size() bytes.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  /// `values` of rank `root` on every rank.
  virtual void broadcast(std::span<std::byte> values, int root) = 0;
  /// Returns when every rank has called it.
  virtual void barrier() = 0;

  /// Measures how long a sum takes to begin, and how long its bytes take. Takes some milliseconds.
  void measure();
  /// The bytes that are summed in the time in which a sum begins, as rank 0 measured: smaller sums
  /// are better made together. The same on all ranks. 0: nothing was measured.
  int64_t bucket_bytes() const { return bucket_bytes_; }

  /// The seconds for which this rank's work has waited: in these operations, or for others that a
  /// communication thread runs beside it (runtime/ranks/communicator.h).
  double seconds() const { return seconds_; }
  /// Adds the time of its scope to seconds(), except in a communication thread.
  class Waiting {
   public:
    explicit Waiting(Ranks& ranks);
    ~Waiting();
    Waiting(const Waiting&) = delete;

   private:
    Ranks& ranks_;
    const double began_;
  };
  /// From now on this thread runs operations beside the rank's work.
  static void mark_communication_thread();

  /// Ends every rank with `status` as its exit code, after `message` on standard error. For errors
  /// of one rank alone, which the others would otherwise wait for.
  [[noreturn]] virtual void abort(std::string_view message, int status) = 0;

 private:
  std::atomic<double> seconds_ = 0;
  int64_t bucket_bytes_ = 0;
};

/// Throws ErrorKind::input, on every rank, if `value` is not the same on all ranks. The error names
/// `what`, the first rank that differs and both values.
void check_same(Ranks& ranks, std::string_view what, std::string_view value);

}  // namespace graphc::core
