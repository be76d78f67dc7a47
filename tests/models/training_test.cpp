// SPDX-License-Identifier: Apache-2.0
// Training on the CPU target: the same bits from any number of threads and from run to run, the
// losses of the reference, and errors that stop what they must and no more.
#include "models/training.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "frontend/graphc.h"
#include "models/cells.h"
#include "models/registry.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/corpus.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::HasSubstr;

SessionOptions on_cpu(int threads, std::string variant = "fused") {
  SessionOptions options{.target = "cpu", .seed = 5, .announce = [](const std::string&) {}};
  options.compile.threads = threads;
  options.compile.variant = std::move(variant);
  return options;
}

/// What training leaves: every loss, and every state of the session.
struct Outcome {
  std::vector<double> losses;
  std::map<std::string, Literal> states;
  bool operator==(const Outcome&) const = default;
};

Outcome trained(Session& session, std::vector<double> losses) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "states.safetensors").string();
  session.save(file, Saving::everything);
  return {std::move(losses), read_safetensors(file).arrays};
}

/// Calls "train" with inputs drawn at random, others in every step.
Outcome train_steps(const std::string& model, const std::vector<std::string>& parameters,
                    const SessionOptions& options, int steps) {
  const auto program = make_program(model, parameters);
  Session session(program->model(), options);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step)
    losses.push_back(session.run("train", program->random_inputs("train", step))["loss"].scalar());
  return trained(session, std::move(losses));
}

/// Trains on the tiny corpus, evaluations included.
Outcome train_tiny_ptb(const SessionOptions& options) {
  const auto program = make_program("ptb-lm", {"size=test", "batch=1"});
  Session session(program->model(), options);
  std::vector<double> losses;
  TrainOptions train{.data = testing::tiny_ptb(), .epochs = 3};
  train.report = [&](const TrainEvent& event) {
    for (const auto& value :
         {event.loss, event.metric("valid_perplexity"), event.metric("test_perplexity")})
      if (value) losses.push_back(*value);
  };
  program->train(session, train);
  return trained(session, std::move(losses));
}

void expect_equal(const Outcome& found, const Outcome& wanted) {
  EXPECT_EQ(found.losses, wanted.losses);
  ASSERT_EQ(found.states.size(), wanted.states.size());
  for (const auto& [name, value] : wanted.states)
    EXPECT_TRUE(found.states.at(name) == value) << name << ": bits differ";
}

TEST(TrainingCpu, BitsDoNotDependOnThreadsOrOnTheRun) {
  struct Training {
    const char* model;
    std::vector<std::string> parameters;
  };
  const Training workloads[] = {
      {"ptb-lm", {"size=test"}},
      {"ptb-lm",
       {"size=test", "hidden=24", "layers=2", "steps=5", "batch=6", "vocabulary=100", "keep=0.5"}},
      {"lstm-layer", {"hidden=24", "steps=5", "batch=6"}},
  };
  for (const auto& [model, parameters] : workloads) {
    SCOPED_TRACE(fmt::format("{} {}", model, fmt::join(parameters, " ")));
    const Outcome one = train_steps(model, parameters, on_cpu(1), 8);
    ASSERT_FALSE(one.states.empty());
    EXPECT_NE(one.losses.front(), one.losses.back());
    expect_equal(train_steps(model, parameters, on_cpu(1), 8), one);
    expect_equal(train_steps(model, parameters, on_cpu(2), 8), one);
    expect_equal(train_steps(model, parameters, on_cpu(2), 8), one);
  }
}

TEST(TrainingCpu, ACorpusTrainsToTheSameBits) {
  const Outcome one = train_tiny_ptb(on_cpu(1));
  ASSERT_EQ(one.losses.size(), 22u);  // six windows and a validation in each epoch, and a test
  EXPECT_LT(one.losses[15], one.losses[0]);
  expect_equal(train_tiny_ptb(on_cpu(1)), one);
  expect_equal(train_tiny_ptb(on_cpu(2)), one);
  expect_equal(train_tiny_ptb(on_cpu(2)), one);
}

TEST(TrainingCpu, LossesAreTheReferencesForEveryCellAndVariant) {
  for (const CellRecord& cell : all_cells()) {
    const std::vector<std::string> parameters{"hidden=6", "steps=4", "batch=3",
                                              fmt::format("cell={}", cell.name)};
    SessionOptions wide{.target = "reference", .seed = 5};
    wide.compile.precision = Precision::f64;
    const Outcome wanted = train_steps("lstm-layer", parameters, wide, 5);
    for (const char* variant : {"basic", "unrolled", "fused"}) {
      SCOPED_TRACE(fmt::format("{} {}", cell.name, variant));
      const Outcome found = train_steps("lstm-layer", parameters, on_cpu(2, variant), 5);
      for (size_t i = 0; i < wanted.losses.size(); ++i) {
        EXPECT_NEAR(found.losses[i] / wanted.losses[i], 1, 1e-5) << "step " << i;
        EXPECT_NE(found.losses[i], wanted.losses[i]) << "step " << i << " is not computed in f32";
      }
    }
  }
}

