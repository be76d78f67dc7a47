// SPDX-License-Identifier: Apache-2.0
// The evaluator: shapes, sums, products, tables, scans and kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/evaluate.h"
#include "ir/scan.h"
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

std::vector<double> count(int from, int to) {
  std::vector<double> result;
  for (int i = from; i <= to; ++i) result.push_back(i);
  return result;
}

TEST(EvaluateShape, ReshapeTransposeBroadcast) {
  const Literal x = f32({2, 3}, count(1, 6));
  EXPECT_TRUE(
      is(run({x}, [](auto& v) { return reshape(v[0], {3, 2}); }), f32({3, 2}, count(1, 6))));
  EXPECT_TRUE(is(run({x}, [](auto& v) { return transpose(v[0], {1, 0}); }),
                 f32({3, 2}, {1, 4, 2, 5, 3, 6})));
  EXPECT_TRUE(
      is(run({f32({2, 1, 3}, count(1, 6))}, [](auto& v) { return transpose(v[0], {2, 0, 1}); }),
         f32({3, 2, 1}, {1, 4, 2, 5, 3, 6})));
  EXPECT_TRUE(is(run({f32({2, 1}, {1, 2})}, [](auto& v) { return broadcast_to(v[0], {2, 2, 3}); }),
                 f32({2, 2, 3}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2})));
  EXPECT_TRUE(
      is(run({literal(DType::u8, {}, {7})}, [](auto& v) { return broadcast_to(v[0], {0, 2}); }),
         literal(DType::u8, {0, 2}, {})));
  EXPECT_TRUE(
      is(run({f32({2, 0}, {})}, [](auto& v) { return transpose(v[0], {1, 0}); }), f32({0, 2}, {})));
}

TEST(EvaluateShape, SliceSplitConcat) {
  const Literal x = f32({2, 4}, count(1, 8));
  EXPECT_TRUE(
      is(run({x}, [](auto& v) { return slice(v[0], 1, 1, 3); }), f32({2, 2}, {2, 3, 6, 7})));
  EXPECT_TRUE(is(run({x}, [](auto& v) { return slice(v[0], 0, 1, 2); }), f32({1, 4}, count(5, 8))));
  EXPECT_TRUE(is(run({x}, [](auto& v) { return slice(v[0], 1, 2, 2); }), f32({2, 0}, {})));
  const auto parts = run_all({x}, [](Graph&, const Values& v) { return split(v[0], 2, 1); });
  EXPECT_TRUE(is(parts[0], f32({2, 2}, {1, 2, 5, 6})));
  EXPECT_TRUE(is(parts[1], f32({2, 2}, {3, 4, 7, 8})));
  EXPECT_TRUE(is(run({x, f32({2, 1}, {-1, -2}), f32({2, 0}, {})},
                     [](auto& v) { return concat({v[0], v[2], v[1]}, 1); }),
                 f32({2, 5}, {1, 2, 3, 4, -1, 5, 6, 7, 8, -2})));
  EXPECT_TRUE(
      is(run({x, f32({1, 4}, count(9, 12))}, [](auto& v) { return concat({v[0], v[1]}, 0); }),
         f32({3, 4}, count(1, 12))));
}

TEST(EvaluateShape, SlicesOfOneArrayStayApart) {
  // A slice along axis 0 shares its operand's elements: writing through it must not be possible.
  const auto found = run_all({f32({2, 2}, count(1, 4))}, [](Graph&, const Values& v) -> Values {
    const Value top = slice(v[0], 0, 0, 1);
    return {top + 1, top, v[0]};
  });
  EXPECT_TRUE(is(found[0], f32({1, 2}, {2, 3})));
  EXPECT_TRUE(is(found[1], f32({1, 2}, {1, 2})));
  EXPECT_TRUE(is(found[2], f32({2, 2}, count(1, 4))));
}

