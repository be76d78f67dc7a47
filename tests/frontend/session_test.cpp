// SPDX-License-Identifier: Apache-2.0
// Sessions: compiling again for other shapes, states, files.
#include "frontend/session.h"

#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "frontend/shared_graph.h"
#include "models/random_inputs.h"
#include "runtime/arena.h"
#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// y = x w + b with a counter of calls.
struct Counted {
  Model model{"counted"};
  Param w = model.param("w", {3, 2}, uniform(0.5)), b = model.param("b", {2}, constant(1));
  State calls = model.state("calls", {DType::i64, {}}, zeros(), {.transient = true});
  int traces = 0;

  Counted() {
    model.graph("f", [this](Inputs& in) {
      ++traces;
      calls = calls + 1;
      return matmul(in("x", f32, {"batch", 3}), w) + b;
    });
  }
};

SessionOptions telling(std::vector<std::string>& lines, Precision precision = Precision::f32) {
  SessionOptions options{.target = "reference",
                         .announce = [&](const std::string& line) { lines.push_back(line); }};
  options.compile.precision = precision;
  return options;
}

TEST(Session, CompilesOnceForAShapeAndSaysWhenItCompilesAgain) {
  Counted counted;
  std::vector<std::string> lines;
  Session session(counted.model, telling(lines));
  const Tensor three = random_uniform({3, 3}, 1), four = random_uniform({4, 3}, 2);
  session("f", three);
  session("f", three);
  EXPECT_EQ(counted.traces, 1);
  EXPECT_THAT(lines, IsEmpty());
  session("f", four);
  session("f", three);
  EXPECT_EQ(counted.traces, 2);
  EXPECT_THAT(lines, ElementsAre("compiled again: f: batch 3 -> 4"));
  EXPECT_EQ(session.state("calls").element(0), 4);
}

/// What a loop that carries a number for all rows together gives.
Results in_pieces(Inputs& in) {
  const Value x = in("x", f32, {"steps", 4, 3});
  State h(filled({4, 3}, 0)), s(filled({}, 1));
  return scan(x, [&](Value x_t) {
    h = tanh(h * s + x_t);
    s = sum(h);
    return h;
  });
}

TEST(SessionCpu, SaysOnceWhichLoopIsNotOneKernelAndWhy) {
  Model model("pieces");
  model.graph("f", in_pieces);
  std::vector<std::string> lines;
  SessionOptions options = telling(lines);
  options.target = "cpu";
  Session session(model, options);
  session("f", random_uniform({5, 4, 3}, 1));
  session("f", random_uniform({6, 4, 3}, 1));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("session_test.cpp:"),
                              HasSubstr("a loop, not one recurrent kernel: ")));
  EXPECT_EQ(lines[1], "compiled again: f: steps 5 -> 6");
}

TEST(SessionCpu, AProfileHasEveryKernelAndItsLine) {
  Model model("pieces");
  model.graph("f", in_pieces);
  std::vector<std::string> lines;
  SessionOptions options = telling(lines);
  options.target = "cpu";
  Session session(model, options);
  const std::vector<KernelTime> times = session.profile("f", random_uniform({5, 4, 3}, 1));
  ASSERT_FALSE(times.empty());
  int64_t calls = 0;
  for (const KernelTime& time : times) {
    EXPECT_GT(time.seconds, 0) << time.name;
    calls = std::max(calls, time.calls);
    if (!time.where) continue;
    EXPECT_THAT(time.where.file, HasSubstr("session_test.cpp")) << time.name;
  }
  EXPECT_EQ(calls, 5);
  options.target = "reference";
  Session other(model, options);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { other.profile("f", random_uniform({5, 4, 3}, 1)); }),
              HasSubstr("does not say"));
}

