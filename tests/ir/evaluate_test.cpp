// SPDX-License-Identifier: Apache-2.0
// The evaluator: elementwise ops, leaves, random bits, arguments and errors.
#include "ir/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ir/evaluate_testing.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using testing::error_of;
using testing::f32;
using testing::i64;
using testing::is;
using testing::literal;
using testing::numbers;
using testing::run;
using testing::run_all;

using Ints = std::vector<int64_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

struct UnaryCase {
  const Op& op;
  std::vector<double> operand, result;  ///< result in f64
};

const UnaryCase unary_cases[] = {
    {ops::neg, {1.5, -2, 0}, {-1.5, 2, -0.0}},
    {ops::abs, {1.5, -2, -0.0}, {1.5, 2, 0}},
    {ops::exp, {0, 1, -kInfinity}, {1, 2.718281828459045, 0}},
    {ops::log, {1, 10, 0}, {0, 2.302585092994046, -kInfinity}},
    {ops::sqrt, {4, 2, 0}, {2, 1.4142135623730951, 0}},
    {ops::rsqrt, {4, 2, 1}, {0.5, 0.7071067811865475, 1}},
    {ops::tanh, {0, 1, -100}, {0, 0.7615941559557649, -1}},
    {ops::sigmoid, {0, 1, -800}, {0.5, 0.7310585786300049, 0}},
    {ops::sin, {0, 1, -1}, {0, 0.8414709848078965, -0.8414709848078965}},
    {ops::cos, {0, 1, -1}, {1, 0.5403023058681398, 0.5403023058681398}},
    {ops::floor, {1.5, -1.5, 2}, {1, -2, 2}},
    {ops::relu, {1.5, -1.5, 0}, {1.5, 0, 0}},
    {ops::square, {1.5, -3, 0}, {2.25, 9, 0}},
    {ops::hard_sigmoid, {0.5, -3, 3}, {0.6, 0, 1}},
    {ops::watch, {1.5, -3, 0.1}, {1.5, -3, 0.1}},
    {ops::stop_gradient, {1.5, -3, 0.1}, {1.5, -3, 0.1}},
};

TEST(Evaluate, UnaryOpsInF64) {
  for (const UnaryCase& c : unary_cases) {
    const Literal x = literal(DType::f64, {3}, c.operand);
    for (Precision precision : {Precision::f32, Precision::f64}) {
      const auto y = numbers(run({x}, [&](auto& v) { return apply1(c.op, {v[0]}); }, precision));
      for (size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(y[i], c.result[i]) << c.op.name << " " << i;
    }
  }
}

TEST(Evaluate, UnaryOpsOfF32RoundToF32) {
  for (const UnaryCase& c : unary_cases) {
    const Literal x = f32({3}, c.operand);
    const Literal y = run({x}, [&](auto& v) { return apply1(c.op, {v[0]}); });
    EXPECT_EQ(y.dtype(), DType::f32);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_FLOAT_EQ(y.data<float>()[i], float(c.result[i])) << c.op.name << " " << i;
    }
  }
}

struct BinaryCase {
  const Op& op;
  std::vector<double> result;  ///< of {6, -1.5, 2} and {4, 2, 2}
  DType dtype = DType::f32;
};

TEST(Evaluate, BinaryOps) {
  const BinaryCase cases[] = {
      {ops::add, {10, 0.5, 4}},
      {ops::sub, {2, -3.5, 0}},
      {ops::mul, {24, -3, 4}},
      {ops::div, {1.5, -0.75, 1}},
      {ops::maximum, {6, 2, 2}},
      {ops::minimum, {4, -1.5, 2}},
      {ops::pow, {1296, 2.25, 4}},
      {ops::equal, {0, 0, 1}, DType::boolean},
      {ops::not_equal, {1, 1, 0}, DType::boolean},
      {ops::less, {0, 1, 0}, DType::boolean},
      {ops::less_equal, {0, 1, 1}, DType::boolean},
      {ops::greater, {1, 0, 0}, DType::boolean},
      {ops::greater_equal, {1, 0, 1}, DType::boolean},
  };
  const Literal a = f32({3}, {6, -1.5, 2}), b = f32({3}, {4, 2, 2});
  for (const BinaryCase& c : cases) {
    const auto apply_op = [&](const Values& v) { return apply1(c.op, {v[0], v[1]}); };
    EXPECT_TRUE(is(run({a, b}, apply_op), literal(c.dtype, {3}, c.result))) << c.op.name;
    const DType wide = c.dtype == DType::f32 ? DType::f64 : c.dtype;
    EXPECT_TRUE(is(run({a, b}, apply_op, Precision::f64), literal(wide, {3}, c.result)))
        << c.op.name;
  }
}

