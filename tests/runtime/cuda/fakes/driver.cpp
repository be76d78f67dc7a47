// SPDX-License-Identifier: Apache-2.0
// What is called a driver and cannot be used: it says an old version, or lacks functions.

extern "C" {

// Any function is there to be looked up; the version is the only one that is called.
#define GRAPHC_DRIVER_FUNCTION(name, symbol, parameters) \
  int symbol(int* version) {                             \
    *version = 11080;                                    \
    return 0;                                            \
  }
#ifdef GRAPHC_FEW_FUNCTIONS
GRAPHC_DRIVER_FUNCTION(cuDriverGetVersion, cuDriverGetVersion, (int*))
#else
#include "runtime/cuda/driver.def"
#endif
#undef GRAPHC_DRIVER_FUNCTION
}
