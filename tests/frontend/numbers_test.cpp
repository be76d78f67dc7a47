// SPDX-License-Identifier: Apache-2.0
// Every place that takes a number, with numbers at and beyond the limits of every type: what the
// type does not have is refused at the line that writes it, before anything is computed.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "frontend/graphc.h"
#include "ir/numeral.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

__extension__ typedef __int128 WideNumber;

const std::vector<DType> kTypesOfIntegers = {DType::i32, DType::i64, DType::u32, DType::u8};

/// The least and the largest number of a type of integers.
std::pair<WideNumber, WideNumber> limits_of_type(DType dtype) {
  return visit_dtype(dtype, [&]<DType of>() -> std::pair<WideNumber, WideNumber> {
    if constexpr (std::is_integral_v<Stored<of>>)
      return {std::numeric_limits<Stored<of>>::min(), std::numeric_limits<Stored<of>>::max()};
    return {0, 0};
  });
}

/// A place in a program that takes a number beside values of a type.
struct NumberPlace {
  const char* name;
  std::function<Value(Value, int64_t)> integer;
  std::function<Value(Value, double)> floating;
};

template <typename F>
NumberPlace number_place(const char* name, F f) {
  return {name, f, f};
}

std::vector<NumberPlace> number_places() {
  return {
      number_place("+", [](Value x, auto n) { return x + n; }),
      number_place("-", [](Value x, auto n) { return n - x; }),
      number_place("*", [](Value x, auto n) { return x * n; }),
      number_place("+=", [](Value x, auto n) { return x += n; }),
      number_place("maximum", [](Value x, auto n) { return maximum(x, n); }),
      number_place("minimum", [](Value x, auto n) { return minimum(n, x); }),
      number_place("<", [](Value x, auto n) { return Value(x < n); }),
      number_place(">=", [](Value x, auto n) { return Value(n >= x); }),
      number_place("equal", [](Value x, auto n) { return equal(x, n); }),
      number_place("select", [](Value x, auto n) { return select(x < x, x, n); }),
      number_place("filled", [](Value x, auto n) { return filled({2}, n, x.dtype()); }),
      number_place("pad", [](Value x, auto n) { return pad(x, {1}, {0}, n); }),
      number_place("clip low", [](Value x, auto n) { return clip(x, n, n); }),
      number_place("clip high", [](Value x, auto n) { return clip(x, n, n); }),
      number_place("state",
                   [](Value x, auto n) {
                     State h(x);
                     h = n;
                     return Value(h);
                   }),
      number_place("state +=",
                   [](Value x, auto n) {
                     State h(x);
                     h += n;
                     return Value(h);
                   }),
      number_place("constant",
                   [](Value x, auto n) { return constant(n)(filled({}, 0, i64), x.type()); }),
  };
}

/// The error of tracing a graph that says the number beside a value of the type; empty for none.
template <typename Number>
std::string refusal(DType dtype, const std::function<Value(Value, Number)>& place, Number number) {
  Model m("m");
  m.graph("f", [&](Inputs& in) { return Results(place(in("x", dtype, {3}), number)); });
  try {
    m.trace("f", Extents{});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.message();
  }
  return "";
}

TEST(NumbersBesideIntegers, AreThoseOfTheTypeAndNoOthers) {
  for (const NumberPlace& place : number_places()) {
    for (const DType dtype : kTypesOfIntegers) {
      const auto [least, most] = limits_of_type(dtype);
      const std::string what = fmt::format("{} {}", place.name, name_of(dtype));
      for (const WideNumber in : {least, most, WideNumber(0), WideNumber(100)})
        EXPECT_EQ(refusal(dtype, place.integer, int64_t(in)), "") << what;
      if (dtype != DType::i64) {
        for (const WideNumber out : {least - 1, most + 1}) {
          EXPECT_NE(
              refusal(dtype, place.integer, int64_t(out))
                  .find(fmt::format("{} is not a number of {}", int64_t(out), name_of(dtype))),
              std::string::npos)
              << what;
        }
      }
      EXPECT_NE(refusal(dtype, place.floating, 1.5).find("1.5 is not a number of"),
                std::string::npos)
          << what;
      EXPECT_NE(refusal(dtype, place.floating, 1e30), "") << what;
      EXPECT_NE(refusal(dtype, place.floating, std::numeric_limits<double>::infinity()), "")
          << what;
      EXPECT_NE(refusal(dtype, place.floating, std::numeric_limits<double>::quiet_NaN()), "")
          << what;
      EXPECT_EQ(refusal(dtype, place.floating, 64.0), "") << what;
    }
  }
}

TEST(NumbersBesideFloats, RoundButNotToInfinity) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const NumberPlace& place : number_places()) {
    const std::string_view name = place.name;
    EXPECT_NE(refusal(f32, place.floating, 1e300).find("1e+300 is not a number of f32"),
              std::string::npos)
        << name;
    EXPECT_NE(refusal(f32, place.floating, -1e39), "") << name;
    for (const double fine : {0.1, 3.4028234e38, 1e-300, infinity})
      EXPECT_EQ(refusal(f32, place.floating, fine), "") << name << " " << fine;
    EXPECT_EQ(refusal(f64, place.floating, 1e300), "") << name;
    EXPECT_EQ(refusal(f32, place.integer, (int64_t{1} << 53) + 1), "") << name;
  }
}

