// SPDX-License-Identifier: Apache-2.0
// Random programs on integers of every type, written as users write them, against arithmetic of 128
// bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "frontend/graphc.h"
#include "ir/serialize.h"
#include "ir/text.h"
#include "tests/testing/samples.h"

namespace graphc::core {
namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 Bits;

const std::vector<DType> kIntegerTypes = {DType::i32, DType::i64, DType::u32, DType::u8};

/// The least and the largest number of a type of integers.
std::pair<Wide, Wide> limits_of(DType dtype) {
  return visit_dtype(dtype, [&]<DType of>() -> std::pair<Wide, Wide> {
    if constexpr (std::is_integral_v<Stored<of>>)
      return {std::numeric_limits<Stored<of>>::min(), std::numeric_limits<Stored<of>>::max()};
    return {0, 0};
  });
}

/// The number of the type that is congruent to x.
Wide wrapped(DType dtype, Wide x) {
  if (dtype == DType::boolean) return x != 0;
  const auto [least, most] = limits_of(dtype);
  const Wide count = most - least + 1;
  // Modulo 2^128, which the count divides: the number may be next to either end.
  const Wide rest = Wide((Bits(x) - Bits(least)) % Bits(count));
  return rest + least;
}

/// A value of a program, and what it is.
struct Known {
  Value value;
  std::vector<Wide> exact;
};

class IntegerProgram {
 public:
  static constexpr int64_t kElements = 9;

  explicit IntegerProgram(uint64_t seed) : random_(seed) {}

  /// Values at and around the limits of a type and of what a double holds.
  Wide number(DType dtype) {
    const auto [least, most] = limits_of(dtype);
    const Wide near = draw(0, 3);
    switch (draw(0, 5)) {
      case 0:
        return least + near;
      case 1:
        return most - near;
      case 2:
        return std::clamp((Wide(1) << draw(0, 62)) + draw(-1, 1), least, most);
      case 3:
        return std::clamp((Wide(1) << 53) + draw(-1, 3), least, most);
      default:
        return std::clamp<Wide>(draw(-5, 9), least, most);
    }
  }

  std::vector<Wide> numbers(DType dtype) {
    std::vector<Wide> result;
    for (int64_t i = 0; i < kElements; ++i) result.push_back(number(dtype));
    return result;
  }

  void add(Known known) {
    for (Wide& x : known.exact) x = wrapped(known.value.dtype(), x);
    values_.push_back(std::move(known));
  }
  const std::vector<Known>& values() const { return values_; }
  int64_t draw(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }

  void step() {
    const Known a = values_[size_t(draw(0, int64_t(values_.size()) - 1))];
    const DType dtype = a.value.dtype();
    const Known b = another(dtype);
    const Wide n = number(dtype), m = number(dtype);
    switch (draw(0, 7)) {
      case 0:
        return add(binary(a, b));
      case 1:
      case 2:
        return add(with_number(a, n));
      case 3:
        return add(compared(a, b, n));
      case 4:
        return add(limited(a, std::min(n, m), std::max(n, m)));
      case 5:
        return add(made(a, n));
      case 6:
        return add(assigned(a, n));
      default:
        return add(unary(a));
    }
  }

 private:
  Known another(DType dtype) {
    std::vector<Known> of_type;
    for (const Known& known : values_) {
      if (known.value.dtype() == dtype) of_type.push_back(known);
    }
    return of_type[size_t(draw(0, int64_t(of_type.size()) - 1))];
  }

  template <typename F>
  static std::vector<Wide> each(const Known& a, F f) {
    std::vector<Wide> result;
    for (const Wide x : a.exact) result.push_back(f(x));
    return result;
  }
  template <typename F>
  static std::vector<Wide> each(const Known& a, const Known& b, F f) {
    std::vector<Wide> result;
    for (size_t i = 0; i < a.exact.size(); ++i) result.push_back(f(a.exact[i], b.exact[i]));
    return result;
  }

