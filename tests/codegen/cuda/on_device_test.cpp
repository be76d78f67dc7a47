// SPDX-License-Identifier: Apache-2.0
// Runs with inputs and results in the memory of a GPU, in the order of a caller's stream. The mock
// driver does work only when somebody waits for it, so a wait that is missing shows.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "codegen/compile.h"
#include "codegen/target.h"
#include "ir/text.h"
#include "runtime/cuda/device_tensors.h"
#include "runtime/cuda/stream.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::testing {
namespace {

using cuda::Device;
using cuda::DeviceBuffer;
using cuda::Stream;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char* kProductOnDevice = R"(
  graph @product(%x: f32[4,8], %y: f32[8,16]) {
    %p = matmul(%x, %y)
    return tanh(%p), add(%p, 1)
  })";
constexpr const char* kMovesOnDevice = R"(
  graph @moves(%x: f32[4]) state (%s: f32[4]) {
    %t = add %s, %x
    next %s = %t
    return mul(%t, 2)
  })";
constexpr const char* kReadsOnDevice = R"(
  graph @reads(%x: f32[4]) state (%s: f32[4]) {
    return add(%s, %x)
  })";
constexpr const char* kLooksUpOnDevice = R"(
  graph @looks_up(%table: f32[8,4], %i: i32[3]) {
    return gather(%table, %i)
  })";

class OnDevice : public ::testing::Test {
 protected:
  std::unique_ptr<Executable> compiled(const char* text, CudaOptions options = {}) {
    CompileReport report;
    CompileOptions all;
    all.cuda = options;
    return compile(parse_graph(text), targets::cuda, all, report);
  }
  static Tensor counted(const Type& type, double from = 0) {
    Tensor tensor(type);
    for (int64_t i = 0; i < type.shape.elements(); ++i)
      reinterpret_cast<float*>(tensor.address())[i] = float(from + 0.125 * double(i));
    return tensor;
  }
  std::vector<DeviceTensor> results_of(const Executable& executable) const {
    std::vector<DeviceTensor> results;
    for (const Argument& output : executable.signature().outputs)
      results.push_back(executable.new_device_tensor(output.type));
    return results;
  }
  /// Puts a copy into the caller's stream, as another library's kernel would write it.
  void write(const Stream& stream, const DeviceTensor& to, const Tensor& from) const {
    stream.copy_to_device(to.address(), from.address(), size_t(from.type().bytes()), "a tensor");
  }
  static uint64_t handle(const Stream& stream) { return reinterpret_cast<uint64_t>(stream.get()); }
  std::vector<float> floats(const DeviceTensor& from, const Stream& stream) const {
    try {
      return to_host(from, handle(stream)).to_vector();
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
      return {};
    }
  }

  cuda::testing::MockDriver driver_;
};

TEST_F(OnDevice, ComesBetweenTheWorkOfTheCallersStream) {
  const auto product = compiled(kProductOnDevice);
  const Tensor x = counted({DType::f32, {4, 8}}, -2), y = counted({DType::f32, {8, 16}}, -8);
  std::vector<Tensor> wanted;
  for (const Argument& output : product->signature().outputs) wanted.emplace_back(output.type);
  product->run(std::vector{x, y}, wanted);

  const auto device = Device::open();
  const Stream callers(device);
  const DeviceTensor on_device = cuda::new_device_tensor(device, x.type());
  const auto results = results_of(*product), again = results_of(*product);
  const cuda::testing::LateWork late;
  write(callers, on_device, x);  // late: the graph must wait for it
  Tensor changed(y.type());
  std::memcpy(changed.address(), y.address(), size_t(y.type().bytes()));
  product->run_on_device(std::vector<AnyTensor>{on_device, changed}, {}, results, handle(callers));
  // What the call has read may change, on the host at once and on the device by later work.
  std::memset(changed.address(), 0, size_t(y.type().bytes()));
  write(callers, on_device, Literal::filled(x.type(), 100));
  EXPECT_EQ(floats(results[0], callers), wanted[0].to_vector());
  EXPECT_EQ(floats(results[1], callers), wanted[1].to_vector());
  write(callers, on_device, Literal::filled(x.type(), -1));
  product->run_on_device(std::vector<AnyTensor>{on_device, y}, {}, again, handle(callers));
  product->synchronize();  // the first to wait for what the caller wrote
  EXPECT_THAT(floats(again[1], callers), Contains(9)) << "1 + sum of 8 - 2k over k from 0 to 7";
  EXPECT_NE(floats(again[0], callers), wanted[0].to_vector());
  EXPECT_EQ(floats(results[0], callers), wanted[0].to_vector()) << "results are the caller's";
}

