// SPDX-License-Identifier: Apache-2.0
// Ranks::world(): the ranks of the launcher that started this process.
#include <mutex>

#include "ir/error.h"
#include "runtime/cores.h"
#include "runtime/ranks/binding.h"
#include "runtime/ranks/launch.h"
#include "runtime/ranks/mpi_ranks.h"
#include "runtime/ranks/one_rank.h"

namespace graphc::core {
namespace {

/// Opens the module, or throws.
const GraphcMpiModule& module_for(const Launch& launch, const char* folder) {
  const FoundMpi& found = find_mpi(folder);
  if (found.module != nullptr) return *found.module;
  throw resource_error("{} started this process as rank {}{}, and there is no MPI: {}",
                       launch.launcher, launch.rank,
                       launch.count > 0 ? fmt::format(" of {}", launch.count) : "", found.why_not);
}

std::shared_ptr<Ranks> world_of(const Launch& launch, const char* folder) {
  const GraphcMpiModule& module = module_for(launch, folder);
  auto ranks = std::make_shared<MpiRanks>(module);
  if (launch.count > 0 && ranks->count() != launch.count) {
    throw resource_error(
        "{} started {} processes, and {} knows of {}: wanted the launcher of the same MPI (srun: "
        "--mpi=pmix, or --mpi=pmi2)",
        launch.launcher, launch.count, ranks->engine(), ranks->count());
  }
  bind_rank(*ranks);
  ranks->measure();
  return ranks;
}

}  // namespace

std::shared_ptr<Ranks> Ranks::world(const char* folder) {
  static std::mutex mutex;
  static std::shared_ptr<Ranks> world;
  const std::lock_guard lock(mutex);
  if (world) return world;
  const std::optional<Launch> launch = launch_of_environment();
  if (launch && launch->count != 1) {
    world = world_of(*launch, folder);
  } else {
    if (launch) undo_default_binding(1);
    world = std::make_shared<OneRank>();
  }
  return world;
}

}  // namespace graphc::core
