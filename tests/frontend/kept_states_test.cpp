// SPDX-License-Identifier: Apache-2.0
// What is saved and loaded: every kind of state, in graphs that read it and graphs that write it.
// A session that is saved after a random call and loaded in a new one gives what the one that was
// not stopped gives, to the last bit, whatever had been traced before.
#include <gmock/gmock.h>

#include <random>

#include "frontend/graphc.h"
#include "models/random_inputs.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/counts.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kOptimizers{"sgd",     "momentum", "rmsprop",
                                           "adagrad", "adam",     "accumulator"};
const std::vector<std::string> kGraphs{"train", "read", "count", "scratch", "draw", "take"};

SessionOptions quiet() {
  return {.target = "reference", .seed = 3, .announce = [](const std::string&) {}};
}

/// A state of each kind, declared with the model or by a graph, and graphs that read and write
/// them.
struct EveryKind {
  Model model{"every_kind"};
  Param w = model.param("w", {3}, constant(1));
  State calls = model.state("calls", {i64, {}});  // a buffer
  State scratch = model.state("scratch", {f32, {3}}, zeros(), {.transient = true});
  std::string optimizer;

  explicit EveryKind(std::string name) : optimizer(std::move(name)) {
    model.graph("train", Mode::training, [this](Inputs& in) { return train(in); });
    model.graph("read", [this](Inputs& in) {
      const Value x = in("x", f32, {3});
      return Results{{"y", (x - mean_of(in)) * w}, {"calls", calls}};
    });
    model.graph("count", [this](Inputs& in) {
      const Value x = in("x", f32, {3});
      calls = calls + 1;
      return sum(x) + cast(calls, f32);
    });
    model.graph("scratch", [this](Inputs& in) {
      const Value x = in("x", f32, {3});
      scratch = scratch * 0.5 + x;
      return Value(scratch);
    });
    model.graph("draw", Mode::training,
                [](Inputs& in) { return dropout(in("x", f32, {3}), {.keep = 0.5}); });
    model.graph("take", Mode::training, [this](Inputs& in) {
      const Value x = in("x", f32, {3});
      const Params params{w, declared_gain()};
      if (optimizer == "accumulator") Sgd{}.update(params, Accumulator{}.take(params));
      return sum(x * w);
    });
  }

  /// A buffer that graphs declare: two of them.
  static State mean_of(Inputs& in) { return in.state("norm.mean", {f32, {3}}, constant(0.25)); }

  Param declared_gain() { return model.param("gain", {3}, constant(2)); }

  Value train(Inputs& in) {
    const Value x = in("x", f32, {3});
    State mean = mean_of(in);
    State carried = in.state("carried", {f32, {3}}, zeros(), {.transient = true});
    const Param gain = declared_gain();
    mean = 0.9 * mean + 0.1 * x;
    carried = tanh(carried + dropout(w * (x - mean), {.keep = 0.8}));
    const Value loss = sum(square(gain * carried - x));
    const Params params{w, gain};
    const Values d = gradients(loss, params);
    if (optimizer == "sgd") Sgd{}.update(params, d);
    if (optimizer == "momentum") Momentum{}.update(params, d);
    if (optimizer == "rmsprop") Rmsprop{}.update(params, d);
    if (optimizer == "adagrad") Adagrad{}.update(params, d);
    if (optimizer == "adam") Adam{}.update(params, d);
    if (optimizer == "accumulator") Accumulator{}.add(params, d);
    return loss;
  }
};

/// A call of a graph, and its input.
struct Call {
  std::string graph;
  Tensor x;
};

std::vector<Call> random_calls(uint64_t seed, size_t count) {
  std::mt19937_64 draw(seed);
  std::vector<Call> calls;
  for (size_t i = 0; i < count; ++i)
    calls.push_back({kGraphs[draw() % kGraphs.size()], random_uniform({3}, draw())});
  return calls;
}

/// What a session, or a model from a file, gives for each of the calls.
template <typename Session>
std::vector<Literal> run(Session& session, std::span<const Call> calls) {
  std::vector<Literal> found;
  for (const Call& call : calls) {
    for (const Tensor& result : session(call.graph, call.x)) found.push_back(result.copy());
  }
  return found;
}

