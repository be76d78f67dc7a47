// SPDX-License-Identifier: Apache-2.0
// The order of a graph's inputs is the one in which they are written, whatever the C++ compiler
// evaluates first; and calls by name have none.
#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Value weighted(Value a, Value b, Value c, Value d) { return 1000 * a + 100 * b + 10 * c + d; }

TEST(InputsOfOneExpression, StandInTheOrderInWhichTheyAreWritten) {
  Model m("m");
  m.graph("minus", [](Inputs& in) { return in("x", f32, {}) - in("y", f32, {}); });
  m.graph("call", [](Inputs& in) {
    return weighted(in("a", f32, {}), in("b", f32, {}), in("c", f32, {}), in("d", f32, {}));
  });
  m.graph("lines", [](Inputs& in) {
    return weighted(in("a", f32, {}),                                       //
                    in("b", f32, {}) * in("c", f32, {}), in("d", f32, {}),  //
                    in("e", f32, {}));
  });
  m.graph("list", [](Inputs& in) {
    const Values all{in("a", f32, {}), in("b", f32, {}), in("c", f32, {})};
    return weighted(all[0], all[1], all[2], in("d", f32, {}));
  });
  m.graph("statements", [](Inputs& in) {
    Value d = in("a", f32, {}), c = in("b", f32, {});
    const Value b = in("c", f32, {});
    return weighted(d, c, b, in("d", f32, {}));
  });
  m.graph("loop", [](Inputs& in) {
    Values all;
    for (const char* name : {"a", "b", "c"}) all.push_back(in(name, f32, {}));
    return weighted(all[0], all[1], all[2], in("d", f32, {}));
  });
  Session s(m, {.target = "reference"});
  EXPECT_EQ(s("minus", 3.f, 1.f).scalar(), 2);
  for (const char* graph : {"call", "list", "statements", "loop"})
    EXPECT_EQ(s(graph, 1.f, 2.f, 3.f, 4.f).scalar(), 1234) << graph;
  EXPECT_EQ(s("lines", 1.f, 2.f, 3.f, 4.f, 5.f).scalar(), 1645);
  EXPECT_THAT(m.trace("minus", Extents{}).inputs, ElementsAre("x", "y"));
  const GraphPtr graph = m.trace("call", Extents{}).graph;
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(graph->inputs()[size_t(i)].name(), std::string(1, char('a' + i)));
}

TEST(InputsOfOneExpression, OfOtherTypesAreNotMistakenForOneAnother) {
  Model m("m");
  m.graph("g", [](Inputs& in) {
    return gather(in("table", f32, {"rows", 2}), in("rows", i32, {"n"})) +
           in("offset", f32, {"n", 2});
  });
  Session s(m, {.target = "reference"});
  const std::vector<float> table{1, 2, 3, 4, 5, 6};
  const std::vector<int> rows{2, 0};
  const std::vector<float> offset{10, 20, 30, 40};
  EXPECT_THAT(s("g", Data(table, {3, 2}), rows, Data(offset, {2, 2})).to_vector(),
              ElementsAre(15, 26, 31, 42));
  // What does not fit is an error all the same, of the input that it is.
  EXPECT_THAT(
      error_of(ErrorKind::input, [&] { s("g", Data(table, {3, 2}), Data(offset, {2, 2}), rows); }),
      HasSubstr("input 'rows' is i32[n]: found f32[2,2]"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { s("g", Data(table, {3, 2}), rows); }),
              HasSubstr("input 'offset' is missing: found 2 inputs"));
  EXPECT_THAT(error_of(ErrorKind::input,
                       [&] { s("g", Data(table, {3, 2}), rows, Data(offset, {2, 2}), rows); }),
              HasSubstr("graph 'g' has 3 inputs: found 4"));
}

Value scaled(Inputs& in, Value x) { return in("scale", f32, {}) * x; }

TEST(InputsOfOneExpression, OfTwoFunctionsAreRefused) {
  Model m("m");
  m.graph("g", [](Inputs& in) { return scaled(in, in("x", f32, {})); });
  Session s(m, {.target = "reference"});
  EXPECT_THAT(error_of(ErrorKind::input, [&] { s("g", 1.f, 2.f); }),
              AllOf(HasSubstr("are declared in one expression by two functions"),
                    HasSubstr("declare one in a statement before")));
}

