// SPDX-License-Identifier: Apache-2.0
// What an error says: every function of the vocabulary is called with values of wrong types, shapes
// and numbers. Each call is a graph or an error at the line of the call, in the words of what was
// called, and never an internal one. A function that is new needs a row.
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <regex>
#include <set>

#include "frontend/graphc.h"
#include "tests/testing/source_tree.h"

namespace graphc::core {
namespace {

using ::testing::HasSubstr;

/// A call with as many values as there are `good` types, and a number.
struct VocabularyCall {
  std::string name;
  int line;
  std::vector<Type> good;
  std::function<void(const Values& v, int64_t n, Model& m)> call;
};

// The line of a row is the line of the call, of the values v, the number n and the model m.
#define CALL(name, good, ...)                                            \
  VocabularyCall {                                                       \
    #name, __LINE__, std::vector<Type> good,                             \
        []([[maybe_unused]] const Values& v, [[maybe_unused]] int64_t n, \
           [[maybe_unused]] Model& m) { (void)(__VA_ARGS__); }           \
  }

const Type kGrid{DType::f32, {2, 3}}, kVector{DType::f32, {3}}, kLabels{DType::i32, {2}},
    kKey{DType::i64, {}}, kMask{DType::boolean, {2, 3}}, kFrames{DType::f32, {4, 2, 3}},
    kScalar{DType::f32, {}};

std::vector<VocabularyCall> elementwise_calls() {
  // clang-format off
  return {
    CALL(abs, ({kGrid}), abs(v[0])),
    CALL(exp, ({kGrid}), exp(v[0])),
    CALL(log, ({kGrid}), log(v[0])),
    CALL(sqrt, ({kGrid}), sqrt(v[0])),
    CALL(rsqrt, ({kGrid}), rsqrt(v[0])),
    CALL(tanh, ({kGrid}), tanh(v[0])),
    CALL(sigmoid, ({kGrid}), sigmoid(v[0])),
    CALL(sin, ({kGrid}), sin(v[0])),
    CALL(cos, ({kGrid}), cos(v[0])),
    CALL(tan, ({kGrid}), tan(v[0])),
    CALL(floor, ({kGrid}), floor(v[0])),
    CALL(ceil, ({kGrid}), ceil(v[0])),
    CALL(round, ({kGrid}), round(v[0])),
    CALL(relu, ({kGrid}), relu(v[0])),
    CALL(square, ({kGrid}), square(v[0])),
    CALL(hard_sigmoid, ({kGrid}), hard_sigmoid(v[0])),
    CALL(logical_not, ({kMask}), logical_not(v[0])),
    CALL(sign, ({kGrid}), sign(v[0])),
    CALL(reciprocal, ({kGrid}), reciprocal(v[0])),
    CALL(log1p, ({kGrid}), log1p(v[0])),
    CALL(expm1, ({kGrid}), expm1(v[0])),
    CALL(softplus, ({kGrid}), softplus(v[0])),
    CALL(silu, ({kGrid}), silu(v[0])),
    CALL(gelu, ({kGrid}), gelu(v[0])),
    CALL(is_nan, ({kGrid}), is_nan(v[0])),
    CALL(is_finite, ({kGrid}), is_finite(v[0])),
    CALL(watch, ({kGrid}), watch(v[0])),
    CALL(stop_gradient, ({kGrid}), stop_gradient(v[0])),
    CALL(neg, ({kGrid}), neg(v[0])),
    CALL(neg, ({kGrid}), -v[0]),
    CALL(add, ({kGrid, kVector}), v[0] + v[1]),
    CALL(add, ({kGrid}), v[0] + 0.5),
    CALL(sub, ({kGrid, kVector}), v[0] - v[1]),
    CALL(mul, ({kGrid}), 300 * v[0]),
    CALL(div, ({kGrid, kVector}), v[0] / v[1]),
    CALL(maximum, ({kGrid, kVector}), maximum(v[0], v[1])),
    CALL(maximum, ({}), maximum(1, 2)),
    CALL(minimum, ({kGrid}), minimum(v[0], -1)),
    CALL(pow, ({kGrid, kVector}), pow(v[0], v[1])),
    CALL(remainder, ({kGrid, kVector}), remainder(v[0], v[1])),
    CALL(equal, ({kGrid, kVector}), equal(v[0], v[1])),
    CALL(not_equal, ({kGrid, kVector}), not_equal(v[0], v[1])),
    CALL(less, ({kGrid, kVector}), less(v[0], v[1])),
    CALL(less, ({kGrid}), v[0] < 1e300),
    CALL(less_equal, ({kGrid, kVector}), less_equal(v[0], v[1])),
    CALL(greater, ({kGrid, kVector}), greater(v[0], v[1])),
    CALL(greater_equal, ({kGrid, kVector}), greater_equal(v[0], v[1])),
    CALL(logical_and, ({kMask, kMask}), logical_and(v[0], v[1])),
    CALL(logical_or, ({kMask, kMask}), logical_or(v[0], v[1])),
    CALL(logical_xor, ({kMask, kMask}), logical_xor(v[0], v[1])),
    CALL(select, ({kMask, kGrid, kVector}), select(v[0], v[1], v[2])),
    CALL(select, ({kMask, kGrid}), select(v[0], v[1], 1e300)),
    CALL(clip, ({kGrid}), clip(v[0], n, 1)),
    CALL(clip, ({kGrid}), clip(v[0], NAN, 1)),
  };
  // clang-format on
}

std::vector<VocabularyCall> moving_calls() {
  // clang-format off
  return {
    CALL(argmax, ({kGrid}), argmax(v[0], int(n))),
    CALL(argmax, ({kGrid}), argmax(v[0])),
    CALL(argmin, ({kGrid}), argmin(v[0], int(n))),
    CALL(argmin, ({kGrid}), argmin(v[0])),
    CALL(at, ({kGrid}), at(v[0], n)),
    CALL(at, ({kGrid}), at(v[0], 0, int(n))),
    CALL(at, ({kGrid}), v[0][n]),
    CALL(slice, ({kGrid}), v[0][{.from = n}]),
    CALL(slice, ({kGrid}), slice(v[0], int(n), 0, 1)),
    CALL(broadcast_to, ({kGrid}), broadcast_to(v[0], {n, 2, 3})),
    CALL(cast, ({kGrid}), cast(v[0], DType::u8)),
    CALL(concat, ({kGrid, kGrid}), concat(v, int(n))),
    CALL(concat, ({}), concat({}, 0)),
    CALL(stack, ({kGrid, kGrid}), stack(v, int(n))),
    CALL(stack, ({}), stack({}, 0)),
    CALL(unstack, ({kGrid}), unstack(v[0], int(n))),
    CALL(split, ({kGrid}), split(v[0], int(n), 0)),
    CALL(split, ({kGrid}), split<3>(v[0], int(n))),
    CALL(cumsum, ({kGrid}), cumsum(v[0], int(n))),
    CALL(sum, ({kGrid}), sum(v[0], n)),
    CALL(mean, ({kGrid}), mean(v[0], n)),
    CALL(max, ({kGrid}), max(v[0], n)),
    CALL(min, ({kGrid}), min(v[0], n)),
    CALL(prod, ({kGrid}), prod(v[0], n)),
    CALL(variance, ({kGrid}), variance(v[0], n)),
    CALL(variance, ({kGrid}), variance(v[0])),
    CALL(einsum, ({kGrid, kGrid}), einsum("ij,kj->ik", v)),
    CALL(einsum, ({kGrid}), einsum("ij->j", v)),
    CALL(einsum, ({}), einsum("", {})),
    CALL(filled, ({}), filled({n, 2}, 300, DType::u8)),
    CALL(iota, ({}), iota({2, 3}, int(n))),
    CALL(literal, ({}), literal(std::vector<bool>{true, false})),
    CALL(fold_in, ({kKey}), fold_in(v[0], n)),
    CALL(gather, ({kGrid, kLabels}), gather(v[0], v[1])),
    CALL(scatter, ({kGrid, kLabels, kGrid}), scatter(v[0], v[1], v[2])),
    CALL(scatter_add, ({kGrid, kLabels, kGrid}), scatter_add(v[0], v[1], v[2])),
    CALL(merge_rows, ({kLabels, kGrid}), merge_rows(v[0], v[1])),
    CALL(matmul, ({kGrid, kVector}), matmul(v[0], v[1])),
    CALL(one_hot, ({kLabels}), one_hot(v[0], n)),
    CALL(pad, ({kGrid}), pad(v[0], {n, 0}, {0, 0}, 300)),
    CALL(reshape, ({kGrid}), reshape(v[0], {n, 2})),
    CALL(reverse, ({kGrid}), reverse(v[0], n)),
    CALL(transpose, ({kGrid}), transpose(v[0], int(n), 0)),
    CALL(transpose, ({kGrid}), transpose(v[0], {n, 0})),
    CALL(top_k, ({kGrid}), top_k(v[0], n)),
  };
  // clang-format on
}

Value same_step(Value x) { return x; }

Value with_probabilities(Value x, Value p, Where where = Where::here()) {
  return cross_entropy_with_probabilities(x, p, where);
}

std::vector<VocabularyCall> composite_calls() {
  // clang-format off
  return {
    CALL(softmax, ({kGrid}), softmax(v[0])),
    CALL(softmax, ({kGrid}), softmax(v[0], int(n))),
    CALL(log_softmax, ({kGrid}), log_softmax(v[0])),
    CALL(log_softmax, ({kGrid}), log_softmax(v[0], int(n))),
    CALL(layer_norm, ({kGrid}), layer_norm(v[0])),
    CALL(cross_entropy, ({kGrid, kLabels}), cross_entropy(v[0], v[1])),
    CALL(cross_entropy, ({kGrid, kLabels}), cross_entropy(v[0], v[1], {.ignore = n})),
    CALL(cross_entropy_with_probabilities, ({kGrid, kGrid}), with_probabilities(v[0], v[1])),
    CALL(sigmoid_cross_entropy, ({kGrid, kGrid}), sigmoid_cross_entropy(v[0], v[1])),
    CALL(mse, ({kGrid, kGrid}), mse(v[0], v[1])),
    CALL(random_key, ({}), random_key()),
    CALL(uniform, ({kKey}), uniform(v[0], {2, n})),
    CALL(normal, ({kKey}), normal(v[0], {2, n})),
    CALL(bernoulli, ({kKey, kGrid}), bernoulli(v[0], v[1])),
    CALL(categorical, ({kKey, kGrid}), categorical(v[0], v[1])),
    CALL(dropout, ({kGrid}), dropout(v[0], {.rate = 0.1})),
    CALL(dropout, ({kGrid}), dropout(v[0], {.rate = double(n)})),
    CALL(mask_steps, ({kFrames, kLabels}), mask_steps(v[0], v[1])),
    CALL(mean_over_steps, ({kFrames, kLabels}), mean_over_steps(v[0], v[1])),
    CALL(valid_steps, ({kLabels}), valid_steps(v[0], n)),
    CALL(scan, ({kGrid}), scan(v[0], [](Value x) { return x; })),
    CALL(scan, ({kFrames, kLabels}), scan(v[0], same_step, {.lengths = v[1]})),
    CALL(scan, ({kGrid, kGrid}), scan({v[0], v[1]}, [](Value x, Value) { return x; })),
    CALL(scan, ({}), scan(Steps(n), [](Value i) { return i; })),
    CALL(scan, ({kGrid}), scan(v[0], [](Value) { return Value(); })),
    CALL(step_index, ({}), step_index()),
    CALL(gradients, ({kScalar, kGrid}), gradients(v[0], {v[1]})),
    CALL(global_norm, ({kGrid}), global_norm(v)),
    CALL(global_norm, ({}), global_norm({})),
    CALL(clip_by_global_norm, ({kGrid}), clip_by_global_norm(v, 1)),
    CALL(clip_by_norm, ({kGrid}), clip_by_norm(v, 1)),
    CALL(clip_by_value, ({kGrid}), clip_by_value(v, 1)),
    CALL(state, ({kGrid}), State(v[0])),
  };
  // clang-format on
}

std::vector<VocabularyCall> layer_calls() {
  // clang-format off
  return {
    CALL(Linear, ({kGrid}), Linear(m, "linear", 3, 2)(v[0])),
    CALL(Linear, ({}), Linear(m, "linear.n", n, 2)),
    CALL(Embedding, ({kLabels}), Embedding(m, "table", 3, 2)(v[0])),
    CALL(LayerNorm, ({kGrid}), LayerNorm(m, "norm", 3)(v[0])),
    CALL(LayerNorm, ({kGrid}), LayerNorm(m, "norm.1", 1)(v[0])),
    CALL(Dropout, ({kGrid}), Dropout({.rate = 0.1})(v[0])),
    CALL(Lstm, ({kFrames}), Lstm(m, "lstm", 3, 2)(v[0])),
    CALL(Gru, ({kFrames}), Gru(m, "gru", 3, 2)(v[0])),
    CALL(Rnn, ({kFrames, kLabels}), Rnn(m, "rnn", 3, 2)(v[0], {.lengths = v[1]})),
    CALL(Bidirectional, ({kFrames}), Bidirectional<Rnn>(m, "both", 3, 2)(v[0])),
    CALL(Stacked, ({kFrames}), Stacked<Rnn>(m, "stacked", 2, 3, 2)(v[0])),
    CALL(Stacked, ({}), Stacked<Rnn>(m, "stacked.n", int(n), 3, 2)),
    CALL(Sgd, ({kGrid}), Sgd{}.update({m.param("sgd", {2, 3}, zeros())}, {v[0]})),
    CALL(Adam, ({kGrid}), Adam{}.update({m.param("adam", {2, 3}, zeros())}, {v[0]})),
    CALL(Accumulator, ({kGrid}), Accumulator{}.add({m.param("s", {2, 3}, zeros())}, {v[0]})),
    CALL(minimize, ({kScalar}), minimize(v[0], {m.param("w", {2}, zeros())}, Sgd{})),
    CALL(minimize, ({kScalar}), minimize(v[0], Params{}, Sgd{})),
  };
  // clang-format on
}
#undef CALL

/// How a message may begin that is not the function's name: of what users write besides.
bool is_in_documented_words(const std::string& name, const std::string& message) {
  static const std::map<std::string, std::vector<std::string>> of{
      {"Dropout", {"dropout: "}},
      {"Bidirectional", {"Rnn: ", "scan: ", "a recurrent layer takes"}},
      {"Stacked", {"Rnn: ", "scan: ", "a recurrent layer takes"}},
      {"Lstm", {"a recurrent layer takes", "scan: "}},
      {"Gru", {"a recurrent layer takes", "scan: "}},
      {"Rnn", {"a recurrent layer takes", "scan: "}},
      {"Linear", {"the size of a layer"}},
      {"Sgd", {"sgd: "}},
      {"Adam", {"adam: "}},
      {"Accumulator", {"accumulator: "}},
      {"gradients", {"grad: "}},
      {"minimize", {"gradients: ", "grad: "}},
      {"clip_by_norm", {"clip_by_global_norm: "}},
      {"at", {"slice: "}},
  };
  std::vector<std::string> words{name + ": ", "a value is used that was never given one",
                                 "an extent is at least 0", "a shape has at most"};
  if (const auto found = of.find(name); found != of.end())
    words.insert(words.end(), found->second.begin(), found->second.end());
  words.push_back(name + " '");
  return std::ranges::any_of(words, [&](const auto& word) { return message.starts_with(word); });
}

std::vector<VocabularyCall> all_calls() {
  std::vector<VocabularyCall> all = elementwise_calls();
  for (const auto& more : {moving_calls(), composite_calls(), layer_calls()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Calls once, in a graph of its own, and looks at the error if there is one.
void expect_graph_or_words(const VocabularyCall& row, const std::vector<std::optional<Type>>& types,
                           int64_t number, int& errors) {
  std::string what =
      fmt::format("{} (row at line {}), number {}, values", row.name, row.line, number);
  for (const auto& type : types) what += type ? " " + to_string(*type) : " absent";
  Model m("m");
  m.graph("g", Mode::training, [&](Inputs& in) {
    Values values;
    for (const auto& type : types) {
      const std::vector<Dim> dims =
          type ? std::vector<Dim>(type->shape.begin(), type->shape.end()) : std::vector<Dim>();
      values.push_back(type ? in(fmt::format("x{}", values.size()), type->dtype, dims) : Value());
    }
    row.call(values, number, m);
    return Results();
  });
  try {
    m.trace("g", Extents{});
  } catch (const Error& error) {
    ++errors;
    EXPECT_EQ(error.kind(), ErrorKind::input) << what << ": " << error.what();
    EXPECT_EQ(error.where().line, row.line) << what << ": " << error.what();
    EXPECT_THAT(std::string(error.what()), HasSubstr("messages_test.cpp")) << what;
    EXPECT_TRUE(is_in_documented_words(row.name, error.message())) << what << ": " << error.what();
  }
}

TEST(Messages, AnErrorIsInTheWordsAndAtTheLineOfWhatWasCalled) {
  const std::vector<std::optional<Type>> wrong{{},
                                               Type{DType::boolean, {2, 3}},
                                               Type{DType::i32, {2, 3}},
                                               Type{DType::u8, {2}},
                                               Type{DType::f32, {}},
                                               Type{DType::f32, {0, 3}},
                                               Type{DType::f32, {3, 0}},
                                               Type{DType::f64, {2, 3}},
                                               Type{DType::f32, {2, 5}},
                                               Type{DType::f32, {2, 1}},
                                               Type{DType::f32, {2, 3, 1, 1, 1, 1}},
                                               Type{DType::i32, {2, 3, 1, 1, 1, 1}}};
  int errors = 0;
  for (const VocabularyCall& row : all_calls()) {
    const std::vector<std::optional<Type>> good(row.good.begin(), row.good.end());
    for (const int64_t number : {-100, -2, -1, 0, 1, 2, 7})
      expect_graph_or_words(row, good, number, errors);
    for (const std::optional<Type>& type : wrong) {
      for (size_t i = 0; i < good.size(); ++i) {
        std::vector<std::optional<Type>> types = good;
        types[i] = type;
        expect_graph_or_words(row, types, 1, errors);
      }
      if (good.size() > 1) expect_graph_or_words(row, {good.size(), type}, 1, errors);
    }
  }
  EXPECT_GT(errors, 1000);
}

TEST(Messages, EveryFunctionOfTheVocabularyHasARow) {
  std::ifstream file(testing::source_path("frontend/vocabulary.h"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t first = text.find("// --- functions on values ---");
  ASSERT_NE(first, text.npos);
  const std::string part = text.substr(first, text.find("// ---", first + 6) - first);
  std::set<std::string> rows;
  for (const VocabularyCall& row : all_calls()) rows.insert(row.name);
  const std::regex name("using core::(\\w+);");
  for (std::sregex_iterator at(part.begin(), part.end(), name), end; at != end; ++at)
    EXPECT_TRUE(rows.contains((*at)[1])) << (*at)[1] << " has no row in this file";
}

}  // namespace
}  // namespace graphc::core
