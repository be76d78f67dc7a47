// SPDX-License-Identifier: Apache-2.0
// Parameters from PyTorch: a module's state_dict gives the module's numbers, and comes back.
#include "frontend/pytorch.h"

#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/source_tree.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kFolder = testing::source_path("tests/golden/");
const std::string kState = kFolder + "pytorch_state.safetensors";

/// The module of tests/golden/pytorch_state.py.
struct Tagger {
  Model model{"tagger"};
  Embedding encoder{model, "words", 7, 5};
  Stacked<Bidirectional<Lstm>> lstm{model, "lstm", 2, 5, 4};
  Gru gru{model, "gru", 8, 3};
  Rnn rnn{model, "rnn", 3, 6};
  LayerNorm norm{model, "norm", 6};
  Linear decoder{model, "out", 6, 2};
  Session session;
  PytorchState state;

  explicit Tagger(Precision precision = Precision::f32)
      : session(model, {.target = "reference", .compile = {.precision = precision}}) {
    model.graph("f", [this](Inputs& in) {
      Value x = encoder(in("tokens", i32, {"steps", "batch"}));
      return decoder(norm(rnn(gru(lstm(x)))));
    });
    state.add(encoder, "encoder");
    state.add(lstm, "lstm");
    state.add(gru, "gru");
    state.add(rnn, "rnn");
    state.add(norm, "norm");
    state.add(decoder, "decoder");
  }

  /// The largest difference from what PyTorch computed.
  double distance() {
    const Safetensors run = read_safetensors(kFolder + "pytorch_state_run.safetensors");
    const Tensor found = session("f", Tensor(run.arrays.at("tokens")));
    const Literal& wanted = run.arrays.at("y");
    EXPECT_EQ(found.literal().shape(), wanted.shape());
    double largest = 0;
    for (int64_t i = 0; i < wanted.elements(); ++i)
      largest = std::max(largest, std::abs(found.literal().element(i) - wanted.element(i)));
    return largest;
  }
};

TEST(PytorchState, GivesTheNumbersOfTheModule) {
  Tagger tagger(Precision::f64);
  EXPECT_GT(tagger.distance(), 1e-3);
  const LoadReport report = tagger.state.load(tagger.session, kState);
  EXPECT_EQ(report.loaded.size(), read_safetensors(kState).arrays.size());
  EXPECT_THAT(report.missing, IsEmpty());
  EXPECT_THAT(report.extra, IsEmpty());
  EXPECT_LT(tagger.distance(), 1e-6);  // the f32 in which PyTorch's result is kept
}

TEST(PytorchState, IsWrittenWithEveryNameAndComesBackWithItsBits) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "state.safetensors").string();
  Tagger tagger, other;
  tagger.state.load(tagger.session, kState);
  tagger.state.save(tagger.session, path);
  other.state.load(other.session, path);
  for (const Param& param : tagger.model.params())
    EXPECT_TRUE(other.session.state(param.name()) == tagger.session.state(param.name()));

  const Safetensors original = read_safetensors(kState), written = read_safetensors(path);
  ASSERT_EQ(written.arrays.size(), original.arrays.size());
  for (const auto& [name, array] : original.arrays) {
    ASSERT_TRUE(written.arrays.contains(name)) << name;
    EXPECT_EQ(written.arrays.at(name).type(), array.type()) << name;
    // Biases that only meet as a sum may be shared out otherwise; all else is as it was.
    if (!name.starts_with("lstm.bias") && !name.starts_with("gru.bias") &&
        !name.starts_with("rnn.bias")) {
      EXPECT_TRUE(written.arrays.at(name) == array) << name;
    }
  }
}

TEST(PytorchState, MissingAndExtraArraysAreNamedInStrictLoading) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "state.safetensors";
  Safetensors content = read_safetensors(kState);
  content.arrays.erase("gru.bias_hh_l0");
  content.arrays.emplace("gru.bias_hh_l1", Literal::of(1.0f));
  write_safetensors(path, content);
  Tagger tagger;
  const Literal before = tagger.session.state("out.w"), bias = tagger.session.state("gru.c");
  std::string said;
  try {
    tagger.state.load(tagger.session, path.string());
  } catch (const Error& error) {
    said = error.what();
  }
  EXPECT_THAT(said, AllOf(HasSubstr("missing in the file (1): gru.bias_hh_l0"),
                          HasSubstr("unknown to the model (1): gru.bias_hh_l1; did you mean "
                                    "'gru.bias_hh_l0'?")));
  EXPECT_TRUE(tagger.session.state("out.w") == before);

  const LoadReport report = tagger.state.load(tagger.session, path.string(), Loading::partial);
  EXPECT_THAT(report.missing, ElementsAre("gru.bias_hh_l0"));
  EXPECT_THAT(report.extra, ElementsAre("gru.bias_hh_l1"));
  EXPECT_FALSE(tagger.session.state("out.w") == before);
  // Half a bias is none.
  EXPECT_TRUE(tagger.session.state("gru.c") == bias);
}

