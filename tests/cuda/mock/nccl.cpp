// SPDX-License-Identifier: Apache-2.0
// A mock of NCCL between the mock driver's devices, for ranks that are threads of a process, or
// processes of a machine: they meet in shared memory. What the ranks of a communicator enqueue must
// be the same operations in the same order.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/nccl_functions.h"
#include "tests/cuda/mock/error_codes.h"
#include "tests/cuda/mock/libraries.h"

namespace graphc::core::cuda_mock {
namespace {

using namespace graphc::core::cuda;

/// How long a rank waits for the others.
constexpr int kSeconds = 20;
/// Bytes that a rank sends in an operation at most. Pages that nobody touches take no memory.
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr int kMostRanks = 16;

/// What a rank brings to an operation: for each rank the size of its message, then the bytes.
struct Slot {
  int device = -1;
  bool is_gather = false;
  size_t sizes[kMostRanks] = {};
  std::byte bytes[kMostBytes];
};

/// The shared memory of a communicator; all zeros at first.
struct Meeting {
  std::atomic<uint64_t> come;  ///< how often ranks have come to a barrier
  Slot slots[kMostRanks];
};

/// A message of a group: to or from a rank.
struct Message {
  int peer = 0;
  std::byte* at = nullptr;
  size_t bytes = 0;
};

/// What a rank enqueues.
struct Part {
  bool is_gather = false;
  std::vector<Message> sent, received;
};

std::string& last_error() {
  thread_local std::string text;
  return text;
}

ncclResult_t fail(ncclResult_t result, std::string text) {
  last_error() = std::move(text);
  return result;
}

template <typename Body>
ncclResult_t called(const char* symbol, Body&& body) {
  last_error().clear();
  if (const int asked = library_driver().call(symbol)) return ncclResult_t(asked);
  return body();
}

Meeting* open_meeting(const char* name) {
  const int file = shm_open(name, O_CREAT | O_RDWR, 0600);
  if (file < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (ftruncate(file, sizeof(Meeting)) == 0)
    memory = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<Meeting*>(memory);
}

}  // namespace
}  // namespace graphc::core::cuda_mock

// The communicator behind NCCL's handle.
namespace graphc::core::cuda {

struct ncclComm {
  cuda_mock::Meeting* meeting = nullptr;
  int rank = 0, count = 1;
  uint64_t barriers = 0;  ///< that this rank has come to

  cuda_mock::Slot& mine() const { return meeting->slots[rank]; }
};

}  // namespace graphc::core::cuda

namespace graphc::core::cuda_mock {
namespace {

/// Under the driver's lock, which it gives up while it waits. Whether all have come.
bool meet(ncclComm& communicator) {
  std::atomic<uint64_t>& come = communicator.meeting->come;
  const uint64_t wanted = ++communicator.barriers * uint64_t(communicator.count);
  ++come;
  return library_driver().wait([&] { return come.load() >= wanted; }, kSeconds) != 0;
}

void check_access(const char* wrong) {
  if (wrong != nullptr) throw Error(ErrorKind::internal, {}, wrong);
}

/// Work of a rank in a stream.
void run(ncclComm& communicator, const Part& part) {
  Slot& mine = communicator.mine();
  mine.is_gather = part.is_gather;
  std::byte* to = mine.bytes;
  for (const Message& message : part.sent) {
    check_access(library_driver().reads(message.at, message.bytes));
    if (message.bytes > size_t(mine.bytes + kMostBytes - to))
      throw Error(ErrorKind::internal, {}, "more bytes than the mock has room for");
    mine.sizes[message.peer] = message.bytes;
    std::memcpy(to, message.at, message.bytes);
    to += message.bytes;
  }
  if (!meet(communicator))
    throw Error(ErrorKind::internal, {}, "the other ranks do not come to the operation");
  std::string wrong;
  for (const Message& message : part.received) {
    const Slot& theirs = communicator.meeting->slots[message.peer];
    if (theirs.is_gather != part.is_gather || theirs.sizes[communicator.rank] != message.bytes) {
      wrong = fmt::format("ranks {} and {} enqueue different operations", communicator.rank,
                          message.peer);
      break;
    }
    const std::byte* from = theirs.bytes;
    for (int before = 0; before < communicator.rank; ++before) from += theirs.sizes[before];
    check_access(library_driver().writes(message.at, message.bytes));
    std::memcpy(message.at, from, message.bytes);
  }
  // The slots are read.
  if (!meet(communicator)) wrong = "the other ranks do not end the operation";
  if (!wrong.empty()) throw Error(ErrorKind::internal, {}, wrong);
}

ncclResult_t enqueue(ncclComm& communicator, const Part& part, CUstream stream) {
  const int result = library_driver().enqueue(
      stream, library_work([&communicator, part] { run(communicator, part); }));
  return result == 0 ? ncclSuccess
                     : fail(ncclUnhandledCudaError, fmt::format("CUresult {}", result));
}

/// The messages of the calling thread's group.
struct OpenGroup {
  int depth = 0;
  ncclComm* communicator = nullptr;
  CUstream stream = nullptr;
  Part part;
};
OpenGroup& open_group() {
  thread_local OpenGroup group;
  return group;
}

/// To or from every rank at most one, in their order.
ncclResult_t add(ncclComm_t communicator, CUstream stream, std::vector<Message> Part::* list,
                 const void* at, size_t bytes, int peer) {
  OpenGroup& group = open_group();
  if (group.depth == 0) return fail(ncclInvalidUsage, "a message outside of a group");
  if (communicator == nullptr || peer < 0 || peer >= communicator->count)
    return fail(ncclInvalidArgument, "no such rank");
  if (group.communicator != nullptr &&
      (group.communicator != communicator || group.stream != stream))
    return fail(ncclInvalidUsage, "the mock has groups of one communicator and stream");
  std::vector<Message>& messages = group.part.*list;
  if (!messages.empty() && messages.back().peer >= peer)
    return fail(ncclInvalidUsage, "the mock has messages in the order of ranks");
  group.communicator = communicator;
  group.stream = stream;
  messages.push_back({peer, static_cast<std::byte*>(const_cast<void*>(at)), bytes});
  return ncclSuccess;
}

}  // namespace

GRAPHC_MOCK_EXPORT const char* ncclGetErrorString(ncclResult_t result) {
  return words_of(kNcclCodes, result, "an error of the mock");
}
GRAPHC_MOCK_EXPORT const char* ncclGetLastError(ncclComm_t) { return last_error().c_str(); }
GRAPHC_MOCK_EXPORT ncclResult_t ncclGetVersion(int* version) {
  *version = 22005;
  return ncclSuccess;
}

GRAPHC_MOCK_EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return called("ncclGetUniqueId", [&] {
    static std::atomic<int> number = 0;
    std::memset(id->internal, 0, sizeof id->internal);
    const std::string text = fmt::format("/graphc-mock-nccl-{}-{}", getpid(), ++number);
    std::memcpy(id->internal, text.data(), text.size());
    return ncclSuccess;
  });
}

GRAPHC_MOCK_EXPORT ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int count,
                                                 ncclUniqueId id, int rank) {
  if (library_driver().has_context() == 0) return fail(ncclInvalidUsage, "no context");
  return called("ncclCommInitRank", [&] {
    if (count < 1 || count > kMostRanks || rank < 0 || rank >= count)
      return fail(ncclInvalidArgument, "no such rank");
    Meeting* meeting = open_meeting(id.internal);
    if (meeting == nullptr) return fail(ncclSystemError, "no shared memory");
    auto made = std::make_unique<ncclComm>(ncclComm{meeting, rank, count});
    made->mine().device = library_driver().device();
    bool have_all = false;
    library_driver().locked([&] { have_all = meet(*made); });
    shm_unlink(id.internal);
    ncclResult_t result = ncclSuccess;
    if (!have_all) result = fail(ncclSystemError, "the other ranks do not come");
    for (int other = 0; other < count && result == ncclSuccess; ++other) {
      const int device = made->mine().device;
      if (other != rank && meeting->slots[other].device == device)
        result = fail(ncclInvalidUsage,
                      fmt::format("Duplicate GPU detected : rank {} and rank {} both on CUDA "
                                  "device {}",
                                  rank, other, device));
    }
    if (result != ncclSuccess) {
      munmap(meeting, sizeof(Meeting));
      return result;
    }
    *communicator = made.release();
    library_driver().objects("nccl communicator", 1);
    return ncclSuccess;
  });
}

