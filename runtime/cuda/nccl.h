// SPDX-License-Identifier: Apache-2.0
// NCCL: the exchange of bytes between the GPUs of ranks. What is summed, and in which order, is not
// its concern.
#pragma once

#include <memory>
#include <string>

#include "runtime/cuda/nccl_functions.h"
#include "runtime/cuda/stream.h"

namespace graphc::core::cuda {

/// Whether NCCL is there; else `why_not`, if given, says why not.
bool nccl_present(std::string* why_not = nullptr);

/// What the ranks of a communicator have in common: one of them makes it and hands it round.
/// Throws ErrorKind::resource without NCCL.
ncclUniqueId new_nccl_identifier();

/// The GPUs of several ranks, one each. Its operations are collective: all ranks enqueue the same
/// ones in the same order, none of them beside another. They can be captured.
class NcclCommunicator {
 public:
  /// Collective: returns when all ranks have called it. Throws ErrorKind::resource if NCCL is
  /// missing or refuses the devices, two ranks on one of them for example.
  NcclCommunicator(DevicePtr device, const ncclUniqueId& identifier, int rank, int count);
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  ~NcclCommunicator();

  int rank() const { return rank_; }
  int count() const { return count_; }
  const DevicePtr& device() const { return device_; }

  /// Enqueues: `bytes` at `from` of rank r go to `to` + r * bytes of every rank.
  void all_gather(CUdeviceptr from, CUdeviceptr to, size_t bytes, const Stream& stream) const;
  /// Enqueues: `bytes` at `from` + r * bytes go to rank r, at `to` + rank() * bytes of it.
  void all_to_all(CUdeviceptr from, CUdeviceptr to, size_t bytes, const Stream& stream) const;
  /// Throws ErrorKind::resource if an operation has failed since.
  void check_failures() const;

 private:
  void check(ncclResult_t result, std::string_view call) const;

  DevicePtr device_;
  int rank_ = 0, count_ = 1;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace graphc::core::cuda
