// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/syntax.h"

#include <fmt/format.h>

namespace graphc::core::cuda_emulator {

size_t bytes_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::nothing:
    case Scalar::boolean:
    case Scalar::i8:
    case Scalar::u8:
      return 1;
    case Scalar::u16:
      return 2;
    case Scalar::i32:
    case Scalar::u32:
    case Scalar::f32:
      return 4;
    case Scalar::i64:
    case Scalar::u64:
    case Scalar::f64:
      return 8;
  }
  return 0;
}

bool is_floating(Scalar scalar) { return scalar == Scalar::f32 || scalar == Scalar::f64; }
bool is_integer(Scalar scalar) { return scalar != Scalar::nothing && !is_floating(scalar); }
bool is_signed(Scalar scalar) {
  return scalar == Scalar::i8 || scalar == Scalar::i32 || scalar == Scalar::i64;
}

const char* spelled(Scalar scalar) {
  switch (scalar) {
    case Scalar::nothing:
      return "void";
    case Scalar::boolean:
      return "bool";
    case Scalar::i8:
      return "char";
    case Scalar::u8:
      return "unsigned char";
    case Scalar::u16:
      return "unsigned short";
    case Scalar::i32:
      return "int";
    case Scalar::u32:
      return "unsigned";
    case Scalar::i64:
      return "long long";
    case Scalar::u64:
      return "unsigned long long";
    case Scalar::f32:
      return "float";
    case Scalar::f64:
      return "double";
  }
  return "";
}

Type Type::element() const {
  Type inner = *this;
  if (is_array()) {
    inner.extents.erase(inner.extents.begin());
    // Below an array of pointers there is a pointer, and what it leads to keeps its const.
  } else {
    inner.pointer = false;
    inner.to_const = false;
  }
  return inner;
}

size_t Type::bytes() const {
  size_t bytes = pointer ? 8 : bytes_of(scalar);
  for (const int64_t extent : extents) bytes *= size_t(extent);
  return bytes;
}

size_t Type::align() const { return pointer ? 8 : bytes_of(scalar); }

std::string Type::to_string() const {
  std::string text =
      fmt::format("{}{}{}", to_const ? "const " : "", spelled(scalar), pointer ? "*" : "");
  for (const int64_t extent : extents) text += fmt::format("[{}]", extent);
  return text;
}

Held held(const Type& type) {
  if (!type.is_scalar()) return Held::u64;
  switch (type.scalar) {
    case Scalar::u32:
      return Held::u32;
    case Scalar::i64:
      return Held::i64;
    case Scalar::u64:
      return Held::u64;
    case Scalar::f32:
      return Held::f32;
    case Scalar::f64:
      return Held::f64;
    default:
      return Held::i32;
  }
}

bool is_wide(Held held) { return held == Held::i64 || held == Held::u64 || held == Held::f64; }

}  // namespace graphc::core::cuda_emulator
