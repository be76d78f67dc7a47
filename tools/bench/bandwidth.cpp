// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bandwidth.h"

#include <fmt/format.h>

#include "tools/bench/environment.h"

namespace graphc::core::bench {

using Json = nlohmann::ordered_json;

MachineSpeed measure_machine(int threads, const CacheSizes& caches) {
  ThreadTeam team(threads);
  MachineSpeed speed;
  for (const WorkingSet& set : working_sets(caches, threads))
    speed.bandwidths.push_back({set, measure_read_bandwidth(team, set.bytes_of_thread)});
  speed.barrier_s = measure_barrier(team);
  return speed;
}

std::string table(const MachineSpeed& speed, bool markdown) {
  const char *before = markdown ? "| " : "", *after = markdown ? " |" : "";
  std::string text = fmt::format("{}{:<18} | {:>12} | {:>6}{}\n", before, "Read from",
                                 "A thread (kB)", "GB/s", after);
  if (markdown) text += "| --- | ---: | ---: |\n";
  for (const Bandwidth& each : speed.bandwidths) {
    text += fmt::format("{}{:<18} | {:>13} | {:>6.1f}{}\n", before, each.set.from,
                        each.set.bytes_of_thread / 1000, each.gb_per_s, after);
  }
  return text + fmt::format("\nA barrier of all threads takes {:.3g} us.\n", speed.barrier_s * 1e6);
}

Json to_json(const MachineSpeed& speed, int threads, const CacheSizes& caches) {
  Json rows = Json::array();
  for (const Bandwidth& each : speed.bandwidths) {
    rows.push_back({{"from", each.set.from},
                    {"bytes_of_thread", each.set.bytes_of_thread},
                    {"gb_per_s", each.gb_per_s}});
  }
  const bool assumed = caches.second_level == 0;
  Json sizes{{"second_level", assumed ? kAssumedSecondLevel : caches.second_level},
             {"second_level_assumed", assumed}};
  if (caches.shared > 0) sizes["shared"] = caches.shared;
  return {{"environment", environment()},
          {"threads", threads},
          {"caches", sizes},
          {"bandwidth", rows},
          {"barrier_us", speed.barrier_s * 1e6}};
}

}  // namespace graphc::core::bench
