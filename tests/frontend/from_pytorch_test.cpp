// SPDX-License-Identifier: Apache-2.0
// What docs/from-pytorch.md shows of freezing, sharing, copying, statistics, class weights, layers
// without bias and tied weights, as it stands there.
#include <gmock/gmock.h>

#include <cmath>

#include "frontend/graphc.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SessionOptions evaluator_alone() { return {.target = "reference"}; }

TEST(FromPytorch, ATeacherFollowsItsStudent) {
  Model m("distill");
  const Linear student(m, "student", 8, 4), teacher(m, "teacher", 8, 4);
  m.graph("train", Mode::training, [&](Inputs& in) {
    Value x = in("x", f32, {"batch", 8});
    Value loss = mse(student(x), stop_gradient(teacher(x)));
    minimize(loss, student.params(), Adam{});
    return loss;
  });
  m.graph("follow", [&](Inputs&) {
    for (size_t i = 0; i < 2; ++i) {
      Param slow = teacher.params()[i];
      slow = 0.99 * slow + 0.01 * student.params()[i];
    }
    return Results();
  });
  m.graph("copy", [&](Inputs&) {
    assign(teacher.params(), student.params());
    return Results();
  });
  Session s(m, evaluator_alone());
  const Literal first = s.state("teacher.w"), learnt = s.state("student.w");
  s("train", Data(std::vector<float>(16, 0.5f), {2, 8}));
  EXPECT_EQ(s.state("teacher.w"), first);
  EXPECT_FALSE(s.state("student.w") == learnt);
  s("follow");
  EXPECT_NEAR(s.state("teacher.w").element(5),
              0.99 * first.element(5) + 0.01 * s.state("student.w").element(5), 1e-6);
  s("copy");
  EXPECT_EQ(s.state("teacher.w"), s.state("student.w"));
  EXPECT_EQ(s.state("teacher.b"), s.state("student.b"));
}

TEST(FromPytorch, StatisticsAreStatesThatTrainingAssigns) {
  Model m("norm");
  State mean_x = m.state("norm.mean", {f32, {2}}),
        var_x = m.state("norm.var", {f32, {2}}, constant(1));
  const auto norm = [&](Value x, bool training) {
    if (training) {
      mean_x = 0.9 * mean_x + 0.1 * mean(x, 0);
      var_x = 0.9 * var_x + 0.1 * variance(x, 0);
      return (x - mean(x, 0, true)) * rsqrt(variance(x, 0, true) + 1e-5);
    }
    return (x - mean_x) * rsqrt(var_x + 1e-5);
  };
  m.graph("train", Mode::training,
          [&](Inputs& in) { return norm(in("x", f32, {"batch", 2}), true); });
  m.graph("predict", [&](Inputs& in) { return norm(in("x", f32, {"batch", 2}), false); });
  Session s(m, evaluator_alone());
  EXPECT_NEAR(s("train", Data(std::vector<float>{1, 2, 3, 6}, {2, 2})).to_vector()[0], -1, 1e-4);
  EXPECT_NEAR(s.state("norm.mean").element(1), 0.4, 1e-6);
  EXPECT_NEAR(s.state("norm.var").element(1), 0.9 + 0.4, 1e-6);
  EXPECT_NEAR(s("predict", Data(std::vector<float>{1, 1}, {1, 2})).to_vector()[1],
              0.6 / std::sqrt(1.3), 1e-4);
}

TEST(FromPytorch, ClassWeightsAreALiteral) {
  Model m("m");
  m.graph("loss", [](Inputs& in) {
    const Value x = in("x", f32, {"batch", 3}), y = in("y", i32, {"batch"});
    const Value each = gather(literal(std::vector<float>{1, 2, 5}), y);
    return sum(each * cross_entropy(x, y)) / sum(each);
  });
  Session s(m, evaluator_alone());
  // Logits of zeros: every row loses log 3, whatever it weighs; one that is sure loses nothing.
  const std::vector<float> x{0, 0, 0, 0, 0, 100};
  EXPECT_NEAR(s("loss", Data(x, {2, 3}), std::vector<int>{1, 2}).scalar(), 2. / 7 * std::log(3.),
              1e-6);
}

