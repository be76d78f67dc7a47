// SPDX-License-Identifier: Apache-2.0
// Optimizers against PyTorch's (tests/golden/optimizers.py has made the numbers), clipping,
// accumulation, schedules.
#include "frontend/optimizer.h"

#include <gmock/gmock.h>

#include <cmath>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

const std::vector<std::vector<double>> kGradients = {
    {0.5, -1.5, 0.02}, {0.25, 2.0, -0.3}, {-1.0, 0.5, 0.0}, {0.125, -0.75, 3.0}};

SessionOptions in_f64() {
  SessionOptions options{.target = "reference"};
  options.compile.precision = Precision::f64;
  return options;
}

Tensor doubles_of(const std::vector<double>& v) {
  return Literal(std::span<const double>(v), {int64_t(v.size())});
}

Initializer start() {
  return [](Value key, const Type& type) {
    const Value i = iota(*key.node->graph, type.shape, 0, DType::f32);
    return select(equal(i, 0), 1, select(equal(i, 1), -2, 0.5));
  };
}

/// The parameter after four steps whose gradients are kGradients.
template <typename Optimizer>
std::vector<double> after_four(const Optimizer& optimizer) {
  Model m("m");
  const Param p = m.param("p", {3}, start());
  m.graph("train", Mode::training, [&](Inputs& in) {
    const Value loss = sum(in("a", f32, {3}) * p);
    minimize(loss, {p}, optimizer);
    return loss;
  });
  Session session(m, in_f64());
  for (const std::vector<double>& gradient : kGradients) session("train", doubles_of(gradient));
  const Literal result = session.state("p");
  return {result.element(0), result.element(1), result.element(2)};
}

MATCHER(IsNear, "") { return std::abs(std::get<0>(arg) - std::get<1>(arg)) < 1e-12; }

void expect(const std::vector<double>& found, const std::vector<double>& wanted) {
  EXPECT_THAT(found, Pointwise(IsNear(), wanted));
}

TEST(Optimizers, ArePyTorchs) {
  expect(after_four(Momentum{.rate = 0.1, .momentum = 0.8}), {0.9589, -2.0602, 0.2672959999999999});
  expect(after_four(Momentum{.rate = 0.1, .momentum = 0.8, .nesterov = true}),
         {0.97962, -2.07316, 0.04183680000000002});
  expect(after_four(Rmsprop{.rate = 0.1, .decay = 0.7, .epsilon = 1e-3}),
         {0.8685867069954902, -1.9434905186939058, 0.3318715331392889});
  expect(after_four(Adagrad{.rate = 0.1, .epsilon = 1e-3}),
         {0.9319320111743666, -1.9714275486918678, 0.40474112333974827});
  expect(after_four(Adam{.rate = 0.1, .beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-3}),
         {0.8537430949758711, -1.96108491553708, 0.46896014754106463});
  expect(after_four(
             Adam{.rate = 0.1, .beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-3, .weight_decay = 0.2}),
         {0.7850020405581707, -1.810068399387837, 0.4317604473899157});
}

/// The numbers are of the formulas that ArePyTorchs compares with PyTorch, in f64, with the
/// gradients clipped and decayed before them as torch.nn.utils and torch.optim do.
TEST(Optimizers, AllClipAndDecay) {
  expect(after_four(Sgd{.rate = 0.1, .weight_decay = 0.2}),
         {0.9367985600000001, -1.86963752, 0.188113696});
  expect(after_four(Sgd{.rate = 0.1, .clip_norm = 0.5, .clip_value = 0.4}),
         {0.9668731003173983, -2.001276615872277, 0.4905436044364853});
  expect(after_four(Momentum{.rate = 0.1, .momentum = 0.8, .weight_decay = 0.2}),
         {0.80789936, -1.75131112, 0.186066976});
  expect(after_four(Momentum{.rate = 0.1, .momentum = 0.8, .clip_norm = 0.5, .clip_value = 0.4}),
         {0.893987463963116, -2.0121093645955868, 0.5257343326513942});
  expect(after_four(Rmsprop{.rate = 0.1, .decay = 0.7, .epsilon = 1e-3, .weight_decay = 0.2}),
         {0.8035756193898156, -1.853009971911729, 0.22999295252871885});
  expect(after_four(Rmsprop{
             .rate = 0.1, .decay = 0.7, .epsilon = 1e-3, .clip_norm = 0.5, .clip_value = 0.4}),
         {0.797426606017948, -1.9686170588166025, 0.3560170307785032});
  expect(after_four(Adagrad{.rate = 0.1, .epsilon = 1e-3, .weight_decay = 0.2}),
         {0.8933567160215865, -1.9275860207563442, 0.35246883325403566});
  expect(after_four(Adagrad{.rate = 0.1, .epsilon = 1e-3, .clip_norm = 0.5, .clip_value = 0.4}),
         {0.8920869206680107, -1.9798167295328706, 0.42606042884287765});
  expect(after_four(
             Adam{.rate = 0.1, .beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-3, .weight_decay = 0.2}),
         {0.7850020405581707, -1.810068399387837, 0.43176044738991565});
  expect(after_four(Adam{.rate = 0.1,
                         .beta1 = 0.8,
                         .beta2 = 0.99,
                         .epsilon = 1e-3,
                         .clip_norm = 0.5,
                         .clip_value = 0.4}),
         {0.7806556483402991, -1.958245339919218, 0.5043653439941378});
}

