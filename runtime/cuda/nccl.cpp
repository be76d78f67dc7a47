// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nccl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "ir/error.h"
#include "ir/utf8.h"
#include "runtime/cuda/libraries.h"
#include "runtime/cuda/library_object.h"

namespace graphc::core::cuda {
namespace {

constexpr std::array<std::string_view, 1> kNcclNames{"libnccl.so.2"};
constexpr std::array<std::string_view, 12> kNcclSymbols{
    "ncclGetErrorString",
    "ncclGetLastError",
#define GRAPHC_NCCL_FUNCTION(name, parameters) #name,
#include "runtime/cuda/nccl.def"
#undef GRAPHC_NCCL_FUNCTION
};
static_assert(!kNcclSymbols.back().empty());

struct LoadedNccl {
  Nccl functions;
  FoundLibrary library;
};

LoadedNccl load_nccl(const Places& places) {
  // ncclGetLastError is of 2.13.
  Opened opened = open_library({"nccl", kNcclNames, kNcclSymbols, "NCCL 2.13 or newer"}, places);
  LoadedNccl loaded{{}, std::move(opened.found)};
  if (opened.handle == nullptr) return loaded;
  Nccl& library = loaded.functions;
  const auto find = [&](auto& function, const char* name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened.handle, name));
  };
#define GRAPHC_NCCL_FUNCTION(name, parameters) find(library.name, #name);
#include "runtime/cuda/nccl.def"
#undef GRAPHC_NCCL_FUNCTION
  find(library.ncclGetErrorString, "ncclGetErrorString");
  find(library.ncclGetLastError, "ncclGetLastError");
  // 21805 is 2.18.5.
  int version = 0;
  if (library.ncclGetVersion(&version) == ncclSuccess)
    loaded.library.version = library_version_text(size_t(version));
  return loaded;
}

const LoadedNccl& loaded_nccl() {
  static const LoadedNccl loaded = load_nccl(places_of_environment());
  return loaded;
}

const Nccl& nccl() {
  const LoadedNccl& loaded = loaded_nccl();
  if (!loaded.library.why_not.empty())
    throw resource_error("no NCCL, by which the GPUs of ranks communicate: {}",
                         loaded.library.why_not);
  return loaded.functions;
}

/// Throws unless the call succeeded. Errors that only a defect of graphc can cause are
/// ErrorKind::internal.
void check_call(ncclResult_t result, std::string_view call, ncclComm_t communicator) {
  if (result == ncclSuccess) return;
  std::string message = fmt::format("{}: {}", call, nccl().ncclGetErrorString(result));
  // The last error is NCCL's own explanation: "Duplicate GPU detected : rank 0 and rank 1 both on
  // CUDA device 3b000".
  const char* last = nccl().ncclGetLastError(communicator);
  if (last != nullptr && *last != '\0') message += fmt::format(": {}", printable_message(last));
  throw Error(result == ncclInvalidArgument ? ErrorKind::internal : ErrorKind::resource, {},
              message);
}

}  // namespace

FoundLibrary nccl_library() { return loaded_nccl().library; }

bool nccl_present(std::string* why_not) {
  const std::string& reason = loaded_nccl().library.why_not;
  if (why_not != nullptr) *why_not = reason;
  return reason.empty();
}

ncclUniqueId new_nccl_identifier() {
  ncclUniqueId identifier{};
  check_call(nccl().ncclGetUniqueId(&identifier), "ncclGetUniqueId", nullptr);
  return identifier;
}

NcclCommunicator::NcclCommunicator(DevicePtr device, const ncclUniqueId& identifier, int rank,
                                   int count)
    : device_(std::move(device)), rank_(rank), count_(count) {
  const Nccl& library = nccl();
  device_->make_current();
  check_call(library.ncclCommInitRank(&communicator_, count, identifier, rank), "ncclCommInitRank",
             nullptr);
}

NcclCommunicator::~NcclCommunicator() {
  const KeptContext context;
  device_->make_current_for_destruction();
  nccl().ncclCommDestroy(communicator_);
}

void NcclCommunicator::check(ncclResult_t result, std::string_view call) const {
  check_call(result, call, communicator_);
}

void NcclCommunicator::all_gather(CUdeviceptr from, CUdeviceptr to, size_t bytes,
                                  const Stream& stream) const {
  check(nccl().ncclAllGather(pointer_to(from), pointer_to(to), bytes, ncclInt8, communicator_,
                             stream.get()),
        "ncclAllGather");
}

void NcclCommunicator::all_to_all(CUdeviceptr from, CUdeviceptr to, size_t bytes,
                                  const Stream& stream) const {
  const Nccl& library = nccl();
  check(library.ncclGroupStart(), "ncclGroupStart");
  ncclResult_t result = ncclSuccess;
  const char* call = "";
  for (int peer = 0; peer < count_ && result == ncclSuccess; ++peer) {
    const size_t at = size_t(peer) * bytes;
    result =
        library.ncclSend(pointer_to(from + at), bytes, ncclInt8, peer, communicator_, stream.get());
    call = "ncclSend";
    if (result != ncclSuccess) break;
    result =
        library.ncclRecv(pointer_to(to + at), bytes, ncclInt8, peer, communicator_, stream.get());
    call = "ncclRecv";
  }
  // A group that has begun must end, or this thread's next calls would belong to it.
  const ncclResult_t ended = library.ncclGroupEnd();
  check(result, call);
  check(ended, "ncclGroupEnd");
}

void NcclCommunicator::check_failures() const {
  ncclResult_t error = ncclSuccess;
  check(nccl().ncclCommGetAsyncError(communicator_, &error), "ncclCommGetAsyncError");
  check(error, "an exchange between GPUs");
}

}  // namespace graphc::core::cuda
