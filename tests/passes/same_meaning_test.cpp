// SPDX-License-Identifier: Apache-2.0
// Where two graphs that are alike for most numbers differ: derivatives at ties and kinks, numbers
// that wrap, and factors at the ends of a type's range. Made from the records of ops, the table of
// rules and the list of types; the passes that clean up must not change a number.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/build.h"
#include "ir/evaluate.h"
#include "ir/numeral.h"
#include "ir/text.h"
#include "passes/passes.h"
#include "passes/simplify.h"
#include "passes/simplify_rules.h"
#include "tests/passes/values.h"
#include "tests/testing/counts.h"

namespace graphc::core::testing {
namespace {

/// Whole numbers in [-1, 1], so that two are often equal and one is often 0.
std::vector<Literal> ties(const Graph& graph, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Literal> inputs;
  for (Value input : graph.inputs()) {
    Literal literal(Type{DType::f64, input.shape()});
    for (double& x : literal.mutable_data<double>()) x = double(random() % 3) - 1;
    if (input.dtype() == DType::boolean) {
      for (double& x : literal.mutable_data<double>()) x = x > 0;
    }
    inputs.push_back(literal.converted(input.dtype()));
  }
  return inputs;
}

/// Expects the graph and what the passes make of it to have the same derivatives at ties.
void expect_same_derivatives(const GraphPtr& graph, const std::string& passes) {
  const GraphPtr traced = with_gradients(graph);
  const GraphPtr plain = after(traced, "autodiff"), changed = after(traced, passes + ",autodiff");
  const std::vector<Literal> inputs = ties(*graph, 5);
  const auto wanted = evaluate(*plain, inputs, {}, Precision::f64).results;
  const auto found = evaluate(*changed, inputs, {}, Precision::f64).results;
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (int64_t k = 0; k < wanted[i].elements(); ++k) {
      const double x = wanted[i].element(k), y = found[i].element(k);
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      EXPECT_NEAR(x, y, 1e-12) << passes << " result " << i << " element " << k << "\n"
                               << print(*graph);
    }
  }
}

TEST(SameMeaning, DerivativesAtTiesOfOperandsThatAreExchanged) {
  int64_t ops = 0;
  for (const Op* op : all_ops()) {
    if (op->scalar == nullptr || op->samples == nullptr) continue;
    const Sample sample = op->samples()[0];
    const bool two = sample.operands.size() == 2 && sample.operands[0] == sample.operands[1] &&
                     is_floating(sample.operands[0].dtype);
    if (!two) continue;
    auto graph = std::make_unique<Graph>(std::string(op->name));
    const Value a = graph->input({DType::f32, {40}}, "a"),
                b = graph->input({DType::f32, {40}}, "b");
    const Value ab = graph->add(*op, {a, b}).result(), ba = graph->add(*op, {b, a}).result();
    if (!is_floating(ab.dtype())) continue;
    graph->set_results({ab + ba * 3});
    const GraphPtr frozen = freeze(std::move(graph));
    for (const char* passes : {"cse", "simplify,cse", "cse,simplify,pack-matmuls,hoist,outline"})
      expect_same_derivatives(frozen, passes);
    ++ops;
  }
  EXPECT_GE(ops, 8);
}

/// The graph of a rule for operands of a type; nothing where the type has no such numbers or ops.
GraphPtr graph_of(std::string_view text, DType dtype) {
  std::vector<Type> types;
  const std::string_view header = text.substr(0, text.find(')'));
  for (size_t i = header.find('%'); i != std::string_view::npos; i = header.find('%', i + 1))
    types.push_back({header[i + 1] == 'c' ? DType::boolean : dtype, {40}});
  try {
    return parse_body(text, types, "rule", nullptr);
  } catch (const Error&) {
    return nullptr;
  }
}

TEST(SameMeaning, DerivativesAtKinksOfTheRulesWrittenAsText) {
  int64_t tried = 0;
  for (const TextRule& rule : text_rules()) {
    const GraphPtr graph = graph_of(rule.pattern, DType::f32);
    if (!is_floating(graph->results()[0].dtype())) continue;
    expect_same_derivatives(graph, "simplify");
    ++tried;
  }
  EXPECT_GT(tried, 20);
}

TEST(SameMeaning, IntegersThroughTheRulesWrittenAsText) {
  int64_t tried = 0;
  for (const TextRule& rule : text_rules()) {
    for (DType dtype : {DType::i32, DType::i64, DType::u32, DType::u8}) {
      const GraphPtr graph = graph_of(rule.pattern, dtype);
      if (!graph) continue;
      std::vector<Literal> inputs;
      for (Value input : graph->inputs()) {
        Literal literal(Type{DType::i64, input.shape()});
        int64_t next = int64_t(inputs.size()) * 11;
        for (int64_t& x : literal.mutable_data<int64_t>())
          x = input.dtype() == DType::boolean ? (next++ / 2) % 2 : next++ * 5 % 256;
        inputs.push_back(literal.converted(input.dtype()));
      }
      const GraphPtr found = simplified(graph);
      EXPECT_EQ(evaluate(*graph, inputs).results, evaluate(*found, inputs).results)
          << rule.name << " for " << name_of(dtype) << "\n"
          << print(*found);
      ++tried;
    }
  }
  EXPECT_GT(tried, 60);
}

constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f64, DType::i32,
                            DType::i64, DType::u32,  DType::u8,  DType::boolean};