TEST(Evaluate, MaximumAndMinimumOfNanAreNan) {
  const Literal a = f32({2}, {kNan, 1}), b = f32({2}, {1, kNan});
  for (const Op* op : {&ops::maximum, &ops::minimum}) {
    for (double v : numbers(run({a, b}, [&](auto& x) { return apply1(*op, {x[0], x[1]}); }))) {
      EXPECT_TRUE(std::isnan(v)) << op->name;
    }
  }
}

TEST(Evaluate, LogicAndSelect) {
  const Literal p = literal(DType::boolean, {4}, {0, 0, 1, 1});
  const Literal q = literal(DType::boolean, {4}, {0, 1, 0, 1});
  const auto boolean = [](const std::vector<double>& v) { return literal(DType::boolean, {4}, v); };
  EXPECT_TRUE(
      is(run({p, q}, [](auto& x) { return logical_and(x[0], x[1]); }), boolean({0, 0, 0, 1})));
  EXPECT_TRUE(
      is(run({p, q}, [](auto& x) { return logical_or(x[0], x[1]); }), boolean({0, 1, 1, 1})));
  EXPECT_TRUE(is(run({p}, [](auto& x) { return logical_not(x[0]); }), boolean({1, 1, 0, 0})));
  const Literal a = f32({4}, {1, 2, kNan, 4});
  EXPECT_TRUE(
      is(run({p, a}, [](auto& x) { return select(x[0], 9, x[1]); }), f32({4}, {1, 2, 9, 9})));
}

TEST(Evaluate, Broadcasts) {
  const auto add = [](const Values& x) { return x[0] + x[1]; };
  const Literal column = f32({3, 1}, {10, 20, 30}), row = f32({2}, {1, 2});
  EXPECT_TRUE(is(run({column, row}, add), f32({3, 2}, {11, 12, 21, 22, 31, 32})));
  EXPECT_TRUE(is(run({row, column}, add), f32({3, 2}, {11, 12, 21, 22, 31, 32})));
  EXPECT_TRUE(is(run({f32({}, {5}), row}, add), f32({2}, {6, 7})));
  EXPECT_TRUE(is(run({f32({1, 1}, {5}), f32({}, {2})}, add), f32({1, 1}, {7})));
  const Literal middle = f32({2, 1, 2}, {1, 2, 3, 4}), outer = f32({1, 3, 1}, {10, 20, 30});
  EXPECT_TRUE(is(run({middle, outer}, add),
                 f32({2, 3, 2}, {11, 12, 21, 22, 31, 32, 13, 14, 23, 24, 33, 34})));
}

TEST(Evaluate, BroadcastsOverManyBlocks) {
  std::vector<double> table, wanted;
  for (int i = 0; i < 700; ++i) table.push_back(i);
  for (int r = 0; r < 3; ++r) {
    for (int i = 0; i < 700; ++i) wanted.push_back(i + 1000 * r);
  }
  EXPECT_TRUE(is(
      run({f32({700}, table), f32({3, 1}, {0, 1000, 2000})}, [](auto& x) { return x[0] + x[1]; }),
      f32({3, 700}, wanted)));
}