/// Each operand is all of an allocation: a thread without a row, a column or a term must not read
/// what is behind it. The parts of a product are side by side.
TEST_F(OnDevice, ReadsNothingBehindTheOperandsOfProducts) {
  const auto device = Device::open();
  const Stream callers(device);
  const auto on_device = [&](const Type& type) {
    return copy_to_device(Literal::filled(type, 1), device->ordinal());
  };
  for (const Precision precision : {Precision::f32, Precision::tf32, Precision::bf16}) {
    for (const auto& [m, k, n] : {std::array<int64_t, 3>{1, 1, 1}, {17, 65, 9}, {65, 17, 33}}) {
      for (const int parts : {1, 3}) {
        const bool transposed = parts == 1;
        const Type a{DType::f32, transposed ? Shape{k, m} : Shape{m, k}};
        const Type b{DType::f32, transposed ? Shape{n, k} : Shape{k, n * parts}};
        const std::string text = fmt::format(
            "graph @p(%a: f32[{}], %b: f32[{}]) {{\n"
            "  %p = matmul(%a, %b) {{transpose_a = {}, transpose_b = {}}}\n{}}}",
            fmt::join(a.shape, ","), fmt::join(b.shape, ","), transposed, transposed,
            parts == 1 ? "  return %p\n"
                       : "  %q, %r, %s = split(%p) {axis = 1, parts = 3}\n"
                         "  return add(%q, add(%r, %s))\n");
        CompileReport report;
        CompileOptions options;
        options.precision = precision;
        const auto product = compile(parse_graph(text), targets::cuda, options, report);
        const auto results = results_of(*product);
        product->run_on_device(std::vector<AnyTensor>{on_device(a), on_device(b)}, {}, results,
                               handle(callers));
        EXPECT_EQ(floats(results[0], callers), std::vector<float>(size_t(m * n), float(k * parts)));
      }
    }
  }
}

TEST_F(OnDevice, RunsOneAfterTheOtherInOneStream) {
  const auto moves = compiled(kMovesOnDevice);
  const auto device = Device::open();
  const Stream callers(device);
  const DeviceTensor x = copy_to_device(Literal::filled({DType::f32, {4}}, 1), device->ordinal());
  StoredState state(Tensor(Literal::filled({DType::f32, {4}}, 10)));
  std::vector<StoredState*> states{&state};
  std::vector<std::vector<DeviceTensor>> results;
  const cuda::testing::LateWork late;
  for (int i = 0; i < 3; ++i) results.push_back(results_of(*moves));
  driver_.heal();
  for (int i = 0; i < 3; ++i)
    moves->run_on_device(std::vector<AnyTensor>{x}, states, results[size_t(i)], handle(callers));
  EXPECT_EQ(driver_.calls("cuStreamSynchronize") + driver_.calls("cuEventSynchronize"), 0u)
      << "nobody waits on the host";
  EXPECT_EQ(floats(results[2][0], callers), std::vector<float>(4, 26));
  EXPECT_EQ(floats(results[0][0], callers), std::vector<float>(4, 22));
  EXPECT_EQ(state.home().to_vector(), std::vector<float>(4, 13));
  // A run of the host's memory sees what those have left.
  std::vector<Tensor> on_host{Tensor(Type{DType::f32, {4}})};
  moves->run(std::vector{Tensor(Literal::filled({DType::f32, {4}}, 1))}, states, on_host);
  EXPECT_EQ(on_host[0].to_vector(), std::vector<float>(4, 28));
}

TEST_F(OnDevice, StatesAreHandedToOtherGraphsInOrder) {
  const auto moves = compiled(kMovesOnDevice), reads = compiled(kReadsOnDevice);
  const auto device = Device::open();
  const Stream callers(device), others(device);
  const DeviceTensor x = copy_to_device(Literal::filled({DType::f32, {4}}, 1), device->ordinal());
  for (const bool reader_first : {false, true}) {
    StoredState state(Tensor(Literal::filled({DType::f32, {4}}, 10)));
    std::vector<StoredState*> states{&state};
    const auto moved = results_of(*moves), read = results_of(*reads), last = results_of(*moves);
    const cuda::testing::LateWork late;
    moves->run_on_device(std::vector<AnyTensor>{x}, states, moved, handle(callers));
    // In another stream of the caller, which says nothing of the first.
    reads->run_on_device(std::vector<AnyTensor>{x}, states, read, handle(others));
    if (reader_first) reads->synchronize();
    moves->run_on_device(std::vector<AnyTensor>{x}, states, last, handle(callers));
    EXPECT_EQ(floats(last[0], callers), std::vector<float>(4, 24));
    EXPECT_EQ(floats(read[0], others), std::vector<float>(4, 12)) << "before the last run";
    moves->synchronize();
  }
}

