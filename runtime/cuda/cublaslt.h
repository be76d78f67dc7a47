// SPDX-License-Identifier: Apache-2.0
// Products of matrices by cuBLASLt. The library is opened when it is first asked for.
//
// A thread calls Device::make_current() before it uses what is here.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/cublaslt_functions.h"
#include "runtime/cuda/libraries.h"
#include "runtime/cuda/library_object.h"
#include "runtime/cuda/stream.h"

namespace graphc::core::cuda {

/// Whether there is a cuBLASLt that can be used. If not, `why_not`, unless null, gets the reason.
bool cublaslt_present(std::string* why_not = nullptr);
/// What was found of cuBLASLt: looked for in places_of_environment(), once a process.
const FoundLibrary& cublaslt_library();

template <typename Handle>
using CublasLtObject = LibraryObject<Handle, cublasStatus_t>;

/// cuBLASLt's handle of a device.
class CublasLtHandle {
 public:
  /// Throws ErrorKind::resource without cuBLASLt.
  explicit CublasLtHandle(DevicePtr device);
  ~CublasLtHandle();
  CublasLtHandle(const CublasLtHandle&) = delete;
  CublasLtHandle& operator=(const CublasLtHandle&) = delete;

  cublasLtHandle_t get() const { return handle_.get(); }

 private:
  DevicePtr device_;
  CublasLtObject<cublasLtHandle_t> handle_;
};

/// A matrix as it lies: row-major, or its transpose is. `leading` is the distance, in elements, of
/// what follow each other along the other axis.
struct MatrixPlace {
  bool transposed = false;
  int64_t leading = 0;
  bool operator==(const MatrixPlace&) const = default;
};

/// result [rows, columns] = left [rows, k] right [k, columns]; the result is f32 and row-major, the
/// operands are both f32 or both bf16.
struct ProductShape {
  int64_t rows = 0, columns = 0, k = 0;
  MatrixPlace left, right;
  int64_t result_leading = 0;
  cudaDataType_t type = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  bool operator==(const ProductShape&) const = default;

  /// "[128, 512] x [512, 2048]'".
  std::string text() const;
};

/// How cuBLASLt computes a product.
struct ProductMethod {
  cublasLtMatmulAlgo_t algorithm{};
  size_t workspace_bytes = 0;
};

/// A product of one shape.
class LibraryProduct {
 public:
  LibraryProduct(std::shared_ptr<const CublasLtHandle> handle, const ProductShape& shape);

  /// The methods that cuBLASLt thinks fastest, best first, with at most so much workspace; none
  /// where it does not have the shape.
  std::vector<ProductMethod> methods(size_t workspace_bytes) const;
  /// Puts the product into the stream. What `result` holds does not count. `workspace` has the
  /// method's bytes.
  void enqueue(const Stream& stream, const ProductMethod& method, CUdeviceptr left,
               CUdeviceptr right, CUdeviceptr result, CUdeviceptr workspace) const;

 private:
  std::shared_ptr<const CublasLtHandle> handle_;
  ProductShape shape_;
  CublasLtObject<cublasLtMatmulDesc_t> product_;
  CublasLtObject<cublasLtMatrixLayout_t> left_, right_, result_;
};

}  // namespace graphc::core::cuda