TEST(Evaluate, EmptyShapes) {
  const auto add = [](const Values& x) { return x[0] + x[1]; };
  EXPECT_EQ(run({f32({0, 3}, {}), f32({3}, {1, 2, 3})}, add).type(), (Type{DType::f32, {0, 3}}));
  EXPECT_EQ(run({f32({2, 0}, {}), f32({2, 1}, {1, 2})}, add).type(), (Type{DType::f32, {2, 0}}));
}

TEST(Evaluate, RoundsAfterEachOperationInF32) {
  // 2^24 + 1 is no float: the sum rounds to 2^24 before 2^24 is taken away again.
  const Literal x = f32({1}, {16777216});
  const auto difference = [](const Values& v) { return (v[0] + 1) - v[0]; };
  EXPECT_EQ(numbers(run({x}, difference)), std::vector<double>{0});
  EXPECT_EQ(numbers(run({x}, difference, Precision::f64)), std::vector<double>{1});
  // Inside one op too: hard_sigmoid is a product and a sum.
  const float product = 0.2f * 0.3f;
  EXPECT_EQ(numbers(run({f32({1}, {0.3})}, [](auto& v) { return hard_sigmoid(v[0]); })),
            std::vector<double>{double(product + 0.5f)});
}

TEST(Evaluate, RoundsBf16ToNearestEvenOnce) {
  const auto bf16 = [](const std::vector<double>& v) {
    return literal(DType::bf16, {int64_t(v.size())}, v);
  };
  const Literal one = bf16({1, 1, 1}), small = bf16({0x1p-8, 0x1.8p-8, 0x1.02p-8});
  const auto add = [](const Values& x) { return x[0] + x[1]; };
  // Ties to even: 1 + 2^-8 stays 1; above the tie rounds up.
  EXPECT_TRUE(is(run({one, small}, add), bf16({1, 1 + 0x1p-7, 1 + 0x1p-7})));
  // Rounding to f32 first would make a tie of 1 + 2^-8 + 2^-40 and then 1 of it.
  EXPECT_TRUE(is(run({literal(DType::f64, {1}, {1 + 0x1p-8 + 0x1p-40})},
                     [](auto& x) { return cast(x[0], DType::bf16); }),
                 bf16({1 + 0x1p-7})));
}

TEST(Evaluate, Casts) {
  const auto to = [](DType dtype) { return [=](const Values& x) { return cast(x[0], dtype); }; };
  const Literal x = f32({5}, {1.9, -1.9, 300, -1, 0});
  EXPECT_TRUE(is(run({x}, to(DType::i32)), literal(DType::i32, {5}, {1, -1, 300, -1, 0})));
  EXPECT_TRUE(is(run({x}, to(DType::u8)), literal(DType::u8, {5}, {1, 255, 44, 255, 0})));
  EXPECT_TRUE(
      is(run({x}, to(DType::u32)), literal(DType::u32, {5}, {1, 4294967295, 300, 4294967295, 0})));
  EXPECT_TRUE(is(run({x}, to(DType::boolean)), literal(DType::boolean, {5}, {1, 1, 1, 1, 0})));
  const Literal wide = i64({(int64_t{1} << 32) + 5, -1, int64_t{1} << 31});
  EXPECT_TRUE(is(run({wide}, to(DType::i32)), literal(DType::i32, {3}, {5, -1, -2147483648.})));
  EXPECT_TRUE(is(run({i64({16777217})}, to(DType::f32)), f32({1}, {16777216})));
  EXPECT_EQ(numbers(run({i64({16777217})}, to(DType::f32), Precision::f64)),
            std::vector<double>{16777217});
  EXPECT_TRUE(is(run({literal(DType::boolean, {2}, {1, 0})}, to(DType::f32)), f32({2}, {1, 0})));
  EXPECT_TRUE(is(run({f32({1}, {kNan})}, to(DType::i32)), literal(DType::i32, {1}, {0})));
}