/// A layer without bias says what one with biases of zero says, and has no parameter for it.
template <typename Layer>
void expect_without_bias(const std::vector<std::string>& names) {
  Model with("with"), without("without");
  const Layer a(with, "layer", 3, 4, {.biases = zeros()}),
      b(without, "layer", 3, 4, {.bias = false});
  for (Model* m : {&with, &without}) {
    m->graph("g", [&, m](Inputs& in) {
      const Value x = in("x", f32, {5, 2, 3});
      return m == &with ? a(x) : b(x);
    });
  }
  Session s(with, evaluator_alone()), t(without, evaluator_alone());
  std::vector<std::string> found;
  for (const Param& param : without.params()) {
    found.push_back(param.name());
    t.set_state(param.name(), s.state(param.name()));
  }
  EXPECT_EQ(found, names);
  std::vector<float> x(30);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(std::sin(double(i)));
  EXPECT_EQ(s("g", Data(x, {5, 2, 3})).to_vector(), t("g", Data(x, {5, 2, 3})).to_vector());
  EXPECT_EQ(b.params().size(), names.size());
}

TEST(FromPytorch, LayersHaveABiasUnlessTheyAreToldOtherwise) {
  expect_without_bias<Lstm>({"layer.w", "layer.u"});
  expect_without_bias<Gru>({"layer.w", "layer.u"});
  expect_without_bias<Rnn>({"layer.w", "layer.u"});
  expect_without_bias<Bidirectional<Gru>>(
      {"layer.forward.w", "layer.forward.u", "layer.backward.w", "layer.backward.u"});
  Model m("m");
  const Linear linear(m, "linear", 2, 2, {.weights = constant(1), .bias = false});
  const Stacked<Lstm> stacked(m, "stacked", 2, 2, 3, {}, LayerOptions{.bias = false});
  EXPECT_EQ(m.params().size(), 5u);
  EXPECT_FALSE(linear.b.has_value());
}

TEST(FromPytorch, LayersWithoutBiasHaveNoArraysOfBiases) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.safetensors").string();
  Model m("m");
  const Lstm lstm(m, "lstm", 2, 3, {.bias = false});
  const Gru gru(m, "gru", 3, 3, {.bias = false});
  const Linear out(m, "out", 3, 2, {.bias = false});
  PytorchState names;
  names.add(lstm, "lstm");
  names.add(gru, "gru");
  names.add(out, "out");
  Session s(m, evaluator_alone());
  names.save(s, path);
  std::vector<std::string> arrays;
  for (const auto& [name, array] : read_safetensors(path).arrays) arrays.push_back(name);
  EXPECT_THAT(arrays, ElementsAre("gru.weight_hh_l0", "gru.weight_ih_l0", "lstm.weight_hh_l0",
                                  "lstm.weight_ih_l0", "out.weight"));
  const Literal before = s.state("lstm.u");
  s.set_state("lstm.u", Literal(before.type()));
  EXPECT_EQ(names.load(s, path).loaded.size(), 5u);
  EXPECT_EQ(s.state("lstm.u"), before);
}

TEST(FromPytorch, TiedWeightsAreReadFromEitherNameAndWrittenToBoth) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.safetensors").string();
  Model m("m");
  const Embedding words(m, "words", 3, 2);
  PytorchState names;
  names.add_tied(words.table, {"encoder.weight", "decoder.weight"});
  Session s(m, evaluator_alone());
  const Literal ours = s.state("words");
  names.save(s, path);
  Safetensors content = read_safetensors(path);
  EXPECT_EQ(content.arrays.at("encoder.weight"), ours);
  EXPECT_EQ(content.arrays.at("decoder.weight"), ours);
  const auto loaded = [&](std::map<std::string, Literal> arrays) {
    Safetensors file;
    for (auto& [name, array] : arrays) file.arrays.emplace(name, array);
    write_safetensors(path, file);
    s.set_state("words", Literal(ours.type()));
    return names.load(s, path);
  };
  for (const char* name : {"encoder.weight", "decoder.weight"}) {
    EXPECT_TRUE(loaded({{name, ours}}).missing.empty());
    EXPECT_EQ(s.state("words"), ours);
  }
  loaded({{"encoder.weight", ours}, {"decoder.weight", ours}});
  EXPECT_EQ(s.state("words"), ours);
  EXPECT_THAT(
      error_of(
          ErrorKind::input,
          [&] { loaded({{"encoder.weight", ours}, {"decoder.weight", Literal(ours.type())}}); }),
      HasSubstr("arrays 'encoder.weight' and 'decoder.weight' are one parameter"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { loaded({{"other", ours}}); }),
              HasSubstr("m.safetensors"));
}

}  // namespace
}  // namespace graphc::core