Model& affine(Model& m) {
  m.graph("g", [](Inputs& in) {
    const Value x = in("x", f32, {"n"}), a = in("a", f32, {}), b = in("b", f32, {});
    return Results{{"y", x * a - b}};
  });
  return m;
}

#define GRAPHC_TEST_WRITTEN_BY_A_MACRO(expression) expression

TEST(InputsOfOneExpression, OfAMacroAreRefused) {
  Model m("m");
  m.graph("macro", [](Inputs& in) {
    GRAPHC_TEST_WRITTEN_BY_A_MACRO(return in("x", f32, {}) - in("y", f32, {}));
  });
  m.graph("statements", [](Inputs& in) {
    GRAPHC_TEST_WRITTEN_BY_A_MACRO(const Value x = in("x", f32, {});
                                   const Value y = in("y", f32, {}); return x - y);
  });
  Session s(m, {.target = "reference"});
  EXPECT_THAT(error_of(ErrorKind::input, [&] { s("macro", 5.0f, 3.0f); }),
              HasSubstr("are declared in one expression at one place of the text"));
  EXPECT_EQ(s("statements", 5.0f, 3.0f).scalar(), 2);
}

#undef GRAPHC_TEST_WRITTEN_BY_A_MACRO

TEST(CallsByName, HaveNoOrder) {
  Model m("m");
  Session s(affine(m), {.target = "reference"});
  const std::vector<float> x{1, 2}, longer{1, 2, 3};
  EXPECT_THAT(s("g", {{"b", 1.f}, {"x", x}, {"a", 10}}).to_vector(), ElementsAre(9, 19));
  EXPECT_THAT(s("g", {{"x", longer}, {"a", 10}, {"b", 1.f}}).to_vector(), ElementsAre(9, 19, 29));
  EXPECT_THAT(s("g", x, 10, 1.f).to_vector(), ElementsAre(9, 19));
  const NamedData kept{{"a", 2}, {"b", 0}, {"x", x}};
  EXPECT_THAT(s.run_named("g", kept)["y"].to_vector(), ElementsAre(2, 4));
}

TEST(CallsByName, SayWhatIsMissingUnknownOrThereTwice) {
  Model m("m");
  Session s(affine(m), {.target = "reference"});
  const std::vector<float> x{1, 2};
  const auto errors = [&] {
    EXPECT_THAT(error_of(ErrorKind::input, [&] { s("g", {{"x", x}, {"a", 1}}); }),
                HasSubstr("input 'b' is missing: found a, x"));
    EXPECT_THAT(
        error_of(ErrorKind::input, [&] { s("g", {{"x", x}, {"a", 1}, {"b", 1}, {"bias", 1}}); }),
        HasSubstr("graph 'g' has no input 'bias'"));
    EXPECT_THAT(error_of(ErrorKind::input, [&] { s("g", {{"x", x}, {"a", 1}, {"a", 2}}); }),
                HasSubstr("input 'a' is given twice"));
    EXPECT_THAT(error_of(ErrorKind::input, [&] { s("g", {{"x", 1}, {"a", 1}, {"b", 1}}); }),
                HasSubstr("input 'x' is f32[n]: found i32[]"));
  };
  errors();
  s("g", {{"x", x}, {"a", 1}, {"b", 1}});
  errors();  // as before it was compiled
}

TEST(CallsByName, AreThoseOfRunnersAndOfFilesToo) {
  const TemporaryFolder folder;
  Model m("m");
  Session s(affine(m), {.target = "reference"});
  const SharedGraph shared(s, "g", {{f32, {2}}, {f32, {}}, {f32, {}}});
  Runner runner = shared.runner();
  const std::vector<float> x{1, 2};
  EXPECT_THAT(runner({{"b", 1.f}, {"x", x}, {"a", 10.f}}).to_vector(), ElementsAre(9, 19));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { runner({{"x", x}, {"a", 10.f}}); }),
              HasSubstr("graph 'g': input 'b' is missing"));
  save(s, {"g"}, {{"n", 2}}, (folder.path() / "g.graphc").string());
  LoadedModel loaded((folder.path() / "g.graphc").string(), {.target = "reference"});
  EXPECT_THAT(loaded("g", {{"b", 1.f}, {"x", x}, {"a", 10.f}}).to_vector(), ElementsAre(9, 19));
}

}  // namespace
}  // namespace graphc::core