TEST(PytorchState, CellsHaveTheNamesOfAModuleOfOneStep) {
  // The arrays of the first layer, under the names that an LSTMCell, a GRUCell and an RNNCell have.
  const TemporaryFolder folder;
  const auto path = folder.path() / "cells.safetensors";
  const Safetensors layers = read_safetensors(kState);
  Safetensors cells;
  for (const auto& [layer, cell] : {std::pair("gru", "g"), {"rnn", "r"}, {"lstm", "l"}}) {
    for (const char* name : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
      cells.arrays.emplace(fmt::format("{}.{}", cell, name),
                           layers.arrays.at(fmt::format("{}.{}_l0", layer, name)));
  }
  write_safetensors(path, cells);
  Model m("m");
  const Lstm lstm(m, "lstm", 5, 4);
  const Gru gru(m, "gru", 8, 3);
  const Rnn rnn(m, "rnn", 3, 6);
  Session session(m, {.target = "reference"});
  PytorchState state;
  state.add_cell(lstm, "l");
  state.add_cell(gru, "g");
  state.add_cell(rnn, "r");
  EXPECT_EQ(state.load(session, path.string()).loaded.size(), 12u);
  Tagger tagger;
  tagger.state.load(tagger.session, kState);
  for (const char* name : {"gru.w", "gru.u", "gru.b", "gru.c", "rnn.w", "rnn.b"})
    EXPECT_EQ(session.state(name), tagger.session.state(name)) << name;
  EXPECT_EQ(session.state("lstm.u"), tagger.session.state("lstm.0.forward.u"));
  EXPECT_EQ(session.state("lstm.b"), tagger.session.state("lstm.0.forward.b"));
}

TEST(PytorchState, AnOwnCellSaysWhereEachParameterStands) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "own.safetensors";
  const std::vector<float> matrix = {1, 2, 3, 4, 5, 6}, a = {1, 2, 3}, b = {10, 20, 30};
  const Literal from(std::span<const float>(matrix), {3, 2});
  const Literal first(std::span<const float>(a), {3}), second(std::span<const float>(b), {3});
  write_safetensors(
      path,
      {{{"cell.weight", from}, {"cell.b1", first}, {"cell.b2", second}, {"gain", first}}, {}});
  Model m("m");
  const Param w = m.param("w", {2, 3}, zeros()), bias = m.param("b", {3}, zeros()),
              gain = m.param("g", {3}, zeros());
  Session session(m, {.target = "reference"});
  PytorchState state;
  state.add_transposed(w, "cell.weight");
  state.add_summed(bias, {"cell.b1", "cell.b2"});
  state.add(gain, "gain");
  state.load(session, path.string());
  EXPECT_THAT(session.state("w").data<float>(), ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_THAT(session.state("b").data<float>(), ElementsAre(11, 22, 33));
  EXPECT_THAT(session.state("g").data<float>(), ElementsAre(1, 2, 3));
  state.save(session, path.string());
  const Safetensors written = read_safetensors(path);
  EXPECT_EQ(written.arrays.at("cell.weight"), from);
  EXPECT_THAT(written.arrays.at("cell.b1").data<float>(), ElementsAre(11, 22, 33));
  EXPECT_THAT(written.arrays.at("cell.b2").data<float>(), ElementsAre(0, 0, 0));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { state.add_transposed(gain, "x"); }),
              HasSubstr("parameter 'g' is no matrix: found f32[3]"));
}

TEST(PytorchState, AnArrayOfAnotherShapeChangesNothing) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "state.safetensors";
  Safetensors content = read_safetensors(kState);
  content.arrays.at("decoder.weight") = content.arrays.at("decoder.weight").reshaped({6, 2});
  write_safetensors(path, content);
  Tagger tagger;
  const Literal before = tagger.session.state("words");
  for (Loading loading : {Loading::strict, Loading::partial}) {
    EXPECT_THAT(error_of(ErrorKind::input,
                         [&] { tagger.state.load(tagger.session, path.string(), loading); }),
                HasSubstr("'decoder.weight' is f32[6,2]: wanted f32[2,6]"));
    EXPECT_TRUE(tagger.session.state("words") == before);
  }
}

TEST(PytorchState, ArraysOfAnyWidthAreTaken) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "state.safetensors";
  Safetensors content = read_safetensors(kState);
  for (auto& [name, array] : content.arrays) array = array.converted(DType::bf16);
  write_safetensors(path, content);
  Tagger tagger;
  tagger.state.load(tagger.session, path.string());
  EXPECT_LT(tagger.distance(), 0.05);
}

