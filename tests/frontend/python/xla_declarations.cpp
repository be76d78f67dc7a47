// SPDX-License-Identifier: Apache-2.0
// Compares what frontend/python/src/xla_ffi.h declares with the header of jaxlib; nothing runs.
#include <xla/ffi/api/c_api.h>

#include <type_traits>

#include "frontend/python/src/xla_ffi.h"

namespace xla = graphc::core::xla;

#define SAME_FIELD(ours, our_field, theirs, their_field)                                 \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #our_field); \
  static_assert(sizeof(ours::our_field) == sizeof(theirs::their_field), #our_field)

// Called otherwise in later versions.
using Extension = std::remove_pointer_t<decltype(XLA_FFI_CallFrame::extension_start)>;
SAME_FIELD(xla::Extension, type, Extension, type);
SAME_FIELD(xla::Extension, next, Extension, next);
SAME_FIELD(xla::ApiVersion, major, XLA_FFI_Api_Version, major_version);
SAME_FIELD(xla::ApiVersion, minor, XLA_FFI_Api_Version, minor_version);
static_assert(sizeof(xla::ApiVersion) == sizeof(XLA_FFI_Api_Version));
SAME_FIELD(xla::Metadata, version, XLA_FFI_Metadata, api_version);
SAME_FIELD(xla::Metadata, traits, XLA_FFI_Metadata, traits);
SAME_FIELD(xla::MetadataExtension, metadata, XLA_FFI_Metadata_Extension, metadata);
SAME_FIELD(xla::ErrorCreateArguments, message, XLA_FFI_Error_Create_Args, message);
SAME_FIELD(xla::ErrorCreateArguments, code, XLA_FFI_Error_Create_Args, errc);
static_assert(sizeof(xla::ErrorCreateArguments) == sizeof(XLA_FFI_Error_Create_Args));
SAME_FIELD(xla::Api, version, XLA_FFI_Api, api_version);
SAME_FIELD(xla::Api, create_error, XLA_FFI_Api, XLA_FFI_Error_Create);
SAME_FIELD(xla::Buffer, dtype, XLA_FFI_Buffer, dtype);
SAME_FIELD(xla::Buffer, data, XLA_FFI_Buffer, data);
SAME_FIELD(xla::Buffer, rank, XLA_FFI_Buffer, rank);
SAME_FIELD(xla::Buffer, dims, XLA_FFI_Buffer, dims);
SAME_FIELD(xla::Buffers, size, XLA_FFI_Args, size);
SAME_FIELD(xla::Buffers, types, XLA_FFI_Args, types);
SAME_FIELD(xla::Buffers, items, XLA_FFI_Args, args);
SAME_FIELD(xla::Buffers, items, XLA_FFI_Rets, rets);
SAME_FIELD(xla::Text, begin, XLA_FFI_ByteSpan, ptr);
SAME_FIELD(xla::Text, size, XLA_FFI_ByteSpan, len);
SAME_FIELD(xla::Scalar, dtype, XLA_FFI_Scalar, dtype);
SAME_FIELD(xla::Scalar, value, XLA_FFI_Scalar, value);
SAME_FIELD(xla::Attributes, size, XLA_FFI_Attrs, size);
SAME_FIELD(xla::Attributes, types, XLA_FFI_Attrs, types);
SAME_FIELD(xla::Attributes, names, XLA_FFI_Attrs, names);
SAME_FIELD(xla::Attributes, items, XLA_FFI_Attrs, attrs);
SAME_FIELD(xla::CallFrame, extensions, XLA_FFI_CallFrame, extension_start);
SAME_FIELD(xla::CallFrame, api, XLA_FFI_CallFrame, api);
SAME_FIELD(xla::CallFrame, stage, XLA_FFI_CallFrame, stage);
SAME_FIELD(xla::CallFrame, arguments, XLA_FFI_CallFrame, args);
SAME_FIELD(xla::CallFrame, results, XLA_FFI_CallFrame, rets);
SAME_FIELD(xla::CallFrame, attributes, XLA_FFI_CallFrame, attrs);

static_assert(xla::kMetadataExtension == XLA_FFI_Extension_Metadata);
static_assert(xla::kMajorVersion == XLA_FFI_API_MAJOR);
static_assert(xla::kMinorVersion >= XLA_FFI_API_MINOR);
static_assert(xla::kIsBuffer == XLA_FFI_ArgType_BUFFER && xla::kIsBuffer == XLA_FFI_RetType_BUFFER);
static_assert(xla::kIsScalar == XLA_FFI_AttrType_SCALAR);
static_assert(int(xla::kExecute) == XLA_FFI_ExecutionStage_EXECUTE);
static_assert(int(xla::kUnknown) == XLA_FFI_Error_Code_UNKNOWN);
static_assert(int(xla::kInvalidArgument) == XLA_FFI_Error_Code_INVALID_ARGUMENT);
static_assert(int(xla::kFailedPrecondition) == XLA_FFI_Error_Code_FAILED_PRECONDITION);
static_assert(int(xla::kPred) == XLA_FFI_DataType_PRED && int(xla::kS32) == XLA_FFI_DataType_S32);
static_assert(int(xla::kS64) == XLA_FFI_DataType_S64 && int(xla::kU8) == XLA_FFI_DataType_U8);
static_assert(int(xla::kU32) == XLA_FFI_DataType_U32 && int(xla::kF32) == XLA_FFI_DataType_F32);
static_assert(int(xla::kF64) == XLA_FFI_DataType_F64 && int(xla::kBf16) == XLA_FFI_DataType_BF16);