/// What Program::train says of a loss that is not finite.
std::string stopped(Program& program, Session& session) {
  TrainOptions options;
  if (program.model().name() == "ptb_lm") options.data = testing::tiny_ptb();
  return error_of(ErrorKind::check, [&] { program.train(session, options); });
}

TEST(TrainingCpu, ARateThatOverflowsStops) {
  for (int threads : {1, 2}) {
    const auto program = make_program("ptb-lm", {"size=test", "batch=1", "learning-rate=3e38"});
    Session session(program->model(), on_cpu(threads));
    EXPECT_EQ(stopped(*program, session), "the loss is inf at step 2 of epoch 1: training stops");
  }
}

TEST(TrainingCpu, ANotANumberReachesTheLossOfEveryCellAndStops) {
  std::vector<std::unique_ptr<Program>> programs;
  programs.push_back(make_program("ptb-lm", {"size=test", "batch=1"}));
  for (const CellRecord& cell : all_cells()) {
    programs.push_back(make_program(
        "lstm-layer", {"hidden=6", "steps=4", "batch=3", fmt::format("cell={}", cell.name)}));
  }
  for (const auto& program : programs) {
    for (const Param& param : program->model().params()) {
      // A row of the table of embeddings is not always looked up.
      if (param.name() == "embedding") continue;
      SCOPED_TRACE(fmt::format("{} {}", program->model().name(), param.name()));
      Session session(program->model(), on_cpu(2));
      Literal value = session.state(param.name());
      value.mutable_data<float>()[size_t(value.elements() - 1)] = NAN;
      session.set_state(param.name(), value);
      EXPECT_EQ(stopped(*program, session), "the loss is nan at step 1 of epoch 1: training stops");
    }
  }
}

TEST(TrainingCpu, TheNormOfTheGradientsIsThatOfAStepOfGradientDescentOverItsRate) {
  // Where nothing is clipped and p - rate g is what becomes of p.
  const auto program =
      make_program("ptb-lm", {"size=test", "batch=2", "vocabulary=20", "clip=1000"});
  Session session(program->model(), on_cpu(2));
  std::vector<Tensor> inputs = program->random_inputs("train", 1);
  const float rate = 64;
  inputs.back() = Literal::of(rate);
  std::vector<Literal> before;
  for (const Param& param : program->model().params())
    before.push_back(session.state(param.name()));
  const double norm = session.run("train", inputs)["gradient_norm"].scalar();
  double squares = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const Literal after = session.state(program->model().params()[i].name());
    for (int64_t e = 0; e < after.elements(); ++e)
      squares += std::pow((after.element(e) - before[i].element(e)) / rate, 2);
  }
  EXPECT_GT(norm, 0.01);
  EXPECT_NEAR(norm, std::sqrt(squares), 1e-5 * norm);
}

TEST(TrainingCpu, ATokenOutsideTheVocabularyIsAnErrorThatNamesItAndTheSessionGoesOn) {
  const std::vector<std::string> parameters{"size=test", "vocabulary=50"};
  const auto program = make_program("ptb-lm", parameters);
  const std::vector<Tensor> right = program->random_inputs("train", 1);
  Session fresh(program->model(), on_cpu(1));
  const double wanted = fresh.run("train", right)["loss"].scalar();
  for (int threads : {1, 2}) {
    for (int32_t token : {50, -1, 1 << 30}) {
      SCOPED_TRACE(fmt::format("token {}, {} threads", token, threads));
      Session session(program->model(), on_cpu(threads));
      std::vector<Tensor> wrong = right;
      Literal tokens = right[0].copy();
      tokens.mutable_data<int32_t>()[7] = token;
      wrong[0] = tokens;
      EXPECT_THAT(error_of(ErrorKind::input, [&] { session.run("train", wrong); }),
                  HasSubstr(fmt::format("index {} at position 7", token)));
      for (const char* state : {"h.0", "c.0"}) session.reset(state);
      for (const Param& param : program->model().params()) session.reset(param.name());
      EXPECT_EQ(session.run("train", right)["loss"].scalar(), wanted);
    }
  }
}

}  // namespace
}  // namespace graphc::core
