// SPDX-License-Identifier: Apache-2.0
// The mock driver's memory: that of the device is the host's, and known to the emulator.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/cuda/mock/state.h"

namespace graphc::core::cuda_mock {
namespace {

constexpr size_t kAlignment = 256;
/// What memory holds that was never written: as f32 and f64 not a number.
constexpr int kPoison = 0xFF;

void* address_of(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

/// Memory of so many bytes, poisoned; null if there is none.
void* allocate(size_t bytes) {
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded);
  if (memory != nullptr) std::memset(memory, kPoison, rounded);
  return memory;
}

/// Whether an address is in memory of the host that the driver allocated.
bool is_pinned(const State& all, const void* address) {
  auto found = all.host_memory.upper_bound(address);
  if (found == all.host_memory.begin()) return false;
  --found;
  return static_cast<const std::byte*>(address) <
         static_cast<const std::byte*>(found->first) + found->second->bytes;
}

/// Runs what tells the emulator of an access by the host; where the bytes lie outside of what was
/// allocated, or were never written, it is a bad argument.
template <typename Access>
CUresult accessed(Access&& access) {
  try {
    access();
  } catch (const Error& error) {
    return fail(CUDA_ERROR_INVALID_VALUE, error.message());
  }
  return CUDA_SUCCESS;
}

/// Calls `access` with the parts of a range that are somebody's: all of it, unless it lies in an
/// allocation that is divided.
template <typename Access>
void each_piece(const State& all, CUdeviceptr address, size_t bytes, const Access& access) {
  auto* const begin = static_cast<std::byte*>(address_of(address));
  auto found = all.device_memory.upper_bound(begin);
  if (found == all.device_memory.begin() ||
      (--found)->second->pieces.front().bytes == found->second->bytes)
    return access(begin, bytes);
  auto* const first = static_cast<std::byte*>(const_cast<void*>(found->first));
  for (const Piece& piece : found->second->pieces) {
    std::byte* const from = std::max(begin, first + piece.offset);
    std::byte* const to = std::min(begin + bytes, first + piece.offset + piece.bytes);
    if (from < to) access(from, size_t(to - from));
  }
}

}  // namespace

GRAPHC_MOCK_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return called("cuMemAlloc_v2", Needs::context, [&](State& all) {
    if (address == nullptr || bytes == 0) return fail(CUDA_ERROR_INVALID_VALUE, "no bytes");
    if (const CUresult error = refuse_in_capture(all, "an allocation")) return error;
    if (bytes > memory_bytes() - all.allocated) return fail(CUDA_ERROR_OUT_OF_MEMORY, "");
    void* memory = allocate(bytes);
    if (memory == nullptr) return fail(CUDA_ERROR_OUT_OF_MEMORY, "");
    Memory made{bytes, {{0, bytes}}};
    const auto divided = std::ranges::find(all.divided, bytes, &Memory::bytes);
    if (divided != all.divided.end()) {
      made = std::move(*divided);
      all.divided.erase(divided);
    }
    for (const Piece& piece : made.pieces)
      all.memory.add(static_cast<std::byte*>(memory) + piece.offset, piece.bytes,
                     fmt::format("the allocation of {} bytes", piece.bytes));
    all.device_memory[memory] = std::make_unique<Memory>(std::move(made));
    all.allocated += bytes;
    *address = reinterpret_cast<CUdeviceptr>(memory);
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  return called(
      "cuMemFree_v2", Needs::context,
      [&](State& all) {
        if (address == 0) return CUDA_SUCCESS;
        void* memory = address_of(address);
        const Memory* found = find(all.device_memory, memory);
        if (found == nullptr) return fail(CUDA_ERROR_INVALID_VALUE, "no allocation begins there");
        if (const CUresult error = refuse_in_capture(all, "memory given back")) return error;
        if (const CUresult error = do_all(all)) return error;
        all.allocated -= found->bytes;
        for (const Piece& piece : found->pieces)
          all.memory.remove(static_cast<std::byte*>(memory) + piece.offset);
        all.device_memory.erase(memory);
        std::free(memory);
        return CUDA_SUCCESS;
      },
      Fails::after);
}

GRAPHC_MOCK_EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return called("cuMemGetInfo_v2", Needs::context, [&](State& all) {
    if (free == nullptr || total == nullptr) return fail(CUDA_ERROR_INVALID_VALUE, "no place");
    *free = memory_bytes() - all.allocated;
    *total = memory_bytes();
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
  return called("cuMemHostAlloc", Needs::context, [&](State& all) {
    if (address == nullptr || bytes == 0 || flags > 7) {
      return fail(CUDA_ERROR_INVALID_VALUE, "no bytes, or flags that there are not");
    }
    if (const CUresult error = refuse_in_capture(all, "an allocation")) return error;
    void* memory = allocate(bytes);
    if (memory == nullptr) return fail(CUDA_ERROR_OUT_OF_MEMORY, "");
    all.host_memory[memory] = std::make_unique<Memory>(Memory{bytes});
    *address = memory;
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuMemFreeHost(void* address) {
  return called(
      "cuMemFreeHost", Needs::context,
      [&](State& all) {
        if (find(all.host_memory, address) == nullptr) {
          return fail(CUDA_ERROR_INVALID_VALUE, "no allocation begins there");
        }
        if (const CUresult error = refuse_in_capture(all, "memory given back")) return error;
        if (const CUresult error = do_all(all)) return error;
        all.host_memory.erase(address);
        std::free(address);
        return CUDA_SUCCESS;
      },
      Fails::after);
}

GRAPHC_MOCK_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes,
                                                 CUstream stream) {
  return called("cuMemcpyHtoDAsync_v2", Needs::context, [&](State& all) {
    if (from == nullptr) return fail(CUDA_ERROR_INVALID_VALUE, "from a null pointer");
    // What is not pinned has been read when the call returns.
    const void* source = from;
    std::shared_ptr<std::byte[]> staged;
    if (is_late() && !is_pinned(all, from)) {
      staged = std::make_shared<std::byte[]>(bytes);
      std::memcpy(staged.get(), from, bytes);
      source = staged.get();
    }
    return enqueue(all, stream, [&all, to, source, staged, bytes] {
      return accessed([&] {
        each_piece(all, to, bytes,
                   [&](void* at, size_t of) { all.memory.written_by_host(at, of); });
        std::memcpy(address_of(to), source, bytes);
      });
    });
  });
}

GRAPHC_MOCK_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes,
                                                 CUstream stream) {
  return called("cuMemcpyDtoHAsync_v2", Needs::context, [&](State& all) {
    if (to == nullptr) return fail(CUDA_ERROR_INVALID_VALUE, "to a null pointer");
    const CUresult enqueued = enqueue(all, stream, [&all, to, from, bytes] {
      return accessed([&] {
        each_piece(all, from, bytes, [&](void* at, size_t of) { all.memory.read_by_host(at, of); });
        std::memcpy(to, address_of(from), bytes);
      });
    });
    // What is not pinned has been written when the call returns.
    const Stream* const in = stream_of(all, stream);
    if (enqueued != CUDA_SUCCESS || is_pinned(all, to) || in->capture != nullptr) return enqueued;
    return do_until(all, stream, ~uint64_t{0});
  });
}

GRAPHC_MOCK_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                                 CUstream stream) {
  return called("cuMemcpyDtoDAsync_v2", Needs::context, [&](State& all) {
    if (to < from + bytes && from < to + bytes) {
      return fail(CUDA_ERROR_INVALID_VALUE, "source and destination overlap");
    }
    return enqueue(all, stream, [&all, to, from, bytes] {
      return accessed([&] {
        all.memory.copied(address_of(to), address_of(from), bytes);
        std::memcpy(address_of(to), address_of(from), bytes);
      });
    });
  });
}

GRAPHC_MOCK_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
                                            CUstream stream) {
  return called("cuMemsetD8Async", Needs::context, [&](State& all) {
    return enqueue(all, stream, [&all, to, value, bytes] {
      return accessed([&] {
        each_piece(all, to, bytes,
                   [&](void* at, size_t of) { all.memory.written_by_host(at, of); });
        std::memset(address_of(to), value, bytes);
      });
    });
  });
}

}  // namespace graphc::core::cuda_mock
