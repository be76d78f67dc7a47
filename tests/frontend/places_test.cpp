// SPDX-License-Identifier: Apache-2.0
// Where a value is made and where it is used: in the function of a graph, in the body of a loop, in
// that of a loop inside it, in the body of a loop beside it, after all of them. Every pair, in
// every way that the frontend has of using a value, is a graph or an error at the user's line that
// says what to do; never an internal error. And calls that cannot be right, of every function:
// their errors are at the user's line, never at one of ours.
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

/// A call of the frontend that cannot be right.
struct Wrong {
  const char* what;
  std::function<void(Model& m, Value x)> make;  ///< in a training graph; x is f32[3, 2]
};

const std::vector<Wrong>& wrong_layers() {
  static const auto sized = [](Model& m, int64_t in) { return Linear(m, "linear", in, 2); };
  static const std::vector<Wrong> all{
      {"Linear", [](Model& m, Value x) { sized(m, 5)(x); }},
      {"Linear's initialiser", [](Model& m, Value) { Linear(m, "l", 2, 2, uniform(-1)); }},
      {"Embedding", [](Model& m, Value x) { Embedding(m, "e", 4, 4)(x); }},
      {"LayerNorm", [](Model& m, Value x) { LayerNorm(m, "n", 7)(x); }},
      {"Dropout", [](Model&, Value x) { Dropout({.rate = 2})(x); }},
      {"Lstm", [](Model& m, Value x) { Lstm(m, "r", 2, 2)(x); }},
      {"Lstm's width", [](Model& m, Value x) { Lstm(m, "r", 5, 2)(stack({x, x})); }},
      {"Lstm's lengths",
       [](Model& m, Value x) { Lstm(m, "r", 2, 2)(stack({x, x}), {.lengths = x}); }},
      {"Gru", [](Model& m, Value x) { Gru(m, "r", 5, 2)(stack({x, x})); }},
      {"Rnn", [](Model& m, Value x) { Rnn(m, "r", 5, 2)(stack({x, x})); }},
      {"Bidirectional",
       [](Model& m, Value x) { Bidirectional<Lstm>(m, "b", 5, 2)(stack({x, x})); }},
      {"Stacked", [](Model& m, Value x) { Stacked<Gru>(m, "s", 2, 5, 2)(stack({x, x})); }}};
  return all;
}

const std::vector<Wrong>& wrong_functions() {
  static const std::vector<Wrong> all{
      {"scan", [](Model&, Value x) { scan(sum(x), [](Value row) { return row; }); }},
      {"einsum", [](Model&, Value x) { einsum("ij,jk", {x, x}); }},
      {"cross_entropy", [](Model&, Value x) { cross_entropy(x, x); }},
      {"cross_entropy with labels to ignore",
       [](Model&, Value x) { cross_entropy(x, x, {.ignore = -1}); }},
      {"cross_entropy_with_probabilities",
       [](Model&, Value x) { cross_entropy_with_probabilities(x, sum(x)); }},
      {"sigmoid_cross_entropy", [](Model&, Value x) { sigmoid_cross_entropy(x, iota({3, 2})); }},
      {"mse", [](Model&, Value x) { mse(x, sum(x, {0}, true)); }},
      {"one_hot", [](Model&, Value x) { one_hot(x, 4); }},
      {"softmax", [](Model&, Value x) { softmax(x, 4); }},
      {"layer_norm", [](Model&, Value x) { layer_norm(x, -1); }},
      {"mask_steps", [](Model&, Value x) { mask_steps(x, x); }},
      {"mean_over_steps", [](Model&, Value x) { mean_over_steps(x, x); }},
      {"valid_steps", [](Model&, Value x) { valid_steps(x, 3); }},
      {"step_decay", [](Model&, Value x) { step_decay(x, iota({5}), 1, 0.5); }},
      {"exponential_decay", [](Model&, Value x) { exponential_decay(x, iota({5}), 1, 0.5); }},
      {"cosine_decay", [](Model&, Value x) { cosine_decay(x, iota({5}), 1); }}};
  return all;
}