TEST_F(OnDevice, AnIndexOutsideItsTableIsFoundByTheCall) {
  const auto looks_up = compiled(kLooksUpOnDevice);
  const auto device = Device::open();
  const DeviceTensor table = copy_to_device(counted({DType::f32, {8, 4}}), device->ordinal());
  const auto index = [&](int32_t last) {
    return copy_to_device(Literal(std::span<const int32_t>(std::array{1, 7, last}), {3}),
                          device->ordinal());
  };
  const auto results = results_of(*looks_up);
  const cuda::testing::LateWork late;
  looks_up->run_on_device(std::vector<AnyTensor>{table, index(0)}, {}, results, 0);
  EXPECT_EQ(to_host(results[0]).to_vector()[4], 0.125F * 28);
  EXPECT_THAT(error_of(ErrorKind::input,
                       [&] {
                         looks_up->run_on_device(std::vector<AnyTensor>{table, index(8)}, {},
                                                 results, 0);
                       }),
              HasSubstr("8"));
  looks_up->run_on_device(std::vector<AnyTensor>{table, index(0)}, {}, results, 0);
  EXPECT_EQ(to_host(results[0]).to_vector()[4], 0.125F * 28);
}

TEST_F(OnDevice, WhatIsWrongIsSaid) {
  const auto product = compiled(kProductOnDevice);
  const auto device = Device::open();
  const DeviceTensor x = copy_to_device(counted({DType::f32, {4, 8}}), device->ordinal());
  const DeviceTensor y = copy_to_device(counted({DType::f32, {8, 16}}), device->ordinal());
  const auto results = results_of(*product);
  const auto message = [&](Executable& executable, const std::vector<AnyTensor>& inputs,
                           const std::vector<DeviceTensor>& outputs, uint64_t stream) {
    return error_of(ErrorKind::input,
                    [&] { executable.run_on_device(inputs, {}, outputs, stream); });
  };
  EXPECT_EQ(message(*product, {y, x}, results, 0),
            "graph 'product': input 'x' is f32[4,8]: found f32[8,16]");
  EXPECT_EQ(message(*product, {x, y}, {results[0]}, 0), "graph 'product' has 2 outputs: found 1");
  EXPECT_EQ(message(*product, {x, DeviceTensor(y.type(), 1, y.address())}, results, 0),
            "graph 'product': input 'y' is in the memory of GPU 1: wanted GPU 0, on which the "
            "graph is computed");
  EXPECT_EQ(message(*product, {x, y}, {results[0], DeviceTensor(y.type(), 1, y.address())}, 0),
            "graph 'product': output 'add' is f32[4,16]: found f32[8,16]");
  CompileReport report;
  const auto on_host = compile(parse_graph(kProductOnDevice), targets::cpu, {}, report);
  EXPECT_EQ(message(*on_host, {x, y}, results, 0),
            "graph 'product' is computed in the host's memory: wanted inputs there, or target "
            "cuda");
  const Stream captured(device);
  captured.capture([&] {
    EXPECT_THAT(message(*product, {x, y}, results, handle(captured)),
                HasSubstr("the caller's stream is being captured as a CUDA graph"));
  });
}

TEST_F(OnDevice, ARunThatFailsLeavesNothingBehind) {
  const auto product = compiled(kProductOnDevice);
  const auto device = Device::open();
  const Stream callers(device);
  const DeviceTensor x = copy_to_device(counted({DType::f32, {4, 8}}), device->ordinal());
  const DeviceTensor y = copy_to_device(counted({DType::f32, {8, 16}}), device->ordinal());
  const auto results = results_of(*product);
  product->run_on_device(std::vector<AnyTensor>{x, y}, {}, results, handle(callers));
  const auto wanted = floats(results[0], callers);
  const size_t live = driver_.live();
  const cuda::testing::LateWork late;
  for (const char* symbol : {"cuMemcpyDtoDAsync_v2", "cuGraphLaunch", "cuEventRecord",
                             "cuStreamWaitEvent", "cuEventCreate", "cuStreamIsCapturing"}) {
    for (size_t call = 1; call <= 4; ++call) {
      driver_.heal();
      driver_.fail(symbol, 2, call);  // out of memory
      try {
        product->run_on_device(std::vector<AnyTensor>{x, y}, {}, results, handle(callers));
      } catch (const Error& error) {
        EXPECT_THAT(error.message(), HasSubstr("cu"));
      }
    }
  }
  driver_.heal();
  product->run_on_device(std::vector<AnyTensor>{x, y}, {}, results, handle(callers));
  EXPECT_EQ(floats(results[0], callers), wanted);
  EXPECT_EQ(driver_.live(), live) << driver_.live_text();
}

