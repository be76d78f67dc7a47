// SPDX-License-Identifier: Apache-2.0
// Fuzz target: modules in protobuf's JSON form.
#include "ir/serialize.h"
#include "tests/fuzz/fuzz.h"

GRAPHC_FUZZ_TARGET(graph_json)(const uint8_t* data, size_t size) {
  using namespace graphc::core;
  Module module;
  const bool read = fuzz::read_or_refused(ErrorKind::input, fuzz::kFile, [&] {
    module = from_json(fuzz::text_of(data, size), fuzz::kFile);
  });
  if (!read) return 0;
  fuzz::check_module(module);
  const Module again = from_json(to_json(module), "written");
  GRAPHC_CHECK(print(again) == print(module), "a module is not what it is written as");
  return 0;
}
