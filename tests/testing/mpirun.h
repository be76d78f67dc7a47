// SPDX-License-Identifier: Apache-2.0
// Starts programs as ranks of MPI on this machine.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "tests/testing/temporary_folder.h"

namespace graphc::core::testing {

/// Whether the mpirun of Open MPI is installed, and this build has the module.
inline bool has_mpirun() {
  return GRAPHC_HAS_MPI && std::system("mpirun --version 2> /dev/null | grep -q 'Open MPI'") == 0;
}

/// The variables of mpirun in a test, for a shell. It runs as root too, and with more ranks than
/// cores. The sanitizers would report what Open MPI never frees. It keeps its files in a folder of
/// this process: where one mpirun removes the common folder while another makes it, that one ends
/// with "A call to mkdir was unable to create the desired directory".
inline std::string mpi_variables() {
  static const TemporaryFolder folder;
  return fmt::format(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_orte_tmpdir_base={} "
      "ASAN_OPTIONS=detect_leaks=0",
      folder.path().string());
}

/// What goes before a number of ranks and a command, for a shell.
inline std::string mpirun() { return fmt::format("env {} mpirun -n ", mpi_variables()); }

}  // namespace graphc::core::testing

/// Ends a test where ranks cannot be started.
#define GRAPHC_NEEDS_MPIRUN() \
  if (!graphc::core::testing::has_mpirun()) GTEST_SKIP() << "needs mpirun of Open MPI"
