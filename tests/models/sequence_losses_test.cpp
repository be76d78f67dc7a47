// SPDX-License-Identifier: Apache-2.0
// The first losses of char-lstm and of rnn-variants task=classification in f64, against those of
// the references in PyTorch (tools/references) from the same weights, on the same samples in the
// same order.
#include <gtest/gtest.h>

#include "frontend/graphc.h"
#include "models/registry.h"
#include "tests/testing/corpus.h"
#include "tests/testing/golden.h"
#include "tests/testing/source_tree.h"

namespace graphc::core {
namespace {

void expect_losses(const std::string& model, const std::vector<std::string>& parameters,
                   TrainOptions options, const std::string& golden) {
  const std::vector<double> wanted = testing::golden_losses(golden + "_losses");
  const auto program = make_program(model, parameters);
  SessionOptions session_options{
      .target = "reference", .seed = 3, .announce = [](const std::string&) {}};
  session_options.compile.precision = Precision::f64;
  Session session(program->model(), session_options);
  session.load(testing::source_path("tests/golden/" + golden + "_init.safetensors"));
  std::vector<double> found;
  options.max_steps = int64_t(wanted.size());
  options.report = [&](const TrainEvent& event) {
    if (event.loss) found.push_back(*event.loss);
  };
  program->train(session, options);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-9) << i;
}

TEST(SequenceLosses, OfCharLstmArePyTorchs) {
  const auto corpus = testing::find_corpus("nietzsche");
  if (!corpus) GTEST_SKIP() << "needs the corpus nietzsche";
  expect_losses("char-lstm", {"corpus=nietzsche", "hidden=8", "steps=10", "batch=20"},
                {.data = *corpus}, "char_lstm");
}

TEST(SequenceLosses, OfTheClassifierArePyTorchs) {
  expect_losses("rnn-variants",
                {"task=classification", "hidden=8", "sequences=200", "batch=50", "keep=1",
                 "learning-rate=0.02"},
                {.epochs = 6}, "classification");
}

}  // namespace
}  // namespace graphc::core
