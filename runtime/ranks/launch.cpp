// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/launch.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "ir/utf8.h"
#include "runtime/ranks/mpi_ranks.h"

namespace graphc::core {
namespace {

using Path = std::filesystem::path;

constexpr const char *kVariable = "GRAPHC_MPI", *kModule = "graphc_mpi.so";

std::optional<int> number_in(const char* text) {
  int value = 0;
  if (text == nullptr) return std::nullopt;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  return error == std::errc() && rest == end && value >= 0 ? std::optional(value) : std::nullopt;
}

struct LauncherVariables {
  const char *launcher, *rank, *count;
};
// Open MPI's first: srun may start its daemons, and both give the variables of PMIx.
constexpr LauncherVariables kLaunchers[] = {
    {"mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"mpiexec of MPICH", "PMI_RANK", "PMI_SIZE"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

const char* of_environment(const char* name) { return std::getenv(name); }

/// The folder of the program, and that of the library with this code, which may be another.
std::vector<Path> own_folders() {
  std::vector<Path> folders;
  std::error_code error;
  const Path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) folders.push_back(program.parent_path());
  Dl_info here{};
  if (dladdr(reinterpret_cast<void*>(&of_environment), &here) != 0 && here.dli_fname != nullptr) {
    const Path library = std::filesystem::weakly_canonical(here.dli_fname, error).parent_path();
    if (!error && (folders.empty() || library != folders[0])) folders.push_back(library);
  }
  return folders;
}

/// Where the module may be, in order.
std::vector<Path> candidates(const char* folder) {
  std::vector<Path> files;
  if (folder != nullptr) files.push_back(Path(folder) / kModule);
  for (const Path& own : own_folders()) {
    files.push_back(own / kModule);
    // GRAPHC_LIBRARY_FOLDER is "lib" or "lib/x86_64-linux-gnu".
    files.push_back(own / ".." / GRAPHC_LIBRARY_FOLDER / "graphc" / kModule);
  }
  return files;
}

FoundMpi not_found(std::string why_not) { return {.why_not = std::move(why_not)}; }

FoundMpi opened(const Path& path) {
  // Global: the parts that Open MPI opens by itself find its functions there.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return not_found(printable(reason == nullptr ? "unknown reason" : reason, 1000));
  }
  using Table = const GraphcMpiModule* (*)();
  const auto table = reinterpret_cast<Table>(dlsym(handle, "graphc_mpi"));
  const std::string file = printable(path.string(), 1000);
  if (table == nullptr) return not_found(fmt::format("'{}' is no module of graphc", file));
  const GraphcMpiModule* module = table();
  if (module->version != kGraphcMpiVersion) {
    return not_found(fmt::format("'{}' is a module of another graphc: its version is {}, wanted {}",
                                 file, module->version, int(kGraphcMpiVersion)));
  }
  return {.module = module, .path = path.string(), .version = mpi_name(module->library())};
}

}  // namespace

std::optional<Launch> launch_of(const Variable& variable) {
  for (const LauncherVariables& known : kLaunchers) {
    const std::optional<int> rank = number_in(variable(known.rank)),
                             count = number_in(variable(known.count));
    if (rank && count && *rank < *count)
      return Launch{.launcher = known.launcher, .rank = *rank, .count = *count};
  }
  if (const std::optional<int> rank = number_in(variable("PMIX_RANK")))
    return Launch{.launcher = "a launcher with PMIx", .rank = *rank, .count = 0};
  return std::nullopt;
}

std::optional<Launch> launch_of_environment() { return launch_of(of_environment); }

FoundMpi open_mpi(const char* folder, const Variable& variable) {
  const char* named = variable(kVariable);
  if (named != nullptr && std::strcmp(named, "none") == 0)
    return not_found(fmt::format("{} is 'none'", kVariable));
  if (named != nullptr && *named != '\0') {
    FoundMpi found = opened(named);
    if (found.module == nullptr) found.why_not = fmt::format("{}: {}", kVariable, found.why_not);
    return found;
  }
  std::vector<std::string> places;
  for (const Path& file : candidates(folder)) {
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored))
      return opened(std::filesystem::weakly_canonical(file));
    places.push_back(printable(file.lexically_normal().parent_path().string()));
  }
  return not_found(fmt::format("this graphc was built where no MPI was: there is no {} in {}",
                               kModule, fmt::join(places, " or ")));
}

const FoundMpi& find_mpi(const char* folder) {
  static const FoundMpi found = open_mpi(folder, of_environment);
  return found;
}

}  // namespace graphc::core
