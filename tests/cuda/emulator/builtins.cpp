// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/builtins.h"

#include <map>

namespace graphc::core::cuda_emulator {
namespace {

Scalar scalar_of(char letter) {
  switch (letter) {
    case 'b':
      return Scalar::boolean;
    case 'i':
      return Scalar::i32;
    case 'u':
      return Scalar::u32;
    case 'l':
      return Scalar::i64;
    case 'U':
      return Scalar::u64;
    case 'f':
      return Scalar::f32;
    case 'd':
      return Scalar::f64;
    default:
      return Scalar::nothing;
  }
}

std::map<std::string_view, std::vector<const Builtin*>> all_builtins() {
  std::map<std::string_view, std::vector<const Builtin*>> result;
  for (const auto part :
       {arithmetic_builtins(), mathematical_builtins(), warp_builtins(), memory_builtins()})
    for (const Builtin& one : part) result[one.name].push_back(&one);
  return result;
}

}  // namespace

std::vector<const Builtin*> builtins_named(std::string_view name) {
  static const auto all = all_builtins();
  const auto found = all.find(name);
  return found == all.end() ? std::vector<const Builtin*>() : found->second;
}

std::vector<Type> types_of(const Builtin& builtin) {
  std::vector<Type> result;
  Type next;
  for (const char letter : builtin.signature) {
    if (letter == ':') continue;
    next.pointer |= letter == 'P' || letter == 'K';
    next.to_const |= letter == 'K';
    if (letter == 'P' || letter == 'K') continue;
    next.scalar = scalar_of(letter);
    result.push_back(next);
    next = Type();
  }
  return result;
}

}  // namespace graphc::core::cuda_emulator
