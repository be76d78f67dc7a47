// SPDX-License-Identifier: Apache-2.0
// Ways to write the products of a cell whose rows carry a matrix: whatever the words, a loop has
// the kernels of the cell that is written with sums, the same values and the same gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "frontend/graphc.h"
#include "ir/op.h"
#include "passes/pipeline.h"
#include "tests/passes/values.h"

namespace graphc::core {
namespace {

constexpr int64_t kSteps = 6, kBatch = 2, kHeads = 3, kKeys = 5, kValues = 7;

/// What a step does with the matrix s [batch, heads, keys, values]: a read s' k, of [batch, heads,
/// values]; a write k u'; and a product of two vectors of keys.
struct Words {
  const char* name;
  std::function<Value(Value s, Value k)> read;
  std::function<Value(Value k, Value u)> write;
  std::function<Value(Value a, Value b)> dot;
};

Value column(Value x) { return reshape(x, x.shape().insert(x.shape().rank(), 1)); }
Value row(Value x) { return reshape(x, x.shape().insert(x.shape().rank() - 1, 1)); }
/// Without an axis of extent 1.
Value without(Value x, int axis) { return reshape(x, x.shape().without(axis)); }

Value summed(Value s, Value k) { return sum(s * column(k), {2}); }
Value spread(Value k, Value u) { return column(k) * row(u); }
Value multiplied(Value a, Value b) { return sum(a * b, {2}); }

const std::vector<Words>& all_words() {
  static const std::vector<Words> all{
      {"sums", summed, spread, multiplied},
      {"products", [](Value s, Value k) { return without(matmul(row(k), s), 2); },
       [](Value k, Value u) { return matmul(column(k), row(u)); },
       [](Value a, Value b) { return without(without(matmul(row(a), column(b)), 3), 2); }},
      {"transposes",
       [](Value s, Value k) { return without(matmul(transpose(s, {0, 1, 3, 2}), column(k)), 3); },
       [](Value k, Value u) { return transpose(matmul(column(u), row(k)), {0, 1, 3, 2}); },
       [](Value a, Value b) { return without(without(matmul(row(a), column(b)), 3), 2); }},
      {"einsum", [](Value s, Value k) { return einsum("bhkv,bhk->bhv", {s, k}); },
       [](Value k, Value u) { return einsum("bhk,bhv->bhkv", {k, u}); },
       [](Value a, Value b) { return einsum("bhk,bhk->bh", {a, b}); }},
      {"einsum_the_other_way", [](Value s, Value k) { return einsum("bhk,bhkv->bhv", {k, s}); },
       [](Value k, Value u) { return einsum("bhv,bhk->bhkv", {u, k}); },
       [](Value a, Value b) { return einsum("...k,...k->...", {b, a}); }},
      {"einsum_with_dots", [](Value s, Value k) { return einsum("...kv,...k->...v", {s, k}); },
       [](Value k, Value u) { return einsum("...k,...v->...kv", {k, u}); }, multiplied},
  };
  return all;
}

/// A gated delta rule with a normaliser, in these words, and its gradients.
Results cell(const Words& words, Inputs& in) {
  const Value q = in("q", DType::f32, {kSteps, kBatch, kHeads, kKeys});
  const Value k = in("k", DType::f32, {kSteps, kBatch, kHeads, kKeys});
  const Value v = in("v", DType::f32, {kSteps, kBatch, kHeads, kValues});
  const Value g = in("g", DType::f32, {kSteps, kBatch, kHeads});
  State s(filled({kBatch, kHeads, kKeys, kValues}, 0), "s"),
      n(filled({kBatch, kHeads, kKeys}, 0), "n");
  const Value y = scan(Values{q, k, v, g}, [&](const Values& x) {
    const Value gate = sigmoid(x[3]);
    const Value decayed = column(column(gate)) * s;
    const Value u = x[2] - words.read(decayed, x[1]);
    s = decayed + words.write(x[1], u);
    n = column(gate) * n + x[1];
    return words.read(s, x[0]) / column(1 + square(words.dot(n, x[0])));
  });
  Values results = gradients(sum(square(y)), {q, k, v, g});
  results.insert(results.begin(), y);
  return results;
}

class VectorProducts : public ::testing::TestWithParam<size_t> {
 protected:
  const Words& words() const { return all_words()[GetParam()]; }
};

/// The ops of a graph, in order, with their types: what it computes, apart from names.
std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes()) {
    ops.push_back(fmt::format("{} {}", node.op.name, to_string(node.types[0])));
    for (const GraphPtr& region : node.regions) {
      for (std::string& op : ops_of(*region)) ops.push_back("  " + std::move(op));
    }
  }
  std::ranges::sort(ops);
  return ops;
}

std::vector<Type> types() {
  return {{DType::f32, {kSteps, kBatch, kHeads, kKeys}},
          {DType::f32, {kSteps, kBatch, kHeads, kKeys}},
          {DType::f32, {kSteps, kBatch, kHeads, kValues}},
          {DType::f32, {kSteps, kBatch, kHeads}}};
}

GraphPtr traced(const Words& words) {
  Model model("m");
  model.graph("f", [&](Inputs& in) { return cell(words, in); });
  return model.trace("f", types()).graph;
}

GraphPtr optimized(const Words& words) {
  return run_pipeline(traced(words), standard_pipeline("fused")).graph;
}

TEST_P(VectorProducts, AreTheLoopOfSums) {
  EXPECT_EQ(ops_of(*optimized(words())), ops_of(*optimized(all_words()[0])));
}

TEST_P(VectorProducts, KeepValuesAndGradients) {
  const GraphPtr plain = testing::after(traced(words()), "autodiff,expand");
  testing::expect_same_values(plain, optimized(words()), 3, 1e-9);
  testing::expect_same_values(plain, testing::after(traced(all_words()[0]), "autodiff,expand"), 4,
                              1e-9);
}

INSTANTIATE_TEST_SUITE_P(Frontend, VectorProducts, ::testing::Range(size_t{0}, all_words().size()),
                         [](const auto& test) { return all_words()[test.param].name; });

}  // namespace
}  // namespace graphc::core
