// SPDX-License-Identifier: Apache-2.0
// The CUDA driver of this machine, opened on first use.
#pragma once

#include <string>
#include <string_view>

#include "ir/error.h"
#include "runtime/cuda/driver_types.h"
#include "runtime/cuda/libraries.h"

namespace graphc::core::cuda {

/// The driver's functions, under their documented names; each points to the version named in
/// driver.def.
struct Driver {
#define GRAPHC_DRIVER_FUNCTION(name, symbol, parameters) CUresult(*name) parameters = nullptr;
#include "runtime/cuda/driver.def"
#undef GRAPHC_DRIVER_FUNCTION
  int version = 0;  ///< of CUDA, as the driver returns it: 13000 for 13.0
};

/// A driver and the result of the search for it.
struct LoadedDriver {
  Driver functions;      ///< all null unless the library has every one
  FoundLibrary library;  ///< `why_not` is empty if the driver is initialised
};

/// Searches for a driver, opens it, checks its version and initialises it.
LoadedDriver load_driver(const Places& places);

/// load_driver() with places_of_environment(), once per process.
const LoadedDriver& loaded_driver();

/// The driver, opened, checked for all functions, and initialised; once per process. Throws
/// ErrorKind::resource, with the reason in one line, if there is no usable driver; the same error
/// each time.
const Driver& driver();

/// Whether driver() would return. If not, `why_not`, unless null, gets the reason.
bool driver_present(std::string* why_not = nullptr);

/// The error of a failed driver call: "cuMemAlloc (2.0 GiB for the arena): out of memory".
/// `arguments` describes the call's arguments; may be empty. Errors that only a defect of graphc
/// can cause (a bad argument, an illegal access) are ErrorKind::internal, others
/// ErrorKind::resource.
Error error_of(CUresult result, std::string_view call, std::string_view arguments);

/// Throws error_of() unless `result` is CUDA_SUCCESS.
void check(CUresult result, std::string_view call, std::string_view arguments = "");

/// Human-readable sizes: "512 bytes", "1.5 KiB", "2.0 GiB".
std::string in_bytes(size_t bytes);

}  // namespace graphc::core::cuda
