// SPDX-License-Identifier: Apache-2.0
// Where a value is made and where it is used: in the function of a graph, in the body of a loop, in
// that of a loop inside it, in the body of a loop beside it, after all of them. Every pair, in
// every way that the frontend has of using a value, is a graph or an error at the user's line that
// says what to do; never an internal error.
#include <gmock/gmock.h>

#include <array>

#include "frontend/graphc.h"

namespace graphc::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

enum class Place { graph, outer, inner, beside, after };
constexpr std::array kPlaces{Place::graph, Place::outer, Place::inner, Place::beside, Place::after};

const char* name_of(Place place) {
  constexpr std::array names{"the graph", "a loop", "a loop in it", "a loop beside", "after all"};
  return names[size_t(place)];
}

/// Whether what is made there may be used here: in the same place, or one inside it.
bool reaches(Place made, Place used) {
  if (made == used || made == Place::graph) return true;
  return made == Place::outer && used == Place::inner;
}

/// How a value of f32[2] is used, beside another of this place; the result is one of this place.
using Use = std::function<Value(Value leaked, Value mine)>;

const std::vector<std::pair<std::string, Use>>& uses() {
  static const std::vector<std::pair<std::string, Use>> all{
      {"an operand on the left", [](Value leaked, Value mine) { return leaked + mine; }},
      {"an operand on the right", [](Value leaked, Value mine) { return mine * leaked; }},
      {"alone", [](Value leaked, Value) { return tanh(leaked); }},
      {"computed with first", [](Value leaked, Value mine) { return mine - leaked * 2; }},
      {"one of several", [](Value leaked, Value mine) { return sum(stack({mine, leaked}), {0}); }},
      {"an operand of select",
       [](Value leaked, Value mine) { return select(mine > 0, mine, leaked); }},
      {"a condition", [](Value leaked, Value mine) { return select(leaked > 0, mine, mine); }},
      {"a table", [](Value leaked, Value mine) { return mine + gather(leaked, iota({2})); }},
      {"handed on", [](Value leaked, Value) { return leaked; }},
      {"assigned",
       [](Value leaked, Value mine) {
         State state(mine);
         state = leaked;
         return state + mine;
       }},
      {"the first value of a state",
       [](Value leaked, Value mine) {
         State state(leaked);
         return state + mine;
       }},
      {"a stream",
       [](Value leaked, Value mine) {
         return mine + sum(scan(stack({leaked, leaked}), [](Value x) { return x * 2; }), {0});
       }},
      {"used in a loop",
       [](Value leaked, Value mine) {
         return sum(scan(stack({mine, mine}), [&](Value x) { return x + leaked; }), {0});
       }},
  };
  return all;
}

Value row_of(Value rows) { return reshape(slice(rows, 0, 0, 1), rows.shape().without(0)); }

/// A graph with loops one in the other and beside each other, in which a value that is made in one
/// place is used in another.
void trace(Place made, Place used, const Use& use) {
  Model model("places");
  model.graph("all", [&](Inputs& in) {
    Value leaked;
    const Value x = in("x", f32, {3, 3, 2});
    const auto at = [&](Place place, Value mine) {
      // What is used before it is made is no value yet: a user of it has another error.
      const Value result = place == used && leaked ? use(leaked, mine) : mine;
      if (place == made) leaked = mine + 1;
      return place == used && place == made ? use(leaked, result) : result;
    };
    const Value first = at(Place::graph, row_of(row_of(x)));
    const Value loops = scan(x, [&](Value rows) {
      const Value mine = at(Place::outer, row_of(rows));
      const Value inside = scan(rows, [&](Value row) { return at(Place::inner, row); });
      return mine + sum(inside, {0});
    });
    const Value beside = scan(x, [&](Value rows) { return at(Place::beside, row_of(rows)); });
    return at(Place::after, first + sum(loops, {0}) + sum(beside, {0}));
  });
  model.trace("all", Extents{});
}

TEST(Places, AValueIsUsedWhereItIsOrTheErrorSaysWhatToDo) {
  for (const Place made : kPlaces) {
    for (const Place used : kPlaces) {
      if (used < made) continue;
      for (const auto& [how, use] : uses()) {
        const std::string what =
            fmt::format("made in {}, used in {}, {}", name_of(made), name_of(used), how);
        const bool fits = reaches(made, used) || (made == Place::graph && used == Place::after);
        try {
          trace(made, used, use);
          EXPECT_TRUE(fits) << what;
        } catch (const Error& error) {
          EXPECT_FALSE(fits) << what << ": " << error.what();
          EXPECT_EQ(error.kind(), ErrorKind::input) << what << ": " << error.what();
          EXPECT_GT(error.where().line, 0) << what;
          EXPECT_THAT(error.what(), HasSubstr("places_test.cpp")) << what;
          EXPECT_THAT(error.what(),
                      AllOf(HasSubstr("body"), HasSubstr("return it from"), HasSubstr("a state")))
              << what;
        }
      }
    }
  }
}

}  // namespace
}  // namespace graphc::core
