// SPDX-License-Identifier: Apache-2.0
// Starts programs as ranks of MPI on this machine.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <string>

namespace graphc::core::testing {

/// Whether the mpirun of Open MPI is installed, and this build has the module.
inline bool has_mpirun() {
  return GRAPHC_HAS_MPI && std::system("mpirun --version 2> /dev/null | grep -q 'Open MPI'") == 0;
}

/// What goes before a number of ranks and a command, for a shell: more ranks than cores too, and as
/// root too. The sanitizers would report what Open MPI never frees.
inline std::string mpirun() {
  return "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
         "ASAN_OPTIONS=detect_leaks=0 mpirun --oversubscribe -n ";
}

}  // namespace graphc::core::testing

/// Ends a test where ranks cannot be started.
#define GRAPHC_NEEDS_MPIRUN() \
  if (!graphc::core::testing::has_mpirun()) GTEST_SKIP() << "needs mpirun of Open MPI"