/// What PyTorch's map may not say, with the words of the error.
TEST(PytorchState, AMapThatIsNoMapIsRefusedWhereItIsWritten) {
  Model m("m");
  const Linear a(m, "a", 2, 3), b(m, "b", 2, 3);
  const Gru gru(m, "gru", 2, 3);
  const Stacked<Bidirectional<Lstm>> stacked(m, "stacked", 2, 2, 3);
  using Write = std::function<void(PytorchState&)>;
  const std::vector<std::tuple<int, std::string, Write>> wrong{
      {__LINE__, "array 'fc.weight' stands for 'a.w' already: 'b.w' needs another",
       [&](PytorchState& s) { s.add(a, "fc"), s.add(b, "fc"); }},
      {__LINE__, "'a.w' stands at 'fc.weight' already",
       [&](PytorchState& s) { s.add(a, "fc"), s.add(a, "fc2"); }},
      {__LINE__, "by add_tied()",
       [&](PytorchState& s) { s.add_tied(a.w, {"x", "y"}), s.add_transposed(a.w, "z"); }},
      {__LINE__, "array 'y' stands for 'a.w' already",
       [&](PytorchState& s) { s.add_tied(a.w, {"x", "y"}), s.add(b.w, "y"); }},
      {__LINE__, "array 'x' is given twice", [&](PytorchState& s) { s.add_tied(a.w, {"x", "x"}); }},
      {__LINE__, "array 'x' is given twice",
       [&](PytorchState& s) { s.add_summed(*a.b, {"x", "x"}); }},
      {__LINE__, "'gru.w' stands at",
       [&](PytorchState& s) { s.add(gru, "rnn"), s.add_cell(gru, "cell"); }},
      {__LINE__, "array 'rnn.weight_ih_l0' stands for 'stacked.0.forward.w' already",
       [&](PytorchState& s) { s.add(stacked, "rnn"), s.add(gru, "rnn"); }},
      {__LINE__, "'stacked.0.forward.w' stands at",
       [&](PytorchState& s) { s.add(stacked, "rnn"), s.add(stacked.layers[0], "more", 2); }},
  };
  for (const auto& [line, said, write] : wrong) {
    PytorchState state;
    try {
      write(state);
      ADD_FAILURE() << "wanted an error: " << said;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_THAT(error.message(), HasSubstr(said));
      EXPECT_TRUE(error.where().line == line || error.where().line == line + 1) << error.what();
    }
  }
}

TEST(PytorchState, ALayerOfAnotherModelIsNoLayerOfThisOne) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.safetensors").string();
  Model m("m"), other("other");
  const Linear own(m, "a", 2, 3), stranger(other, "a", 2, 3);
  Session session(m, {.target = "reference"});
  PytorchState right, wrong;
  right.add(own, "fc");
  wrong.add(stranger, "fc");
  right.save(session, path);
  const std::string said =
      "'a.w', which stands for 'fc.weight', is of model 'other': the session is of 'm'";
  for (const Loading loading : {Loading::strict, Loading::partial}) {
    EXPECT_THAT(error_of(ErrorKind::input, [&] { wrong.load(session, path, loading); }),
                HasSubstr(said));
    EXPECT_THAT(error_of(ErrorKind::input, [&] { wrong.save(session, path, loading); }),
                HasSubstr(said));
  }
}

/// Of a model with layers and a buffer each is forgotten once.
TEST(PytorchState, WhatIsForgottenIsNamed) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.safetensors").string();
  Model m("m");
  const Linear a(m, "a", 2, 3), b(m, "b", 2, 3);
  const State mean = m.state("mean", {DType::f32, {3}}, constant(7));
  const State scratch = m.state("scratch", {DType::f32, {3}}, zeros(), {.transient = true});
  const State count = m.state("count", {DType::i64, {}});
  Session session(m, {.target = "reference"});
  const auto map = [&](int without) {
    PytorchState state;
    if (without != 0) state.add(a, "a");
    if (without != 1) state.add(b, "b");
    if (without != 2) state.add(mean, "mean");
    return state;
  };
  const std::vector<std::string> forgotten{"2 parameters or buffers that were not added: a.w, a.b:",
                                           "2 parameters or buffers that were not added: b.w, b.b:",
                                           "1 parameter or buffer that was not added: mean:"};
  map(-1).save(session, path);
  EXPECT_EQ(read_safetensors(path).arrays.size(), 5u);
  session.set_state("mean", std::vector<float>{1, 2, 3});
  EXPECT_EQ(map(-1).load(session, path).loaded.size(), 5u);
  EXPECT_THAT(session.state("mean").data<float>(), ElementsAre(7, 7, 7));
  for (int without = 0; without < 3; ++without) {
    const std::string& said = forgotten[size_t(without)];
    EXPECT_THAT(error_of(ErrorKind::input, [&] { map(without).load(session, path); }),
                HasSubstr(said));
    EXPECT_THAT(error_of(ErrorKind::input, [&] { map(without).save(session, path); }),
                HasSubstr(said));
    EXPECT_EQ(map(without).load(session, path, Loading::partial).extra.size(),
              without == 2 ? 1u : 2u);
  }
  EXPECT_THAT(error_of(ErrorKind::input, [&] { PytorchState().load(session, path); }),
              HasSubstr("5 parameters or buffers that were not added"));
  map(2).save(session, path, Loading::partial);
  EXPECT_EQ(read_safetensors(path).arrays.size(), 4u);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { PytorchState().add(count, "n"); }),
              HasSubstr("'count' is i64[]"));
}

}  // namespace
}  // namespace graphc::core
