// SPDX-License-Identifier: Apache-2.0
// Sessions, and graphs with their derivatives, whose inputs and results are in the memory of a GPU:
// the numbers of the same runs from the host's memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/divided.h"
#include "frontend/graphc.h"
#include "runtime/cuda/stream.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SessionOptions on_gpu() {
  SessionOptions options;
  options.target = "cuda";
  options.seed = 7;
  options.announce = [](const std::string&) {};
  return options;
}

/// A GRU over rows of different lengths, trained.
struct Network {
  Model model{"network"};
  Gru gru{model, "gru", 3, 8};
  Linear out{model, "out", 8, 1};

  Network() {
    model.graph("train", Mode::training, [this](Inputs& in) {
      const Value x = in("x", f32, {"steps", "batch", 3});
      const Value lengths = in("lengths", i32, {"batch"});
      const Value y = out(gru(x, {.lengths = lengths})[-1]);
      const Value loss = mse(y, in("target", f32, {"batch", 1}));
      minimize(loss, model.params(), Sgd{.rate = in("rate", f32, {})});
      return Results{{"loss", loss}, {"y", y}};
    });
    model.graph("joint", Mode::evaluation, [this](Inputs& in) {
      const Value x = in("x", f32, {"steps", "batch", 3});
      const Value y = out(gru(x));
      const Value dy = in("dy", f32, {"steps", "batch", 1});
      Values results{y};
      for (Value gradient : gradients(sum(y * dy), Leaves({x}))) results.push_back(gradient);
      return Results(results);
    });
  }
};

Tensor drawn(const Shape& shape, int seed) {
  std::vector<float> numbers(size_t(shape.elements()));
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = float(std::sin(double(seed) + 1.7 * double(i)));
  return Tensor(Literal(std::span<const float>(numbers), shape));
}

class SessionsOnDevice : public ::testing::Test {
 protected:
  cuda::testing::MockDriver driver_;
};

TEST_F(SessionsOnDevice, HaveTheNumbersOfTheHost) {
  Network network;
  Session there(network.model, on_gpu()), here(network.model, on_gpu());
  const Tensor x = drawn({5, 4, 3}, 1), target = drawn({4, 1}, 2);
  const std::vector<int32_t> lengths{5, 1, 0, 3};
  const DeviceTensor x_there = to_device(x), target_there = to_device(target);
  const DeviceTensor lengths_there =
      to_device(Tensor(Literal(std::span<const int32_t>(lengths), Shape{4})));
  for (int step = 0; step < 3; ++step) {
    const Outputs wanted = here("train", x, lengths, target, 0.1);
    // In any mixture of places, by position and by name.
    const DeviceOutputs found =
        step == 0 ? there.run_on_device("train", {x_there, lengths_there, target_there, 0.1})
        : step == 1
            ? there.run_on_device("train", {x, lengths, target_there, 0.1})
            : there.run_named_on_device(
                  "train",
                  {{"rate", 0.1}, {"target", target}, {"lengths", lengths_there}, {"x", x_there}});
    EXPECT_THAT(*found.names, ElementsAre("loss", "y"));
    for (size_t i = 0; i < 2; ++i)
      EXPECT_EQ(to_host(found.tensors[i]).to_vector(), wanted[i].to_vector()) << step;
  }
  EXPECT_EQ(there.state("gru.w").to_vector(), here.state("gru.w").to_vector());
}

TEST_F(SessionsOnDevice, RefuseWhatTheyCannotDo) {
  Network network;
  const Tensor x = drawn({5, 4, 3}, 1), target = drawn({4, 1}, 2);
  const std::vector<int32_t> lengths{5, 1, 0, 3}, wrong{5, 6, 0, 3};
  const DeviceTensor x_there = to_device(x), wrong_there = to_device(Data(wrong));
  const auto message = [&](SessionOptions options, const std::vector<Data>& inputs) {
    Session session(network.model, std::move(options));
    return error_of(ErrorKind::input, [&] { session.run_on_device("train", inputs); });
  };
  EXPECT_EQ(message(on_gpu(), {x_there, wrong_there, target, 0.1}),
            "lengths 'lengths': row 1 has 6 steps: wanted 0 to 5");
  EXPECT_EQ(message(on_gpu(), {x_there, wrong, target, 0.1}),
            "lengths 'lengths': row 1 has 6 steps: wanted 0 to 5");
  EXPECT_THAT(
      message(on_gpu(), {x_there, to_device(Data(std::vector<int64_t>{5, 1, 0, 3})), target, 0.1}),
      HasSubstr("input 'lengths' is i32[batch]: found i64[4]"));
  SessionOptions options = on_gpu();
  options.check_finite = true;
  EXPECT_THAT(message(options, {x_there, lengths, target, 0.1}), HasSubstr("check_finite"));
  options = on_gpu();
  options.round_up["batch"] = to_multiple_of(8);
  EXPECT_THAT(message(options, {x_there, lengths, target, 0.1}), HasSubstr("round_up"));
  options = on_gpu();
  options.target = "cpu";
  EXPECT_THAT(message(options, {x_there, lengths, target, 0.1}),
              HasSubstr("is computed in the host's memory"));
  Session session(network.model, on_gpu());
  EXPECT_THAT(error_of(ErrorKind::input, [&] { session("train", x_there, lengths, target, 0.1); }),
              HasSubstr("graph 'train': input 0 is in the memory of GPU 0: wanted the host's, or "
                        "run_on_device()"));
  EXPECT_THAT(error_of(ErrorKind::resource, [&] { to_device(x, 3); }), HasSubstr("no GPU 3"));
}

