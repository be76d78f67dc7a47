// SPDX-License-Identifier: Apache-2.0
// A model's graph and its gradients as two compiled graphs: the numbers of the graph in one piece.
#include "frontend/divided.h"

#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "models/random_inputs.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

/// A GRU with dropout between its layers; `joint` gives what it computes and the gradients, by the
/// cotangent of that.
struct DividedNetwork {
  Model model{"network"};
  Gru gru{model, "gru", 3, 8};
  Linear out{model, "out", 8, 2};
  double rate;

  explicit DividedNetwork(double share = 0) : rate(share) {
    model.graph("joint", Mode::training, [this](Inputs& in) {
      const Value x = in("x", f32, {"steps", "batch", 3});
      const Value y = out(dropout(gru(x), {.rate = rate}));
      const Value dy = in("dy", f32, {"steps", "batch", 2});
      std::vector<Leaves::Leaf> leaves{x};
      for (const Param& param : model.params()) leaves.emplace_back(param);
      Values results{y};
      for (Value gradient : gradients(sum(y * dy), Leaves(std::move(leaves))))
        results.push_back(gradient);
      return Results(results);
    });
  }
};

const Type kXType{DType::f32, {5, 4, 3}}, kYType{DType::f32, {5, 4, 2}};

SessionOptions options(const char* target) {
  SessionOptions all;
  all.target = target;
  all.announce = [](const std::string&) {};
  return all;
}

void expect_near(const Tensor& found, const Tensor& wanted) {
  ASSERT_EQ(found.type(), wanted.type());
  const std::vector<float> a = found.to_vector(), b = wanted.to_vector();
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5 * (1 + std::abs(b[i])));
}

class DividedTargets : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, DividedTargets, ::testing::Values("cpu", "reference"));

TEST_P(DividedTargets, ComputeTheGraphInOnePiece) {
  DividedNetwork network;
  Session session(network.model, options(GetParam()));
  Divided parts(session, "joint", {kXType, kYType}, {}, 1, 1);
  const Tensor x = random_uniform(kXType.shape, 1), dy = random_uniform(kYType.shape, 2);
  const Outputs wanted = session("joint", x, dy);
  const Outputs first = parts.first({Data(x)});
  std::vector<Data> given;
  for (const auto& [from, index] : parts.handed()) {
    const bool input = from == HandedOver::From::input;
    given.emplace_back(input ? x : first[index + (from == HandedOver::From::saved)]);
  }
  given.emplace_back(dy);
  const Outputs second = parts.second(given);
  ASSERT_EQ(second.size() + 1, wanted.size());
  expect_near(first[0], wanted[0]);
  for (size_t i = 0; i < second.size(); ++i) expect_near(second[i], wanted[i + 1]);
}

TEST_P(DividedTargets, WriteToTheCallersMemory) {
  DividedNetwork network;
  Session session(network.model, options(GetParam()));
  Divided parts(session, "joint", {kXType, kYType}, {}, 1, 1);
  const Tensor x = random_uniform(kXType.shape, 1), dy = random_uniform(kYType.shape, 2);
  const Outputs first = parts.first({Data(x)});
  std::vector<Tensor> callers;
  for (const Type& type : parts.first_types()) callers.emplace_back(type);
  parts.first_into({x}, callers);
  for (size_t i = 0; i < callers.size(); ++i) expect_near(callers[i], first[int(i)]);
  std::vector<Data> given;
  std::vector<Tensor> tensors;
  for (const auto& [from, index] : parts.handed()) {
    const bool input = from == HandedOver::From::input;
    tensors.push_back(input ? x : callers[index + (from == HandedOver::From::saved)]);
    given.emplace_back(tensors.back());
  }
  tensors.push_back(dy);
  given.emplace_back(dy);
  const Outputs second = parts.second(given);
  std::vector<Tensor> gradients;
  for (const Tensor& one : second) gradients.emplace_back(one.type());
  parts.second_into(tensors, gradients);
  for (size_t i = 0; i < gradients.size(); ++i) expect_near(gradients[i], second[int(i)]);
}

TEST(Divided, AChecksumIsOfGraphsAndOptions) {
  DividedNetwork network, same, dropping(0.5);
  const auto checksum_of = [](DividedNetwork& of, const SessionOptions& with, const Type& x,
                              const Type& y) {
    Session session(of.model, with);
    return Divided(session, "joint", {x, y}, {}, 1, 1).checksum();
  };
  const uint64_t checksum = checksum_of(network, options("cpu"), kXType, kYType);
  EXPECT_EQ(checksum_of(same, options("cpu"), kXType, kYType), checksum);
  EXPECT_NE(checksum_of(dropping, options("cpu"), kXType, kYType), checksum);
  EXPECT_NE(checksum_of(network, options("reference"), kXType, kYType), checksum);
  EXPECT_NE(checksum_of(network, options("cpu"), {DType::f32, {6, 4, 3}}, {DType::f32, {6, 4, 2}}),
            checksum);
  SessionOptions one = options("cpu");
  one.compile.threads = 1;
  EXPECT_NE(checksum_of(network, one, kXType, kYType), checksum);
}

