// SPDX-License-Identifier: Apache-2.0
// What an exchange between ranks takes, by a model of a network: each message has a latency, and
// each rank sends and receives with a bandwidth, whatever the others do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace graphc::core::bench {

struct Network {
  std::string name;
  double latency_s = 0;    ///< of a message
  double bytes_per_s = 0;  ///< of a rank, in each direction
  std::string source;      ///< where the numbers are from
};

/// Known networks, the slowest last.
std::span<const Network> all_networks();
/// A known network by its name, or "LATENCY:BANDWIDTH" in microseconds and Gbit/s: "5:40". Throws
/// ErrorKind::usage.
Network network_named(std::string_view text);

/// An operation between ranks in a step.
struct Exchange {
  bool is_sum = true;  ///< or the gathering of each rank's values
  double bytes = 0;    ///< of a rank's operands

  bool operator==(const Exchange&) const = default;
};

/// The exchanges of a graph that `replicate` made, those in loops once for each step.
std::vector<Exchange> exchanges_of(const Graph& graph);

/// The seconds of exchanges, one after another, as runtime/ranks/mpi_ranks.h makes them: each rank
/// sends n - 1 messages for a gathering, and twice as many for a sum that is not small.
double seconds_of(std::span<const Exchange> exchanges, const Network& network, int ranks);

}  // namespace graphc::core::bench
