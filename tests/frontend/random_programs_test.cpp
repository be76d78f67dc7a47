// SPDX-License-Identifier: Apache-2.0
// Random programs over the public frontend: states, copies, handles, moves, lists, loops in loops,
// parameters. Their meaning is computed beside them by an interpreter on plain numbers, which knows
// what a state is (a variable) and nothing of traces.
#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

#include "frontend/graphc.h"

namespace graphc::core {
namespace {

using Numbers = std::vector<double>;

/// A program as a list of actions; the same actions are done to states of a trace and to numbers.
/// `Number` is a Value or a double, `Variable` a State or a double.
class Program {
 public:
  explicit Program(uint64_t seed) : seed_(seed) {}

  static constexpr int kStates = 4, kParams = 3;

  /// Runs the actions. `loop(steps, body)` runs the body for x of each step.
  template <typename World>
  std::vector<typename World::Number> run(World& world) const {
    std::mt19937_64 random(seed_);
    std::vector<typename World::Number> results;
    block(world, random, 0, world.start(), results);
    for (int i = 0; i < kStates; ++i) results.push_back(world.read(i));
    for (int i = 0; i < kParams; ++i) results.push_back(world.read_param(i));
    return results;
  }

 private:
  /// The last of what a loop gives whose body is one program, whatever the step.
  template <typename World>
  typename World::Number loop(World& world, uint64_t inner, int depth) const {
    using Number = typename World::Number;
    return world.loop(1 + int(inner % 3), [&](Number step) {
      std::mt19937_64 random(inner);
      std::vector<Number> unused;
      block(world, random, depth + 1, step, unused);
      return world.read(int(inner % kStates));
    });
  }

  template <typename World>
  void block(World& world, std::mt19937_64& random, int depth, typename World::Number x,
             std::vector<typename World::Number>& results) const {
    using Number = typename World::Number;
    const auto pick = [&](int count) { return int(random() % uint64_t(count)); };
    std::vector<Number> kept{x};  // copies of states and values so far
    const int actions = 3 + pick(6);
    for (int action = 0; action < actions; ++action) {
      const int a = pick(kStates), b = pick(kStates);
      const Number some = kept[size_t(pick(int(kept.size())))];
      const double number = 0.25 * (1 + pick(8));
      switch (pick(13)) {
        case 0:
          world.assign(a, some * 0.5 + world.read(b));
          break;
        case 1:
          world.assign(a, number);
          break;
        case 2:
          world.add(a, some);
          break;
        case 3:
          world.multiply(a, number);
          break;
        case 4:
          world.copy(a, b);
          break;
        case 5:
          world.swap(a, b);
          break;
        case 6:
          kept.push_back(world.copied(a));
          break;
        case 7:
          kept.push_back(world.exchanged(a, some - number));
          break;
        case 8:
          world.rotate(1 + pick(kStates - 1));
          break;
        case 9:
          world.through_handle(a, some);
          break;
        case 10:
          kept.push_back(world.read_param(pick(kParams)) * number + world.read(b));
          break;
        case 11:
          if (depth == 0) world.assign_param(pick(kParams), some);
          break;
        default:
          if (depth < 2) kept.push_back(loop(world, random(), depth));
      }
    }
    if (depth == 0) results.insert(results.end(), kept.begin(), kept.end());
  }

  uint64_t seed_;
};

/// States of a trace.
struct TracedWorld {
  using Number = Value;

  std::vector<State> states;
  std::vector<Param> params;
  Value x;  ///< [3, 1]: what loops go over

  Value start() const { return at(x, 0); }
  Value read(int i) const { return states[size_t(i)]; }
  Value read_param(int i) const { return params[size_t(i)]; }
  void assign(int i, Operand value) { states[size_t(i)] = value; }
  void add(int i, Value value) { states[size_t(i)] += value; }
  void multiply(int i, double number) { states[size_t(i)] *= number; }
  void copy(int i, int j) { states[size_t(i)] = states[size_t(j)]; }
  void swap(int i, int j) { std::swap(states[size_t(i)], states[size_t(j)]); }
  Value copied(int i) {
    const State copy = states[size_t(i)];
    return copy;
  }
  Value exchanged(int i, Value value) { return std::exchange(states[size_t(i)], Operand(value)); }
  void rotate(int by) { std::rotate(states.begin(), states.begin() + by, states.end()); }
  void through_handle(int i, Value value) {
    State handle = states[size_t(i)].handle();
    handle = handle - value;
  }
  void assign_param(int i, Value value) {
    Param param = params[size_t(i)];
    param = param * 0.5 + value;
  }
  Value loop(int steps, const std::function<Value(Value)>& body) {
    return at(scan(slice(x, 0, 0, steps), body), -1);
  }
};

/// Numbers.
struct PlainWorld {
  using Number = double;

