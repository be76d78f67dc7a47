// SPDX-License-Identifier: Apache-2.0
// Every error code of every call of the driver, NVRTC, cuDNN and cuBLASLt: each is one clean error,
// nothing is left, and the next call works. What is not to be heard of is listed, with the reason.
#include <gmock/gmock.h>

#include <functional>

#include "runtime/cuda/cublaslt_functions.h"
#include "runtime/cuda/cudnn_functions.h"
#include "runtime/cuda/driver_types.h"
#include "runtime/cuda/nvrtc_functions.h"
#include "tests/codegen/cuda/failing_calls.h"
#include "tests/testing/counts.h"

namespace graphc::core::testing {
namespace {

using ::testing::UnorderedElementsAre;

/// What destroys something has nobody to tell that it failed.
bool destroys(std::string_view symbol) {
  constexpr std::string_view kOfTheDriver[] = {"cuDevicePrimaryCtxRelease_v2",
                                               "cuMemFree_v2",
                                               "cuMemFreeHost",
                                               "cuStreamDestroy_v2",
                                               "cuGraphDestroy",
                                               "cuGraphExecDestroy",
                                               "cuEventDestroy_v2",
                                               "cuModuleUnload"};
  return std::ranges::find(kOfTheDriver, symbol) != std::end(kOfTheDriver) ||
         symbol.find("Destroy") != symbol.npos;
}

std::vector<LibraryCall> calls_named(std::span<const LibraryCall> functions,
                                     const std::set<std::string_view>& symbols) {
  std::vector<LibraryCall> named;
  for (const LibraryCall& function : functions) {
    if (symbols.contains(function.symbol)) named.push_back(function);
  }
  return named;
}

/// Products beside each other, a state that a step writes, and one of which it reads panels.
const FaultSubject kStep{R"(
  graph @step(%x: f32[5,6], %y: f32[3,4], %c: f32[4,5]) state (%w: f32[6,7], %s: f32[3,4]) {
    %t = add(%s, %y)
    next %s = %t
    return matmul(%x, %w), matmul(%y, %c), mul(%t, 2)
  })",
                         {.cuda = {.check_finite = true}},
                         true};
/// What most of the calls are for.
const FaultSubject kCounter{R"(
  graph @counter(%x: f32[3]) state (%s: f32[3]) {
    %t = add(%s, %x)
    next %s = %t
    return mul(%t, 2)
  })",
                            {},
                            true};
/// Little, whose kernel is made anew.
const FaultSubject kKernel{R"(
  graph @kernel(%x: f32[3,4]) {
    return mul(%x, 2)
  })"};

/// A loop that can have every placement.
constexpr const char* kLoop = R"(
  graph @loop(%x: f32[3,8,24], %h: f32[8,24], %u: f32[24,24]) {
    %y, %end = scan %x.t in %x carry %h.t = %h with %u {
      %n = tanh(add(matmul(%h.t, %u), %x.t))
      next %h.t = %n
      emit %n
    }
    return %y, %end
  })";

constexpr const char* kLayer = R"(
  graph @layer(%x: f32[2,3,2], %h: f32[3,5], %w: f32[2,5], %u: f32[5,5], %b: f32[5]) {
    %y, %last = rnn(%x, %h, %w, %u, %b) {reverse = false}
    %loss = sum(square(%y)) {axes = [0, 1, 2]}
    %dw, %du = grad %loss, %w, %u
    return %last, %dw, %du
  })";
constexpr const char* kProducts = R"(
  graph @products(%a: f32[7,6], %b: f32[6,5], %c: f32[5]) {
    return tanh(add(matmul(%a, %b), %c))
  })";
constexpr int64_t kProductWork = 7 * 6 * 5;

using enum Hearing;
class EveryError : public ::testing::Test {
 protected:
  /// Of few multiprocessors: a loop that shares its rows out over more lets blocks wait, no more.
  EveryError() { setenv("GRAPHC_MOCK_MULTIPROCESSORS", "3", 1); }
  ~EveryError() override { unsetenv("GRAPHC_MOCK_MULTIPROCESSORS"); }

