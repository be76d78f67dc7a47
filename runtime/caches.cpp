// SPDX-License-Identifier: Apache-2.0
#include "runtime/caches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace graphc::core {
namespace {

/// The first word of a file; empty if there is none.
std::string word_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

/// "2048K" in bytes; 0 if it is not a size.
int64_t size_in(const std::string& text) {
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  const std::string unit = end;
  if (number <= 0 || number > (1LL << 40)) return 0;
  if (unit == "K") return number << 10;
  if (unit == "M") return number << 20;
  return unit.empty() ? number : 0;
}

}  // namespace

CacheSizes cache_sizes(const std::filesystem::path& folder) {
  CacheSizes sizes;
  for (int index = 0;; ++index) {
    const std::filesystem::path cache = folder / fmt::format("index{}", index);
    const std::string level = word_in(cache / "level");
    if (level.empty()) return sizes;
    if (word_in(cache / "type") == "Instruction") continue;
    const int64_t bytes = size_in(word_in(cache / "size"));
    if (level == "2") sizes.second_level = bytes;
    if (level == "3") sizes.shared = bytes;
  }
}

int64_t second_level_cache() {
  // Outside of these, what is described (by a virtual machine, say) is no cache of one core.
  constexpr int64_t kLeast = 256 << 10, kMost = 4 << 20;
  static const int64_t said = cache_sizes().second_level;
  return said > 0 ? std::clamp(said, kLeast, kMost) : kAssumedSecondLevel;
}

}  // namespace graphc::core
