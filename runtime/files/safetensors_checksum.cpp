// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <memory>

#include "ir/error.h"
#include "runtime/files/safetensors.h"

namespace graphc::core {
namespace {

/// Hashes parts with their lengths: "ab", "c" differs from "a", "bc".
class Checksum {
 public:
  Checksum() : state_(XXH3_createState(), XXH3_freeState) {
    if (!state_) throw resource_error("no memory for a checksum");
    XXH3_128bits_reset(state_.get());
  }

  void add(const void* bytes, size_t size) {
    const uint64_t length = size;
    XXH3_128bits_update(state_.get(), &length, sizeof length);
    XXH3_128bits_update(state_.get(), bytes, size);
  }
  void add(std::string_view text) { add(text.data(), text.size()); }

  std::string digits() const {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_.get()));
    return fmt::format("{:02x}", fmt::join(canonical.digest, ""));
  }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

}  // namespace

std::string checksum(const Safetensors& content, std::string_view without) {
  Checksum sum;
  for (const auto& [name, array] : content.arrays) {
    sum.add(name);
    sum.add(to_string(array.type()));
    sum.add(array.bytes().data(), array.bytes().size());
  }
  for (const auto& [key, text] : content.metadata) {
    if (key == without) continue;
    sum.add(key);
    sum.add(text);
  }
  return sum.digits();
}

}  // namespace graphc::core