const std::vector<Wrong>& wrong_trainings() {
  static const std::vector<Wrong> all{
      {"global_norm", [](Model&, Value) { global_norm({}); }},
      {"clip_by_global_norm", [](Model&, Value x) { clip_by_global_norm({x}, iota({5})); }},
      {"clip_by_norm", [](Model&, Value x) { clip_by_norm({x}, iota({5})); }},
      {"gradients", [](Model& m, Value x) { gradients(x, m.params()); }},
      {"minimize", [](Model& m, Value x) { minimize(x, m.params(), Sgd{}); }},
      {"minimize without parameters", [](Model&, Value x) { minimize(sum(x), {}, Sgd{}); }},
      {"minimize groups",
       [](Model& m, Value x) { minimize(sum(x), {{m.params(), Sgd{}}, {m.params(), Adam{}}}); }},
      {"a rate",
       [](Model& m, Value x) {
         const Param w = m.param("w", {2}, constant(1));
         minimize(sum(x * w), {w}, Momentum{.rate = iota({5})});
       }},
      {"gradients of another shape",
       [](Model& m, Value x) { Rmsprop{}.update({m.param("w", {2}, constant(1))}, {x}); }},
      {"Adagrad",
       [](Model& m, Value x) { Adagrad{}.update({m.param("w", {2}, constant(1))}, {x}); }},
      {"Adam", [](Model& m, Value x) { Adam{}.update({m.param("w", {2}, constant(1))}, {x}); }},
      {"Accumulator",
       [](Model& m, Value x) { Accumulator{}.add({m.param("w", {2}, constant(1))}, {x}); }},
      {"Lstm::step's state",
       [](Model& m, Value x) {
         State h(filled({3, 2}, 0)), c(filled({1, 2}, 0));
         Lstm(m, "r", 2, 2).step(x, h, c);
       }},
      {"Gru::step's state",
       [](Model& m, Value x) {
         State h(filled({1, 2}, 0));
         Gru(m, "r", 2, 2).step(x, h);
       }},
      {"Rnn::step's state",
       [](Model& m, Value x) {
         State h(filled({1, 2}, 0));
         Rnn(m, "r", 2, 2).step(x, h);
       }},
      {"assign",
       [](Model& m, Value) {
         assign({m.param("w", {2}, constant(1))}, {m.param("v", {3}, constant(1))});
       }},
      {"only", [](Model& m, Value) { static_cast<void>(m.params().only("none")); }},
      {"a state",
       [](Model&, Value x) {
         State h(x);
         h = sum(x);
       }},
      {"a state twice", [](Model& m, Value) {
         m.state("s", {f32, {2}});
         m.state("s", {f32, {3}});
       }}};
  return all;
}

TEST(Places, AnErrorIsAtTheLineOfTheUserAndNeverAtOneOfOurs) {
  std::vector<Wrong> calls = wrong_layers();
  calls.insert(calls.end(), wrong_functions().begin(), wrong_functions().end());
  calls.insert(calls.end(), wrong_trainings().begin(), wrong_trainings().end());
  for (const Wrong& wrong : calls) {
    Model model("wrong");
    model.graph("g", Mode::training, [&](Inputs& in) {
      const Value x = in("x", f32, {3, 2});
      wrong.make(model, x);
      return x;
    });
    try {
      model.trace("g", Extents{});
      ADD_FAILURE() << wrong.what << ": wanted an error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << wrong.what << ": " << error.what();
      EXPECT_THAT(error.where().file == nullptr ? "" : error.where().file,
                  HasSubstr("places_test.cpp"))
          << wrong.what << ": " << error.what();
    }
  }
}

TEST(Places, SoIsOneOfFitAndOfMeanLoss) {
  Model model("losses");
  model.graph("rows", [](Inputs& in) { return in("x", f32, {"n"}) * 2; });
  model.graph("two", [](Inputs& in) {
    const Value x = in("x", f32, {"n"});
    return Results{{"a", x}, {"b", x}};
  });
  model.graph("none", [](Inputs& in) {
    in("x", f32, {"n"});
    return Results();
  });
  Session session(model, {.target = "reference", .announce = [](const std::string&) {}});
  const InputsOf inputs = [](std::span<const int64_t> samples) {
    return std::vector<Data>{Data(std::vector<float>(samples.size(), 1))};
  };
  const InputsOf too_many = [](std::span<const int64_t>) {
    return std::vector<Data>{Data(1), Data(2)};
  };
  FitOptions options{.samples = 6, .inputs = inputs, .progress = false};
  const auto place = [&](const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
      EXPECT_THAT(error.where().file == nullptr ? "" : error.where().file,
                  HasSubstr("places_test.cpp"))
          << error.what();
      return std::string(error.what());
    }
    return std::string("none");
  };
  for (const char* graph : {"rows", "two", "none", "unknown"}) {
    options.graph = graph;
    EXPECT_THAT(place([&] { fit(session, options); }), HasSubstr(graph));
    if (graph != std::string("unknown")) {
      EXPECT_THAT(place([&] { mean_loss(session, graph, {{0, 1}}, inputs); }), HasSubstr(graph));
    }
  }
  options.graph = "rows";
  options.inputs = too_many;
  EXPECT_THAT(place([&] { fit(session, options); }), HasSubstr("input 'x'"));
}

}  // namespace
}  // namespace graphc::core