TEST(SessionCpu, ATraceHasEveryStepOfALoopInPiecesOnEveryWorker) {
  Model model("pieces");
  model.graph("f", in_pieces);
  std::vector<std::string> lines;
  SessionOptions options = telling(lines);
  options.target = "cpu";
  options.compile.threads = 2;
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "trace.json").string();
  options.trace = std::make_shared<TraceFile>(path);
  options.traced_runs = 1;
  std::optional<Session> session(std::in_place, model, options);
  const Tensor x = random_uniform({5, 4, 3}, 1);
  (*session)("f", x);
  session->profile("f", x);  // a measurement of its own, which the trace is not to take away
  (*session)("f", x);
  session.reset();
  options.trace.reset();
  const std::string text = read_file(path);
  const auto count = [&](const std::string& part) {
    int64_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++found;
    return found;
  };
  EXPECT_TRUE(text.ends_with("}\n]\n"));
  EXPECT_EQ(count(R"("name":"f")"), 4);
  EXPECT_EQ(count(R"("name":"compile f")"), 1);
  // The kernels of the loop, in each of its five steps, for each of two workers.
  const int64_t once = count(R"("step":0})") + count(R"("step":0,)");
  EXPECT_GE(once, 2);
  EXPECT_EQ(once % 2, 0);
  const auto in_step = [&](int step) {
    return count(fmt::format(R"("step":{}}})", step)) + count(fmt::format(R"("step":{},)", step));
  };
  for (const int step : {1, 2, 3}) EXPECT_EQ(in_step(step), once) << step;
  // Nobody reads the sum that the last step would make.
  EXPECT_GE(in_step(4), 2);
  EXPECT_LT(in_step(4), once);
  EXPECT_EQ(count(R"("step":5)"), 0);
}

TEST(Session, KeepsABoundedNumberOfShapes) {
  Counted counted;
  std::vector<std::string> lines;
  SessionOptions options = telling(lines);
  options.kept = 2;
  Session session(counted.model, options);
  for (const int64_t batch : {1, 2, 1, 3, 1, 2}) session("f", random_uniform({batch, 3}, 1));
  // 1 is always among the two used last; 2 went when 3 came.
  EXPECT_EQ(counted.traces, 4);
}

TEST(Session, ResultsStayWhenTheGraphRunsAgain) {
  Counted counted;
  std::vector<std::string> lines;
  Session session(counted.model, telling(lines));
  const Tensor first = session("f", random_uniform({2, 3}, 1));
  const Literal before = first.copy();
  const Tensor second = session("f", random_uniform({2, 3}, 2));
  EXPECT_EQ(first.literal(), before);
  EXPECT_FALSE(second.literal() == before);
}

TEST(Session, EqualSeedsGiveEqualInitialValuesWhateverIsAsked) {
  Counted a, b;
  std::vector<std::string> lines;
  SessionOptions options = telling(lines);
  options.seed = 5;
  Session first(a.model, options), second(b.model, options);
  (void)second.state("b");
  EXPECT_EQ(first.state("w"), second.state("w"));
  options.seed = 6;
  Session third(a.model, options);
  EXPECT_FALSE(first.state("w") == third.state("w"));
  for (int64_t i = 0; i < 6; ++i) EXPECT_LE(std::abs(first.state("w").element(i)), 0.5);
}

TEST(SessionCpu, NormalNumbersAreDrawnAtTheStartAndInEveryStep) {
  // w from an initialiser, and noise of its own in each step.
  const auto losses_on = [](const char* target) {
    Model model("noisy");
    Param w = model.param("w", {3, 2}, normal(0.5));
    model.graph("train", Mode::training, [&](Inputs& in) {
      const Value x = in("x", f32, {"batch", 3});
      const Value loss = mse(matmul(x, w), normal(random_key(), {x.shape()[0], 2}));
      minimize(loss, {w}, Sgd{0.1});
      return loss;
    });
    Session session(model, {.target = target, .announce = [](const std::string&) {}});
    std::vector<double> losses;
    for (int step = 0; step < 3; ++step)
      losses.push_back(session.run("train", {random_uniform({4, 3}, 1)}).scalar());
    return losses;
  };
  const std::vector<double> wanted = losses_on("reference"), found = losses_on("cpu");
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-5 * wanted[i]);
  EXPECT_NE(found[0], found[1]);
}