TEST(EvaluateSums, SumAndMax) {
  const Literal x = f32({2, 3}, {1, -2, 3, 4, 5, -6});
  EXPECT_TRUE(is(run({x}, [](auto& v) { return sum(v[0], {1}); }), f32({2}, {2, 3})));
  EXPECT_TRUE(is(run({x}, [](auto& v) { return sum(v[0], {0}, true); }), f32({1, 3}, {5, 3, -3})));
  EXPECT_TRUE(is(run({x}, [](auto& v) { return sum(v[0]); }), f32({}, {5})));
  EXPECT_TRUE(is(run({x}, [](auto& v) { return sum(v[0], Ints{}); }), x));
  EXPECT_TRUE(is(run({x}, [](auto& v) { return max(v[0], {1}); }), f32({2}, {3, 5})));
  EXPECT_TRUE(is(run({x}, [](auto& v) { return max(v[0], {0}); }), f32({3}, {4, 5, 3})));
  const Literal cube = f32({2, 2, 2}, count(1, 8));
  EXPECT_TRUE(is(run({cube}, [](auto& v) { return sum(v[0], Ints{0, 2}); }), f32({2}, {14, 22})));
  EXPECT_TRUE(is(run({cube}, [](auto& v) { return sum(v[0], Ints{0, 2}, true); }),
                 f32({1, 2, 1}, {14, 22})));
  EXPECT_TRUE(is(run({cube}, [](auto& v) { return max(v[0], {1}); }), f32({2, 2}, {3, 4, 7, 8})));
  EXPECT_TRUE(is(run({f32({2, 0}, {})}, [](auto& v) { return sum(v[0], {1}); }), f32({2}, {0, 0})));
  EXPECT_TRUE(is(run({f32({0, 2}, {})}, [](auto& v) { return max(v[0], {1}); }), f32({0}, {})));
}

TEST(EvaluateSums, MaxOfNegativesAndNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto found =
      run({f32({3, 2}, {-3, -2, nan, 1, 1, nan})}, [](auto& v) { return max(v[0], {1}); });
  EXPECT_EQ(found.element(0), -2);
  EXPECT_TRUE(std::isnan(found.element(1)));
  EXPECT_TRUE(std::isnan(found.element(2)));
  EXPECT_TRUE(
      is(run({i64({-5, -7})}, [](auto& v) { return max(v[0], {0}); }), Literal::of(int64_t{-5})));
}

TEST(EvaluateSums, SumsAreFormedInF64AndRoundedOnce) {
  const Literal x = f32({4}, {16777216, 1, 1, 1});
  EXPECT_TRUE(is(run({x}, [](auto& v) { return sum(v[0]); }), f32({}, {16777220})));
  EXPECT_EQ(run({x}, [](auto& v) { return sum(v[0]); }, Precision::f64).element(0), 16777219);
  const Literal u8 = literal(DType::u8, {3}, {200, 100, 3});
  EXPECT_TRUE(is(run({u8}, [](auto& v) { return sum(v[0]); }), literal(DType::u8, {}, {47})));
}

TEST(EvaluateSums, SizeOfAxes) {
  const auto size = [](const Values& v) {
    return apply1(ops::size, {v[0]}, {{"axes", Ints{0, 2}}});
  };
  EXPECT_TRUE(is(run({f32({2, 3, 5}, count(1, 30))}, size), f32({}, {10})));
  EXPECT_TRUE(is(run({f32({2, 3, 0}, {})}, size), f32({}, {0})));
}

TEST(EvaluateMatmul, SmallProducts) {
  const Literal a = f32({2, 3}, count(1, 6)), b = f32({3, 2}, {1, 0, 2, -1, 0, 3});
  const Literal c = f32({2, 2}, {5, 7, 14, 13});
  EXPECT_TRUE(is(run({a, b}, [](auto& v) { return matmul(v[0], v[1]); }), c));
  const Literal at = f32({3, 2}, {1, 4, 2, 5, 3, 6}), bt = f32({2, 3}, {1, 2, 0, 0, -1, 3});
  EXPECT_TRUE(is(run({at, b}, [](auto& v) { return matmul(v[0], v[1], true, false); }), c));
  EXPECT_TRUE(is(run({a, bt}, [](auto& v) { return matmul(v[0], v[1], false, true); }), c));
  EXPECT_TRUE(is(run({at, bt}, [](auto& v) { return matmul(v[0], v[1], true, true); }), c));
  EXPECT_TRUE(
      is(run({f32({2, 0}, {}), f32({0, 2}, {})}, [](auto& v) { return matmul(v[0], v[1]); }),
         f32({2, 2}, {0, 0, 0, 0})));
  EXPECT_TRUE(is(
      run({f32({0, 2}, {}), f32({2, 2}, count(1, 4))}, [](auto& v) { return matmul(v[0], v[1]); }),
      f32({0, 2}, {})));
}

