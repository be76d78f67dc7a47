// SPDX-License-Identifier: Apache-2.0
// What outlives what it came from: it keeps what it needs, or is refused. The preset `dev` runs
// this under the address sanitizer, which sees a use of freed memory.
#include <gmock/gmock.h>

#include <optional>
#include <thread>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SessionOptions untold_reference() {
  return {.target = "reference", .announce = [](const std::string&) {}};
}

constexpr const char* kAnotherTrace = "a value is used outside of the trace that made it";
constexpr const char* kAbsent = "a value is used that was never given one";

static_assert(!std::is_copy_constructible_v<Inputs>);
static_assert(!std::is_copy_constructible_v<Model> && !std::is_copy_constructible_v<Session>);

TEST(Lifetimes, OfOutputsAreTheirOwn) {
  std::optional<Outputs> kept;
  std::optional<Tensor> first;
  {
    Model m("m");
    const Linear linear(m, "l", 4, 3);
    m.graph("p", [&](Inputs& in) {
      return Results{{"next", linear(in("x", f32, {"b", 4}))}, {"sum", sum(Value(linear.w))}};
    });
    Session s(m, untold_reference());
    kept = s("p", Data(std::vector<float>(8, 1), {2, 4}));
    first = s("p", Data(std::vector<float>(8, 2), {2, 4}))["next"];
    for (int64_t b = 3; b < 22; ++b) s("p", Data(std::vector<float>(size_t(b) * 4, 1), {b, 4}));
  }
  EXPECT_EQ((*kept)["next"].elements(), 6);
  EXPECT_EQ((*kept)["sum"].elements(), 1);
  EXPECT_EQ(first->to_vector().size(), 6u);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { (*kept)["nxt"]; }), HasSubstr("'next'"));
}

TEST(Lifetimes, OfRunnersAreTheirOwn) {
  std::optional<Runner> runner;
  std::optional<Outputs> kept;
  {
    Model m("m");
    const Linear linear(m, "l", 4, 3, {.weights = constant(1)});
    State calls = m.state("calls", {i64, {}});
    m.graph("p", [&](Inputs& in) {
      calls += 1;
      return Results{{"next", linear(in("x", f32, {2, 4}))}};
    });
    Session s(m, {.target = "cpu", .compile = {.threads = 1}});
    runner = SharedGraph(s, "p", {{f32, {2, 4}}}).runner();
  }
  kept = (*runner)(Data(std::vector<float>(8, 1), {2, 4}));
  EXPECT_EQ(runner->state("calls").scalar(), 1);
  runner.reset();
  EXPECT_THAT((*kept)["next"].to_vector(), ElementsAre(4, 4, 4, 4, 4, 4));
}

/// What a range that was asked of a temporary holds, once other memory has been used.
template <typename Range>
double sum_of(const Range& range) {
  const std::vector<std::vector<double>> others(64, std::vector<double>(range.size(), 7));
  double sum = 0;
  for (const auto element : range) sum += double(element);
  return sum;
}

TEST(Lifetimes, OfElementsAreThoseOfTheirBuffer) {
  TemporaryFolder folder;
  const std::string file = (folder.path() / "x.safetensors").string();
  Safetensors written;
  written.arrays["x"] = Literal::filled({f32, {100}}, 1);
  write_safetensors(file, written);
  Model m("m");
  m.param("w", {100}, constant(3));
  m.graph("p", [](Inputs& in) { return Results{{"y", in("x", f32, {100}) * 2}}; });
  Session s(m, untold_reference());
  const std::vector<float> ones(100, 1), fifties(100, 50);
  const Tensor y = s("p", ones);
  EXPECT_EQ(sum_of(s.state("w").data<float>()), 300);
  EXPECT_EQ(sum_of(y.literal().converted(f64).data<double>()), 200);
  EXPECT_EQ(sum_of(y.copy().data<float>()), 200);
  EXPECT_EQ(sum_of(read_safetensors(file).arrays.at("x").data<float>()), 100);
  EXPECT_EQ(s.state("w").bytes().size(), 400u);
  // Of results they are what the run gave, whatever the session runs then.
  const auto of_name = s("p", ones)["y"].data<float>(), of_place = s("p", ones)[0].data<float>();
  const auto of_tensor = Tensor(s("p", ones)).data<float>();
  auto kept = std::optional(y.data<float>());
  s("p", fifties);
  for (const auto& elements : {of_name, of_place, of_tensor, *kept})
    EXPECT_EQ(sum_of(elements), 200);
  // Who writes an array that somebody reads writes a copy.
  Literal array = Literal::filled({f32, {3}}, 1);
  const auto before = array.data<float>();
  array.mutable_data<float>()[1] = 5;
  EXPECT_THAT(before, ElementsAre(1, 1, 1));
  EXPECT_THAT(array.data<float>(), ElementsAre(1, 5, 1));
  double first = 0;
  for (const float w : s.state("w").data<float>()) first += w;
  EXPECT_EQ(first, 300);
}

