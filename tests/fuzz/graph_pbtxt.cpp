// SPDX-License-Identifier: Apache-2.0
// Fuzz target: modules in protobuf's text form.
#include "ir/serialize.h"
#include "tests/fuzz/fuzz.h"

GRAPHC_FUZZ_TARGET(graph_pbtxt)(const uint8_t* data, size_t size) {
  using namespace graphc::core;
  Module module;
  const bool read = fuzz::read_or_refused(ErrorKind::input, fuzz::kFile, [&] {
    module = from_pbtxt(fuzz::text_of(data, size), fuzz::kFile);
  });
  if (!read) return 0;
  fuzz::check_module(module);
  const Module again = from_pbtxt(to_pbtxt(module), "written");
  GRAPHC_CHECK(print(again) == print(module), "a module is not what it is written as");
  return 0;
}