TEST(Optimizers, KeepTheirSlotsAsStatesOfTheModel) {
  Model m("m");
  const Param p = m.param("p", {3}, start());
  m.graph("train", Mode::training, [&](Inputs& in) {
    const Value loss = sum(in("a", f32, {3}) * p);
    minimize(loss, {p}, Adam{.name = "fast"});
    return loss;
  });
  Session session(m, in_f64());
  for (int i = 0; i < 3; ++i) session("train", doubles_of({1, 2, 3}));
  EXPECT_EQ(session.state("fast.step").element(0), 3);
  EXPECT_NEAR(session.state("p.mean").element(1), 2 * (1 - 0.9 * 0.9 * 0.9), 1e-12);
  EXPECT_GT(session.state("p.square").element(2), 0);
}

TEST(Optimizers, WantAGradientForEachParameter) {
  Model m("m");
  const Param p = m.param("p", {3}, zeros());
  m.graph("f", Mode::training, [&](Inputs&) {
    Adam{}.update({p}, {});
    return Value(p);
  });
  Session session(m, in_f64());
  EXPECT_THAT(error_of(ErrorKind::input, [&] { session("f"); }),
              HasSubstr("adam: 1 parameters and 0 gradients"));
}

TEST(Clipping, ByValueAndByTheNormOfEach) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    const Value a = in("a", f32, {2}), b = in("b", f32, {2});
    Values clipped = clip_by_norm({a, b}, 2.5);
    const Values bounded = clip_by_value({a, b}, 3.5);
    clipped.insert(clipped.end(), bounded.begin(), bounded.end());
    return clipped;
  });
  Session session(m, in_f64());
  const Outputs outputs = session("f", doubles_of({3, -4}), doubles_of({0.5, 0}));
  std::vector<std::vector<double>> found;
  for (const Tensor& output : outputs)
    found.push_back({output.literal().element(0), output.literal().element(1)});
  EXPECT_THAT(found, ElementsAre(ElementsAre(1.5, -2), ElementsAre(0.5, 0), ElementsAre(3, -3.5),
                                 ElementsAre(0.5, 0)));
}

TEST(Accumulator, UpdatesWithTheMeanOfSeveralCalls) {
  Model m("m");
  const Param p = m.param("p", {3}, zeros());
  const Accumulator accumulator;
  m.graph("add", Mode::training, [&](Inputs& in) {
    const Value loss = sum(in("a", f32, {3}) * p);
    accumulator.add({p}, gradients(loss, Params{p}));
    return loss;
  });
  m.graph("apply", Mode::training, [&](Inputs&) {
    Sgd{.rate = 1}.update({p}, accumulator.take({p}));
    return Results();
  });
  Session session(m, in_f64());
  for (int round = 1; round <= 2; ++round) {
    session("add", doubles_of({1, 2, 3}));
    session("add", doubles_of({3, 2, 0}));
    session("apply");
    EXPECT_EQ(session.state("p").element(0), -2 * round);
    EXPECT_EQ(session.state("p").element(2), -1.5 * round);
    EXPECT_EQ(session.state("accumulator.count").element(0), 0);
  }
}