/// How a new session gets what the one before saved.
enum class Way { untraced, traced, some_traced, partial, through_another, exported };
constexpr Way kWays[] = {Way::untraced, Way::traced,          Way::some_traced,
                         Way::partial,  Way::through_another, Way::exported};

/// What comes of the calls behind a stop.
std::vector<Literal> gone_on(const std::string& optimizer, Session& stopped, Way way, uint64_t seed,
                             std::span<const Call> calls) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "all.safetensors").string();
  if (way == Way::exported) {
    const std::string path = (folder.path() / "model.graphc").string();
    save(stopped, kGraphs, {}, path);
    LoadedModel loaded(path, quiet());
    return run(loaded, calls);
  }
  stopped.save(file, Saving::everything);
  if (way == Way::through_another) {
    EveryKind between(optimizer);
    Session session(between.model, quiet());
    session.load(file);
    session.save(file, Saving::everything);
  }
  EveryKind again(optimizer);
  Session session(again.model, quiet());
  for (size_t i = 0; i < kGraphs.size(); ++i) {
    if (way == Way::traced || (way == Way::some_traced && (seed >> i & 1) != 0))
      again.model.trace(kGraphs[i], Extents{});
  }
  const LoadReport report =
      session.load(file, way == Way::partial ? Loading::partial : Loading::strict);
  EXPECT_THAT(report.missing, ElementsAre());
  EXPECT_THAT(report.extra, ElementsAre());
  return run(session, calls);
}

TEST(KeptStates, SavedAndLoadedInANewSessionIsGoingOn) {
  constexpr size_t kCalls = 15;  // no multiple of 7: stops are everywhere
  uint64_t seed = 0;
  for (const std::string& optimizer : kOptimizers) {
    for (const Way way : kWays) {
      for (int trial = 0; trial < 3; ++trial) {
        const std::vector<Call> calls = random_calls(++seed, kCalls);
        const size_t stop = seed * 7 % kCalls;
        EveryKind kinds(optimizer);
        Session session(kinds.model, quiet());
        run(session, std::span(calls).first(stop));
        const std::vector<Literal> found =
            gone_on(optimizer, session, way, seed, std::span(calls).subspan(stop));
        EXPECT_TRUE(found == run(session, std::span(calls).subspan(stop)))
            << optimizer << ", way " << int(way) << ", calls of seed " << seed << " stopped after "
            << stop;
        testing::count("saved and loaded", 1);
      }
    }
  }
}

TEST(KeptStates, AFileOfTheModelHasParametersAndBuffersAndPredictsAlike) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "model.safetensors").string();
  for (const std::string& optimizer : kOptimizers) {
    for (const bool traced : {false, true}) {
      const std::vector<Call> calls = random_calls(11, 20);
      EveryKind kinds(optimizer), again(optimizer);
      Session session(kinds.model, quiet()), loaded(again.model, quiet());
      run(session, calls);
      session.save(file);
      std::vector<std::string> names;
      for (const auto& [name, value] : read_safetensors(file).arrays) names.push_back(name);
      EXPECT_THAT(names, ElementsAre("calls", "gain", "norm.mean", "w"));
      if (traced) {
        for (const std::string& graph : kGraphs) again.model.trace(graph, Extents{});
      }
      loaded.load(file);
      const std::vector<Call> reads{
          {"read", calls[0].x}, {"count", calls[1].x}, {"read", calls[2].x}};
      EXPECT_TRUE(run(session, reads) == run(loaded, reads)) << optimizer;
      EXPECT_EQ(loaded.state("norm.mean"), session.state("norm.mean"));
    }
  }
}

TEST(KeptStates, WhatAFileOfTheModelAwaitsIsInTheNextOne) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "model.safetensors").string();
  EveryKind a("adam"), b("adam");
  Session first(a.model, quiet()), second(b.model, quiet());
  run(first, random_calls(5, 20));
  first.save(file);
  const Safetensors wanted = read_safetensors(file);
  EXPECT_EQ(wanted.metadata.at("saved"), "model");
  EXPECT_THAT(second.load(file).awaited, ElementsAre("gain", "norm.mean"));
  second.save(file);
  EXPECT_TRUE(read_safetensors(file).arrays == wanted.arrays);
  EXPECT_EQ(read_safetensors(file).metadata, wanted.metadata);
}