template <typename Array>
concept WritesATemporary =
    requires(Array array) { std::move(array).template mutable_data<float>(); };
static_assert(!WritesATemporary<Literal> && !WritesATemporary<Tensor>);

TEST(Lifetimes, OfRunnersEndWhenTheyAreMoved) {
  Model m("m");
  m.graph("p", [](Inputs& in) { return in("x", f32, {2}) * 2; });
  Session s(m, {.target = "cpu", .compile = {.threads = 1}});
  const SharedGraph shared(s, "p", {{f32, {2}}});
  const std::vector<float> x{1, 2};
  Runner first = shared.runner();
  Runner second = std::move(first);
  const std::function<void()> uses[] = {[&] { first(x); }, [&] { first({{"x", x}}); },
                                        [&] { first.reset(); }, [&] { first.state("h"); },
                                        [&] { first.set_state("h", Literal::of(1.0f)); }};
  for (const auto& use : uses)
    EXPECT_THAT(error_of(ErrorKind::input, use), HasSubstr("was moved from"));
  EXPECT_THAT(second(x).to_vector(), ElementsAre(2, 4));
}

TEST(Lifetimes, OfWhatKeepsNumbersEndWithItsSession) {
  Model m("m");
  auto s = std::make_unique<Session>(m, untold_reference());
  Plateau plateau(*s, 0.1);
  EarlyStopping stopping(*s, {});
  s.reset();
  const std::function<void()> uses[] = {[&] { plateau.rate(); }, [&] { plateau.observe(1); },
                                        [&] { stopping.observe(1); }};
  for (const auto& use : uses)
    EXPECT_THAT(error_of(ErrorKind::input, use), HasSubstr("the session that keeps"));
  auto other = std::make_unique<Model>("o");
  Session of_other(*other, untold_reference());
  other.reset();
  EXPECT_THAT(error_of(ErrorKind::input, [&] { Plateau late(of_other, 0.1); }),
              HasSubstr("the model of this session is gone"));
}

TEST(Lifetimes, OfReportsAreTheirOwn) {
  Model m("m");
  m.graph("p", [](Inputs& in) { return in("x", f32, {"n"}) * 2; });
  Session s(m, {.target = "cpu", .kept = 1, .announce = [](const std::string&) {}});
  const CompileReport& report = s.compile("p", {{f32, {3}}});
  s.compile("p", {{f32, {4}}});
  EXPECT_GT(report.total_s(), 0);
}

TEST(Lifetimes, OfASessionEndWithItsModelsForCalls) {
  TemporaryFolder folder;
  auto model = std::make_unique<Model>("m");
  model->param("w", {2}, constant(1));
  model->graph("p", [](Inputs& in) { return in("x", f32, {2}) + 1; });
  Session s(*model, untold_reference());
  const Outputs kept = s("p", std::vector<float>{1, 2});
  model.reset();
  const auto gone = [](const std::function<void()>& call) {
    EXPECT_THAT(error_of(ErrorKind::input, call), HasSubstr("the model of this session is gone"));
  };
  gone([&] { s("p", std::vector<float>{1, 2}); });
  gone([&] { s("p", {{"x", std::vector<float>{1, 2}}}); });
  gone([&] { s.compile("p", {{f32, {2}}}); });
  gone([&] { s.state("w"); });
  gone([&] { s.set_state("w", std::vector<float>{1, 2}); });
  gone([&] { s.reset("w"); });
  gone([&] { s.save((folder.path() / "w.safetensors").string()); });
  gone([&] { s.load((folder.path() / "w.safetensors").string()); });
  gone([&] { s.profile("p", std::vector<float>{1, 2}); });
  EXPECT_THAT(kept.to_vector(), ElementsAre(2, 3));
}