TEST(NumbersBesideIntegers, AreRefusedAtTheLineThatWritesThem) {
  Model m("m");
  int line = 0;
  m.graph("f", [&](Inputs& in) {
    const Value x = in("x", DType::u8, {3});
    line = __LINE__ + 1;
    return Results(x + 300);
  });
  try {
    m.trace("f", Extents{});
    FAIL() << "300 beside u8";
  } catch (const Error& error) {
    EXPECT_EQ(error.where().line, line);
  }
}

TEST(NumbersBesideIntegers, WithoutASignAreThemselves) {
  const uint64_t beyond = (uint64_t{1} << 63) + 1;
  EXPECT_NE(refusal<int64_t>(i64, [&](Value x, int64_t) { return x + beyond; }, 0), "");
  EXPECT_EQ(refusal<int64_t>(i64, [&](Value x, int64_t) { return x + (beyond >> 1); }, 0), "");
  EXPECT_EQ(refusal<int64_t>(f32, [&](Value x, int64_t) { return x + beyond; }, 0), "");
  using testing::error_of;
  EXPECT_EQ(error_of(ErrorKind::input, [&] { Data(std::vector<uint64_t>{1, beyond}); }),
            "element 1 is 9223372036854775809, which no type of the language holds: i64 goes to "
            "9223372036854775807");
  EXPECT_EQ(Data(beyond >> 1).tensor().literal().to_text(), "4611686018427387904");
  EXPECT_NE(error_of(ErrorKind::input, [&] { Literal::of(int64_t{-1}).to_vector<uint64_t>(); }),
            "");
}

TEST(NumbersOfData, AreHeldByTheTypeOfTheInput) {
  using testing::error_of;
  Model m("m");
  const State slot = m.state("slot", Type{f32, {2}}, zeros());
  m.graph("f", [&](Inputs& in) { return Results(in("x", f32, {2}) + slot); });
  m.graph("u8", [&](Inputs& in) { return Results(in("x", DType::u8, {1}) + 0); });
  const double infinity = std::numeric_limits<double>::infinity();
  for (const char* target : {"reference", "cpu"}) {
    Session session(m, {.target = target});
    EXPECT_EQ(error_of(ErrorKind::input, [&] { session("f", std::vector<double>{1, 1e300}); }),
              "input 'x' is f32[2]: element 1 is 1e+300, which f32 cannot hold");
    EXPECT_EQ(session("f", std::vector<double>{infinity, 1e-300})[0].literal().to_text(),
              "[inf, 0]");
    EXPECT_EQ(error_of(ErrorKind::input, [&] { session("u8", std::vector<int>{300}); }),
              "input 'x' is u8[1]: element 0 is 300, which u8 cannot hold");
    EXPECT_EQ(error_of(ErrorKind::input,
                       [&] { session.set_state("slot", std::vector<double>{-1e39, 1}); }),
              "state 'slot' is f32[2]: element 0 is -1e+39, which f32 cannot hold");
  }
}

TEST(SignOfNumbers, IsMinusOneZeroOrOneOfDenormalsToo) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    const Value x = in("x", f32, {6});
    return Values{sign(x), reciprocal(sign(x))};
  });
  const std::vector<float> x = {2.5f, -3, 0, -0.0f, 1e-39f, -1e-39f};
  for (const char* target : {"reference", "cpu"}) {
    Session session(m, {.target = target});
    const Outputs found = session("f", x);
    for (int64_t i = 0; i < 6; ++i) {
      const double y = found[0].literal().element(i);
      EXPECT_TRUE(y == 0 || std::abs(y) == 1) << target << " " << y;
      EXPECT_EQ(std::signbit(y), std::signbit(x[size_t(i)])) << target << " " << i;
      const double wanted = i == 0 ? 1 : i == 1 ? -1 : 0;
      EXPECT_TRUE(i >= 4 || y == wanted) << target << " " << i;
    }
    EXPECT_EQ(found[1].literal().element(3), -std::numeric_limits<double>::infinity());
  }
}

TEST(IntegersOfStates, KeepAll64Bits) {
  const int64_t wide = (int64_t{1} << 53) + 1;
  Model m("m");
  const State count = m.state("count", Type{i64, {2}}, constant(wide));
  m.graph("f", [&](Inputs&) { return Results(Value(count) + 0); });
  for (const char* target : {"reference", "cpu"}) {
    Session session(m, {.target = target});
    EXPECT_EQ(session("f")[0].data<int64_t>()[1], wide);
    session.set_state("count", std::vector<int64_t>{wide + 2, wide + 3});
    EXPECT_EQ(session("f")[0].data<int64_t>()[1], wide + 3);
  }
}

}  // namespace
}  // namespace graphc::core
