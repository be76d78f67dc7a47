// SPDX-License-Identifier: Apache-2.0
// Fuzz target: .npy files.
#include "runtime/files/npy.h"

#include "tests/fuzz/fuzz.h"

GRAPHC_FUZZ_TARGET(npy)(const uint8_t* data, size_t size) {
  using namespace graphc::core;
  Literal array;
  const bool read = fuzz::read_or_refused(ErrorKind::input, fuzz::kFile, [&] {
    array = parse_npy(fuzz::text_of(data, size), fuzz::kFile);
  });
  if (!read) return 0;
  GRAPHC_CHECK(array.type().bytes() <= int64_t(size), "more is read than the file has");
  GRAPHC_CHECK(parse_npy(npy_bytes(array), "written") == array, "an array changes when written");
  return 0;
}