/// Runs every graph after a strict loading; what that says, or nothing.
std::string refusal(const std::string& file, bool traced) {
  EveryKind kinds("adam");
  Session session(kinds.model, quiet());
  try {
    if (traced) {
      for (const std::string& graph : kGraphs) kinds.model.trace(graph, Extents{});
    }
    session.load(file);
    for (const std::string& graph : kGraphs) session(graph, random_uniform({3}, 1));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
}

// Each array of a file is taken out of it, and each has another name: whoever loads it strictly
// hears of it, before anything is computed from it, if it is of the model.
TEST(KeptStates, NoParameterAndNoBufferIsMissedInSilence) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "all.safetensors").string();
  EveryKind kinds("adam");
  Session session(kinds.model, quiet());
  for (const std::string& graph : kGraphs) session(graph, random_uniform({3}, 2));
  session.save(file, Saving::everything);
  const Safetensors whole = read_safetensors(file);
  EXPECT_EQ(whole.arrays.size(), 13u);
  for (const auto& [name, value] : whole.arrays) {
    const bool of_model = !kinds.model.state_cell(name)->transient;
    for (const bool traced : {false, true}) {
      Safetensors content = whole;
      content.arrays.erase(name);
      write_safetensors(file, content);
      if (of_model) {
        EXPECT_THAT(refusal(file, traced), AllOf(HasSubstr("all.safetensors"), HasSubstr(name)));
      } else {
        EXPECT_EQ(refusal(file, traced), "") << name;
      }
      content.arrays.emplace(name + "s", value);
      write_safetensors(file, content);
      EXPECT_THAT(refusal(file, traced), HasSubstr("unknown to the model (1): " + name + "s"));
    }
  }
}

TEST(KeptStates, AStateIsTransientInEveryGraphOrInNone) {
  Model m("m");
  m.state("h", {f32, {2}}, zeros(), {.transient = true});
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.state("h", {f32, {2}}); }),
              HasSubstr("state 'h' is a buffer: declared as transient before"));
  // A user's name that an optimizer wants.
  const Param w = m.param("w", {2}, zeros());
  m.state("w.momentum", {f32, {2}});
  m.graph("train", Mode::training, [&](Inputs&) {
    const Value loss = sum(w);
    minimize(loss, {w}, Momentum{});
    return loss;
  });
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.trace("train", Extents{}); }),
              HasSubstr("'w.momentum' has the name of state 'w.momentum' of model 'm': it needs "
                        "another"));
}

TEST(KeptStates, AStrictFileWithoutABufferSaysHowOneIsNotKept) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "w.safetensors").string();
  EveryKind kinds("sgd");
  Session session(kinds.model, quiet());
  write_safetensors(file, {{{"w", session.state("w")}}, {}});
  try {
    session.load(file);
    ADD_FAILURE() << "wanted an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("missing in the file (1): calls"),
                                    HasSubstr("state 'calls' is a buffer: what is not of the model "
                                              "is declared {.transient = true}")));
  }
  EXPECT_THAT(session.load(file, Loading::partial).missing, ElementsAre("calls"));
}

TEST(KeptStates, WhatAFileSaysOfItsStatesIsChecked) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "w.safetensors").string();
  EveryKind kinds("sgd");
  Session session(kinds.model, quiet());
  for (const char* text : {"nonsense w\n", "buffer", " ", "\n"}) {
    write_safetensors(file, {{{"w", session.state("w")}}, {{"declared_by_graphs", text}}});
    EXPECT_THAT(error_of(ErrorKind::input, [&] { session.load(file, Loading::partial); }),
                HasSubstr("w.safetensors: its metadata say of states that graphs declare '"));
    testing::count("bad inputs", 1);
  }
}

}  // namespace
}  // namespace graphc::core
