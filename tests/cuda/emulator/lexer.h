// SPDX-License-Identifier: Apache-2.0
// The words of a CUDA text with their positions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "tests/cuda/emulator/syntax.h"

namespace graphc::core::cuda_emulator {

enum class TokenKind : uint8_t { word, integer, floating, string, symbol, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  ///< as written
  Position position;
  Scalar scalar = Scalar::nothing;  ///< of a number, as its suffix says
  uint64_t integer = 0;
  double floating = 0;

  bool is(std::string_view what) const {
    return (kind == TokenKind::word || kind == TokenKind::symbol) && text == what;
  }
};

/// All tokens of the text, `end` last. Comments and `#pragma unroll` are left out. Throws
/// ErrorKind::input at what is no token, and at any other line of the preprocessor.
std::vector<Token> tokens_of(std::string_view text, const char* file);

/// An input error at a place of the text.
Error text_error(const char* file, Position position, const std::string& message);

}  // namespace graphc::core::cuda_emulator