TEST(SessionCpu, AnIndexOutsideATableLeavesTheTableAsItWas) {
  Model model("table");
  State table = model.state("table", {DType::f32, {4, 3}}, constant(1));
  model.graph("write", [&](Inputs& in) {
    Value i = in("i", i32, {"n"}), rows = in("rows", f32, {"n", 3});
    table = scatter(table, i, rows);
    return Results();
  });
  std::vector<std::string> lines;
  SessionOptions options = telling(lines);
  options.target = "cpu";
  Session session(model, options);
  const Literal before = session.state("table");
  const std::vector<int32_t> inside{2, 0}, outside{2, 4};
  const Tensor rows = random_uniform({2, 3}, 1);
  EXPECT_THAT(
      error_of(ErrorKind::input, [&] { session("write", Literal(std::span(outside), {2}), rows); }),
      HasSubstr("index 4 at position 1"));
  EXPECT_EQ(session.state("table"), before);
  session("write", Literal(std::span(inside), {2}), rows);
  EXPECT_EQ(session.state("table").element(6), rows.literal().element(0));
}

TEST(SessionCpu, AStateThatCouldNotBeDrawnIsNotThere) {
  // So many elements, and such an operation, that the target draws them.
  Model model("large");
  model.param("w", {100, 100},
              [](Value key, const Type& type) { return abs(uniform(key, type.shape)); });
  std::vector<std::string> lines;
  SessionOptions options = telling(lines);
  options.target = "cpu";
  options.compile.variant = "abacus";
  Session session(model, options);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { session.state("w"); }), HasSubstr("abacus"));
  }
}

TEST(Session, StatesAreSetReadAndReset) {
  Counted counted;
  std::vector<std::string> lines;
  Session session(counted.model, telling(lines));
  const Literal drawn = session.state("w");
  const Literal other = random_uniform({3, 2}, 9).literal();
  session.set_state("w", other);
  EXPECT_EQ(session.state("w"), other);
  const Tensor y = session("f", Literal::zeros({DType::f32, {1, 3}}));
  EXPECT_EQ(y.literal(), Literal::filled({DType::f32, {1, 2}}, 1));
  session.reset("w");
  EXPECT_EQ(session.state("w"), drawn);
  EXPECT_EQ(error_of(ErrorKind::input, [&] { session.set_state("w", Literal::of(1.0f)); }),
            "state 'w' is f32[3,2]: found f32[]");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { session.state("call"); }),
            "model 'counted' has no state 'call'; did you mean 'calls'?");
}

TEST(Session, UnderF64StatesAndResultsAreF64) {
  Counted counted;
  std::vector<std::string> lines;
  Session session(counted.model, telling(lines, Precision::f64));
  const Tensor x = random_uniform({2, 3}, 1);
  const Tensor y = session("f", x);
  EXPECT_EQ(y.dtype(), DType::f64);
  EXPECT_EQ(session.state("w").dtype(), DType::f64);
  const Literal w = session.state("w");
  for (int64_t row = 0; row < 2; ++row) {
    for (int64_t column = 0; column < 2; ++column) {
      double wanted = 1;
      for (int64_t k = 0; k < 3; ++k)
        wanted += x.literal().element(row * 3 + k) * w.element(k * 2 + column);
      EXPECT_NEAR(y.literal().element(row * 2 + column), wanted, 1e-15);
    }
  }
}

TEST(Session, ParametersGoThroughFiles) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "w.safetensors").string();
  Counted a, b;
  std::vector<std::string> lines;
  SessionOptions options = telling(lines);
  Session first(a.model, options);
  first.save(path);
  EXPECT_EQ(read_safetensors(path).arrays.size(), 2u);
  options.seed = 77;
  Session second(b.model, options);
  second.load(path);
  EXPECT_EQ(second.state("w"), first.state("w"));
  first("f", random_uniform({1, 3}, 1));
  first.save(path, Saving::everything);
  second.load(path);
  EXPECT_EQ(second.state("calls").element(0), 1);
}

