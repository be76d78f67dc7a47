// SPDX-License-Identifier: Apache-2.0
// What a function that XLA calls gets from it: declarations of the part of its foreign function
// interface that graphc uses, in place of xla/ffi/api/c_api.h of jaxlib, which a build then does
// not need. The part is the same in versions 0.1 to 0.5 (jaxlib from 0.5 on);
// tests/frontend/python/test_jax.py compares it with the header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphc::core::xla {

inline constexpr int kMajorVersion = 0;
/// The last minor version that was looked at.
inline constexpr int kMinorVersion = 5;

/// A chain of further structs; the only one is that of Metadata.
struct Extension {
  size_t struct_size;
  int32_t type;
  Extension* next;
};
inline constexpr int32_t kMetadataExtension = 1;

struct ApiVersion {
  size_t struct_size;
  Extension* extensions;
  int major, minor;
};

/// What XLA asks a function for before it calls it.
struct Metadata {
  size_t struct_size;
  ApiVersion version;
  uint32_t traits;
};

struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

struct Error;  ///< XLA's

enum ErrorCode : int32_t { kUnknown = 2, kInvalidArgument = 3, kFailedPrecondition = 9 };

struct ErrorCreateArguments {
  size_t struct_size;
  Extension* extensions;
  const char* message;
  ErrorCode code;
};

struct Api {
  size_t struct_size;
  Extension* extensions;
  ApiVersion version;
  const void* internal;
  Error* (*create_error)(ErrorCreateArguments*);
};

enum DataType : int32_t {
  kPred = 1,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU32 = 8,
  kF32 = 11,
  kF64 = 12,
  kBf16 = 16
};

struct Buffer {
  size_t struct_size;
  Extension* extensions;
  DataType dtype;
  void* data;
  int64_t rank;
  int64_t* dims;
};

/// Arguments, or results: `size` pointers, to Buffers where the type is 1.
struct Buffers {
  size_t struct_size;
  Extension* extensions;
  int64_t size;
  int32_t* types;
  void** items;
};
inline constexpr int32_t kIsBuffer = 1;

struct Text {
  const char* begin;
  size_t size;
};
struct Scalar {
  DataType dtype;
  void* value;
};
struct Attributes {
  size_t struct_size;
  Extension* extensions;
  int64_t size;
  int32_t* types;
  Text** names;
  void** items;
};
inline constexpr int32_t kIsScalar = 3;

enum Stage : int32_t { kExecute = 3 };

struct CallFrame {
  size_t struct_size;
  Extension* extensions;
  const Api* api;
  void* context;
  Stage stage;
  Buffers arguments;
  Buffers results;
  Attributes attributes;
};

}  // namespace graphc::core::xla