  /// `f` of the number as one of the C++ types that hold it.
  template <typename F>
  Value written(Wide number, F f) {
    const int64_t n = int64_t(number);
    switch (draw(0, 4)) {
      case 0:
        if (std::in_range<int>(n)) return f(int(n));
        break;
      case 1:
        if (n >= 0) return f(uint64_t(n));
        break;
      case 2:
        if (number <= Wide(1) << 53 && number >= -(Wide(1) << 53)) return f(double(n));
        break;
      case 3:
        if (std::in_range<uint8_t>(n)) return f(static_cast<unsigned char>(n));
        break;
      default:
        break;
    }
    return f(n);
  }

  Known binary(const Known& a, const Known& b) {
    switch (draw(0, 4)) {
      case 0:
        return {a.value + b.value, each(a, b, [](Wide x, Wide y) { return x + y; })};
      case 1:
        return {a.value - b.value, each(a, b, [](Wide x, Wide y) { return x - y; })};
      case 2:
        return {a.value * b.value, each(a, b, [](Wide x, Wide y) { return x * y; })};
      case 3:
        return {maximum(a.value, b.value),
                each(a, b, [](Wide x, Wide y) { return std::max(x, y); })};
      default:
        return {minimum(a.value, b.value),
                each(a, b, [](Wide x, Wide y) { return std::min(x, y); })};
    }
  }

  Known with_number(const Known& a, Wide n) {
    const Value x = a.value;
    switch (draw(0, 6)) {
      case 0:
        return {written(n, [&](auto k) { return x + k; }), each(a, [&](Wide u) { return u + n; })};
      case 1:
        return {written(n, [&](auto k) { return k - x; }), each(a, [&](Wide u) { return n - u; })};
      case 2:
        return {written(n, [&](auto k) { return x - k; }), each(a, [&](Wide u) { return u - n; })};
      case 3:
        return {written(n, [&](auto k) { return k * x; }), each(a, [&](Wide u) { return u * n; })};
      case 4:
        return {written(n, [&](auto k) { return maximum(x, k); }),
                each(a, [&](Wide u) { return std::max(u, n); })};
      case 5:
        return {written(n, [&](auto k) { return minimum(k, x); }),
                each(a, [&](Wide u) { return std::min(u, n); })};
      default: {
        Value y = x;
        y = written(n, [&](auto k) { return y += k; });
        return {y, each(a, [&](Wide u) { return u + n; })};
      }
    }
  }

  /// Elements chosen by a comparison.
  Known compared(const Known& a, const Known& b, Wide n) {
    const Value x = a.value;
    const auto chosen = [&](Value condition, auto holds) {
      return Known{select(condition, x, b.value),
                   each(a, b, [&](Wide u, Wide v) { return holds(u) ? u : v; })};
    };
    switch (draw(0, 6)) {
      case 0:
        return chosen(written(n, [&](auto k) { return Value(x < k); }),
                      [&](Wide u) { return u < n; });
      case 1:
        return chosen(written(n, [&](auto k) { return Value(k <= x); }),
                      [&](Wide u) { return n <= u; });
      case 2:
        return chosen(written(n, [&](auto k) { return Value(x > k); }),
                      [&](Wide u) { return u > n; });
      case 3:
        return chosen(written(n, [&](auto k) { return equal(x, k); }),
                      [&](Wide u) { return u == n; });
      case 4:
        return chosen(written(n, [&](auto k) { return not_equal(k, x); }),
                      [&](Wide u) { return u != n; });
      case 5:
        return chosen(written(n, [&](auto k) { return Value(x >= k); }),
                      [&](Wide u) { return u >= n; });
      default:
        return {written(n, [&](auto k) { return select(x < b.value, k, x); }),
                each(a, b, [&](Wide u, Wide v) { return u < v ? n : u; })};
    }
  }

  Known limited(const Known& a, Wide low, Wide high) {
    return {clip(a.value, int64_t(low), int64_t(high)),
            each(a, [&](Wide u) { return std::clamp(u, low, high); })};
  }