TEST(Divided, AnnouncesWhatTheSessionWould) {
  Model model("loops");
  model.graph("joint", Mode::training, [](Inputs& in) {
    const Value x = in("x", f32, {5, 4}), dy = in("dy", f32, {5, 4});
    State h(filled({4}, 0));
    const Value y = scan(x, [&](Value x_t) { return h = tanh(h + x_t); }, {.save_every = 50});
    return Results(Values{y, gradients(sum(y * dy), Leaves(std::vector<Leaves::Leaf>{x}))[0]});
  });
  std::vector<std::string> lines;
  SessionOptions told = options("cpu");
  told.announce = [&](const std::string& line) { lines.push_back(line); };
  Session session(model, told);
  const Type type{DType::f32, {5, 4}};
  Divided(session, "joint", {type, type}, {}, 1, 1);
  EXPECT_THAT(lines, ::testing::ElementsAre(
                         HasSubstr("save_every = 50 has no effect: the loop has 5 steps")));
}

TEST(Divided, DropsInBothPartsWhatTheFirstDrops) {
  DividedNetwork network(0.5);
  Session session(network.model, options("cpu"));
  Divided parts(session, "joint", {kXType, kYType}, {}, 1, 1);
  const Tensor x = random_uniform(kXType.shape, 1);
  const std::vector<float> ones(size_t(kYType.shape.elements()), 1);
  std::vector<Outputs> firsts, seconds;
  for (int run = 0; run < 2; ++run) firsts.push_back(parts.first({Data(x)}));
  for (const Outputs& first : firsts) {
    std::vector<Data> given;
    for (const auto& [from, index] : parts.handed()) {
      const bool input = from == HandedOver::From::input;
      given.emplace_back(input ? x : first[index + (from == HandedOver::From::saved)]);
    }
    given.emplace_back(Data(ones, kYType.shape));
    seconds.push_back(parts.second(given));
  }
  // y = out(kept h) and d sum(y) / d out.w = the sum of the kept h, for each column: with the mask
  // of its own run, the sum of y is that of out.w times that gradient, and of the bias.
  const std::vector<float> w = Tensor(session.state("out.w")).to_vector();
  for (int run = 0; run < 2; ++run) {
    double sum_y = 0, by_gradient = 0;
    for (const float y : firsts[size_t(run)][0].to_vector()) sum_y += y;
    const size_t place = seconds[0].size() - 2;  // x, gru..., out.w, out.b
    const std::vector<float> gradient = seconds[size_t(run)][place].to_vector();
    ASSERT_EQ(gradient.size(), w.size());
    for (size_t i = 0; i < w.size(); ++i) by_gradient += double(w[i]) * gradient[i];
    EXPECT_NEAR(sum_y, by_gradient, 1e-3);
  }
  EXPECT_NE(firsts[0][0].to_vector(), firsts[1][0].to_vector());
}

TEST(Divided, TakesParametersAsInputs) {
  DividedNetwork network;
  Session session(network.model, options("cpu"));
  const Tensor x = random_uniform(kXType.shape, 1), dy = random_uniform(kYType.shape, 2);
  const Outputs wanted = session("joint", x, dy);
  std::vector<std::string> names;
  std::vector<Data> given;
  for (const Param& param : network.model.params()) {
    names.push_back(param.name());
    given.emplace_back(Tensor(session.state(param.name())));
    session.set_state(param.name(), Tensor::zeros(param.type()));  // not what it reads
  }
  given.emplace_back(x);
  given.emplace_back(dy);
  Divided whole(session, "joint", {kXType, kYType}, names, wanted.size(), 0);
  const Outputs found = whole.first(given);
  for (size_t i = 0; i < wanted.size(); ++i) expect_near(found[int(i)], wanted[int(i)]);
  EXPECT_EQ(whole.first_types().size(), wanted.size());
  EXPECT_THAT(error_of(ErrorKind::input, [&] { whole.second({}); }), HasSubstr("has one part"));
}

TEST(Divided, RefusesOtherInputs) {
  DividedNetwork network;
  auto session = std::make_unique<Session>(network.model, options("cpu"));
  const auto divide = [&](size_t results, size_t late) {
    return error_of(ErrorKind::input,
                    [&] { Divided(*session, "joint", {kXType, kYType}, {}, results, late); });
  };
  EXPECT_THAT(divide(2, 1), HasSubstr("result 1 depends on an input that is known later"));
  EXPECT_THAT(divide(99, 1), HasSubstr("has 8 results and 2 inputs: found 99 and 1"));
  Divided parts(*session, "joint", {kXType, kYType}, {}, 1, 1);
  const Tensor x = random_uniform(kXType.shape, 1);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { parts.first({}); }),
              HasSubstr("graph 'joint' has 1 inputs: found 0"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { parts.first({Data(random_uniform({5}, 1))}); }),
              HasSubstr("input 0 is f32[5,4,3]: found f32[5]"));
  session.reset();
  EXPECT_THAT(error_of(ErrorKind::input, [&] { parts.first({Data(x)}); }),
              HasSubstr("the session of 'joint' is gone"));
}

}  // namespace
}  // namespace graphc::core
