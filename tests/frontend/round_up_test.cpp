// SPDX-License-Identifier: Apache-2.0
// Sizes that vary: what is rounded up is compiled for, and shows in nothing else.
#include "frontend/round_up.h"

#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "models/random_inputs.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using ::testing::ElementsAre;
using testing::error_of;

TEST(RoundUpTest, GoesToTheNextSize) {
  const RoundUp sixteen = to_multiple_of(16), power = to_power_of_two(),
                some = to_one_of({9, 3, 5});
  std::vector<int64_t> found;
  for (int64_t extent : {0, 1, 16, 17}) found.push_back(sixteen(extent));
  for (int64_t extent : {0, 1, 3, 64, 65}) found.push_back(power(extent));
  for (int64_t extent : {0, 3, 4, 9, 10}) found.push_back(some(extent));
  EXPECT_THAT(found, ElementsAre(0, 16, 16, 32, 0, 1, 4, 64, 128, 3, 3, 5, 9, 10));
  EXPECT_EQ(error_of(ErrorKind::usage, [] { to_multiple_of(0); }),
            "to_multiple_of: wanted at least 1, found 0");
}

TEST(RoundUpTest, TensorsAreFittedAtEveryAxis) {
  const Tensor x = random_uniform({2, 3, 4}, 1);
  for (const Shape& shape : {Shape{5, 3, 4}, Shape{2, 5, 4}, Shape{3, 3, 7}, Shape{4, 6, 5}}) {
    const Tensor large = fitted(x, shape);
    ASSERT_EQ(large.shape(), shape);
    double sum = 0, all = 0;
    for (const float element : large.data<float>()) sum += element;
    for (const float element : x.data<float>()) all += element;
    EXPECT_NEAR(sum, all, 1e-5);
    EXPECT_EQ(fitted(large, x.shape()).literal(), x.literal());
  }
}

/// A tagger: an LSTM over steps of different numbers, trained on the mean over them.
struct StepTagger {
  Model model{"tagger"};
  Embedding words{model, "words", 20, 6};
  Bidirectional<Lstm> lstm{model, "lstm", 6, 8};
  Linear out{model, "out", 16, 3};
  int traces = 0;

  StepTagger() {
    const auto losses = [this](Inputs& in) {
      ++traces;
      const Value tokens = in("tokens", i32, {"steps", "batch"});
      const Value tags = in("tags", i32, {"steps", "batch"});
      const Value steps = in.length("steps");
      const Value logits = out(lstm(words(tokens), {.lengths = steps}));
      return std::array{mean_over_steps(cross_entropy(logits, tags), steps), logits};
    };
    model.graph("train", Mode::training, [=, this](Inputs& in) {
      const Value loss = losses(in)[0];
      minimize(loss, model.params(), Sgd{.rate = 0.5});
      return loss;
    });
    model.graph("tag", [=](Inputs& in) { return losses(in)[1]; });
  }
};

SessionOptions quiet(const char* target, int& compilations) {
  return {.target = target, .seed = 2, .announce = [&](const std::string&) { ++compilations; }};
}

TEST(RoundUpTest, ChangesNothingButHowOftenIsCompiled) {
  for (const char* target : {"cpu", "reference"}) {
    StepTagger plain, rounding;
    int compilations = 0, rounded_compilations = 0;
    Session exact(plain.model, quiet(target, compilations));
    SessionOptions options = quiet(target, rounded_compilations);
    options.round_up = {{"steps", to_multiple_of(4)}};
    Session rounded(rounding.model, std::move(options));
    int64_t seed = 1;
    for (const int64_t steps : {3, 5, 8, 2, 7, 4, 1, 6}) {
      const Tensor tokens = random_integers({steps, 2}, 20, uint64_t(seed++));
      const Tensor tags = random_integers({steps, 2}, 3, uint64_t(seed++));
      EXPECT_NEAR(rounded("train", tokens, tags).scalar(), exact("train", tokens, tags).scalar(),
                  1e-5);
      const Tensor found = rounded("tag", tokens, tags), wanted = exact("tag", tokens, tags);
      ASSERT_EQ(found.type(), wanted.type());
      for (int64_t i = 0; i < wanted.elements(); ++i)
        ASSERT_NEAR(found.literal().element(i), wanted.literal().element(i), 1e-5);
    }
    EXPECT_EQ(compilations, 14);  // of two graphs, each after its first
    EXPECT_EQ(rounded_compilations, 2);
  }
}

