// SPDX-License-Identifier: Apache-2.0
// What is accepted in silence is what nobody meant: sizes, numbers and lists that fit nothing are
// refused where they are written.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SessionOptions silent_reference() {
  return {.target = "reference", .announce = [](const std::string&) {}};
}

/// The message about a graph for training of x f32[2,3] that `write` writes.
std::string refusal_of(const std::function<Results(Value x, Model& m)>& write) {
  Model m("m");
  m.graph("g", Mode::training, [&](Inputs& in) { return write(in("x", f32, {2, 3}), m); });
  return error_of(ErrorKind::input, [&] { m.trace("g", Extents{}); });
}

TEST(Refused, ALayerNormOfAnotherWidth) {
  for (const int64_t width : {1, 2, 4}) {
    EXPECT_EQ(refusal_of([&](Value x, Model& m) { return LayerNorm(m, "n", width)(x); }),
              fmt::format("LayerNorm: wanted [..., {}], its width last: found f32[2,3]", width));
  }
  EXPECT_EQ(refusal_of(
                [](Value x, Model& m) { return LayerNorm(m, "n", 3)(x[{.until = 1, .axis = 1}]); }),
            "LayerNorm: wanted [..., 3], its width last: found f32[2,1]");
}

template <typename Optimizer>
void expect_gradient_refused(const Optimizer& optimizer) {
  for (const Shape& shape : {Shape{3}, Shape{2, 1}, Shape{1, 3}, Shape{}, Shape{3, 2}}) {
    const std::string said = refusal_of([&](Value x, Model& m) {
      optimizer.update({m.param("w", {2, 3}, zeros())}, {filled(shape, 1)});
      return Results(x);
    });
    EXPECT_THAT(said, HasSubstr("parameter 'w' is f32[2,3]: found a gradient"));
  }
}

TEST(Refused, AGradientThatIsNotOfItsParametersType) {
  expect_gradient_refused(Sgd{});
  expect_gradient_refused(Momentum{});
  expect_gradient_refused(Rmsprop{});
  expect_gradient_refused(Adagrad{});
  expect_gradient_refused(Adam{});
}

TEST(Refused, AParameterOfAnotherModelInAListASlotOrAnAccumulator) {
  Model other("other");
  const Param stranger = other.param("w", {2, 3}, zeros());
  Model own("own");
  own.param("w", {2, 3}, zeros());
  for (const bool leaves_out : {true, false}) {
    EXPECT_THAT(error_of(ErrorKind::input,
                         [&] {
                           leaves_out ? own.params().without(stranger)
                                      : own.params().only(other.params());
                         }),
                HasSubstr("parameter 'w' of model 'other' is not in the list"));
  }
  EXPECT_EQ(own.params().only(own.params()).size(), 1u);
  EXPECT_EQ(own.params().without(own.params()[0]).size(), 0u);
  const std::string whose = "parameter 'w' belongs to model 'other'";
  EXPECT_THAT(refusal_of([&](Value, Model&) { return slot(stranger, "k"); }), HasSubstr(whose));
  EXPECT_THAT(refusal_of([&](Value x, Model&) {
                Accumulator{}.add({stranger}, {x});
                return Results(x);
              }),
              HasSubstr(whose));
  EXPECT_THAT(refusal_of([&](Value, Model&) { return Accumulator{}.take({stranger})[0]; }),
              HasSubstr(whose));
}

TEST(Refused, ANameWithinANameIsNoParameterItself) {
  // Selected by itself, "a" is not "a.w" too.
  Model m("m");
  const Param a = m.param("a", {1}, zeros());
  m.param("a.w", {1}, zeros());
  EXPECT_EQ(m.params().without(a).size(), 1u);
  EXPECT_EQ(m.params().without("a").size(), 0u);
}

TEST(Refused, LayersThatAreNone) {
  for (const int count : {0, -1}) {
    Model m("m");
    EXPECT_THAT(error_of(ErrorKind::input, [&] { Stacked<Lstm>(m, "s", count, 2, 2); }),
                HasSubstr("Stacked 's': there is at least one layer"));
  }
}

TEST(Refused, InitialisersOfNoNumber) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const double wrong : {nan, infinity, -infinity}) {
    EXPECT_THAT(error_of(ErrorKind::input, [&] { uniform(wrong); }), HasSubstr("uniform: limit"));
    EXPECT_THAT(error_of(ErrorKind::input, [&] { normal(wrong); }), HasSubstr("normal: deviation"));
    EXPECT_THAT(error_of(ErrorKind::input, [&] { orthogonal(wrong); }),
                HasSubstr("orthogonal: gain"));
  }
  EXPECT_THAT(error_of(ErrorKind::input, [] { uniform(-1); }), HasSubstr("found -1"));
  EXPECT_THAT(error_of(ErrorKind::input, [] { normal(-1); }), HasSubstr("found -1"));
}

TEST(Refused, AnInitialiserOfTheUsersMayUseWhatIsMadeOfNothing) {
  Model m("m");
  m.param("w", {2, 2}, [](Value key, const auto& type) {
    return filled(type.shape, 0.5) + cast(iota(type.shape, 1), f32) +
           literal(std::vector<float>{10, 20}) + 0 * uniform(key, type.shape);
  });
  EXPECT_THAT(Session(m, silent_reference()).state("w").to_vector(),
              ElementsAre(10.5f, 21.5f, 10.5f, 21.5f));
}

