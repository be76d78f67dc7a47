// SPDX-License-Identifier: Apache-2.0
// The processes of an MPI program as ranks.
//
// A sum is made of three parts, all of data movement but one: every rank sends each other rank that
// one's share of its values; adds up what it received, in a tree that depends on the number of
// ranks alone (runtime/ranks/tree.h); and all ranks gather the shares. MPI's own MPI_Allreduce may
// add in another order in every run, for another size, and in another version.
#pragma once

#include <vector>

#include "runtime/ranks/mpi_module.h"
#include "runtime/ranks/ranks.h"

namespace graphc::core {

/// Limits of single messages.
struct MpiSizes {
  /// The most bytes of a rank in one call of the module.
  int64_t most = int64_t{1} << 22;
  /// Values of at most so many bytes, of all ranks together, are sent whole to every rank and added
  /// up by each: half as many messages.
  int64_t gathered = int64_t{1} << 15;
};

class MpiRanks : public Ranks {
 public:
  /// Starts MPI with an opened module, which outlives the ranks. Throws ErrorKind::resource.
  explicit MpiRanks(const GraphcMpiModule& module, MpiSizes sizes = {});
  /// Waits up to ten seconds for the other ranks, then ends them.
  ~MpiRanks() override;

  int rank() const override { return world_.rank; }
  int count() const override { return world_.count; }
  int local_rank() const override { return world_.local_rank; }
  int local_count() const override { return world_.local_count; }
  /// The lowest rank on this machine.
  int machine() const { return world_.machine; }
  std::string engine() const override;
  void all_reduce(std::span<float> values) override { sum(values); }
  void all_reduce(std::span<double> values) override { sum(values); }
  void all_reduce(std::span<BFloat16> values) override { sum(values); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void broadcast(std::span<std::byte> values, int root) override;
  void barrier() override;
  double seconds() const override { return seconds_; }
  [[noreturn]] void abort(std::string_view message, int status) override;

 private:
  class Timed;
  template <typename Number>
  void sum(std::span<Number> values);
  template <typename Number>
  void sum_gathered(std::span<Number> values);
  template <typename Number>
  void sum_shares(std::span<Number> values);
  /// Throws ErrorKind::resource if `said`, what a function of the module returned, is not null.
  void check(const char* said, std::string_view what) const;
  std::byte* room(std::vector<std::byte>& buffer, size_t bytes);

  const GraphcMpiModule& module_;
  MpiSizes sizes_;
  GraphcMpiWorld world_{};
  double seconds_ = 0;
  std::vector<std::byte> sent_, received_, share_;
};

/// The name and version in what an MPI library says of itself: "Open MPI v4.1.4".
std::string mpi_name(std::string_view library);

}  // namespace graphc::core
