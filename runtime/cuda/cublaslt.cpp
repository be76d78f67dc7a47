// SPDX-License-Identifier: Apache-2.0
// cuBLASLt is column-major: a row-major matrix is the transpose of one of its matrices. So it
// computes the transpose of the result, right' left'.
#include "runtime/cuda/cublaslt.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

constexpr std::array<std::string_view, 2> kNames{"libcublasLt.so.13", "libcublasLt.so.12"};
constexpr std::array<std::string_view, 14> kSymbols{
    "cublasLtGetVersion",
    "cublasLtGetStatusString",
#define GRAPHC_CUBLASLT_FUNCTION(name, parameters) #name,
#include "runtime/cuda/cublaslt.def"
#undef GRAPHC_CUBLASLT_FUNCTION
};
static_assert(!kSymbols.back().empty());

/// The number of methods to request.
constexpr int kMostMethods = 8;

struct LoadedCublasLt {
  CublasLt functions;
  FoundLibrary library;
};

LoadedCublasLt load_cublaslt(const Places& places) {
  Opened opened = open_library({"cublaslt", kNames, kSymbols, "cuBLASLt 12 or 13"}, places);
  LoadedCublasLt loaded{{}, std::move(opened.found)};
  if (opened.handle == nullptr) return loaded;
  CublasLt& library = loaded.functions;
  const auto find = [&](auto& function, const char* name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened.handle, name));
  };
#define GRAPHC_CUBLASLT_FUNCTION(name, parameters) find(library.name, #name);
#include "runtime/cuda/cublaslt.def"
#undef GRAPHC_CUBLASLT_FUNCTION
  find(library.cublasLtGetVersion, "cublasLtGetVersion");
  find(library.cublasLtGetStatusString, "cublasLtGetStatusString");
  loaded.library.version = library_version_text(library.cublasLtGetVersion());
  return loaded;
}

const LoadedCublasLt& loaded_cublaslt() {
  static const LoadedCublasLt loaded = load_cublaslt(places_of_environment());
  return loaded;
}

const CublasLt& cublaslt() {
  const LoadedCublasLt& loaded = loaded_cublaslt();
  if (!loaded.library.why_not.empty())
    throw resource_error("no cuBLASLt: {}", loaded.library.why_not);
  return loaded.functions;
}

/// Throws unless the call succeeded. Errors that only a defect of graphc can cause are
/// ErrorKind::internal.
void check(cublasStatus_t status, std::string_view call, std::string_view about = "") {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::string message(call);
  if (!about.empty()) message += fmt::format(" ({})", about);
  const bool defect = status == CUBLAS_STATUS_INVALID_VALUE;
  message += fmt::format(": {}", cublaslt().cublasLtGetStatusString(status));
  if (status == CUBLAS_STATUS_ALLOC_FAILED) message += ": out of memory";
  throw Error(defect ? ErrorKind::internal : ErrorKind::resource, {}, message);
}

using Layout = CublasLtObject<cublasLtMatrixLayout_t>;

/// The layout of a matrix [rows, columns] for cuBLASLt: its transpose if it is row-major.
Layout layout_of(cudaDataType_t type, int64_t rows, int64_t columns, const MatrixPlace& place) {
  const auto [high, wide] = place.transposed ? std::pair(rows, columns) : std::pair(columns, rows);
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublaslt().cublasLtMatrixLayoutCreate(&layout, type, uint64_t(high), uint64_t(wide),
                                              place.leading),
        "cublasLtMatrixLayoutCreate");
  return Layout(layout, cublaslt().cublasLtMatrixLayoutDestroy);
}

}  // namespace

bool cublaslt_present(std::string* why_not) {
  const std::string& reason = cublaslt_library().why_not;
  if (why_not != nullptr && !reason.empty()) *why_not = reason;
  return reason.empty();
}

const FoundLibrary& cublaslt_library() { return loaded_cublaslt().library; }

