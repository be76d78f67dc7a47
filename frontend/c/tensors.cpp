// SPDX-License-Identifier: Apache-2.0
#include "frontend/c/tensors.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace graphc::core {
namespace {

struct Named {
  DType dtype;
  graphc_dtype number;
};

constexpr std::array kDTypes{
    Named{DType::f32, GRAPHC_F32}, Named{DType::bf16, GRAPHC_BF16},
    Named{DType::f64, GRAPHC_F64}, Named{DType::i32, GRAPHC_I32},
    Named{DType::i64, GRAPHC_I64}, Named{DType::u32, GRAPHC_U32},
    Named{DType::u8, GRAPHC_U8},   Named{DType::boolean, GRAPHC_BOOL},
};

DType dtype_of(graphc_dtype number, const std::string& what) {
  const auto found = std::ranges::find(kDTypes, number, &Named::number);
  if (found != kDTypes.end()) return found->dtype;
  throw input_error({},
                    "{}: its dtype has code {}, {} bits and {} lanes: wanted one of GRAPHC_F32, "
                    "GRAPHC_I64, ...",
                    what, number & 0xff, number >> 8 & 0xff, number >> 16);
}

Shape shape_of(const graphc_tensor& descriptor, const std::string& what) {
  if (descriptor.rank < 0 || descriptor.rank > Shape::kMaxRank) {
    throw input_error({}, "{}: its rank is {}: wanted 0 to {}", what, descriptor.rank,
                      Shape::kMaxRank);
  }
  if (descriptor.rank > 0 && descriptor.shape == nullptr)
    throw input_error({}, "{}: its rank is {} and its shape is NULL", what, descriptor.rank);
  try {
    return Shape(std::span(descriptor.shape, size_t(descriptor.rank)));
  } catch (const Error& error) {
    throw input_error({}, "{}: {}", what, error.message());
  }
}

/// The GPU in whose memory it is; -1: the host's.
int gpu_of(const graphc_tensor& descriptor, const std::string& what, CallersTensor::Of of) {
  const int32_t type = descriptor.device_type;
  if (type == GRAPHC_DEVICE_CPU || type == GRAPHC_DEVICE_CUDA_HOST) return -1;
  const bool is_gpu = type == GRAPHC_DEVICE_CUDA;
  if (is_gpu && of == CallersTensor::Of::anywhere && descriptor.device_id >= 0)
    return descriptor.device_id;
  const std::string found = is_gpu ? fmt::format("cuda:{}", descriptor.device_id)
                                   : fmt::format("a device of type {}", type);
  throw input_error({}, "{}: its memory is on {}: wanted the host's (GRAPHC_DEVICE_CPU){}", what,
                    found,
                    of == CallersTensor::Of::anywhere ? " or a GPU's (GRAPHC_DEVICE_CUDA)" : "");
}

}  // namespace

graphc_dtype c_dtype_of(DType dtype) {
  return std::ranges::find(kDTypes, dtype, &Named::dtype)->number;
}

CallersTensor::CallersTensor(const graphc_tensor& descriptor, std::string what, Of of)
    : what_(std::move(what)),
      type_{dtype_of(descriptor.dtype, what_), shape_of(descriptor, what_)} {
  if (of == Of::type) return;
  gpu_ = gpu_of(descriptor, what_, of);
  if (type_.shape.elements() > 0) find_elements(descriptor);
}

void CallersTensor::find_elements(const graphc_tensor& descriptor) {
  if (descriptor.data == nullptr)
    throw input_error({}, "{} is {}, and its data is NULL", what_, to_string(type_));
  const int64_t size = size_of(type_.dtype);
  first_ = static_cast<std::byte*>(descriptor.data) + descriptor.byte_offset;
  plain_ = reinterpret_cast<uintptr_t>(first_) % uintptr_t(size) == 0;
  const auto row_major = type_.shape.strides();
  for (int axis = 0; axis < type_.shape.rank(); ++axis) {
    const int64_t extent = type_.shape[axis];
    int64_t stride = row_major[size_t(axis)];
    // The stride of an axis with one element means nothing.
    if (descriptor.strides != nullptr && extent > 1) stride = descriptor.strides[axis];
    plain_ &= stride == row_major[size_t(axis)];
    int64_t last = 0;
    if (__builtin_mul_overflow(stride, size, &strides_[size_t(axis)]) ||
        __builtin_mul_overflow(strides_[size_t(axis)], extent, &last)) {
      throw input_error({}, "{}: its stride along axis {} is {}, which leads out of memory", what_,
                        axis, stride);
    }
  }
  find_bounds();
}

void CallersTensor::find_bounds() {
  low_ = reinterpret_cast<uintptr_t>(first_);
  high_ = low_ + uintptr_t(size_of(type_.dtype));
  for (int axis = 0; axis < type_.shape.rank(); ++axis) {
    const int64_t reach = strides_[size_t(axis)] * (type_.shape[axis] - 1);
    (reach < 0 ? low_ : high_) += uintptr_t(reach);
  }
}

void CallersTensor::copy(const std::byte* from, int axis, std::byte*& to) const {
  const int64_t size = size_of(type_.dtype);
  const bool is_run = axis + 1 == type_.shape.rank() && strides_[size_t(axis)] == size;
  if (axis == type_.shape.rank() || is_run) {
    const auto bytes = size_t(is_run ? size * type_.shape[axis] : size);
    std::memcpy(to, from, bytes);
    to += bytes;
    return;
  }
  for (int64_t i = 0; i < type_.shape[axis]; ++i)
    copy(from + i * strides_[size_t(axis)], axis + 1, to);
}

Tensor CallersTensor::to_read() const {
  Tensor tensor;
  if (plain_ && first_ != nullptr) {
    tensor = Tensor(type_, std::shared_ptr<std::byte>(std::shared_ptr<std::byte>(), first_));
  } else {
    tensor = Tensor(type_);
    std::byte* to = tensor.address();
    if (first_ != nullptr) copy(first_, 0, to);
  }
  if (type_.dtype != DType::boolean) return tensor;
  const std::byte* const bytes = tensor.address();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (bytes[i] <= std::byte{1}) continue;
    throw input_error({}, "{}: its element {} has the byte {}: a bool is 0 or 1", what_, i,
                      int(bytes[i]));
  }
  return tensor;
}

DeviceTensor CallersTensor::on_gpu() const {
  check_plain();
  return {type_, gpu_, reinterpret_cast<uint64_t>(first_)};
}

Tensor CallersTensor::to_write() const {
  if (first_ == nullptr) return Tensor(type_);
  check_plain();
  return Tensor(type_, std::shared_ptr<std::byte>(std::shared_ptr<std::byte>(), first_));
}

void CallersTensor::check_plain() const {
  if (plain_) return;
  if (reinterpret_cast<uintptr_t>(first_) % uintptr_t(size_of(type_.dtype)) != 0) {
    throw input_error({}, "{}: its address is no multiple of {} bytes, the size of {}", what_,
                      size_of(type_.dtype), name_of(type_.dtype));
  }
  std::vector<int64_t> strides;
  for (int axis = 0; axis < type_.shape.rank(); ++axis)
    strides.push_back(strides_[size_t(axis)] / size_of(type_.dtype));
  throw input_error({}, "{} is {} with strides [{}]: wanted row-major, because it is {}", what_,
                    to_string(type_), fmt::join(strides, ","),
                    is_on_gpu() ? "in the memory of a GPU" : "written");
}

bool CallersTensor::shares_memory(const CallersTensor& other) const {
  return low_ < other.high_ && other.low_ < high_;
}

}  // namespace graphc::core