  Numbers states, params, x;

  double start() const { return x[0]; }
  double read(int i) const { return states[size_t(i)]; }
  double read_param(int i) const { return params[size_t(i)]; }
  void assign(int i, double value) { states[size_t(i)] = value; }
  void add(int i, double value) { states[size_t(i)] += value; }
  void multiply(int i, double number) { states[size_t(i)] *= number; }
  void copy(int i, int j) { states[size_t(i)] = states[size_t(j)]; }
  void swap(int i, int j) { std::swap(states[size_t(i)], states[size_t(j)]); }
  double copied(int i) { return states[size_t(i)]; }
  double exchanged(int i, double value) { return std::exchange(states[size_t(i)], value); }
  void rotate(int by) { std::rotate(states.begin(), states.begin() + by, states.end()); }
  void through_handle(int i, double value) { states[size_t(i)] -= value; }
  void assign_param(int i, double value) { params[size_t(i)] = params[size_t(i)] * 0.5 + value; }
  double loop(int steps, const std::function<double(double)>& body) {
    double last = 0;
    for (int step = 0; step < steps; ++step) last = body(x[size_t(step)]);
    return last;
  }
};

/// Runs one program on states of the model and of the trace, twice in a session, and on numbers.
void expect_same(uint64_t seed, const char* target) {
  const Program program(seed);
  PlainWorld plain{.states = {1, -2, 3, -4}, .params = {0.5, -1.5, 2.5}, .x = {0.75, -0.5, 1.25}};
  const Numbers first = plain.states;
  Model m("m");
  std::vector<State> kept;
  std::vector<Param> params;
  for (int i = 0; i < 2; ++i) {
    kept.push_back(
        m.state("kept." + std::to_string(i), {f32, {1}}, constant(plain.states[size_t(i)])));
  }
  for (int i = 0; i < Program::kParams; ++i) {
    params.push_back(m.param("w." + std::to_string(i), {1}, constant(plain.params[size_t(i)])));
  }
  m.graph("g", [&](Inputs& in) {
    TracedWorld world{.states = {}, .params = params, .x = in("x", f32, {3, 1})};
    world.states.push_back(kept[0].handle());
    world.states.push_back(kept[1].handle());
    world.states.push_back(State(filled({1}, first[2])));
    world.states.push_back(State(filled({1}, first[3])));
    return program.run(world);
  });
  const bool exact = std::string_view(target) == "reference";
  const double tolerance = exact ? 1e-9 : 1e-3;
  Session session(m,
                  {.target = target,
                   .compile = {.precision = exact ? Precision::f64 : Precision::f32, .threads = 1},
                   .announce = [](const std::string&) {}});
  for (int call = 0; call < 2; ++call) {
    plain.states[2] = first[2];  // states of the trace begin anew, those of the model go on
    plain.states[3] = first[3];
    const Numbers wanted = program.run(plain);
    const Outputs found = session("g", Data(plain.x, {3, 1}));
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_NEAR(found[i].literal().element(0), wanted[i], tolerance * (1 + std::abs(wanted[i])))
          << "seed " << seed << " target " << target << " call " << call << " result " << i;
    }
    for (int i = 0; i < 2; ++i) {
      ASSERT_NEAR(session.state("kept." + std::to_string(i)).element(0), plain.states[size_t(i)],
                  tolerance * (1 + std::abs(plain.states[size_t(i)])))
          << "seed " << seed;
    }
  }
}

/// GRAPHC_FRONTEND_PROGRAMS=N asks for more, GRAPHC_SEED=N for others.
uint64_t number_of(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(RandomPrograms, MeanWhatTheyMeanOnNumbers) {
  const uint64_t count = number_of("GRAPHC_FRONTEND_PROGRAMS", 300);
  const uint64_t first = number_of("GRAPHC_SEED", 1);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    expect_same(seed, "reference");
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RandomProgramsCpu, MeanWhatTheyMeanOnNumbers) {
  for (uint64_t seed = 1001; seed < 1021; ++seed) {
    expect_same(seed, "cpu");
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace graphc::core
