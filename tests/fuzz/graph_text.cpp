// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the text of graphs.
#include "tests/fuzz/fuzz.h"

GRAPHC_FUZZ_TARGET(graph_text)(const uint8_t* data, size_t size) {
  using namespace graphc::core;
  Module module;
  const bool read = fuzz::read_or_refused(ErrorKind::input, fuzz::kFile, [&] {
    module = parse(fuzz::text_of(data, size), fuzz::kFile);
  });
  if (read) fuzz::check_module(module);
  return 0;
}
