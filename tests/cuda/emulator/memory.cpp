// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "ir/error.h"
#include "tests/cuda/emulator/shadow.h"

namespace graphc::core::cuda_emulator {
namespace {

template <typename... Args>
Error memory_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::internal, {}, fmt::format(format, std::forward<Args>(args)...));
}

uint64_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

uint64_t next_generation() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

void Allocation::clear(Page& page) const {
  page.generation = generation;
  page.shift = 2;
  const size_t cells = page_bytes >> page.shift;
  if (!page.cells)
    page.cells = std::make_unique<Cell[]>(cells);
  else
    std::fill_n(page.cells.get(), cells, Cell{});
}

void Allocation::split(Page& page) {
  std::unique_ptr<Cell[]> fine = std::make_unique<Cell[]>(page_bytes);
  for (size_t i = 0; i < page_bytes; ++i) fine[i] = page.cells[i >> page.shift];
  page.cells = std::move(fine);
  page.shift = 0;
}

DeviceMemory::DeviceMemory() = default;
DeviceMemory::~DeviceMemory() = default;

void DeviceMemory::add(void* begin, size_t bytes, std::string name) {
  const uint64_t first = address_of(begin);
  const auto after = allocations_.lower_bound(first);
  const bool before_overlaps =
      after != allocations_.begin() &&
      std::prev(after)->second->begin + std::prev(after)->second->size > first;
  if (bytes == 0 || before_overlaps ||
      (after != allocations_.end() && after->first < first + bytes))
    throw memory_error("the allocation '{}' of {} bytes is empty or overlaps another", name, bytes);
  auto added = std::make_unique<Allocation>();
  added->begin = first;
  added->size = bytes;
  added->valid = std::make_unique<uint8_t[]>(bytes);
  added->pages.resize((bytes + page_bytes - 1) / page_bytes);
  added->name = std::move(name);
  allocations_.emplace(first, std::move(added));
}

void DeviceMemory::remove(void* begin) {
  if (allocations_.erase(address_of(begin)) == 0)
    throw memory_error("no allocation begins where one is removed");
}

Allocation* DeviceMemory::find(uint64_t address) const {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  Allocation* found = std::prev(after)->second.get();
  return address - found->begin < found->size ? found : nullptr;
}

Allocation& DeviceMemory::holding(const void* begin, size_t bytes, const char* what) const {
  Allocation* found = find(address_of(begin));
  if (!found) throw memory_error("the host {} {} bytes outside any allocation", what, bytes);
  const uint64_t offset = address_of(begin) - found->begin;
  if (bytes > found->size - offset)
    throw memory_error("the host {} {} bytes from byte {} of '{}', which has {}", what, bytes,
                       offset, found->name, found->size);
  return *found;
}

void DeviceMemory::written_by_host(const void* begin, size_t bytes) {
  if (bytes == 0) return;
  Allocation& found = holding(begin, bytes, "writes");
  std::memset(found.valid.get() + (address_of(begin) - found.begin), 1, bytes);
}

void DeviceMemory::forget(const void* begin, size_t bytes) {
  if (bytes == 0) return;
  Allocation& found = holding(begin, bytes, "forgets");
  std::memset(found.valid.get() + (address_of(begin) - found.begin), 0, bytes);
}

void DeviceMemory::read_by_host(const void* begin, size_t bytes) const {
  if (bytes == 0) return;
  const Allocation& found = holding(begin, bytes, "reads");
  const uint64_t offset = address_of(begin) - found.begin;
  const void* unwritten = std::memchr(found.valid.get() + offset, 0, bytes);
  if (unwritten)
    throw memory_error("the host reads byte {} of '{}', which was never written",
                       static_cast<const uint8_t*>(unwritten) - found.valid.get(), found.name);
}

void DeviceMemory::copied(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  Allocation& target = holding(to, bytes, "copies to");
  const Allocation& source = holding(from, bytes, "copies from");
  std::memmove(target.valid.get() + (address_of(to) - target.begin),
               source.valid.get() + (address_of(from) - source.begin), bytes);
}

}  // namespace graphc::core::cuda_emulator
