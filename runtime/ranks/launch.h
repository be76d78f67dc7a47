// SPDX-License-Identifier: Apache-2.0
// Who started this process, and where MPI is. Nothing here starts MPI: Ranks::world() does.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/ranks/mpi_module.h"

namespace graphc::core {

/// What a launcher told the process that it started.
struct Launch {
  std::string
      launcher;  ///< "mpirun of Open MPI", "mpiexec of MPICH", "srun", "a launcher with PMIx"
  int rank = 0;
  int count = 0;  ///< processes it started; 0 if it does not say
};

/// The value of an environment variable, or null.
using Variable = std::function<const char*(const char* name)>;

/// The launch of this process according to its environment: OMPI_COMM_WORLD_RANK and _SIZE (Open
/// MPI 4 and 5), PMI_RANK and PMI_SIZE (MPICH, Intel MPI), SLURM_PROCID and SLURM_STEP_NUM_TASKS
/// (srun; a batch script itself has no step), PMIX_RANK (any other with PMIx). Nothing if none is
/// there, or one that is not a number.
std::optional<Launch> launch_of(const Variable& variable);
std::optional<Launch> launch_of_environment();

/// The module graphc_mpi, if it was found.
struct FoundMpi {
  const GraphcMpiModule* module = nullptr;
  std::string path;     ///< of the module
  std::string version;  ///< "Open MPI v4.1.4"
  std::string why_not;  ///< in one line; empty if there is a module
};

/// Opens the module, at most once per process: the file that GRAPHC_MPI names ("none": no module);
/// otherwise graphc_mpi.so in `folder` if that is not null, beside the program, beside the library
/// that this code is in, or in lib/graphc of the prefix that one of these is installed in.
const FoundMpi& find_mpi(const char* folder = nullptr);
/// The same without memory, for tests.
FoundMpi open_mpi(const char* folder, const Variable& variable);

}  // namespace graphc::core
