// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share. A target is one file with the function that libFuzzer calls; the tests
// call it too, under a name of its own. It throws for a defect and returns for everything else:
// input that is read, and input that is refused as it should be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ir/error.h"
#include "ir/text.h"
#include "ir/verify.h"

/// The head of the function of a target, which has its file's name.
#ifdef GRAPHC_FUZZER
#define GRAPHC_FUZZ_TARGET(name) extern "C" int LLVMFuzzerTestOneInput
#else
#define GRAPHC_FUZZ_TARGET(name) extern "C" int fuzz_##name
#endif

namespace graphc::core::fuzz {

/// The name under which targets read their input: errors must say it.
inline constexpr std::string_view kFile = "fuzzed-file";

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Calls `read`. An error of the kind `refusal` whose text has `naming` in it is an answer; any
/// other is a defect. True when the input was read.
template <typename Read>
bool read_or_refused(ErrorKind refusal, std::string_view naming, Read&& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    if (error.kind() != refusal) throw;
    GRAPHC_CHECK(std::string_view(error.what()).find(naming) != std::string_view::npos,
                 "an error does not name '{}': {}", naming, error.what());
    return false;
  }
}

/// A module that was read is valid, and its text reads back as what it is.
inline void check_module(const Module& module) {
  verify(module);
  const std::string text = print(module);
  const std::string again = print(parse(text, "printed"));
  GRAPHC_CHECK(again == text, "a text is not what it prints as:\n{}\n{}", text, again);
}

}  // namespace graphc::core::fuzz
