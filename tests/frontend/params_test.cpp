// SPDX-License-Identifier: Apache-2.0
// Lists of parameters: taking elements out or reordering them never assigns a parameter.
#include "frontend/params.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What assigns elements of a list must not compile: erase, sort, partition, `best = p`.
static_assert(!std::is_assignable_v<Param&, const Param&>);
static_assert(!std::is_assignable_v<Param&, Param>);
static_assert(!std::is_swappable_v<Param>);
static_assert(std::is_assignable_v<Param&, Value>);
static_assert(std::is_assignable_v<Param&, double>);
static_assert(std::is_assignable_v<Param&, const State&>);  // the value of another state
static_assert(std::is_same_v<decltype(*std::declval<Params&>().begin()), const Param&>);
static_assert(std::is_same_v<decltype(std::declval<Params&>()[0]), const Param&>);

std::vector<std::string> names_of(const Params& params) {
  std::vector<std::string> names;
  for (const Param& param : params) names.push_back(param.name());
  return names;
}

struct Parts {
  Model model{"m"};
  Linear encoder{model, "encoder", 2, 3}, encoder2{model, "encoder2", 3, 2};
  Param scale = model.param("scale", {}, constant(1));
};

TEST(Params, AreChosenByNameByPartAndByPredicate) {
  const Parts parts;
  const Params all = parts.model.params();
  EXPECT_THAT(names_of(all),
              ElementsAre("encoder.w", "encoder.b", "encoder2.w", "encoder2.b", "scale"));
  EXPECT_THAT(names_of(all.without("encoder")), ElementsAre("encoder2.w", "encoder2.b", "scale"));
  EXPECT_THAT(names_of(all.without({"scale", "encoder.b"})),
              ElementsAre("encoder.w", "encoder2.w", "encoder2.b"));
  EXPECT_THAT(names_of(all.only("encoder2")), ElementsAre("encoder2.w", "encoder2.b"));
  EXPECT_THAT(names_of(all.only({"scale", "encoder.w"})), ElementsAre("encoder.w", "scale"));
  EXPECT_THAT(names_of(all.without(parts.encoder.params())),
              ElementsAre("encoder2.w", "encoder2.b", "scale"));
  EXPECT_THAT(names_of(all.without(parts.scale)),
              ElementsAre("encoder.w", "encoder.b", "encoder2.w", "encoder2.b"));
  EXPECT_THAT(names_of(all.where([](const Param& p) { return p.shape().rank() == 2; })),
              ElementsAre("encoder.w", "encoder2.w"));
  EXPECT_THAT(names_of(all.where([](const Param&) { return false; })), IsEmpty());
  EXPECT_THAT(names_of(parts.encoder2.params() + Params{parts.scale}),
              ElementsAre("encoder2.w", "encoder2.b", "scale"));
}

TEST(Params, OfANameThatSelectsNothingAreRefusedAtTheCall) {
  const Parts parts;
  const Params all = parts.model.params();
  try {
    all.without("encodr");
    FAIL() << "wanted an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.where().line, __LINE__ - 3);
    EXPECT_THAT(error.message(), HasSubstr("no parameter of the list is 'encodr' or part of it"));
  }
  EXPECT_THAT(error_of(ErrorKind::input, [&] { all.only({"scale", "encoder.c"}); }),
              HasSubstr("'encoder.c'"));
}

/// Freezes `a` of a, b and c: trains what `chosen` gives of the model's parameters, once, in a
/// graph where the list is made.
std::vector<double> trained(const std::function<Params(const Params&)>& chosen) {
  Model m("m");
  const Param a = m.param("a", {2}, constant(1)), b = m.param("b", {2}, constant(2)),
              c = m.param("c", {2}, constant(3));
  m.graph("g", Mode::training, [&](Inputs& in) {
    const Value x = in("x", f32, {2});
    const Params list = chosen(m.params());
    const Value loss = sum(x * a + x * b + x * c);
    minimize(loss, list, Sgd{.rate = 0.5});
    return loss;
  });
  Session s(m, {.target = "reference"});
  const double loss = s("g", std::vector<float>{1, 1}).scalar();
  return {loss, s.state("a").element(0), s.state("b").element(0), s.state("c").element(0)};
}

TEST(Params, InAGraphFreezeWhatIsLeftOut) {
  EXPECT_THAT(trained([](const Params& all) { return all.without("a"); }),
              ElementsAre(12, 1, 1.5, 2.5));
  EXPECT_THAT(trained([](const Params& all) {
                Params list = all;
                const Params chosen = list.only({"c", "b"});
                list = chosen;  // the list is assigned, no parameter
                return list;
              }),
              ElementsAre(12, 1, 1.5, 2.5));
  EXPECT_THAT(trained([](const Params& all) {
                std::vector<Param> reversed;
                for (size_t i = all.size(); i-- > 1;) reversed.push_back(all[i]);
                return Params(reversed);
              }),
              ElementsAre(12, 1, 1.5, 2.5));
  EXPECT_THAT(trained([](const Params& all) {
                const Param* best = &all[0];
                for (const Param& param : all) {
                  if (param.name() > best->name()) best = &param;
                }
                return Params{*best};
              }),
              ElementsAre(12, 1, 2, 2.5));
}