TEST(Session, AFileOfOtherParametersChangesNothing) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "w.safetensors";
  Counted counted;
  std::vector<std::string> lines;
  Session session(counted.model, telling(lines));
  const Literal before = session.state("b");
  const auto refused = [&](const Safetensors& content) {
    write_safetensors(path, content);
    try {
      session.load(path);
    } catch (const Error& error) {
      EXPECT_EQ(session.state("b"), before);
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const Literal b = Literal::filled({DType::f32, {2}}, 3), w({DType::f32, {3, 2}});
  EXPECT_THAT(refused({{{"b", b}}, {}}), HasSubstr("missing in the file (1): w"));
  EXPECT_THAT(refused({{{"b", b}, {"w", w}, {"other", b}}, {}}),
              HasSubstr("unknown to the model (1): other"));
  EXPECT_THAT(refused({{{"b", b}, {"w", b}}, {}}),
              HasSubstr("state 'w' is f32[3,2]: found f32[2]"));
}

TEST(Session, APartialFileGivesWhatItHasAndSaysWhatItLacks) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "w.safetensors";
  Counted counted;
  std::vector<std::string> lines;
  Session session(counted.model, telling(lines));
  const Literal w = session.state("w"), b = Literal::filled({DType::f32, {2}}, 3);
  write_safetensors(path, {{{"b", b}, {"other", w}}, {}});
  const LoadReport report = session.load(path, Loading::partial);
  EXPECT_THAT(report.loaded, ElementsAre("b"));
  EXPECT_THAT(report.missing, ElementsAre("w"));
  EXPECT_THAT(report.extra, ElementsAre("other"));
  EXPECT_EQ(session.state("b"), b);
  EXPECT_EQ(session.state("w"), w);
  write_safetensors(path, {{{"b", w}}, {}});
  EXPECT_THAT(error_of(ErrorKind::input, [&] { session.load(path, Loading::partial); }),
              HasSubstr("state 'b' is f32[2]: found f32[3,2]"));
  EXPECT_EQ(session.state("b"), b);
}

TEST(Session, AnUnknownTargetIsAnErrorThatListsThem) {
  Counted counted;
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { Session(counted.model, {.target = "abacus"}); }),
              HasSubstr("unknown target 'abacus': there is"));
  std::vector<std::string> lines;
  Session session(counted.model, telling(lines, Precision::fp16));
  EXPECT_EQ(error_of(ErrorKind::usage, [&] { session("f", random_uniform({1, 3}, 1)); }),
            "target 'reference' has no precision 'fp16': it has f32, f64; targets that have it: "
            "'cuda'");
}

TEST(SessionCpu, AllGraphsHaveOneArenaAndRunnersTheirOwn) {
  Model model("layers");
  const Lstm lstm(model, "lstm", 8, 16);
  model.graph("h", [&](Inputs& in) { return Results{{"h", lstm(in("x", f32, {"steps", 4, 8}))}}; });
  const auto arena = std::make_shared<Arena>();
  Session session(model, {.target = "cpu",
                          .compile = {.threads = 1, .cpu = {.arena = arena}},
                          .announce = [](const std::string&) {}});
  const Tensor few = random_uniform({2, 4, 8}, 1), many = random_uniform({20'000, 4, 8}, 2);
  const Literal first = Tensor(session("h", few)).copy();
  const int64_t size = arena->size();
  EXPECT_GT(size, 0);
  session("h", many);
  EXPECT_GT(arena->size(), size);
  EXPECT_EQ(Tensor(session("h", few)).copy(), first);
  const long users = arena.use_count();
  SharedGraph shared(session, "h", {few.type()});
  Runner runner = shared.runner();
  EXPECT_EQ(Tensor(runner(few)).copy(), first);
  EXPECT_EQ(arena.use_count(), users);
}

TEST(Session, TheReportSaysWhereTheTimeWent) {
  Counted counted;
  std::vector<std::string> lines;
  Session session(counted.model, telling(lines));
  const CompileReport& report = session.compile("f", {{DType::f32, {2, 3}}});
  EXPECT_GT(report.trace_s, 0);
  ASSERT_EQ(report.passes.size(), 1u);
  EXPECT_EQ(report.passes[0].pass, "autodiff");
  EXPECT_GE(report.total_s(), report.trace_s + report.passes_s);
}

}  // namespace
}  // namespace graphc::core
