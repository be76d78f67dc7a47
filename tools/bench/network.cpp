// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/network.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "ir/error.h"
#include "ir/op.h"
#include "ir/scan.h"
#include "ir/sent.h"
#include "runtime/ranks/mpi_ranks.h"

namespace graphc::core::bench {
namespace {

Network gigabits(std::string name, double latency_us, double gbit, std::string source) {
  return {std::move(name), latency_us * 1e-6, gbit * 1e9 / 8, std::move(source)};
}

const std::vector<Network>& networks() {
  static const std::vector<Network> all{
      gigabits("nvlink", 5, 3600,
               "NVLink 4 of an H100 SXM, 900 GB/s both ways together (NVIDIA's data sheet); "
               "5 us assumed for a step of NCCL"),
      gigabits("infiniband-ndr", 2, 400,
               "InfiniBand NDR, four lanes of 100 Gbit/s (IBTA roadmap); 2 us assumed"),
      gigabits("ethernet-100", 20, 100,
               "100 Gbit/s Ethernet (IEEE 802.3ba); 20 us assumed for TCP"),
      gigabits("shared-memory", 1, 40, "5 GB/s of a rank and 1 us assumed"),
      gigabits("ethernet-25", 25, 25, "25 Gbit/s Ethernet (IEEE 802.3by); 25 us assumed for TCP"),
  };
  return all;
}

/// "5:40" as two positive numbers; false for any other text.
bool parse_pair(std::string_view text, double& first, double& second) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const auto number = [](std::string_view word, double& value) {
    const char* end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, value);
    return error == std::errc() && rest == end && value > 0 && value < 1e9;
  };
  return number(text.substr(0, colon), first) && number(text.substr(colon + 1), second);
}

void collect(const Graph& graph, int64_t times, std::vector<Exchange>& exchanges) {
  for (const Node& node : graph.nodes()) {
    const bool sums = node.op.name == "all_reduce", gathers = node.op.name == "all_gather";
    double bytes = 0;
    for (const Value operand : node.operands) bytes += double(operand.type().bytes());
    // Of the terms of one value a rank sends the sum.
    if (sums) bytes /= double(node.attributes.get_int("terms", 1));
    if (sums && sent_as(node) == DType::bf16) bytes /= 2;
    if (sums || gathers) exchanges.insert(exchanges.end(), size_t(times), {sums, bytes});
    const int64_t steps = node.is(ops::scan) ? Scan(node).steps() : 1;
    for (const GraphPtr& region : node.regions) collect(*region, times * steps, exchanges);
  }
}

}  // namespace

std::span<const Network> all_networks() { return networks(); }

Network network_named(std::string_view text) {
  const auto found = std::ranges::find(networks(), text, &Network::name);
  if (found != networks().end()) return *found;
  double latency_us = 0, gbit = 0;
  if (parse_pair(text, latency_us, gbit))
    return gigabits(std::string(text), latency_us, gbit, "as given: microseconds, Gbit/s");
  std::vector<std::string> names;
  for (const Network& network : networks()) names.push_back(network.name);
  throw Error(ErrorKind::usage, {},
              fmt::format("--network: wanted {}, or a latency in microseconds and a bandwidth in "
                          "Gbit/s, such as 5:40: found '{}'",
                          fmt::join(names, ", "), text));
}

std::vector<Exchange> exchanges_of(const Graph& graph) {
  std::vector<Exchange> exchanges;
  collect(graph, 1, exchanges);
  return exchanges;
}

double seconds_of(std::span<const Exchange> exchanges, const Network& network, int ranks) {
  if (ranks == 1) return 0;
  const double others = ranks - 1, small = double(MpiSizes{}.gathered);
  double seconds = 0;
  for (const Exchange& exchange : exchanges) {
    const bool is_whole = !exchange.is_sum || exchange.bytes * ranks <= small;
    const double messages = is_whole ? others : 2 * others;
    const double sent = is_whole ? others * exchange.bytes : 2 * others / ranks * exchange.bytes;
    seconds += messages * network.latency_s + sent / network.bytes_per_s;
  }
  return seconds;
}

}  // namespace graphc::core::bench
