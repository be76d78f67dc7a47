// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bandwidth.h"

#include <fmt/format.h>

#include "tools/bench/environment.h"

namespace graphc::bench {

using Json = nlohmann::ordered_json;

std::vector<Bandwidth> measure_bandwidths(int threads, const CacheSizes& caches) {
  ThreadTeam team(threads);
  std::vector<Bandwidth> all;
  for (const WorkingSet& set : working_sets(caches, threads))
    all.push_back({set, measure_read_bandwidth(team, set.bytes_of_thread)});
  return all;
}

std::string table(std::span<const Bandwidth> all, bool markdown) {
  const char *before = markdown ? "| " : "", *after = markdown ? " |" : "";
  std::string text = fmt::format("{}{:<18} | {:>12} | {:>6}{}\n", before, "Read from",
                                 "A thread (kB)", "GB/s", after);
  if (markdown) text += "| --- | ---: | ---: |\n";
  for (const Bandwidth& each : all) {
    text += fmt::format("{}{:<18} | {:>13} | {:>6.1f}{}\n", before, each.set.from,
                        each.set.bytes_of_thread / 1000, each.gb_per_s, after);
  }
  return text;
}

Json to_json(std::span<const Bandwidth> all, int threads, const CacheSizes& caches) {
  Json rows = Json::array();
  for (const Bandwidth& each : all) {
    rows.push_back({{"from", each.set.from},
                    {"bytes_of_thread", each.set.bytes_of_thread},
                    {"gb_per_s", each.gb_per_s}});
  }
  const bool assumed = caches.second_level == 0;
  Json sizes{{"second_level", assumed ? kAssumedSecondLevel : caches.second_level},
             {"second_level_assumed", assumed}};
  if (caches.shared > 0) sizes["shared"] = caches.shared;
  return {
      {"environment", environment()}, {"threads", threads}, {"caches", sizes}, {"bandwidth", rows}};
}

}  // namespace graphc::bench
