// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/binding.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "runtime/ranks/agree.h"

namespace graphc::core {

Cores share_of_cores(std::span<const Cores> allowed, size_t rank) {
  const Cores& cores = allowed[rank];
  const auto same = [&](const Cores& other) { return other == cores; };
  const auto ranks = size_t(std::ranges::count_if(allowed, same));
  const auto place = size_t(std::ranges::count_if(allowed.first(rank), same));
  if (cores.empty()) return cores;
  if (ranks > cores.size()) return {cores[place % cores.size()]};
  const size_t begin = place * cores.size() / ranks, end = (place + 1) * cores.size() / ranks;
  return Cores(cores.begin() + long(begin), cores.begin() + long(end));
}

std::string to_text(const Cores& cores) {
  std::string text;
  for (const std::vector<int>& core : cores)
    text += fmt::format("{}{}", text.empty() ? "" : " ", fmt::join(core, "+"));
  return text;
}

Cores cores_in(std::string_view text) {
  Cores cores;
  bool same_core = false;
  for (const char *next = text.data(), *end = next + text.size(); next < end; ++next) {
    int cpu = 0;
    const auto [rest, error] = std::from_chars(next, end, cpu);
    GRAPHC_CHECK(error == std::errc(), "cores '{}'", text);
    if (!same_core) cores.emplace_back();
    cores.back().push_back(cpu);
    next = rest;
    same_core = next < end && *next == '+';
  }
  return cores;
}

void undo_default_binding(int local_count) {
  const bool is_open_mpi = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
  const bool is_slurm = std::getenv("SLURM_JOB_ID") != nullptr;
  if (is_open_mpi && !is_slurm && local_count <= 2 && allowed_cores().size() == 1) allow_all_cpus();
}

void bind_rank(MpiRanks& ranks) {
  undo_default_binding(ranks.local_count());
  const std::vector<std::string> texts =
      gather_texts(ranks, fmt::format("{}:{}", ranks.machine(), to_text(allowed_cores())));
  const std::string here = fmt::format("{}:", ranks.machine());
  std::vector<Cores> allowed;
  size_t place = 0;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    if (!texts[rank].starts_with(here)) continue;
    if (int(rank) == ranks.rank()) place = allowed.size();
    allowed.push_back(cores_in(std::string_view(texts[rank]).substr(here.size())));
  }
  run_on(share_of_cores(allowed, place));
  share_quota(ranks.local_count());
}

}  // namespace graphc::core
