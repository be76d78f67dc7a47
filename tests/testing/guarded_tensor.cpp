// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/guarded_tensor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace graphc::core::testing {
namespace {

constexpr std::byte kPattern{0xa5};

/// The pages of tensors by address: the tensors of a test are used by one thread.
struct Pages {
  std::byte* begin = nullptr;
  size_t bytes = 0;
};
std::map<const std::byte*, Pages>& all_pages() {
  static std::map<const std::byte*, Pages> pages;
  return pages;
}

}  // namespace

Tensor guarded_tensor(const Type& type, Guard guard) {
  const size_t page = size_t(sysconf(_SC_PAGESIZE)), bytes = size_t(type.bytes());
  const size_t inner = (std::max<size_t>(bytes, 1) + page - 1) / page * page;
  void* mapped = mmap(nullptr, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw resource_error("there is no memory for a guarded tensor");
  std::byte* begin = static_cast<std::byte*>(mapped) + page;
  if (mprotect(begin, inner, PROT_READ | PROT_WRITE) != 0)
    throw resource_error("the pages of a guarded tensor cannot be opened");
  std::fill_n(begin, inner, kPattern);
  std::byte* address = guard == Guard::before ? begin : begin + inner - bytes;
  std::memset(address, 0x7f, bytes);
  all_pages()[address] = {begin, inner};
  const auto release = [=](std::byte* at) {
    all_pages().erase(at);
    munmap(mapped, inner + 2 * page);
  };
  return Tensor(type, std::shared_ptr<std::byte>(address, release));
}

Tensor guarded_tensor(const Literal& literal, Guard guard) {
  Tensor tensor = guarded_tensor(literal.type(), guard);
  if (literal.elements() > 0)
    std::memcpy(tensor.address(), literal.bytes().data(), literal.bytes().size());
  return tensor;
}

bool intact_around(const Tensor& tensor) {
  const Pages pages = all_pages().at(tensor.address());
  const std::byte* end = tensor.address() + tensor.type().bytes();
  const auto is_pattern = [](std::byte b) { return b == kPattern; };
  return std::all_of(static_cast<const std::byte*>(pages.begin),
                     static_cast<const std::byte*>(tensor.address()), is_pattern) &&
         std::all_of(end, static_cast<const std::byte*>(pages.begin + pages.bytes), is_pattern);
}

}  // namespace graphc::core::testing
