// SPDX-License-Identifier: Apache-2.0
// A mock of cuBLASLt: products of f32 and bf16 in f64, with what the documentation says of layouts.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "runtime/cuda/cublaslt_functions.h"
#include "tests/cuda/mock/error_codes.h"
#include "tests/cuda/mock/libraries.h"

// The descriptors behind cuBLASLt's handles.
namespace graphc::core::cuda {

struct cublasLtContext {};
struct CublasLtMatmulDesc {
  cublasComputeType_t compute{};
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
};
/// Column-major.
struct CublasLtMatrixLayout {
  cudaDataType_t type{};
  size_t rows = 0, columns = 0, leading = 0;

  size_t size() const { return type == CUDA_R_16BF ? 2 : 4; }
  size_t bytes() const { return ((columns - 1) * leading + rows) * size(); }
};
struct CublasLtMatmulPreference {
  size_t workspace = 0;
};

}  // namespace graphc::core::cuda

namespace graphc::core::cuda_mock {
namespace {

using namespace graphc::core::cuda;
using Layout = CublasLtMatrixLayout;

/// What the mock's algorithms are known by; the second uses workspace.
constexpr uint64_t kAlgorithm = 0x6d6f636b;
constexpr size_t kWorkspaceFloats = 16;

template <typename Body>
cublasStatus_t called(const char* symbol, Body&& body) {
  if (const int asked = library_driver().call(symbol)) return cublasStatus_t(asked);
  return body();
}

template <typename Object>
cublasStatus_t create(const char* kind, Object** object, Object content) {
  *object = std::make_unique<Object>(std::move(content)).release();
  library_driver().objects(kind, 1);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Object>
cublasStatus_t destroy(const char* symbol, const char* kind, Object* object) {
  if (object != nullptr) library_driver().objects(kind, -1);
  const std::unique_ptr<Object> owned(object);
  return called(symbol, [] { return CUBLAS_STATUS_SUCCESS; });
}

/// The extents of an operand as it is multiplied.
std::array<size_t, 2> extents(const Layout& layout, cublasOperation_t operation) {
  return operation == CUBLAS_OP_N ? std::array{layout.rows, layout.columns}
                                  : std::array{layout.columns, layout.rows};
}

cublasStatus_t check(const CublasLtMatmulDesc& product, const Layout& a, const Layout& b,
                     const Layout& d) {
  const auto left = extents(a, product.a), right = extents(b, product.b);
  for (const Layout* layout : {&a, &b, &d}) {
    if (layout->leading < layout->rows) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (left[0] != d.rows || right[1] != d.columns || left[1] != right[0])
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool rounds = product.compute != CUBLAS_COMPUTE_32F;
  if (a.type != b.type || d.type != CUDA_R_32F || (rounds && a.type != CUDA_R_32F))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

/// An element as it is multiplied: what the compute type lets a factor be rounded to.
double factor(const std::byte* matrix, const Layout& layout, size_t row, size_t column,
              cublasComputeType_t compute) {
  const std::byte* at = matrix + (column * layout.leading + row) * layout.size();
  uint32_t bits = 0;
  if (layout.type == CUDA_R_16BF) {
    uint16_t half = 0;
    std::memcpy(&half, at, sizeof half);
    bits = uint32_t{half} << 16;
  } else {
    std::memcpy(&bits, at, sizeof bits);
    const int lost = compute == CUBLAS_COMPUTE_32F_FAST_16BF   ? 16
                     : compute == CUBLAS_COMPUTE_32F_FAST_16F  ? 13
                     : compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? 13
                                                               : 0;
    if (lost > 0 && (bits & 0x7f800000) != 0x7f800000) {
      const uint32_t half = (uint32_t{1} << (lost - 1)) - 1 + ((bits >> lost) & 1);
      bits = (bits + half) >> lost << lost;
    }
  }
  return double(std::bit_cast<float>(bits));
}

/// Reads every element of a matrix that counts.
void read_matrix(const void* matrix, const Layout& layout) {
  for (size_t column = 0; column < layout.columns; ++column) {
    const auto* begin =
        static_cast<const std::byte*>(matrix) + column * layout.leading * layout.size();
    if (const char* wrong = library_driver().reads(begin, layout.rows * layout.size()))
      throw Error(ErrorKind::internal, {}, wrong);
  }
}

/// The factors of an operand as it is multiplied, those of a row, or of a column, together.
std::vector<double> factors(const void* matrix, const Layout& layout, bool by_row,
                            cublasComputeType_t compute) {
  read_matrix(matrix, layout);
  const auto* begin = static_cast<const std::byte*>(matrix);
  std::vector<double> all;
  for (size_t i = 0; i < (by_row ? layout.rows : layout.columns); ++i) {
    for (size_t k = 0; k < (by_row ? layout.columns : layout.rows); ++k)
      all.push_back(factor(begin, layout, by_row ? i : k, by_row ? k : i, compute));
  }
  return all;
}

void multiply(const CublasLtMatmulDesc& product, const void* a, const Layout& a_layout,
              const void* b, const Layout& b_layout, void* d, const Layout& d_layout) {
  const auto left = factors(a, a_layout, product.a == CUBLAS_OP_N, product.compute);
  const auto right = factors(b, b_layout, product.b != CUBLAS_OP_N, product.compute);
  const size_t terms = extents(a_layout, product.a)[1];
  std::vector<float> results;
  for (size_t column = 0; column < d_layout.columns; ++column) {
    for (size_t row = 0; row < d_layout.rows; ++row) {
      const double* x = left.data() + row * terms;
      results.push_back(
          float(std::inner_product(x, x + terms, right.data() + column * terms, 0.0)));
    }
  }
  for (size_t column = 0; column < d_layout.columns; ++column) {
    float* to = written_floats(static_cast<float*>(d) + column * d_layout.leading, d_layout.rows);
    std::copy_n(results.begin() + long(column * d_layout.rows), d_layout.rows, to);
  }
}

}  // namespace

GRAPHC_MOCK_EXPORT size_t cublasLtGetVersion() { return 130100; }
GRAPHC_MOCK_EXPORT const char* cublasLtGetStatusString(cublasStatus_t status) {
  return words_of(kCublasCodes, status, "CUBLAS_STATUS_OF_THE_MOCK");
}

GRAPHC_MOCK_EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (library_driver().has_context() == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  return called("cublasLtCreate", [&] { return create("cublaslt handle", handle, {}); });
}
GRAPHC_MOCK_EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return destroy("cublasLtDestroy", "cublaslt handle", handle);
}

GRAPHC_MOCK_EXPORT cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product,
                                                           cublasComputeType_t compute,
                                                           cudaDataType_t scale) {
  return called("cublasLtMatmulDescCreate", [&] {
    if (scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
    return create("product descriptor", product, {compute});
  });
}
GRAPHC_MOCK_EXPORT cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  return destroy("cublasLtMatmulDescDestroy", "product descriptor", product);
}
GRAPHC_MOCK_EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute, const void* value,
    size_t bytes) {
  return called("cublasLtMatmulDescSetAttribute", [&] {
    if (bytes != sizeof(cublasOperation_t)) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(attribute == CUBLASLT_MATMUL_DESC_TRANSA ? &product->a : &product->b, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout,
                                                             cudaDataType_t type, uint64_t rows,
                                                             uint64_t columns, int64_t leading) {
  return called("cublasLtMatrixLayoutCreate", [&] {
    if (rows == 0 || columns == 0) return CUBLAS_STATUS_INVALID_VALUE;
    return create("matrix layout", layout, {type, rows, columns, size_t(leading)});
  });
}
GRAPHC_MOCK_EXPORT cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy("cublasLtMatrixLayoutDestroy", "matrix layout", layout);
}

GRAPHC_MOCK_EXPORT cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return called("cublasLtMatmulPreferenceCreate",
                [&] { return create("product preference", preference, {}); });
}
GRAPHC_MOCK_EXPORT cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy("cublasLtMatmulPreferenceDestroy", "product preference", preference);
}
GRAPHC_MOCK_EXPORT cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
    const void* value, size_t bytes) {
  return called("cublasLtMatmulPreferenceSetAttribute", [&] {
    if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES || bytes != sizeof(size_t))
      return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&preference->workspace, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int wanted, cublasLtMatmulHeuristicResult_t* found,
    int* count) {
  return called("cublasLtMatmulAlgoGetHeuristic", [&] {
    *count = 0;
    if (const cublasStatus_t refusal = check(*product, *a, *b, *d)) return refusal;
    for (uint64_t i = 0; i < 2 && *count < wanted; ++i) {
      const size_t workspace = i * kWorkspaceFloats * sizeof(float);
      if (workspace > preference->workspace) continue;
      found[*count] = {};
      found[*count].algo.data[0] = kAlgorithm;
      found[*count].algo.data[1] = i;
      found[*count].workspaceSize = workspace;
      found[(*count)++].state = CUBLAS_STATUS_SUCCESS;
    }
    return CUBLAS_STATUS_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT cublasStatus_t
cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
               cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
               const void* beta, const void*, cublasLtMatrixLayout_t, void* d,
               cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm,
               void* workspace, size_t workspace_bytes, CUstream stream) {
  return called("cublasLtMatmul", [&] {
    if (const cublasStatus_t refusal = check(*product, *a_layout, *b_layout, *d_layout))
      return refusal;
    const bool plain =
        *static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0;
    const size_t wanted = algorithm->data[1] * kWorkspaceFloats * sizeof(float);
    if (!plain || a == nullptr || b == nullptr || d == nullptr ||
        algorithm->data[0] != kAlgorithm || algorithm->data[1] > 1 || workspace_bytes < wanted ||
        (wanted > 0 && workspace == nullptr))
      return CUBLAS_STATUS_INVALID_VALUE;
    const auto work = [product = *product, a, a_layout = *a_layout, b, b_layout = *b_layout, d,
                       d_layout = *d_layout, workspace, wanted] {
      if (wanted > 0) std::memset(written_floats(workspace, kWorkspaceFloats), 0xFF, wanted);
      multiply(product, a, a_layout, b, b_layout, d, d_layout);
    };
    return library_driver().enqueue(stream, library_work(work)) == 0
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
  });
}

}  // namespace graphc::core::cuda_mock
