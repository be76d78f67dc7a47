// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

namespace graphc::core::cuda {
namespace {

constexpr std::array<std::string_view, 1> kDriverNames{"libcuda.so.1"};
constexpr std::array<std::string_view, 47> kDriverSymbols{
#define GRAPHC_DRIVER_FUNCTION(name, symbol, parameters) #symbol,
#include "runtime/cuda/driver.def"
#undef GRAPHC_DRIVER_FUNCTION
};
static_assert(!kDriverSymbols.back().empty());
constexpr int kOldestDriver = 12010;

/// The driver's description of an error.
std::string error_text(const Driver& driver, CUresult error) {
  const char* text = nullptr;
  if (driver.cuGetErrorString(error, &text) == CUDA_SUCCESS && text != nullptr) return text;
  return fmt::format("error {}", static_cast<int>(error));
}

/// Whether only a defect of graphc can cause this error.
bool is_defect(CUresult error) {
  switch (error) {
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_ILLEGAL_STATE:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_NOT_READY:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
      return true;
    default:
      return error >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
             error <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
}

Driver functions_of(void* handle) {
  Driver driver;
#define GRAPHC_DRIVER_FUNCTION(name, symbol, parameters) \
  driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(handle, #symbol));
#include "runtime/cuda/driver.def"
#undef GRAPHC_DRIVER_FUNCTION
  return driver;
}

}  // namespace

LoadedDriver load_driver(const Places& places) {
  constexpr std::string_view wanted = "a driver of CUDA 12.1 or newer";
  Opened opened = open_library({"driver", kDriverNames, kDriverSymbols, wanted}, places);
  LoadedDriver loaded{{}, std::move(opened.found)};
  if (opened.handle == nullptr) return loaded;
  loaded.functions = functions_of(opened.handle);
  Driver& driver = loaded.functions;
  std::string& why_not = loaded.library.why_not;
  if (const CUresult error = driver.cuDriverGetVersion(&driver.version)) {
    why_not = fmt::format("cuDriverGetVersion: {}", error_text(driver, error));
    return loaded;
  }
  loaded.library.version = version_text(driver.version);
  if (driver.version < kOldestDriver) {
    why_not = fmt::format("'{}' is a driver of CUDA {}; wanted {}", loaded.library.path,
                          loaded.library.version, wanted);
  } else if (const CUresult error = driver.cuInit(0)) {
    why_not = fmt::format("cuInit: {}", error_text(driver, error));
  }
  return loaded;
}

const LoadedDriver& loaded_driver() {
  static const LoadedDriver loaded = load_driver(places_of_environment());
  return loaded;
}

const Driver& driver() {
  const LoadedDriver& loaded = loaded_driver();
  if (!loaded.library.why_not.empty()) {
    throw resource_error("no CUDA driver: {}", loaded.library.why_not);
  }
  return loaded.functions;
}

bool driver_present(std::string* why_not) {
  const std::string& reason = loaded_driver().library.why_not;
  if (why_not != nullptr && !reason.empty()) *why_not = reason;
  return reason.empty();
}

Error error_of(CUresult result, std::string_view call, std::string_view arguments) {
  std::string message(call);
  if (!arguments.empty()) message += fmt::format(" ({})", arguments);
  message += ": " + error_text(driver(), result);
  return Error(is_defect(result) ? ErrorKind::internal : ErrorKind::resource, {}, message);
}

void check(CUresult result, std::string_view call, std::string_view arguments) {
  if (result != CUDA_SUCCESS) throw error_of(result, call, arguments);
}

std::string in_bytes(size_t bytes) {
  if (bytes < 1024) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  const std::array units{"KiB", "MiB", "GiB", "TiB"};
  double amount = double(bytes) / 1024;
  size_t unit = 0;
  // Otherwise 1023.95 would print as 1024.0.
  for (; amount >= 1023.95 && unit + 1 < units.size(); ++unit) amount /= 1024;
  return fmt::format("{:.1f} {}", amount, units[unit]);
}

}  // namespace graphc::core::cuda