GRAPHC_MOCK_EXPORT ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  const std::unique_ptr<ncclComm> owned(communicator);
  if (communicator != nullptr) {
    munmap(communicator->meeting, sizeof(Meeting));
    library_driver().objects("nccl communicator", -1);
  }
  return called("ncclCommDestroy", [] { return ncclSuccess; });
}

GRAPHC_MOCK_EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = ncclSuccess;
  return called("ncclCommGetAsyncError", [] { return ncclSuccess; });
}

GRAPHC_MOCK_EXPORT ncclResult_t ncclGroupStart() {
  return called("ncclGroupStart", [] {
    ++open_group().depth;
    return ncclSuccess;
  });
}

GRAPHC_MOCK_EXPORT ncclResult_t ncclGroupEnd() {
  OpenGroup& open = open_group();
  if (open.depth == 0) return fail(ncclInvalidUsage, "no group has begun");
  OpenGroup ended;
  if (--open.depth == 0) std::swap(ended, open);
  return called("ncclGroupEnd", [&] {
    return ended.communicator == nullptr ? ncclSuccess
                                         : enqueue(*ended.communicator, ended.part, ended.stream);
  });
}

GRAPHC_MOCK_EXPORT ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t, int peer,
                                         ncclComm_t communicator, CUstream stream) {
  return called("ncclSend",
                [&] { return add(communicator, stream, &Part::sent, from, count, peer); });
}
GRAPHC_MOCK_EXPORT ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t, int peer,
                                         ncclComm_t communicator, CUstream stream) {
  return called("ncclRecv",
                [&] { return add(communicator, stream, &Part::received, to, count, peer); });
}

GRAPHC_MOCK_EXPORT ncclResult_t ncclAllGather(const void* from, void* to, size_t count,
                                              ncclDataType_t type, ncclComm_t communicator,
                                              CUstream stream) {
  return called("ncclAllGather", [&] {
    if (communicator == nullptr || type != ncclInt8)
      return fail(ncclInvalidArgument, "no communicator, or a type other than bytes");
    Part part{.is_gather = true, .sent = {}, .received = {}};
    for (int peer = 0; peer < communicator->count; ++peer) {
      part.sent.push_back({peer, static_cast<std::byte*>(const_cast<void*>(from)), count});
      part.received.push_back({peer, static_cast<std::byte*>(to) + size_t(peer) * count, count});
    }
    return enqueue(*communicator, part, stream);
  });
}

}  // namespace graphc::core::cuda_mock