TEST_F(OnDevice, InputsOfTheHostMayChangeBetweenRunsThatNobodyAwaits) {
  const auto moves = compiled(kMovesOnDevice);
  const auto device = Device::open();
  const Stream callers(device);
  StoredState state(Tensor(Literal::filled({DType::f32, {4}}, 0)));
  std::vector<StoredState*> states{&state};
  const auto results = results_of(*moves);
  const cuda::testing::LateWork late;
  for (const double x : {1, 10, 100}) {
    const Tensor input(Literal::filled({DType::f32, {4}}, x));
    moves->run_on_device(std::vector<AnyTensor>{input}, states, results, handle(callers));
  }
  EXPECT_EQ(floats(results[0], callers), std::vector<float>(4, 222));
}

TEST_F(OnDevice, ALoopThatWaitedInVainIsTheErrorOfALaterCall) {
  setenv("GRAPHC_MOCK_CLOCK", "50", 1);  // so slow that the wait is 2000 looks
  CudaOptions options;
  options.placement = cuda::Placement::grid;
  const auto loop = compiled(R"(
    graph @loop(%x: f32[2,8,128], %h0: f32[8,128], %u: f32[128,128]) {
      %y, %end = scan %x.t in %x carry %h = %h0 with %u {
        %n = tanh(add(matmul(%h, %u), %x.t))
        next %h = %n
        emit %n
      }
      return %end
    })",
                             options);
  unsetenv("GRAPHC_MOCK_CLOCK");
  const auto device = Device::open();
  const DeviceTensor x = copy_to_device(Literal::filled({DType::f32, {2, 8, 128}}, 0.01), 0);
  const DeviceTensor h = copy_to_device(Tensor(Type{DType::f32, {8, 128}}), 0);
  const DeviceTensor u = copy_to_device(Literal::filled({DType::f32, {128, 128}}, 0.01), 0);
  const auto results = results_of(*loop);
  const auto run = [&] { loop->run_on_device(std::vector<AnyTensor>{x, h, u}, {}, results, 0); };
  run();
  const std::vector<float> wanted = to_host(results[0]).to_vector();
  setenv("GRAPHC_MOCK_ABSENT_BLOCKS", "1", 1);
  run();  // nobody has waited for it
  unsetenv("GRAPHC_MOCK_ABSENT_BLOCKS");
  EXPECT_THAT(error_of(ErrorKind::resource, run), HasSubstr("waited 20 seconds for others"));
  run();
  loop->synchronize();
  EXPECT_EQ(to_host(results[0]).to_vector(), wanted);
}

TEST_F(OnDevice, AnyGpuCanBeAskedForAndTheThreadKeepsItsOwn) {
  setenv("GRAPHC_MOCK_DEVICES", "2", 1);
  Device::open(0)->make_current();
  cuda::CUcontext before = nullptr, after = nullptr;
  ASSERT_EQ(cuda::driver().cuCtxGetCurrent(&before), cuda::CUDA_SUCCESS);
  CudaOptions second;
  second.device = 1;
  const auto product = compiled(kProductOnDevice, second);
  EXPECT_EQ(product->device(), 1);
  const auto device = Device::open(1);
  cuda::driver().cuCtxSetCurrent(before);
  const DeviceTensor x = copy_to_device(counted({DType::f32, {4, 8}}), device->ordinal());
  const DeviceTensor y = copy_to_device(counted({DType::f32, {8, 16}}), device->ordinal());
  const auto results = results_of(*product);
  EXPECT_EQ(results[0].device(), 1);
  product->run_on_device(std::vector<AnyTensor>{x, y}, {}, results, 0);
  EXPECT_EQ(to_host(results[1]).to_vector().size(), 64u);
  second.device = 2;
  EXPECT_THAT(error_of(ErrorKind::resource, [&] { compiled(kProductOnDevice, second); }),
              HasSubstr("no GPU 2: there are 2"));
  ASSERT_EQ(cuda::driver().cuCtxGetCurrent(&after), cuda::CUDA_SUCCESS);
  EXPECT_EQ(after, before);
  unsetenv("GRAPHC_MOCK_DEVICES");
}

}  // namespace
}  // namespace graphc::core::testing