  /// Lets the calls fail of each function that the subject calls: with every code, if it was not
  /// seen to with an earlier subject, and with those of `everywhere` wherever it is called.
  /// `hearing` says of a fault, and of how many calls it is one, what is to be heard.
  void expect_all(const FaultSubject& subject, std::span<const LibraryCall> functions,
                  std::span<const ErrorCode> codes, AllCodes all, const std::set<int>& everywhere,
                  const std::function<Hearing(const Fault&, size_t calls)>& hearing) {
    FaultTrial trial(driver_, subject);
    for (const LibraryCall& function : functions) {
      const size_t calls = trial.calls(function.symbol);
      if (calls == 0) continue;
      const bool is_new = seen_.insert(function.symbol).second;
      for (const Fault& fault : faults_of(function, calls, codes, all, everywhere)) {
        if (!is_new && !everywhere.contains(fault.code.value)) continue;
        trial.expect(fault, hearing(fault, calls)) ? ++heard_ : ++unheard_;
      }
    }
  }
  void TearDown() override {
    count("calls that failed, heard of", heard_);
    count("calls that failed, unheard", unheard_);
  }
  std::vector<std::string_view> never(std::span<const LibraryCall> functions) const {
    std::vector<std::string_view> all;
    for (const LibraryCall& function : functions) {
      if (!seen_.contains(function.symbol)) all.push_back(function.symbol);
    }
    return all;
  }

  cuda::testing::MockDriver driver_;
  std::set<std::string_view> seen_;
  int64_t heard_ = 0, unheard_ = 0;
};

Hearing of_driver(const Fault& fault, size_t) {
  if (destroys(fault.function.symbol)) return unheard;
  if (fault.function.symbol == "cuCtxGetCurrent") return unheard;  // no context to give back
  // It is called before something is destroyed, too.
  return fault.function.symbol == "cuCtxSetCurrent" && fault.call > 1 ? either : heard;
}

TEST_F(EveryError, OfTheDriverIsOneErrorAndAllGoesOn) {
  const std::set<int> everywhere{cuda::CUDA_ERROR_OUT_OF_MEMORY, cuda::CUDA_ERROR_UNKNOWN};
  for (const FaultSubject& subject : {kCounter, kStep, kKernel})
    expect_all(subject, driver_calls(), cuda_mock::kDriverCodes, AllCodes::first, everywhere,
               of_driver);
  // What only some loops need.
  for (const auto placement : {cuda::Placement::grid, cuda::Placement::cluster})
    expect_all({kLoop, {.cuda = {.placement = placement}}, true}, driver_calls(),
               cuda_mock::kDriverCodes, AllCodes::first, {}, of_driver);
  EXPECT_THAT(never(driver_calls()),
              UnorderedElementsAre(
                  // Once a process, and of errors: tests/runtime/cuda/leak_test.cpp.
                  "cuInit", "cuDriverGetVersion", "cuGetErrorString", "cuMemGetInfo_v2",
                  // What only tools ask for.
                  "cuGetErrorName", "cuFuncGetAttribute",
                  // Of a caller's stream: tests/codegen/cuda/on_device_test.cpp.
                  "cuStreamIsCapturing",
                  // While ways to do something are tried: below.
                  "cuEventSynchronize", "cuEventElapsedTime"));
}

TEST_F(EveryError, OfNvrtcIsOneErrorAndAllGoesOn) {
  const auto hearing = [](const Fault& fault, size_t) {
    return destroys(fault.function.symbol) ? unheard : heard;
  };
  // A GPU that NVRTC is older than gets PTX.
  for (const char* capability : {"90", "100"}) {
    setenv("GRAPHC_MOCK_CAPABILITY", capability, 1);
    expect_all(kKernel, nvrtc_calls(), cuda_mock::kNvrtcCodes, AllCodes::first,
               {cuda::NVRTC_ERROR_INTERNAL_ERROR}, hearing);
  }
  unsetenv("GRAPHC_MOCK_CAPABILITY");
  // Once a process: tests/runtime/cuda/nvrtc_test.cpp.
  EXPECT_THAT(
      never(nvrtc_calls()),
      UnorderedElementsAre("nvrtcVersion", "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs"));
}

