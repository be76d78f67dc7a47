// SPDX-License-Identifier: Apache-2.0
// The CUDA driver of this machine, opened when it is first asked for.
#pragma once

#include <string>
#include <string_view>

#include "ir/error.h"
#include "runtime/cuda/driver_types.h"
#include "runtime/cuda/libraries.h"

namespace graphc::core::cuda {

/// The driver's functions, under the names of its documentation; each points to the version that
/// driver.def names.
struct Driver {
#define GRAPHC_DRIVER_FUNCTION(name, symbol, parameters) CUresult(*name) parameters = nullptr;
#include "runtime/cuda/driver.def"
#undef GRAPHC_DRIVER_FUNCTION
  int version = 0;  ///< of CUDA, as it gives it: 13000 is 13.0
};

/// A driver, and what was found of it.
struct LoadedDriver {
  Driver functions;      ///< all null unless the library has every one
  FoundLibrary library;  ///< `why_not` is empty when it is initialised
};

/// Looks for a driver, opens it, checks its version, initialises it.
LoadedDriver load_driver(const Places& places);

/// load_driver() with places_of_environment(), once a process.
const LoadedDriver& loaded_driver();

/// The driver, opened, checked to have every function, and initialised; once a process. Throws
/// ErrorKind::resource when there is none that can be used, with the reason in one line; the same
/// each time.
const Driver& driver();

/// Whether driver() would return. If not, `why_not`, unless null, gets the reason.
bool driver_present(std::string* why_not = nullptr);

/// The error of a call to driver() that did not return CUDA_SUCCESS: "cuMemAlloc (2.0 GiB for the
/// arena): out of memory". `arguments` says in words what the call was about; it may be empty. What
/// cannot happen unless graphc is wrong (a bad argument, an illegal access) is ErrorKind::internal,
/// the rest ErrorKind::resource.
Error error_of(CUresult result, std::string_view call, std::string_view arguments);

/// Throws error_of() unless `result` is CUDA_SUCCESS.
void check(CUresult result, std::string_view call, std::string_view arguments = "");

/// Bytes as people read them: "512 bytes", "1.5 KiB", "2.0 GiB".
std::string in_bytes(size_t bytes);

}  // namespace graphc::core::cuda