TEST(Params, OfAListAreCountedFromNothingToItsEnd) {
  Model m("m");
  const Linear linear(m, "l", 2, 3);
  const Params all = m.params();
  EXPECT_EQ(all[1].name(), "l.b");
  for (const int place : {2, -1})
    EXPECT_THAT(error_of(ErrorKind::input, [&] { all[place]; }), HasSubstr("the list has 2"));
}

TEST(Params, ThatAreNoneOrTwiceAreRefused) {
  EXPECT_THAT(error_of(ErrorKind::input, [] { trained([](const Params&) { return Params(); }); }),
              HasSubstr("minimize: no parameters are given"));
  EXPECT_THAT(error_of(ErrorKind::input,
                       [] { trained([](const Params& all) { return all + all.only("b"); }); }),
              HasSubstr("minimize: parameter 'b' is given twice"));
}

TEST(Params, AreAssignedTheValuesOfOthers) {
  Model m("m");
  const Linear online(m, "online", 2, 2), target(m, "target", 2, 2, {.weights = constant(0)});
  m.graph("copy", [&](Inputs&) {
    assign(target.params(), online.params());
    return Results();
  });
  m.graph("swap", [&](Inputs&) {
    assign(target.params() + online.params(), online.params() + target.params());
    return Results();
  });
  m.graph("wrong", [&](Inputs&) {
    assign(target.params(), {online.w, online.w});
    return Results();
  });
  Session s(m, {.target = "reference"});
  s.set_state("online.b", std::vector<float>{3, 4});
  s("copy");
  EXPECT_EQ(s.state("target.w"), s.state("online.w"));
  EXPECT_THAT(s.state("target.b").to_vector(), ElementsAre(3, 4));
  s.set_state("target.b", std::vector<float>{5, 6});
  s("swap");
  EXPECT_THAT(s.state("target.b").to_vector(), ElementsAre(3, 4));
  EXPECT_THAT(s.state("online.b").to_vector(), ElementsAre(5, 6));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { s("wrong"); }),
              HasSubstr("assign: parameter 'target.b' is f32[2]: 'online.w' is f32[2,2]"));
}

TEST(ParamGroups, HaveOneNorm) {
  // Gradients 3 and 4: their norm is 5, clipped to 1 they are 0.6 and 0.8.
  const auto after = [](bool grouped) {
    Model m("m");
    const Param a = m.param("a", {1}, zeros()), b = m.param("b", {1}, zeros());
    m.graph("g", Mode::training, [&](Inputs& in) {
      const Value x = in("x", f32, {2});
      const Value loss = sum(slice(x, 0, 0, 1) * a + slice(x, 0, 1, 2) * b);
      if (grouped) {
        const Values d =
            minimize(loss, {{{a}, Sgd{.rate = 1}}, {{b}, Momentum{.rate = 10}}}, {.clip_norm = 1});
        return Values{d[0], d[1]};
      }
      minimize(loss, {a}, Sgd{.rate = 1, .clip_norm = 1});
      minimize(loss, {b}, Momentum{.rate = 10, .clip_norm = 1});
      return Values{};
    });
    Session s(m, {.target = "reference"});
    const Outputs d = s("g", std::vector<float>{3, 4});
    if (grouped) {
      EXPECT_EQ(d[0].scalar(), 3);  // as computed
      EXPECT_EQ(d[1].scalar(), 4);
    }
    return std::vector<double>{s.state("a").scalar(), s.state("b").scalar()};
  };
  const std::vector<double> grouped = after(true);
  EXPECT_NEAR(grouped[0], -0.6, 1e-6);
  EXPECT_NEAR(grouped[1], -8, 1e-6);
  EXPECT_THAT(after(false), ElementsAre(-1, -10));  // each by its own norm, as each one says
}

TEST(ParamGroups, ShareNoParameterAndAreNotEmpty) {
  Model m("m");
  const Param a = m.param("a", {1}, zeros()), b = m.param("b", {1}, zeros());
  m.graph("twice", Mode::training,
          [&](Inputs&) { return minimize(sum(a * b), {{{a, b}, Sgd{}}, {{b}, Adam{}}}); });
  m.graph("none", Mode::training,
          [&](Inputs&) { return minimize(sum(a * b), {{{a, b}, Sgd{}}, {Params(), Adam{}}}); });
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.trace("twice", Extents{}); }),
              HasSubstr("minimize: parameter 'b' is given twice"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.trace("none", Extents{}); }),
              HasSubstr("minimize: no parameters are given"));
}

}  // namespace
}  // namespace graphc::core