CublasLtHandle::CublasLtHandle(DevicePtr device) : device_(std::move(device)) {
  device_->make_current();
  cublasLtHandle_t handle = nullptr;
  check(cublaslt().cublasLtCreate(&handle), "cublasLtCreate");
  handle_ = CublasLtObject<cublasLtHandle_t>(handle, cublaslt().cublasLtDestroy);
}

CublasLtHandle::~CublasLtHandle() {
  const KeptContext context;
  device_->make_current_for_destruction();
  handle_ = {};
}

std::string ProductShape::text() const {
  return fmt::format("[{}, {}]{} x [{}, {}]{}", rows, k, left.transposed ? "'" : "", k, columns,
                     right.transposed ? "'" : "");
}

LibraryProduct::LibraryProduct(std::shared_ptr<const CublasLtHandle> handle,
                               const ProductShape& shape)
    : handle_(std::move(handle)), shape_(shape) {
  const CublasLt& library = cublaslt();
  cublasLtMatmulDesc_t product = nullptr;
  check(library.cublasLtMatmulDescCreate(&product, shape.compute, CUDA_R_32F),
        "cublasLtMatmulDescCreate", shape.text());
  product_ = CublasLtObject<cublasLtMatmulDesc_t>(product, library.cublasLtMatmulDescDestroy);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const MatrixPlace& place) {
    const cublasOperation_t operation = place.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(library.cublasLtMatmulDescSetAttribute(product, attribute, &operation, sizeof operation),
          "cublasLtMatmulDescSetAttribute", shape.text());
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, shape.right);
  set(CUBLASLT_MATMUL_DESC_TRANSB, shape.left);
  left_ = layout_of(shape.type, shape.rows, shape.k, shape.left);
  right_ = layout_of(shape.type, shape.k, shape.columns, shape.right);
  result_ = layout_of(CUDA_R_32F, shape.rows, shape.columns, {false, shape.result_leading});
}

std::vector<ProductMethod> LibraryProduct::methods(size_t workspace_bytes) const {
  const CublasLt& library = cublaslt();
  cublasLtMatmulPreference_t preference = nullptr;
  check(library.cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  const CublasLtObject<cublasLtMatmulPreference_t> owned(preference,
                                                         library.cublasLtMatmulPreferenceDestroy);
  check(library.cublasLtMatmulPreferenceSetAttribute(preference,
                                                     CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                     &workspace_bytes, sizeof workspace_bytes),
        "cublasLtMatmulPreferenceSetAttribute");
  std::array<cublasLtMatmulHeuristicResult_t, kMostMethods> found{};
  int count = 0;
  const cublasStatus_t status = library.cublasLtMatmulAlgoGetHeuristic(
      handle_->get(), product_.get(), right_.get(), left_.get(), result_.get(), result_.get(),
      preference, kMostMethods, found.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, "cublasLtMatmulAlgoGetHeuristic", shape_.text());
  std::vector<ProductMethod> methods;
  for (int i = 0; i < count; ++i) {
    if (found[size_t(i)].state == CUBLAS_STATUS_SUCCESS)
      methods.push_back({found[size_t(i)].algo, found[size_t(i)].workspaceSize});
  }
  return methods;
}

void LibraryProduct::enqueue(const Stream& stream, const ProductMethod& method, CUdeviceptr left,
                             CUdeviceptr right, CUdeviceptr result, CUdeviceptr workspace) const {
  const float one = 1, zero = 0;
  check(cublaslt().cublasLtMatmul(handle_->get(), product_.get(), &one, pointer_to(right),
                                  right_.get(), pointer_to(left), left_.get(), &zero,
                                  pointer_to(result), result_.get(), pointer_to(result),
                                  result_.get(), &method.algorithm, pointer_to(workspace),
                                  method.workspace_bytes, stream.get()),
        "cublasLtMatmul", shape_.text());
}

}  // namespace graphc::core::cuda
