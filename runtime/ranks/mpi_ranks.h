// SPDX-License-Identifier: Apache-2.0
// The processes of an MPI program as ranks.
//
// Ranks of one machine exchange through memory that they share (runtime/ranks/shared_exchange.h):
// MPI's messages would copy what they move twice, and keep a core busy while they wait.
//
// Between machines a sum is made of three parts, all of data movement but one: every rank sends
// each other rank that one's share of its values; adds up what it received, in a tree that depends
// on the number of ranks alone (runtime/ranks/tree.h); and all ranks gather the shares. MPI's own
// MPI_Allreduce may add in another order in every run, for another size, and in another version.
#pragma once

#include <optional>
#include <vector>

#include "runtime/ranks/mpi_module.h"
#include "runtime/ranks/ranks.h"
#include "runtime/ranks/shared_exchange.h"

namespace graphc::core {

/// Limits of single messages, and of shared memory.
struct MpiSizes {
  /// The most bytes of a rank in one call of the module.
  int64_t most = int64_t{1} << 22;
  /// Values of at most so many bytes, of all ranks together, are sent whole to every rank and added
  /// up by each: half as many messages.
  int64_t gathered = int64_t{1} << 15;
  /// The bytes of a piece that ranks of one machine exchange through memory, of which each has
  /// twice as much; 0 for messages.
  int64_t shared = int64_t{1} << 20;
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
  using Ranks::all_reduce;
  void all_reduce(std::span<const float> mine, std::span<float> sum) override { add(mine, sum); }
  void all_reduce(std::span<const double> mine, std::span<double> sum) override { add(mine, sum); }
  void all_reduce(std::span<const BFloat16> mine, std::span<BFloat16> sum) override {
    add(mine, sum);
  }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void broadcast(std::span<std::byte> values, int root) override;
  void barrier() override;
  [[noreturn]] void abort(std::string_view message, int status) override;

 private:
  void share_memory();
  template <typename Number>
  void add(std::span<const Number> mine, std::span<Number> sum);
  template <typename Number>
  void add_gathered(std::span<const Number> mine, std::span<Number> sum);
  template <typename Number>
  void add_shares(std::span<const Number> mine, std::span<Number> sum);
  /// Throws ErrorKind::resource if `said`, what a function of the module returned, is not null.
  void check(const char* said, std::string_view what) const;
  std::byte* room(std::vector<std::byte>& buffer, size_t bytes);

  const GraphcMpiModule& module_;
  MpiSizes sizes_;
  GraphcMpiWorld world_{};
  std::optional<SharedExchange> shared_;  ///< if all ranks are on one machine
  std::vector<std::byte> sent_, received_, share_;
};

/// The name and version in what an MPI library says of itself: "Open MPI v4.1.4".
std::string mpi_name(std::string_view library);

}  // namespace graphc::core
