// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLASLt. The library is opened on first use.
//
// A thread calls Device::make_current() before using anything here.
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

/// Whether cuBLASLt is usable. If not, `why_not`, unless null, gets the reason.
bool cublaslt_present(std::string* why_not = nullptr);
/// The result of searching for cuBLASLt in places_of_environment(), once per process.
const FoundLibrary& cublaslt_library();

template <typename Handle>
using CublasLtObject = LibraryObject<Handle, cublasStatus_t>;

/// A cuBLASLt handle for a device.
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

/// The layout of a matrix: row-major, or the transpose is row-major. `leading` is the leading
/// dimension in elements.
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

/// A method by which cuBLASLt computes a product.
struct ProductMethod {
  cublasLtMatmulAlgo_t algorithm{};
  size_t workspace_bytes = 0;
};

/// A product of a fixed shape.
class LibraryProduct {
 public:
  LibraryProduct(std::shared_ptr<const CublasLtHandle> handle, const ProductShape& shape);

  /// The methods that cuBLASLt considers fastest, best first, within this workspace limit; empty if
  /// it does not support the shape.
  std::vector<ProductMethod> methods(size_t workspace_bytes) const;
  /// Enqueues the product; `result` is overwritten. `workspace` has the method's size.
  void enqueue(const Stream& stream, const ProductMethod& method, CUdeviceptr left,
               CUdeviceptr right, CUdeviceptr result, CUdeviceptr workspace) const;

 private:
  std::shared_ptr<const CublasLtHandle> handle_;
  ProductShape shape_;
  CublasLtObject<cublasLtMatmulDesc_t> product_;
  CublasLtObject<cublasLtMatrixLayout_t> left_, right_, result_;
};

}  // namespace graphc::core::cuda
