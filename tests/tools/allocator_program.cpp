// SPDX-License-Identifier: Apache-2.0
// Allocates 64 MB in the way that its argument names, as the tools do. allocator_test.cpp runs it
// under limits of memory.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kBytes = size_t{64} << 20;

struct alignas(64) Line {
  char bytes[64];
};

void in_small_pieces() {
  std::list<std::string> all;
  for (size_t i = 0; i < kBytes / 256; ++i) all.emplace_back(200, 'x');
}

void in_one() { std::vector<char>(kBytes, 'x').back() = 'y'; }

void aligned() {
  std::vector<std::unique_ptr<Line[]>> all;
  for (size_t i = 0; i < 64; ++i) all.push_back(std::make_unique<Line[]>(kBytes / 64 / 64));
}

void not_throwing() {
  const std::unique_ptr<char[]> bytes(new (std::nothrow) char[kBytes]);
  const std::unique_ptr<Line[]> lines(new (std::nothrow) Line[kBytes / 64]);
  if (bytes == nullptr || lines == nullptr) throw std::bad_alloc();
}

void without_exceptions() noexcept { in_one(); }

/// The standard library asks for a buffer in a function that does not throw, and does without.
void sorting() {
  std::vector<int> numbers(kBytes / 8 / sizeof(int));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = int(i * 7919 % 10007);
  std::ranges::stable_sort(numbers);
  if (!std::ranges::is_sorted(numbers)) throw std::runtime_error("not sorted");
}

void in_a_thread() { std::thread(in_one).join(); }

}  // namespace

int main(int, char** arguments) {
  const std::map<std::string, std::function<void()>> ways{
      {"nothing", [] {}},   {"small", in_small_pieces}, {"one", in_one},
      {"aligned", aligned}, {"nothrow", not_throwing},  {"noexcept", without_exceptions},
      {"sorting", sorting}, {"thread", in_a_thread}};
  try {
    ways.at(arguments[1])();
    return 0;
  } catch (const std::bad_alloc&) {
    std::fputs("error: out of memory\n", stderr);
    return 5;
  } catch (const std::system_error&) {
    std::fputs("error: no thread\n", stderr);
    return 5;
  }
}
