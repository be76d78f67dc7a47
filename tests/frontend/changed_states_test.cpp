// SPDX-License-Identifier: Apache-2.0
// Whatever an executable keeps of weights from call to call, every way of changing them shows in
// the next call: a session that has run for a while gives the bits of one that has just begun.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "frontend/graphc.h"
#include "models/random_inputs.h"
#include "models/registry.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;

using Literals = std::vector<Literal>;

SessionOptions quiet(std::string target, int threads, int kept = 8) {
  SessionOptions options{
      .target = std::move(target), .seed = 3, .kept = kept, .announce = [](const std::string&) {}};
  options.compile.threads = threads;
  return options;
}

Literal halved(const Literal& value) {
  Literal half = value;
  for (float& x : half.mutable_data<float>()) x /= 2;
  return half;
}

/// Within what f32 makes of f64, for the sizes of these tests.
void expect_near(const Literal& found, const Literal& wanted) {
  ASSERT_EQ(found.shape(), wanted.shape());
  double largest = 0;
  for (int64_t i = 0; i < wanted.elements(); ++i)
    largest = std::max(largest, std::abs(wanted.element(i)));
  for (int64_t i = 0; i < wanted.elements(); ++i)
    ASSERT_NEAR(found.element(i), wanted.element(i), 1e-4 * largest) << "element " << i;
}

/// A program in a session of its own, compared in each call with sessions that begin with its
/// states.
class Watched {
 public:
  Watched(const std::string& model, const std::vector<std::string>& parameters, int threads,
          int kept = 8)
      : program(make_program(model, parameters)),
        options_(quiet("cpu", threads, kept)),
        session(program->model(), options_) {}

  /// Calls a graph; all its results and states have the bits that a fresh session gives, and are
  /// near what the evaluator gives in f64. Returns the results, and the states that are the
  /// graph's own.
  Literals call(const std::string& graph, const std::vector<Tensor>& inputs) {
    const std::string path = file("before");
    session.save(path, Saving::everything);
    const Literals found = results_of(session, graph, inputs);
    const auto states = states_of(session);
    Session fresh(program->model(), options_);
    fresh.load(path);
    const Literals same = results_of(fresh, graph, inputs);
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(found[i] == same[i]) << graph << ": bits of result " << i << " differ";
    for (const auto& [name, value] : states_of(fresh))
      EXPECT_TRUE(states.at(name) == value) << graph << ": bits of state " << name << " differ";
    SessionOptions exact = quiet("reference", 0);
    exact.compile.precision = Precision::f64;
    Session evaluator(program->model(), exact);
    evaluator.load(path);
    const Literals wanted = results_of(evaluator, graph, inputs);
    for (size_t i = 0; i < found.size(); ++i) expect_near(found[i], wanted[i]);
    Literals all = found;
    for (const auto& [name, value] : states) {
      if (name.starts_with(graph + ".")) all.push_back(value);
    }
    return all;
  }

  Literals call(const std::string& graph, uint64_t seed) {
    return call(graph, program->random_inputs(graph, seed));
  }

  std::string file(const std::string& name) const {
    return (folder_.path() / (name + ".safetensors")).string();
  }

  std::unique_ptr<Program> program;

 private:
  static Literals results_of(Session& session, const std::string& graph,
                             const std::vector<Tensor>& inputs) {
    Literals results;
    for (const Tensor& tensor : session.run(graph, inputs)) results.push_back(tensor.copy());
    return results;
  }

  std::map<std::string, Literal> states_of(Session& from) const {
    std::map<std::string, Literal> states;
    for (const auto& cell : program->model().states())
      states.emplace(cell->name, from.state(cell->name));
    return states;
  }

  TemporaryFolder folder_;
  SessionOptions options_;

 public:
  Session session;
};