TEST(EvaluateMatmul, Batches) {
  const Literal a = f32({2, 1, 2}, count(1, 4)), shared = f32({2, 2}, {1, 2, 3, 4});
  EXPECT_TRUE(is(run({a, shared}, [](auto& v) { return matmul(v[0], v[1]); }),
                 f32({2, 1, 2}, {7, 10, 15, 22})));
  const Literal b = f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_TRUE(
      is(run({a, b}, [](auto& v) { return matmul(v[0], v[1]); }), f32({2, 1, 2}, {7, 10, 43, 50})));
  const Literal at = f32({2, 2, 1}, count(1, 4));
  EXPECT_TRUE(is(run({at, shared}, [](auto& v) { return matmul(v[0], v[1], true, false); }),
                 f32({2, 1, 2}, {7, 10, 15, 22})));
  EXPECT_TRUE(is(run({at, b}, [](auto& v) { return matmul(v[0], v[1], true, true); }),
                 f32({2, 1, 2}, {5, 11, 39, 53})));
}

TEST(EvaluateMatmul, TilesAndDepthBlocksAgreeWithTheDefinition) {
  // Extents off every tile, and deeper than one block of k: the bits of k ascending in f64.
  constexpr int64_t m = 7, n = 6, k = 1100;
  std::vector<double> a, b, wanted(m * n, 0);
  for (int64_t i = 0; i < m * k; ++i) a.push_back(std::sin(double(i)));
  for (int64_t i = 0; i < k * n; ++i) b.push_back(std::cos(double(3 * i)));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) {
        wanted[size_t(i * n + j)] += a[size_t(i * k + l)] * b[size_t(l * n + j)];
      }
    }
  }
  EXPECT_TRUE(is(run({literal(DType::f64, {m, k}, a), literal(DType::f64, {k, n}, b)},
                     [](auto& v) { return matmul(v[0], v[1]); }),
                 literal(DType::f64, {m, n}, wanted)));
}

TEST(EvaluateTables, GatherAndScatterAdd) {
  const Literal table = f32({3, 2}, count(1, 6)),
                indices = literal(DType::i32, {2, 2}, {2, 0, 0, 2});
  EXPECT_TRUE(is(run({table, indices}, [](auto& v) { return gather(v[0], v[1]); }),
                 f32({2, 2, 2}, {5, 6, 1, 2, 1, 2, 5, 6})));
  EXPECT_TRUE(is(run({f32({3}, {7, 8, 9}), i64({1})}, [](auto& v) { return gather(v[0], v[1]); }),
                 f32({1}, {8})));
  const Literal rows = f32({2, 2, 2}, count(1, 8));
  EXPECT_TRUE(is(run({table, indices, rows}, [](auto& v) { return scatter_add(v[0], v[1], v[2]); }),
                 f32({3, 2}, {9, 12, 3, 4, 13, 16})));
}

TEST(EvaluateTables, IndicesOutsideAreErrorsAtTheUsersLine) {
  const Where line{"model.cpp", 31};
  for (int64_t index : {-1, 3}) {
    try {
      run({f32({3, 2}, count(1, 6)), i64({0, index})},
          [&](auto& v) { return gather(v[0], v[1], line); });
      ADD_FAILURE() << "index " << index << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_EQ(error.message(),
                fmt::format("gather: index {} (element 1 of i64[2]) is outside the 3 rows of "
                            "f32[3,2]",
                            index));
      EXPECT_EQ(error.where().line, 31);
    }
  }
  const std::string message = error_of(ErrorKind::input, [] {
    run({f32({3}, count(1, 3)), i64({3}), f32({1}, {1})},
        [](auto& v) { return scatter_add(v[0], v[1], v[2]); });
  });
  EXPECT_EQ(message, "scatter_add: index 3 (element 0 of i64[1]) is outside the 3 rows of f32[3]");
}