TEST(Evaluate, IntegersWrap) {
  const auto i32 = [](const std::vector<double>& v) {
    return literal(DType::i32, {int64_t(v.size())}, v);
  };
  EXPECT_TRUE(is(run({i32({2147483647}), i32({1})}, [](auto& x) { return x[0] + x[1]; }),
                 i32({-2147483648.})));
  EXPECT_TRUE(is(run({i32({65536, 3}), i32({65536, -7})}, [](auto& x) { return x[0] * x[1]; }),
                 i32({0, -21})));
  const Literal u8 = literal(DType::u8, {1}, {3}), five = literal(DType::u8, {1}, {5});
  EXPECT_TRUE(
      is(run({u8, five}, [](auto& x) { return x[0] - x[1]; }), literal(DType::u8, {1}, {254})));
  EXPECT_TRUE(
      is(run({i64({std::numeric_limits<int64_t>::max()})}, [](auto& x) { return x[0] + 1; }),
         i64({std::numeric_limits<int64_t>::min()})));
}

TEST(Evaluate, Constants) {
  const auto constant = [](Attributes attributes, Precision precision = Precision::f32) {
    return run_all(
        {},
        [&](Graph& graph, const Values&) -> Values {
          return {graph.add(ops::constant, {}, attributes).result()};
        },
        precision)[0];
  };
  const Attribute pair = Ints{2};
  EXPECT_TRUE(
      is(constant({{"dtype", DType::f32}, {"shape", pair}, {"value", 0.1}}), f32({2}, {0.1, 0.1})));
  EXPECT_TRUE(is(constant({{"dtype", DType::f32}, {"shape", pair}, {"value", 0.1}}, Precision::f64),
                 literal(DType::f64, {2}, {0.1, 0.1})));
  EXPECT_TRUE(is(constant({{"dtype", DType::i64},
                           {"shape", pair},
                           {"value", Ints{std::numeric_limits<int64_t>::max(), -1}}}),
                 i64({std::numeric_limits<int64_t>::max(), -1})));
  EXPECT_TRUE(is(constant({{"dtype", DType::boolean}, {"shape", pair}, {"value", true}}),
                 literal(DType::boolean, {2}, {1, 1})));
  EXPECT_TRUE(is(
      constant(
          {{"dtype", DType::f32}, {"shape", pair}, {"value", std::vector<double>{1.5, kInfinity}}}),
      f32({2}, {1.5, kInfinity})));
  const std::string message = error_of(ErrorKind::input, [&] {
    constant({{"dtype", DType::i32}, {"shape", pair}, {"value", 0.5}});
  });
  EXPECT_EQ(message, "constant: 0.5 is not a number of i32");
}

TEST(Evaluate, Iota) {
  const auto iota_of = [](Attributes attributes) {
    return run_all({}, [&](Graph& graph, const Values&) -> Values {
      return {graph.add(ops::iota, {}, attributes).result()};
    })[0];
  };
  const Attribute shape = Ints{2, 3};
  EXPECT_TRUE(is(iota_of({{"dtype", DType::i64}, {"shape", Ints{3}}}), i64({0, 1, 2})));
  EXPECT_TRUE(
      is(iota_of({{"dtype", DType::f32}, {"shape", shape}}), f32({2, 3}, {0, 1, 2, 3, 4, 5})));
  EXPECT_TRUE(is(iota_of({{"dtype", DType::f32}, {"shape", shape}, {"axis", int64_t{0}}}),
                 f32({2, 3}, {0, 0, 0, 1, 1, 1})));
  EXPECT_TRUE(is(iota_of({{"dtype", DType::i32}, {"shape", shape}, {"axis", int64_t{1}}}),
                 literal(DType::i32, {2, 3}, {0, 1, 2, 0, 1, 2})));
}

std::vector<double> philox(int64_t key, const std::vector<int64_t>& indices) {
  return numbers(
      run({i64({key}), i64(indices)}, [](auto& x) { return apply1(ops::philox, {x[0], x[1]}); }));
}