/// Each way of changing parameters, with `evaluate` before and after: calls that read them, on the
/// same inputs and from the same other states, so that equal parameters give equal values.
void change_in_every_way(Watched& watched, const std::function<Literals()>& evaluate) {
  Session& session = watched.session;
  const Literals first = evaluate();
  session.save(watched.file("first"));
  std::vector<Literals> seen{first};
  const auto expect_another = [&](const char* after) {
    SCOPED_TRACE(after);
    const Literals now = evaluate();
    for (const Literals& before : seen) EXPECT_FALSE(now == before);
    seen.push_back(now);
  };
  watched.call("train", 1);
  expect_another("a step");
  watched.call("train", 2);
  watched.call("train", 3);
  expect_another("two more");

  const Params& params = watched.program->model().params();
  for (const Param& param : params) {
    const Literal before = session.state(param.name());
    session.set_state(param.name(), halved(before));
    if (!(before == session.state(param.name()))) expect_another(param.name().c_str());
  }
  session.load(watched.file("first"));
  EXPECT_TRUE(evaluate() == first);

  Safetensors content = read_safetensors(watched.file("first"));
  auto& [name, value] = *content.arrays.rbegin();
  value = halved(value);
  content.arrays.erase(content.arrays.begin());
  write_safetensors(watched.file("part"), content);
  error_of(ErrorKind::input, [&] { session.load(watched.file("part")); });
  EXPECT_TRUE(evaluate() == first);
  session.load(watched.file("part"), Loading::partial);
  expect_another("a part of a file");

  watched.call("train", 4);
  for (const Param& param : params) session.reset(param.name());
  EXPECT_TRUE(evaluate() == first);
}

TEST(ChangedStatesCpu, ShowInTheNextCallOfARecurrentLayer) {
  for (int threads : {1, 2}) {
    SCOPED_TRACE(threads);
    Watched watched("lstm-layer", {"hidden=24", "steps=4", "batch=6"}, threads);
    change_in_every_way(watched, [&] { return watched.call("forward", 7); });
  }
}

TEST(ChangedStatesCpu, ShowInEveryShapeOfAGraph) {
  // Executables for both batches share what they may; with one kept they come and go.
  for (int kept : {8, 1}) {
    SCOPED_TRACE(kept);
    Watched watched("lstm-layer", {"hidden=24", "steps=3", "batch=4"}, 2, kept);
    change_in_every_way(watched, [&] {
      watched.call("forward", {random_uniform({3, 9, 24}, 5)});
      return watched.call("forward", 7);
    });
  }
}

TEST(ChangedStatesCpu, ShowInTheNextCallOfALanguageModel) {
  for (int threads : {1, 2}) {
    SCOPED_TRACE(threads);
    Watched watched("ptb-lm", {"size=test"}, threads);
    change_in_every_way(watched, [&] {
      for (const auto& cell : watched.program->model().states()) {
        if (cell->name.starts_with("forward.") || cell->name.starts_with("test."))
          watched.session.reset(cell->name);
      }
      watched.call("test", 5);
      return watched.call("forward", 7);
    });
  }
}

TEST(ChangedStatesCpu, ShowAfterACallThatFailed) {
  for (int threads : {1, 2}) {
    Watched watched("ptb-lm", {"size=test"}, threads);
    watched.call("forward", 1);
    watched.call("train", 1);
    std::vector<Tensor> wrong = watched.program->random_inputs("train", 2);
    Literal tokens = wrong[0].copy();
    tokens.mutable_data<int32_t>()[7] = -1;
    wrong[0] = tokens;
    error_of(ErrorKind::input, [&] { watched.session.run("train", wrong); });
    watched.call("forward", 1);
    watched.call("train", 3);
  }
}

TEST(ChangedStatesCpu, OfOneSessionDoNotShowInAnother) {
  const auto program = make_program("lstm-layer", {"hidden=24", "steps=4", "batch=6"});
  Session still(program->model(), quiet("cpu", 1)), trained(program->model(), quiet("cpu", 1));
  const std::vector<Tensor> inputs = program->random_inputs("forward", 7);
  const auto evaluate = [&](Session& session) { return Tensor(session.run("forward", inputs)); };
  const Literal before = evaluate(still).copy();
  EXPECT_TRUE(evaluate(trained).literal() == before);
  trained.run("train", program->random_inputs("train", 1));
  EXPECT_FALSE(evaluate(trained).literal() == before);
  EXPECT_TRUE(evaluate(still).literal() == before);
}

}  // namespace
}  // namespace graphc::core
