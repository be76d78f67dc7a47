// SPDX-License-Identifier: Apache-2.0
// ONNX's LinearAttention (opset 27) written as the body of a scan, on the inputs of its node cases:
// results are those of ONNX's reference, in f32 (tests/golden/generate_linear_attention.py).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "frontend/graphc.h"
#include "tests/testing/golden.h"

namespace graphc::core {
namespace {

using Arrays = std::map<std::string, Literal>;

/// What a case gives, and its extents.
struct AttentionCase {
  Arrays arrays;

  bool has(const std::string& name) const { return arrays.contains(name); }
  const Literal& operator[](const std::string& name) const { return arrays.at(name); }
  int64_t batch() const { return (*this)["query"].shape()[0]; }
  int64_t steps() const { return (*this)["query"].shape()[1]; }
  int64_t heads(int64_t of) const { return int64_t((*this)["heads"].element(of)); }
  /// Of queries for each state.
  int64_t group() const { return heads(0) / heads(1); }
  double scale() const { return (*this)["scale"].element(0); }
  Shape state() const { return (*this)["present_state"].shape(); }
};

std::map<std::string, AttentionCase> attention_cases() {
  std::map<std::string, AttentionCase> cases;
  for (const auto& [name, array] : testing::golden_arrays("linear_attention")) {
    const size_t dot = name.find('.');
    cases[name.substr(0, dot)].arrays.emplace(name.substr(dot + 1), array);
  }
  return cases;
}

/// The update rules of the operator, one step: its inputs are there or not as the rule wants them.
/// q [batch, heads, group, keys], a group of queries for each state; k, v [batch, heads, keys or
/// values]; g [batch, heads, keys or 1]; beta [batch, heads or 1, 1]; s [batch, heads, keys,
/// values]. Gives [batch, heads, group, values].
Value linear_attention(Value q, Value k, Value v, std::optional<Value> g, std::optional<Value> beta,
                       double scale, State& s) {
  const auto column = [](Value x) { return reshape(x, x.shape().insert(x.shape().rank(), 1)); };
  const auto row = [](Value x) { return reshape(x, x.shape().insert(x.shape().rank() - 1, 1)); };
  Value decayed = s;
  if (g) decayed = decayed * column(exp(*g));
  Value written = v;
  if (beta) written = *beta * (v - sum(decayed * column(k), {2}));
  s = decayed + column(k) * row(written);
  return scale * einsum("bhgk,bhkv->bhgv", {q, s});
}

/// A model with the case's operator: its packed inputs [batch, steps, heads * width] and results.
class Operator {
 public:
  explicit Operator(const AttentionCase& given) : given_(given) {
    model_.graph("f", [this](Inputs& in) { return graph(in); });
  }

  Model& model() { return model_; }
  std::vector<Literal> inputs() const {
    std::vector<Literal> all;
    for (const std::string& name : kInputs) {
      if (given_.has(name)) all.push_back(given_[name]);
    }
    return all;
  }

 private:
  static inline const std::vector<std::string> kInputs{"query",      "key",   "value",
                                                       "past_state", "decay", "beta"};

  /// [batch, steps, heads * width] as [steps, batch, heads..., width].
  Value unpacked(Value x, const std::vector<int64_t>& heads) const {
    std::vector<int64_t> shape{x.shape()[1], x.shape()[0]};
    int64_t width = x.shape()[2];
    for (const int64_t extent : heads) {
      shape.push_back(extent);
      width /= extent;
    }
    shape.push_back(width);
    return reshape(transpose(x, {1, 0, 2}), Shape(shape));
  }

  Results graph(Inputs& in) const {
    std::map<std::string, Value> x;
    for (const std::string& name : kInputs) {
      if (!given_.has(name)) continue;
      const Shape& shape = given_[name].shape();
      x.emplace(name, in(name, DType::f32, std::vector<Dim>(shape.begin(), shape.end())));
    }
    const int64_t heads = given_.heads(1);
    Values streams{unpacked(x.at("query"), {heads, given_.group()}), unpacked(x.at("key"), {heads}),
                   unpacked(x.at("value"), {heads})};
    if (given_.has("decay")) streams.push_back(unpacked(x.at("decay"), {heads}));
    // One number for each head, or one for all.
    if (given_.has("beta")) streams.push_back(unpacked(x.at("beta"), {x.at("beta").shape()[2]}));
    State s(given_.has("past_state") ? x.at("past_state") : filled(given_.state(), 0), "s");
    const Value y = scan(streams, [&](const Values& t) {
      std::optional<Value> g, beta;
      if (given_.has("decay")) g = t[3];
      if (given_.has("beta")) beta = t.back();
      return linear_attention(t[0], t[1], t[2], g, beta, given_.scale(), s);
    });
    const Shape& each = y.shape();
    const Value packed = reshape(y, {each[0], each[1], each[2] * each[3] * each[4]});
    return Values{transpose(packed, {1, 0, 2}), s};
  }

  const AttentionCase& given_;
  Model model_{"linear_attention"};
};

/// The largest difference from the reference.
double worst_difference(const Outputs& found, const AttentionCase& wanted) {
  double worst = 0;
  for (const auto& [i, name] : {std::pair{0, "output"}, std::pair{1, "present_state"}}) {
    const Literal result = found[i].literal();
    EXPECT_EQ(result.shape(), wanted[name].shape()) << name;
    for (int64_t k = 0; k < result.elements(); ++k)
      worst = std::max(worst, std::abs(result.element(k) - wanted[name].element(k)));
  }
  return worst;
}

struct Run {
  const char* name;
  const char* target;
  Precision precision;
  const char* recurrence;
  double bound;  ///< of differences; results are below 8
};

class LinearAttention : public ::testing::TestWithParam<Run> {};

TEST_P(LinearAttention, HasTheNumbersOfTheNodeCases) {
  const std::map<std::string, AttentionCase> cases = attention_cases();
  EXPECT_EQ(cases.size(), 14u);
  for (const auto& [name, given] : cases) {
    SCOPED_TRACE(name);
    Operator op(given);
    SessionOptions options;
    options.target = GetParam().target;
    options.compile.precision = GetParam().precision;
    options.compile.recurrence = GetParam().recurrence;
    Session session(op.model(), options);
    const DType dtype = GetParam().precision == Precision::f64 ? DType::f64 : DType::f32;
    std::vector<Tensor> inputs;
    for (const Literal& input : op.inputs()) inputs.push_back(input.converted(dtype));
    EXPECT_LT(worst_difference(session.run("f", inputs), given), GetParam().bound);
    std::vector<Type> types;
    for (const Tensor& input : inputs) types.push_back(input.type());
    const bool divided = std::ranges::any_of(
        session.compile("f", types).remarks,
        [](const Remark& remark) { return remark.text.ends_with("are computed in chunks of 2"); });
    // A product of more queries than four with the state is none that chunks follow.
    const bool may_be = given.steps() > 1 && given.group() <= 4;
    EXPECT_EQ(divided, GetParam().name == std::string("chunks") && may_be);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LinearAttention,
                         ::testing::Values(Run{"evaluator", "reference", Precision::f64, "auto",
                                               2e-6},
                                           Run{"cpu", "cpu", Precision::f32, "auto", 2e-6},
                                           Run{"chunks", "cpu", Precision::f32, "chunks=2", 2e-6}),
                         [](const auto& run) { return std::string(run.param.name); });

}  // namespace
}  // namespace graphc::core