void expect_same_numbers(const GraphPtr& graph) {
  const GraphPtr found = simplified(graph);
  EXPECT_EQ(evaluate(*graph, {}).results, evaluate(*found, {}).results)
      << print(*graph) << print(*found);
}

TEST(SameMeaning, CastsOfIotasOfEveryType) {
  int64_t tried = 0;
  for (DType from : kTypes) {
    for (DType to : kTypes) {
      for (const Shape& shape : {Shape{}, Shape{300}, Shape{3, 256}, Shape{257, 2}, Shape{0}}) {
        for (int axis = -1; axis < shape.rank(); ++axis) {
          if (from == DType::boolean) continue;
          const int64_t last = (axis < 0 ? shape.elements() : shape[axis]) - 1;
          if (is_integer(from) && shape.elements() > 0 && !holds(from, last)) continue;  // refused
          auto graph = std::make_unique<Graph>("iota");
          Attributes attributes{{"dtype", from},
                                {"shape", std::vector<int64_t>(shape.begin(), shape.end())}};
          if (axis >= 0) attributes.set("axis", int64_t(axis));
          const Value iota = graph->add(ops::iota, {}, attributes).result();
          const Value x = apply1(ops::cast, {iota}, {{"dtype", to}});
          graph->set_results({x, apply1(ops::cast, {x}, {{"dtype", DType::i64}})});
          expect_same_numbers(freeze(std::move(graph)));
          ++tried;
        }
      }
    }
  }
  count("casts of iotas", tried);
}

TEST(SameMeaning, CastsOfConstantsOfEveryType) {
  int64_t tried = 0, refused = 0;
  const double numbers[] = {0,          -0.,    1,     -1,        0.5,    -1.5,    2.5,
                            127,        128,    255,   256,       257,    300,     -300,
                            65504.,     1e-40,  1e-60, 16777217., 0x1p31, -0x1p31, 0x1p32,
                            0x1p32 - 1, 0x1p53, 1e10,  -1e10,     1e19,   1e39};
  for (DType from : kTypes) {
    for (double number : numbers) {
      for (DType to : kTypes) {
        try {
          auto graph = std::make_unique<Graph>("cast");
          const Value x = splat(*graph, number, {from, {2}});
          const Value y = apply1(ops::cast, {x}, {{"dtype", to}});
          graph->set_results({y, apply1(ops::cast, {y}, {{"dtype", DType::i64}})});
          expect_same_numbers(freeze(std::move(graph)));
          ++tried;
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(tried, 900);
  EXPECT_GT(refused, 0);
  count("casts of constants", tried);
}

TEST(SameMeaning, WholeNumbersThatNoDoubleHolds) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: i64[3]) {
      %a = constant {dtype = i64, shape = [3], value = 9007199254740993}
      %b = constant {dtype = i64, shape = [3], value = 9007199254740992}
      return add(%x, %a), concat(%a, %b) {axis = 0}, reshape(%a) {shape = [3,1]}
    })");
  const std::vector<Literal> inputs{Literal::filled({DType::i64, {3}}, 1)};
  EXPECT_EQ(evaluate(*graph, inputs).results, evaluate(*simplified(graph), inputs).results);
}

/// a and b are the same number, but for a few roundings.
bool alike(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= 1e-6 * std::abs(a) + 3e-45;
}

TEST(SameMeaning, FactorsAtTheEndsOfTheRange) {
  const double factors[] = {1e-44, 1e-38, 1e-30, 1e-19, 0.1, -1, 1, 3, 1e19, 1e30, 1e38, 3e38, 0};
  std::vector<float> numbers;
  for (float x : {1e-44f, 1e-38f, 1e-30f, 1e-10f, 1.f, 1e10f, 1e30f, 3e38f}) {
    numbers.push_back(x);
    numbers.push_back(-x);
  }
  const Literal input(numbers, {int64_t(numbers.size())});
  int64_t tried = 0;
  for (double a : factors) {
    for (double b : factors) {
      for (bool negated : {false, true}) {
        auto graph = std::make_unique<Graph>("factors");
        const Value x = graph->input(input.type(), "x");
        const Value y = negated ? -(x * a) * b : x * a * b;
        graph->set_results({negated ? -y : y});
        const GraphPtr frozen = freeze(std::move(graph)), changed = simplified(frozen);
        const Literal wanted = evaluate(*frozen, {input}).results[0];
        const Literal found = evaluate(*changed, {input}).results[0];
        for (int64_t k = 0; k < wanted.elements(); ++k) {
          EXPECT_TRUE(alike(wanted.element(k), found.element(k)))
              << a << " " << b << " of " << numbers[size_t(k)] << ": wanted " << wanted.element(k)
              << ", found " << found.element(k);
        }
        ++tried;
      }
    }
  }
  count("pairs of factors", tried);
}

}  // namespace
}  // namespace graphc::core::testing
