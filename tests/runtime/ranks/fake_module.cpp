// SPDX-License-Identifier: Apache-2.0
// A module of another version, or of something else.
#include "runtime/ranks/mpi_module.h"

#ifdef GRAPHC_FAKE_OTHER
extern "C" const GraphcMpiModule* graphc_mpi() {
  static const GraphcMpiModule module{.version = 1000};
  return &module;
}
#else
extern "C" int graphc_none() { return 0; }
#endif