TEST(Refused, ClippingToNoRange) {
  for (const auto& [low, high] : {std::pair(1., -1.), {0.5, 0.25}, {std::nan(""), 1.}})
    EXPECT_THAT(refusal_of([&, l = low, h = high](Value x, Model&) { return clip(x, l, h); }),
                HasSubstr("clip: low is"));
  // As doubles the two would be equal.
  const int64_t large = (int64_t{1} << 53) + 1;
  EXPECT_THAT(refusal_of([&](Value x, Model&) { return clip(cast(x, i64), large, large - 1); }),
              HasSubstr("clip: low is"));
  EXPECT_THAT(refusal_of([](Value x, Model&) { return clip(x, std::nan(""), 1); }),
              HasSubstr("clip: low is NaN"));
}

TEST(Refused, AFileOfNoGraphsOrForDimsThatNoneHas) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.graphc").string();
  Model m("m");
  m.graph("p", [](Inputs& in) { return in("x", f32, {"batch", 2}); });
  m.graph("q", [](Inputs& in) { return in("x", f32, {"steps", 2}); });
  Session session(m, silent_reference());
  const auto said = [&](const std::vector<std::string>& graphs, const Extents& extents) {
    return error_of(ErrorKind::input, [&] { save(session, graphs, extents, path); });
  };
  EXPECT_THAT(said({"p"}, {{"batch", 1}, {"btach", 2}}),
              HasSubstr("no graph that is saved has a dim 'btach'; did you mean 'batch'?"));
  EXPECT_THAT(said({"p"}, {{"batch", 1}, {"steps", 2}}), HasSubstr("a dim 'steps'"));
  EXPECT_THAT(said({}, {}), HasSubstr("save: no graphs are given"));
  EXPECT_THAT(said({"p", "p"}, {{"batch", 1}}), HasSubstr("save: graph 'p' is given twice"));
  EXPECT_FALSE(std::filesystem::exists(path));
  save(session, {"p", "q"}, {{"batch", 1}, {"steps", 2}}, path);
}

TEST(Refused, ARoundedDimThatNoGraphHasIsRemarkedOnOnce) {
  Model m("m");
  for (const char* dim : {"steps", "batch"})
    m.graph(dim, [dim](Inputs& in) { return in("x", f32, {dim}) + 1; });
  std::vector<std::string> said;
  SessionOptions options = silent_reference();
  options.announce = [&](const std::string& line) { said.push_back(line); };
  options.round_up = {{"batch", to_multiple_of(4)}, {"step", to_multiple_of(4)}};
  Session session(m, options);
  session("steps", std::vector<float>{1, 2});
  EXPECT_THAT(said, ElementsAre());
  session("batch", std::vector<float>{1, 2});
  session("batch", std::vector<float>{1, 2, 3});
  EXPECT_THAT(said, ElementsAre("remark: round_up: no graph of model 'm' has a dim 'step'"));
}

TEST(Refused, ANegativeNumberOfThreads) {
  Model m("m");
  m.graph("g", [](Inputs& in) { return in("x", f32, {}) + 1; });
  SessionOptions options = silent_reference();
  options.compile.threads = -1;
  Session session(m, options);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { session("g", 1); }), HasSubstr("threads: wanted 0"));
}

TEST(Refused, ElementsAndBytesThatAreNotThere) {
  const std::vector<std::byte> bytes(12);
  EXPECT_EQ(error_of(ErrorKind::input, [&] { Literal::from_bytes({DType::f32, {2}}, bytes); }),
            "Literal::from_bytes: f32[2] is 8 bytes: found 12");
  const Literal three = Literal::from_bytes({DType::f32, {3}}, bytes);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { (void)three.element(3); }),
              HasSubstr("no element 3"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { (void)three.element(-1); }),
              HasSubstr("no element -1"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { (void)three.reshaped({2}); }),
              HasSubstr("f32[3] has 3 elements: [2] has 2"));
  EXPECT_THAT(error_of(ErrorKind::input, [] { Tensor({DType::f32, {1}}, allocate_buffer(64), 2); }),
              HasSubstr("Tensor: f32[1] at byte 2 of a buffer"));
}

TEST(TopK, OfIntegersIsWhatItIsOfFloats) {
  const std::vector<std::vector<int64_t>> rows{{3, 1, 2, 3, 0}, {0, 0, 0, 0, 0}, {1, 2, 4, 5, 9}};
  for (const DType dtype : {DType::i32, DType::i64, DType::u32, DType::u8, DType::f32}) {
    Model m("m");
    m.graph("g", [&](Inputs& in) {
      const auto [values, places] = top_k(in("x", dtype, {3, 5}), 5);
      return Values{values, places};
    });
    std::vector<std::string> said;
    for (const char* target : {"reference", "cpu"}) {
      Session session(m, {.target = target,
                          .announce = [&](const std::string& line) { said.push_back(line); }});
      const Outputs found = session("g", rows);
      EXPECT_THAT(found[0].to_vector<double>(),
                  ElementsAre(3, 3, 2, 1, 0, 0, 0, 0, 0, 0, 9, 5, 4, 2, 1));
      EXPECT_THAT(found[1].to_vector<int>(),
                  ElementsAre(0, 3, 2, 1, 4, 0, 1, 2, 3, 4, 4, 3, 2, 1, 0));
    }
    // Its loop is no affair of the user's.
    EXPECT_THAT(said, ElementsAre()) << name_of(dtype);
  }
  // The least number is there more than once, and each place comes once.
  Model m("m");
  m.graph("g", [](Inputs& in) { return top_k(in("x", i32, {3}), 3).second; });
  const int least = std::numeric_limits<int>::min();
  Session session(m, silent_reference());
  EXPECT_THAT(session("g", std::vector<int>{least, 5, least}).to_vector<int>(),
              ElementsAre(1, 0, 2));
}

}  // namespace
}  // namespace graphc::core