/// Each method of a layer is tried first. What fails of one, unless graphc is to blame, is that the
/// method is not taken; the last call of each function is of the method that is.
Hearing of_cudnn(const Fault& fault, size_t calls) {
  constexpr std::string_view kOfTheChosenAlone[] = {"cudnnCreate", "cudnnGetRNNWeightParams",
                                                    "cudnnGetTensorNdDescriptor"};
  const std::string_view symbol = fault.function.symbol;
  if (destroys(symbol)) return unheard;
  if (fault.code.kind == ErrorKind::internal) return heard;
  if (std::ranges::find(kOfTheChosenAlone, symbol) != std::end(kOfTheChosenAlone)) return heard;
  // Of the persistent method alone, which the mock has for other sizes.
  if (symbol == "cudnnBuildRNNDynamic") return unheard;
  // The first call is of the handle.
  if (symbol == "cudnnSetStream" && fault.call == 1) return heard;
  return fault.call == calls ? heard : fault.call == 1 ? unheard : either;
}

TEST_F(EveryError, OfCudnnIsOneErrorAndAllGoesOn) {
  expect_all({kLayer, {.variant = "cudnn"}, true}, cudnn_calls(), cuda_mock::kCudnnCodes,
             AllCodes::last, {cuda::CUDNN_STATUS_BAD_PARAM, cuda::CUDNN_STATUS_EXECUTION_FAILED},
             of_cudnn);
  EXPECT_THAT(never(cudnn_calls()), UnorderedElementsAre());
}

TEST_F(EveryError, OfCublasLtIsOneErrorAndAllGoesOn) {
  const auto hearing = [](const Fault& fault, size_t) {
    if (destroys(fault.function.symbol)) return unheard;
    // It has no method for a shape: then it is for a generated kernel.
    const bool has_none = fault.function.symbol == "cublasLtMatmulAlgoGetHeuristic" &&
                          fault.code.value == cuda::CUBLAS_STATUS_NOT_SUPPORTED;
    return has_none ? unheard : heard;
  };
  expect_all({kProducts, {.cuda = {.products = cuda::Products::cublaslt}}, true}, cublaslt_calls(),
             cuda_mock::kCublasCodes, AllCodes::first, {cuda::CUBLAS_STATUS_INTERNAL_ERROR},
             hearing);
  EXPECT_THAT(never(cublaslt_calls()), UnorderedElementsAre());
}

/// One of each kind, where a case takes long: which code it is has been seen to above.
std::vector<ErrorCode> some_of(std::span<const ErrorCode> codes, const std::set<int>& values) {
  std::vector<ErrorCode> some;
  for (const ErrorCode& code : codes) {
    if (values.contains(code.value)) some.push_back(code);
  }
  return some;
}

/// What nobody has asked for, and is only tried, is done without.
Hearing of_trials(const Fault& fault, size_t) {
  if (destroys(fault.function.symbol)) return unheard;
  return fault.code.kind == ErrorKind::internal ? heard : unheard;
}

TEST_F(EveryError, OfALibraryThatIsOnlyTriedIsUnheard) {
  expect_all({kProducts, {.cuda = {.least_tried_work = kProductWork}}, true}, cublaslt_calls(),
             cuda_mock::kCublasCodes, AllCodes::first, {}, of_trials);
  expect_all(
      {kLayer, {.variant = "auto"}, true}, cudnn_calls(),
      some_of(cuda_mock::kCudnnCodes, {cuda::CUDNN_STATUS_BAD_PARAM,
                                       cuda::CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED}),
      AllCodes::first, {}, of_trials);
}

TEST_F(EveryError, OfAPlacementThatIsOnlyTriedIsUnheard) {
  const std::vector<LibraryCall> functions = calls_named(
      driver_calls(), {"cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime",
                       "cuLaunchKernelEx", "cuOccupancyMaxActiveClusters"});
  expect_all({kLoop, {.cuda = {.least_tried_work = 3 * 8 * 24 * 24}}, true}, functions,
             some_of(cuda_mock::kDriverCodes,
                     {cuda::CUDA_ERROR_OUT_OF_MEMORY, cuda::CUDA_ERROR_INVALID_VALUE}),
             AllCodes::first, {}, of_trials);
  EXPECT_THAT(never(functions), UnorderedElementsAre());
}

}  // namespace
}  // namespace graphc::core::testing