TEST(Lifetimes, OfParametersOutliveTheirModel) {
  std::optional<Param> w;
  std::optional<Params> all;
  std::optional<Lstm> lstm;
  {
    Model m("m");
    lstm.emplace(m, "lstm", 2, 3);
    w.emplace(m.param("w", {2}, zeros()));
    all = m.params();
  }
  EXPECT_EQ(w->name(), "w");
  EXPECT_EQ(all->size(), 4u);
  EXPECT_EQ(all->only("lstm").size(), 3u);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { tanh(*w); }),
              HasSubstr("where no graph is being traced"));
}

using Uses = std::vector<std::function<void(Value)>>;

/// What users may do with a value, each by itself: operators, views and parts.
Uses uses_of_operators() {
  return {
      [](Value v) { v + 1; },
      [](Value v) { 1 - v; },
      [](Value v) { (void)(v < 1); },
      [](Value v) { -v; },
      [](Value v) { v += 1; },
      [](Value v) { tanh(v); },
      [](Value v) { maximum(v, v); },
      [](Value v) { select(v, v, v); },
      [](Value v) { cast(v, i32); },
      [](Value v) { matmul(v, v); },
      [](Value v) { reshape(v, {2}); },
      [](Value v) { transpose(v, {0}); },
      [](Value v) { transpose(v, 0, 1); },
      [](Value v) { broadcast_to(v, {2, 2}); },
      [](Value v) { slice(v, 0, 0, 1); },
      [](Value v) { at(v, 0); },
      [](Value v) { v[0]; },
      [](Value v) { v[{0, 1}]; },
      [](Value v) { pad(v, {1}, {1}); },
      [](Value v) { reverse(v, 0); },
      [](Value v) { concat({v, v}, 0); },
      [](Value v) { split(v, 2, 0); },
      [](Value v) { split<2>(v); },
      [](Value v) { stack({v, v}); },
      [](Value v) { unstack(v); },
  };
}

/// Sums and what is made of them, draws, derivatives, states and loops.
Uses uses_of_functions() {
  return {
      [](Value v) { sum(v); },
      [](Value v) { mean(v, 0); },
      [](Value v) { max(v, {0}, true); },
      [](Value v) { variance(v); },
      [](Value v) { cumsum(v, 0); },
      [](Value v) { argmax(v); },
      [](Value v) { argmin(v, 0); },
      [](Value v) { top_k(v, 1); },
      [](Value v) { clip(v, 0, 1); },
      [](Value v) { gather(v, v); },
      [](Value v) { scatter_add(v, v, v); },
      [](Value v) { scatter(v, v, v); },
      [](Value v) { merge_rows(v, v); },
      [](Value v) { einsum("i->", {v}); },
      [](Value v) { softmax(v); },
      [](Value v) { softmax(v, 0); },
      [](Value v) { layer_norm(v); },
      [](Value v) { one_hot(v, 3); },
      [](Value v) { cross_entropy(v, v); },
      [](Value v) { cross_entropy(v, v, {.ignore = 1}); },
      [](Value v) { mse(v, v); },
      [](Value v) { fold_in(v, 1); },
      [](Value v) { uniform(v, {2}); },
      [](Value v) { normal(v, {2}); },
      [](Value v) { bernoulli(v, v); },
      [](Value v) { categorical(v, v); },
      [](Value v) { dropout(v, {.rate = 0.5}); },
      [](Value v) { watch(v); },
      [](Value v) { stop_gradient(v); },
      [](Value v) { gradients(v, {v}); },
      [](Value v) { global_norm({v}); },
      [](Value v) { clip_by_global_norm({v}, 1); },
      [](Value v) { clip_by_norm({v}, 1); },
      [](Value v) { clip_by_value({v}, 1); },
      [](Value v) { cosine_decay(v, 1, 10); },
      [](Value v) { step_decay(v, 1, 10, 0.5); },
      [](Value v) { exponential_decay(v, 1, 10, 0.5); },
      [](Value v) { State h(v); },
      [](Value v) { State(filled({2}, 0)) = v; },
      [](Value v) {
        State h(filled({2}, 0));
        h += v;
      },
      [](Value v) { scan(v, [](Value x) { return x; }); },
      [](Value v) { scan({v, v}, [](Value x, Value) { return x; }); },
      [](Value v) { scan(Steps(2), [&] { return v; }); },
      [](Value v) { valid_steps(v, 3); },
      [](Value v) { mask_steps(v, v); },
      [](Value v) { mean_over_steps(v, v); },
      [](Value v) { Results{{"y", v}}; },
      [](Value v) { v.type(); },
      [](Value v) { v.shape(); },
      [](Value v) { v.dtype(); },
      [](Value v) { v.name(); },
  };
}

