// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/ranks/device_ranks.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "ir/error.h"
#include "runtime/cuda/libraries.h"
#include "runtime/ranks/agree.h"

namespace graphc::core::cuda {
namespace {

/// Bytes that each rank sends to each other in the first exchange.
constexpr size_t kTried = 256;

/// Exchanges once outside of a step: NCCL connects GPUs when they first communicate, and allocates
/// memory for it. Every rank sends bytes of its own number.
void try_exchanges(const NcclCommunicator& communicator) {
  const Stream stream(communicator.device());
  const size_t bytes = size_t(communicator.count()) * kTried;
  const DeviceBuffer sent(communicator.device(), bytes, "a first exchange"),
      gathered(communicator.device(), bytes, "a first exchange"),
      shared(communicator.device(), bytes, "a first exchange");
  stream.fill(sent.address(), static_cast<unsigned char>(communicator.rank() + 1), bytes,
              "a first exchange");
  communicator.all_gather(sent.address(), gathered.address(), kTried, stream);
  communicator.all_to_all(sent.address(), shared.address(), kTried, stream);
  std::vector<unsigned char> found(2 * bytes);
  stream.copy_to_host(found.data(), gathered.address(), bytes, "a first exchange");
  stream.copy_to_host(found.data() + bytes, shared.address(), bytes, "a first exchange");
  stream.synchronize("a first exchange between GPUs");
  communicator.check_failures();
  for (size_t i = 0; i < found.size(); ++i) {
    const size_t from = i % bytes / kTried;
    if (found[i] == static_cast<unsigned char>(from + 1)) continue;
    throw resource_error("NCCL {} does not bring what rank {} sends to rank {} of {}",
                         nccl_library().version, from, communicator.rank(), communicator.count());
  }
}

std::shared_ptr<const NcclCommunicator> new_communicator(Ranks& ranks, const DevicePtr& device) {
  together(ranks, [] {
    std::string why_not;
    if (!nccl_present(&why_not))
      throw resource_error("target cuda has no NCCL, by which ranks communicate: {}", why_not);
  });
  ncclUniqueId identifier{};
  on_first(ranks, [&] { identifier = new_nccl_identifier(); });
  ranks.broadcast(std::as_writable_bytes(std::span(&identifier, 1)), 0);
  auto communicator =
      std::make_shared<NcclCommunicator>(device, identifier, ranks.rank(), ranks.count());
  try_exchanges(*communicator);
  return communicator;
}

}  // namespace

DevicePtr device_of(const Ranks* ranks, int wanted) {
  if (wanted >= 0) return Device::open(wanted);
  if (ranks == nullptr || ranks->count() == 1) return Device::open();
  const int found = Device::count();
  if (found == 1) return Device::open();
  if (found < ranks->local_count())
    throw resource_error(
        "target cuda needs a GPU for each of the {} ranks on this machine: found "
        "{}",
        ranks->local_count(), found);
  return Device::open(ranks->local_rank());
}

std::shared_ptr<const NcclCommunicator> communicator_of(const std::shared_ptr<Ranks>& ranks,
                                                        const DevicePtr& device) {
  using Known =
      std::map<std::weak_ptr<Ranks>, std::weak_ptr<const NcclCommunicator>, std::owner_less<>>;
  static std::mutex mutex;
  static Known all;
  {
    const std::lock_guard lock(mutex);
    std::erase_if(all, [](const auto& entry) { return entry.first.expired(); });
    if (std::shared_ptr<const NcclCommunicator> known = all[ranks].lock()) return known;
  }
  // Without the lock: ranks that are threads of this process wait for each other.
  std::shared_ptr<const NcclCommunicator> communicator = new_communicator(*ranks, device);
  const std::lock_guard lock(mutex);
  all[ranks] = communicator;
  return communicator;
}

}  // namespace graphc::core::cuda
