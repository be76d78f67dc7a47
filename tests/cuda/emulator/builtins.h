// SPDX-License-Identifier: Apache-2.0
// The functions that the text may call without defining them: CUDA's, and those of the prelude.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda/emulator/code.h"
#include "tests/cuda/emulator/syntax.h"

namespace graphc::core::cuda_emulator {

/// One overload.
struct Builtin {
  std::string_view name;
  /// The result's type, a colon, and the arguments': v void, b bool, i int, u unsigned, l long
  /// long, U unsigned long long, f float, d double; behind P a pointer to it, behind K to a
  /// constant, and PV, KV pointers to anything.
  std::string_view signature;
  Operation operation = nullptr;
  Control control = Control::plain;
  /// Among several overloads, the argument whose type decides; -1: the type that C's conversions
  /// bring all of them to.
  int decided_by = -1;
};

/// The overloads of a name, none when it is unknown.
std::vector<const Builtin*> builtins_named(std::string_view name);
/// The types of a signature: the result's first.
std::vector<Type> types_of(const Builtin& builtin);

// Parts of the table, a source each.
std::span<const Builtin> arithmetic_builtins();
std::span<const Builtin> mathematical_builtins();
std::span<const Builtin> warp_builtins();
std::span<const Builtin> memory_builtins();

}  // namespace graphc::core::cuda_emulator