Uses all_uses() {
  Uses all = uses_of_operators();
  for (auto& use : uses_of_functions()) all.push_back(use);
  return all;
}

TEST(Lifetimes, OfValuesEndWithTheirTrace) {
  Model m("m");
  Value leaked;
  std::function<void(Value)> use;
  m.graph("a", [&](Inputs& in) { return leaked = in("x", f32, {2}); });
  m.graph("b", Mode::training, [&](Inputs& in) {
    const Value x = in("x", f32, {2});
    use(leaked);
    return x;
  });
  m.graph("result", [&](Inputs&) { return leaked; });
  Session s(m, untold_reference());
  const std::vector<float> x{1, 2};
  s("a", x);
  size_t place = 0;
  auto all = all_uses();
  // An absent value of lengths is a loop without, which is why it is none of the others.
  all.push_back([](Value v) { scan(filled({2}, 0), [](Value t) { return t; }, {.lengths = v}); });
  for (const auto& each : all) {
    use = each;
    EXPECT_THAT(error_of(ErrorKind::input, [&] { s("b", x); }), HasSubstr(kAnotherTrace))
        << "use " << place;
    EXPECT_THAT(error_of(ErrorKind::input, [&] { each(leaked); }),
                AnyOf(HasSubstr(kAnotherTrace), HasSubstr("where no graph is being traced")))
        << "use " << place++ << " outside of a trace";
  }
  EXPECT_THAT(error_of(ErrorKind::input, [&] { s("result"); }), HasSubstr(kAnotherTrace));
}

TEST(Lifetimes, OfValuesThatNeverBeganAreRefused) {
  Model m("m");
  std::function<void(Value)> use;
  m.graph("b", Mode::training, [&](Inputs& in) {
    const Value x = in("x", f32, {2});
    use(Value());
    return x;
  });
  m.graph("plus", [&](Inputs& in) { return in("x", f32, {2}) + Value(); });
  m.graph("result", [&](Inputs&) { return Value(); });
  Session s(m, untold_reference());
  const std::vector<float> x{1, 2};
  size_t place = 0;
  for (const auto& each : all_uses()) {
    use = each;
    EXPECT_THAT(error_of(ErrorKind::input, [&] { s("b", x); }), HasSubstr(kAbsent))
        << "use " << place++;
  }
  EXPECT_THAT(error_of(ErrorKind::input, [&] { s("plus", x); }), HasSubstr(kAbsent));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { s("result"); }), HasSubstr(kAbsent));
}

TEST(Lifetimes, OfValuesAreTheirThreads) {
  Model m("m"), other("other");
  Value mine;
  std::string found;
  other.graph("g", [&](Inputs&) { return mine + 1; });
  m.graph("g", [&](Inputs& in) {
    mine = in("x", f32, {2});
    std::thread([&] {
      found = error_of(ErrorKind::input, [&] { other.trace("g", Extents{}); });
    }).join();
    return mine;
  });
  m.trace("g", Extents{});
  EXPECT_THAT(found, HasSubstr(kAnotherTrace));
}

TEST(Lifetimes, OfStatesOfATraceEndWithIt) {
  Model m("m");
  std::optional<State> kept;
  m.graph("a", [&](Inputs& in) {
    kept.emplace(in("x", f32, {2}));
    *kept += 1;
    return *kept;
  });
  m.graph("b", [&](Inputs&) { return *kept; });
  m.trace("a", Extents{});
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.trace("b", Extents{}); }),
              HasSubstr("state 'state' is used outside the graph that made it"));
  kept.reset();
}

}  // namespace
}  // namespace graphc::core