  /// Values made of a number: padding, constants, indices.
  Known made(const Known& a, Wide n) {
    const DType dtype = a.value.dtype();
    switch (draw(0, 2)) {
      case 0: {
        const Value wide = written(n, [&](auto k) { return pad(a.value, {2}, {1}, k); });
        std::vector<Wide> exact(a.exact.begin(), a.exact.end() - 2);
        exact.insert(exact.begin(), 2, n);
        return {slice(wide, 0, 0, kElements), exact};
      }
      case 1:
        return {written(n, [&](auto k) { return filled({kElements}, k, dtype); }),
                std::vector<Wide>(size_t(kElements), n)};
      default: {
        std::vector<Wide> exact;
        for (int64_t i = 0; i < kElements; ++i) exact.push_back(i);
        return {iota({kElements}, 0, dtype), exact};
      }
    }
  }

  /// Through a state.
  Known assigned(const Known& a, Wide n) {
    State state(a.value);
    const Value first = written(n, [&](auto k) {
      state = k;
      return Value(state);
    });
    state += a.value;
    state *= first;
    // Modulo 2^128, of which the type keeps the last bits: the product may be 2^127.
    return {state, each(a, [&](Wide u) { return Wide(Bits(u + n) * Bits(n)); })};
  }

  Known unary(const Known& a) {
    switch (draw(0, 4)) {
      case 0:
        return {-a.value, each(a, [](Wide u) { return -u; })};
      case 1:
        return {abs(a.value), each(a, [](Wide u) { return u < 0 ? -u : u; })};
      case 2:
        return {sign(a.value), each(a, [](Wide u) { return Wide(u > 0) - Wide(u < 0); })};
      case 3: {
        Wide total = 0;
        for (const Wide u : a.exact) total += u;
        return {a.value + sum(a.value), each(a, [&](Wide u) { return u + total; })};
      }
      default: {
        const DType to = kIntegerTypes[size_t(draw(0, 3))];
        return {cast(a.value, to), a.exact};
      }
    }
  }

  std::mt19937_64 random_;
  std::vector<Known> values_;
};

Data data_of(DType dtype, const std::vector<Wide>& numbers) {
  return visit_dtype(dtype, [&]<DType of>() -> Data {
    std::vector<Stored<of>> stored;
    for (const Wide number : numbers) stored.push_back(Stored<of>(int64_t(number)));
    Literal literal(Type{of, {int64_t(numbers.size())}});
    std::ranges::copy(stored, literal.mutable_data<Stored<of>>().begin());
    return literal;
  });
}

void expect_exact(const char* target, uint64_t seed) {
  Model m("m");
  std::vector<Known> wanted;
  m.graph("f", [&](Inputs& in) {
    IntegerProgram program(seed);
    for (const DType dtype : kIntegerTypes) {
      const std::string name = fmt::format("x.{}", name_of(dtype));
      program.add({in(name, dtype, {IntegerProgram::kElements}), program.numbers(dtype)});
    }
    for (int i = 0; i < 14; ++i) program.step();
    wanted = program.values();
    Values results;
    for (const Known& known : wanted) results.push_back(known.value);
    return results;
  });
  const GraphPtr graph = m.trace("f", Extents{}).graph;
  ASSERT_EQ(print(*parse_graph(print(*graph), "f.graph")), print(*graph)) << "seed " << seed;
  const Module module{.graphs = {graph}};
  ASSERT_EQ(print(from_proto(to_proto(module))), print(module)) << "seed " << seed;
  ASSERT_EQ(print(from_json(to_json(module))), print(module)) << "seed " << seed;
  IntegerProgram program(seed);
  std::vector<Data> inputs;
  for (const DType dtype : kIntegerTypes) inputs.push_back(data_of(dtype, program.numbers(dtype)));
  Session session(m, {.target = target});
  const Outputs found = session.run("f", inputs);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Literal literal = found[i].literal().converted(DType::i64);
    for (size_t k = 0; k < wanted[i].exact.size(); ++k) {
      ASSERT_EQ(literal.data<int64_t>()[k], int64_t(wanted[i].exact[k]))
          << target << ", seed " << seed << ", element " << k << " of value " << i << " of "
          << to_string(found[i].type()) << "\n"
          << print(*graph);
    }
  }
}

TEST(IntegerPrograms, AreExactOnEveryTarget) {
  for (uint64_t seed = 1; seed <= testing::half_of(60); ++seed) {
    expect_exact("reference", seed);
    expect_exact("cpu", seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace graphc::core