TEST_F(SessionsOnDevice, LeaveTheCallersCaptureWhole) {
  Network network;
  Session session(network.model, on_gpu());
  const DeviceTensor x = to_device(drawn({5, 4, 3}, 1)), target = to_device(drawn({4, 1}, 2));
  const DeviceTensor lengths = to_device(Data(std::vector<int32_t>{5, 1, 0, 3}));
  session.run_on_device("train", {x, lengths, target, 0.1});
  const cuda::Stream captured(cuda::Device::open());
  const auto graph = captured.capture([&] {
    EXPECT_THAT(error_of(ErrorKind::input,
                         [&] {
                           session.run_on_device("train", {x, lengths, target, 0.1},
                                                 reinterpret_cast<uint64_t>(captured.get()));
                         }),
                HasSubstr("the caller's stream is being captured as a CUDA graph"));
  });
  EXPECT_TRUE(graph);
}

TEST_F(SessionsOnDevice, GiveTheContextBackWhenTheyEnd) {
  setenv("GRAPHC_MOCK_DEVICES", "2", 1);
  cuda::Device::open(0)->make_current();
  cuda::CUcontext before = nullptr, after = nullptr;
  cuda::driver().cuCtxGetCurrent(&before);
  for (const char* variant : {"fused", "cudnn"}) {
    Network network;
    SessionOptions options = on_gpu();
    options.compile.variant = variant;
    options.compile.cuda.device = 1;
    options.compile.cuda.products = CudaOptions::Products::cublaslt;
    {
      Session session(network.model, options);
      session("train", drawn({5, 4, 3}, 1), std::vector<int32_t>{5, 1, 0, 3}, drawn({4, 1}, 2),
              0.1);
    }
    cuda::driver().cuCtxGetCurrent(&after);
    EXPECT_EQ(after, before) << variant;
  }
  unsetenv("GRAPHC_MOCK_DEVICES");
}

TEST_F(SessionsOnDevice, DivideAGraphAndItsDerivative) {
  Network network;
  Session session(network.model, on_gpu());
  const Type x_type{DType::f32, {5, 4, 3}}, y_type{DType::f32, {5, 4, 1}};
  Divided divided(session, "joint", {x_type, y_type}, {}, 1, 1);
  const Tensor x = drawn(x_type.shape, 3), dy = drawn(y_type.shape, 4);
  const Outputs wanted = session("joint", x, dy);
  const auto results_for = [](const std::vector<Type>& types) {
    std::vector<DeviceTensor> results;
    for (const Type& type : types) results.push_back(to_device(Tensor(type)));
    return results;
  };
  const DeviceTensor x_there = to_device(x);
  const auto first = results_for(divided.first_types());
  const auto second = results_for(divided.second_types());
  ASSERT_EQ(second.size(), 1u);
  setenv("GRAPHC_MOCK_LATE", "1", 1);
  divided.first_on_device({x_there}, first, 0);
  std::vector<AnyTensor> handed;
  for (const HandedOver& one : divided.handed()) {
    switch (one.from) {
      case HandedOver::From::input:
        handed.emplace_back(x_there);
        break;
      case HandedOver::From::result:
        handed.emplace_back(first[one.index]);
        break;
      case HandedOver::From::saved:
        handed.emplace_back(first[1 + one.index]);
        break;
    }
  }
  handed.emplace_back(dy);
  divided.second_on_device(handed, second, 0);
  const std::vector<float> y = to_host(first[0]).to_vector(), dx = to_host(second[0]).to_vector();
  unsetenv("GRAPHC_MOCK_LATE");
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], wanted[0].to_vector()[i], 1e-5);
  for (size_t i = 0; i < dx.size(); ++i) EXPECT_NEAR(dx[i], wanted[1].to_vector()[i], 1e-5);
}

}  // namespace
}  // namespace graphc::core::testing