TEST(RoundUpTest, ErrorsAreOfWhatWasCalled) {
  StepTagger tagger;
  int compilations = 0;
  SessionOptions options = quiet("reference", compilations);
  options.round_up = {{"steps", to_one_of({8})}};
  Session session(tagger.model, options);
  EXPECT_EQ(
      error_of(
          ErrorKind::input,
          [&] { session("tag", random_integers({3, 2}, 20, 1), random_integers({4, 2}, 3, 1)); }),
      "input 'tags': 'steps' is 3 in an input before: found i32[4,2]");
  options.round_up = {{"steps", [](int64_t) { return 2; }}};
  Session wrong(tagger.model, options);
  EXPECT_EQ(error_of(ErrorKind::usage,
                     [&] {
                       wrong("tag", random_integers({3, 2}, 20, 1), random_integers({3, 2}, 3, 1));
                     }),
            "round_up: 'steps' of 3 becomes 2: wanted no less");

  Model m("m");
  const Gru gru(m, "gru", 3, 4);
  m.graph("f", [&](Inputs& in) {
    const Value x = in("x", f32, {"steps", "batch", 3});
    return gru(x, {.lengths = in("n", i32, {"batch"})});
  });
  options.round_up = {{"steps", to_multiple_of(10)}, {"batch", to_multiple_of(4)}};
  Session lengths(m, options);
  const int32_t too_long[] = {3, 6}, right[] = {3, 5};
  const Tensor x = random_uniform({5, 2, 3}, 1);
  EXPECT_EQ(error_of(ErrorKind::input, [&] { lengths("f", x, Literal(std::span(too_long), {2})); }),
            "lengths 'n': row 1 has 6 steps: wanted 0 to 5");
  const Tensor y = lengths("f", x, Literal(std::span(right), {2}));
  EXPECT_EQ(y.shape(), Shape({5, 2, 4}));
}

TEST(RoundUpTest, AStateOfARoundedExtentIsThatOfTheCompiledGraph) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    const Value x = in("x", f32, {"b", 1});
    State h = in.state("h", Shape{in.extent("b"), 1}, zeros(), {.transient = true});
    h = h + x;
    return Value(h);
  });
  const auto rows = [](int64_t count) {
    return Data(std::vector<float>(size_t(count), 1), {count, 1});
  };
  for (const std::vector<int64_t>& calls : {std::vector<int64_t>{3, 4, 2, 3}, {4, 3, 1, 4}}) {
    Session session(m, {.target = "reference", .round_up = {{"b", to_multiple_of(4)}}});
    double wanted = 0;
    for (const int64_t count : calls) {
      const Tensor y = session("f", rows(count));
      EXPECT_EQ(y.shape(), Shape({count, 1}));
      EXPECT_EQ(y.data<float>()[0], ++wanted);
    }
    EXPECT_EQ(session.state("h").shape(), Shape({4, 1}));
    // Of five rows it would be another state.
    EXPECT_EQ(error_of(ErrorKind::input, [&] { session("f", rows(5)); }),
              "state 'h' is f32[8,1]: declared as state of f32[4,1] before");
    EXPECT_EQ(double(Tensor(session("f", rows(2))).data<float>()[0]), wanted + 1);
  }
}

TEST(RoundUpTest, ALengthIsWhatTheCallerBrings) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    const Value x = in("x", f32, {"n"});
    return Values{in.length("n") + 0, x + cast(in.length("n"), f32)};
  });
  const TracedGraph traced = m.trace("f", Extents{{"n", 3}});
  ASSERT_EQ(traced.graph->inputs().size(), 2);
  EXPECT_EQ(traced.graph->inputs()[1].name(), "n.length");
  Session session(m, {.target = "reference"});
  const Outputs found = session("f", Tensor({DType::f32, {3}}));
  EXPECT_EQ(found[0].item<int32_t>(), 3);
  EXPECT_EQ(error_of(ErrorKind::input, [&] { session("f", Tensor({DType::f32, {3}}), Tensor()); }),
            "graph 'f' has 1 input: found 2");
}

}  // namespace
}  // namespace graphc::core
