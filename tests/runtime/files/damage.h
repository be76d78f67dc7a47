// SPDX-License-Identifier: Apache-2.0
// What a parser of files must survive: every truncation and every flipped bit of a valid file.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "tests/testing/expect_error.h"

namespace graphc::core::testing {

/// Calls `parse(bytes)` on a copy in a block of exactly its length, so that a sanitizer sees the
/// first byte read beyond the end.
template <typename Parse>
void parse_exactly(std::string_view bytes, Parse&& parse) {
  const auto block = std::make_unique<char[]>(bytes.size());
  bytes.copy(block.get(), bytes.size());
  parse(std::string_view(block.get(), bytes.size()));
}

/// Every proper prefix must be an ErrorKind::input that names the file "f".
template <typename Parse>
void check_truncations(std::string_view valid, Parse&& parse) {
  parse_exactly(valid, parse);
  for (size_t length = 0; length < valid.size(); ++length) {
    const std::string message =
        error_of(ErrorKind::input, [&] { parse_exactly(valid.substr(0, length), parse); });
    EXPECT_NE(message.find("'f'"), std::string::npos) << length << ": " << message;
  }
}

/// Every file with one bit flipped is read, or is an ErrorKind::input. Returns how many were read.
template <typename Parse>
int check_bit_flips(std::string_view valid, Parse&& parse) {
  int read = 0;
  for (size_t bit = 0; bit < valid.size() * 8; ++bit) {
    std::string damaged(valid);
    damaged[bit / 8] = char(damaged[bit / 8] ^ (1 << (bit % 8)));
    try {
      parse_exactly(damaged, parse);
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << "bit " << bit << ": " << error.what();
    }
  }
  return read;
}

}  // namespace graphc::core::testing
