// SPDX-License-Identifier: Apache-2.0
// Fuzz target: safetensors files.
#include "runtime/files/safetensors.h"

#include "tests/fuzz/fuzz.h"

GRAPHC_FUZZ_TARGET(safetensors)(const uint8_t* data, size_t size) {
  using namespace graphc::core;
  fuzz::read_or_refused(ErrorKind::input, fuzz::kFile, [&] {
    const Safetensors content = parse_safetensors(fuzz::text_of(data, size), fuzz::kFile);
    int64_t bytes = 0;
    for (const auto& [name, array] : content.arrays) bytes += array.type().bytes();
    GRAPHC_CHECK(bytes <= int64_t(size), "{} bytes are read from a file of {}", bytes, size);
  });
  return 0;
}