/// s' = 2 s + x w, emitting s' and x: with streams x [steps], a carry s and a capture w.
GraphPtr accumulate() {
  auto body = std::make_unique<Graph>("accumulate");
  const Type scalar{DType::f32, {}};
  const Value x = body->input(scalar, "x"), s = body->input(scalar, "s"),
              w = body->input(scalar, "w");
  const Value next = s * 2 + x * w;
  body->set_results({next, next, x});
  return freeze(std::move(body));
}

std::vector<Literal> accumulated(const std::vector<double>& x, bool reverse) {
  return run_all({f32({int64_t(x.size())}, x), f32({}, {1}), f32({}, {10})},
                 [&](Graph& graph, const Values& v) -> Values {
                   const Node& node = add_scan(
                       graph, {{v[0]}, {v[1]}, {v[2]}, accumulate(), int64_t(x.size()), reverse});
                   return {node.result(0), node.result(1), node.result(2)};
                 });
}

TEST(EvaluateStructure, ScanRunsForwardAndBackward) {
  const auto forward = accumulated({1, 2, 3}, false);
  EXPECT_TRUE(is(forward[0], f32({3}, {12, 44, 118})));
  EXPECT_TRUE(is(forward[1], f32({3}, {1, 2, 3})));
  EXPECT_TRUE(is(forward[2], f32({}, {118})));
  const auto backward = accumulated({1, 2, 3}, true);
  EXPECT_TRUE(is(backward[0], f32({3}, {178, 84, 32})));
  EXPECT_TRUE(is(backward[1], f32({3}, {1, 2, 3})));
  EXPECT_TRUE(is(backward[2], f32({}, {178})));
}

TEST(EvaluateStructure, ScanOfOneAndOfNoSteps) {
  const auto one = accumulated({3}, false);
  EXPECT_TRUE(is(one[0], f32({1}, {32})));
  EXPECT_TRUE(is(one[2], f32({}, {32})));
  const auto none = accumulated({}, false);
  EXPECT_TRUE(is(none[0], f32({0}, {})));
  EXPECT_TRUE(is(none[2], f32({}, {1})));
}

TEST(EvaluateStructure, CarriesTakeTheirNextValuesAtOnce) {
  auto body = std::make_unique<Graph>("swap");
  const Value a = body->input({DType::f32, {}}, "a"), b = body->input({DType::f32, {}}, "b");
  body->set_results({b, a + b});
  const GraphPtr frozen = freeze(std::move(body));
  const auto found = run_all({f32({}, {0}), f32({}, {1})}, [&](Graph& graph, const Values& v) {
    const Node& node = add_scan(graph, {{}, {v[0], v[1]}, {}, frozen, 10});
    return Values{node.result(0), node.result(1)};
  });
  EXPECT_TRUE(is(found[0], f32({}, {55})));
  EXPECT_TRUE(is(found[1], f32({}, {89})));
}

TEST(EvaluateStructure, KernelComputesWhatItsBodyComputes) {
  auto body = std::make_unique<Graph>("k");
  const Value x = body->input({DType::f32, {2}}, "x");
  body->set_results({x * x, x + 1});
  const GraphPtr frozen = freeze(std::move(body));
  const auto found = run_all({f32({2}, {2, 3})}, [&](Graph& graph, const Values& v) {
    const Node& node = graph.add(ops::kernel, {v[0]}, {{"family", std::string("map")}}, {frozen});
    return Values{node.result(0), node.result(1)};
  });
  EXPECT_TRUE(is(found[0], f32({2}, {4, 9})));
  EXPECT_TRUE(is(found[1], f32({2}, {3, 4})));
}

TEST(EvaluateStructure, LongGraphsDoNotRecurse) {
  const Literal found = run({f32({}, {0})}, [](auto& v) {
    Value x = v[0];
    for (int i = 0; i < 20000; ++i) x = x + 1;
    return x;
  });
  EXPECT_EQ(found.element(0), 20000);
}

}  // namespace
}  // namespace graphc::core