TEST(Evaluate, PhiloxGivesPublishedBits) {
  // The first is the known-answer vector of Random123 for counter 0 and key 0. The others come from
  // a separate implementation that reproduces all three published vectors.
  EXPECT_EQ(philox(0, {0, 1, 2, 3}),
            (std::vector<double>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(42, {4, 5, 6, 7}),
            (std::vector<double>{0xfcdb2127, 0x53ba6cfd, 0x838f5a6e, 0x744e06fb}));
  EXPECT_EQ(philox(-1, {-4, -3, -2, -1}),
            (std::vector<double>{0x95a880dd, 0x95be01c8, 0xff3b8f4b, 0x3915061c}));
}

TEST(Evaluate, FoldInIsThePhiloxBlockAtThatCounter) {
  const Literal key = i64({0x299f31d0a4093822}), number = i64({0x05a308d3243f6a88});
  EXPECT_TRUE(is(run({key, number}, [](auto& x) { return apply1(ops::fold_in, {x[0], x[1]}); }),
                 i64({0x02341e04f2077581})));
}

TEST(Evaluate, StatesAndNext) {
  Graph graph("step");
  const Type type{DType::f32, {2}};
  const Value x = graph.input(type, "x"), w = graph.state(type, "w"), v = graph.state(type, "v");
  graph.set_next(w, v);
  graph.set_next(v, w + x);
  graph.set_results({w});
  const Evaluation found =
      evaluate(graph, {f32({2}, {1, 2})}, {{"w", f32({2}, {10, 20})}, {"v", f32({2}, {5, 6})}});
  EXPECT_TRUE(is(found.results[0], f32({2}, {10, 20})));
  EXPECT_TRUE(is(found.next.at("w"), f32({2}, {5, 6})));
  EXPECT_TRUE(is(found.next.at("v"), f32({2}, {11, 22})));
}

TEST(Evaluate, F64ModeTakesF64ArgumentsAndKeepsTheirBits) {
  const Literal third = literal(DType::f64, {1}, {1. / 3});
  Graph graph("step");
  const Value w = graph.state({DType::f32, {1}}, "w");
  graph.set_results({w * 3});
  const auto found = evaluate(graph, {}, {{"w", third}}, Precision::f64);
  EXPECT_TRUE(is(found.results[0], literal(DType::f64, {1}, {1})));
  const std::string message =
      error_of(ErrorKind::input, [&] { evaluate(graph, {}, {{"w", third}}, Precision::f32); });
  EXPECT_EQ(message, "state %w is f32[1]: found f64[1]");
}

TEST(Evaluate, WrongArgumentsAreNamed) {
  Graph graph("step");
  const Value x = graph.input({DType::f32, {2}}, "x"), w = graph.state({DType::f32, {2}}, "w");
  graph.set_results({x + w});
  const Literal two = f32({2}, {1, 2}), three = f32({3}, {1, 2, 3});
  const auto message = [&](std::vector<Literal> inputs, std::map<std::string, Literal> states) {
    return error_of(ErrorKind::input, [&] { evaluate(graph, inputs, states); });
  };
  EXPECT_EQ(message({}, {{"w", two}}), "graph @step takes 1 inputs: found 0");
  EXPECT_EQ(message({three}, {{"w", two}}), "input %x is f32[2]: found f32[3]");
  EXPECT_EQ(message({two}, {}), "state %w: no value is given");
  EXPECT_EQ(message({two}, {{"w", three}}), "state %w is f32[2]: found f32[3]");
}

TEST(Evaluate, GradIsRefused) {
  const std::string message = error_of(ErrorKind::input, [] {
    run({f32({}, {1})}, [](auto& x) { return apply1(ops::grad, {x[0] * x[0], x[0]}); });
  });
  EXPECT_NE(message.find("autodiff"), std::string::npos) << message;
}

TEST(Evaluate, DeadNodesDoNotRun) {
  const Literal table = f32({2}, {1, 2}), outside = i64({7});
  const Literal result = run({table, outside}, [](auto& x) {
    gather(x[0], x[1]);
    return x[0] + 1;
  });
  EXPECT_TRUE(is(result, f32({2}, {2, 3})));
}

}  // namespace
}  // namespace graphc::core