TEST(Schedules, FollowTheirFormulas) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    const Value step = in("step", i32, {});
    return Values{step_decay(step, 0.5, 3, 0.1), exponential_decay(step, 0.5, 3, 0.1),
                  cosine_decay(step, 0.5, 8, 0.1)};
  });
  Session session(m, in_f64());
  for (const int step : {0, 2, 3, 7, 8, 20}) {
    const Outputs rates = session("f", Tensor(Literal::of(int32_t(step))));
    std::vector<double> found;
    for (const Tensor& rate : rates) found.push_back(rate.literal().element(0));
    const double angle = std::min(step / 8.0, 1.0) * std::acos(-1.0);
    expect(found, {0.5 * std::pow(0.1, step / 3), 0.5 * std::pow(0.1, step / 3.0),
                   0.1 + 0.4 * 0.5 * (1 + std::cos(angle))});
  }
}

/// A session without graphs, for what keeps its numbers in one.
struct Empty {
  Model model{"empty"};
  Session session{model, {.target = "reference"}};
};

TEST(Schedules, PlateauWaitsForAnImprovement) {
  // As torch.optim.lr_scheduler.ReduceLROnPlateau(patience=2, factor=0.5, threshold=0.01): two
  // measurements that are no better are waited for, the third changes the rate.
  Empty empty;
  Plateau plateau(empty.session, 1, {.factor = 0.5, .patience = 2, .threshold = 0.01});
  std::vector<double> rates;
  for (const double loss : {10.0, 9.0, 8.95, 8.7, 8.9, 8.8, 8.71, std::nan(""), 8.7, 8.7, 5.0, 6.0})
    rates.push_back(plateau.observe(loss));
  EXPECT_THAT(rates, ElementsAre(1, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25));
  Plateau impatient(empty.session, 1, {.patience = 0, .name = "impatient"});
  EXPECT_EQ(impatient.observe(1), 1);
  EXPECT_EQ(impatient.observe(1), 0.1);
}

// The rates that torch.optim.lr_scheduler.ReduceLROnPlateau of PyTorch 2.15 has with these options.
TEST(Schedules, PlateauCoolsDownGoesNoLowerAndTakesTheLargestAsPyTorch) {
  const auto rates = [](PlateauOptions options, const std::vector<double>& measured) {
    Empty empty;
    Plateau plateau(empty.session, 1, options);
    std::vector<double> all;
    for (const double one : measured) all.push_back(plateau.observe(one));
    return all;
  };
  EXPECT_THAT(rates({.factor = 0.5, .patience = 1, .cooldown = 2},
                    {10, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}),
              ElementsAre(1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.125, 0.125));
  EXPECT_THAT(rates({.factor = 0.5, .patience = 0, .cooldown = 1}, {5, 6, 6, 4, 6, 6, 6, 6}),
              ElementsAre(1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125));
  EXPECT_THAT(rates({.factor = 0.5, .patience = 1, .threshold = 0.05, .largest = true},
                    {0.5, 0.6, 0.6, 0.6, 0.61, 0.5, 0.5, 0.7, 0.7}),
              ElementsAre(1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(rates({.factor = 0.5, .patience = 0, .lowest = 0.2}, {1, 1, 1, 1, 1, 1, 1, 1}),
              ElementsAre(1, 0.5, 0.25, 0.2, 0.2, 0.2, 0.2, 0.2));
  // PyTorch raises a rate that begins below the lowest.
  Empty empty;
  EXPECT_THAT(error_of(ErrorKind::input, [&] { Plateau(empty.session, 0.1, {.lowest = 0.2}); }),
              HasSubstr("lowest is at most the rate to begin with, 0.1: found 0.2"));
}

TEST(Schedules, PlateauRefusesWhatIsNoFactorAndNoPatience) {
  const auto refused = [](PlateauOptions options) {
    Empty empty;
    return error_of(ErrorKind::input, [&] { Plateau(empty.session, 1, options); });
  };
  EXPECT_THAT(refused({.factor = 1}), HasSubstr("factor is in (0, 1): found 1"));
  EXPECT_THAT(refused({.cooldown = -1}), HasSubstr("cooldown is in [0, inf): found -1"));
  EXPECT_THAT(refused({.patience = -2}), HasSubstr("patience is in [0, inf): found -2"));
  EXPECT_THAT(refused({.threshold = std::nan("")}), HasSubstr("threshold is in [0, 1): found nan"));
  EXPECT_THAT(refused({.lowest = -0.5}), HasSubstr("lowest is in [0, inf): found -0.5"));
}

}  // namespace
}  // namespace graphc::core
