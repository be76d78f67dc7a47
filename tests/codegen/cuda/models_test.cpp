// SPDX-License-Identifier: Apache-2.0
// Every graph of every model, and layers of every cell with and without derivatives, as kernels in
// the emulator, in each variant, against the evaluator: in placements that take turns, or with
// whole samples (tests/testing/samples.h) models in each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/graphc.h"
#include "models/cells.h"
#include "models/registry.h"
#include "models/stream_cells.h"
#include "tests/codegen/variants.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/testing/counts.h"
#include "tests/testing/samples.h"
#include "tests/testing/wide_golden.h"

namespace graphc::core::testing {
namespace {

/// The CUDA target with loops in each placement.
std::vector<TargetLevel> placements_of_cuda() {
  const std::vector<TestTarget>& all = all_test_targets();
  const TestTarget* row = &*std::ranges::find(all, &targets::cuda, &TestTarget::target);
  using cuda::Placement;
  return {{row, "", Placement::streamed},
          {row, "", Placement::grid},
          {row, "", Placement::cluster},
          {row, "", Placement::block}};
}

/// Loops are loops, not written out, so that they have placements.
const std::vector<Way> kWays{{"fused", "loop", {1}}, {"basic", "loop", {1}}};

class CudaModels : public ::testing::Test {
 protected:
  /// On a GPU of few multiprocessors blocks meet as well. With more blocks the emulator does little
  /// else than let them wait.
  CudaModels() { setenv("GRAPHC_MOCK_MULTIPROCESSORS", "3", 1); }
  ~CudaModels() override { unsetenv("GRAPHC_MOCK_MULTIPROCESSORS"); }

  void expect_agreement(const GraphPtr& graph, const Call& first, const Call& second,
                        const std::vector<TargetLevel>& levels) {
    EXPECT_EQ(first_difference(graph, first, second, Numbers::real, levels, kWays), "");
    ++graphs_;
  }

  /// The placement whose turn it is.
  std::vector<TargetLevel> placement_in_turn() const {
    const std::vector<TargetLevel> all = placements_of_cuda();
    return {all[size_t(graphs_) % all.size()]};
  }

  /// A model's graph, called twice with inputs drawn for it, and first with the states that a
  /// session begins with.
  void expect_agreement(const Program& program, Session& session, const std::string& name,
                        const GraphPtr& graph) {
    const auto inputs = [&](uint64_t seed) {
      std::vector<Literal> drawn;
      for (const Tensor& input : program.random_inputs(name, seed)) drawn.push_back(input.copy());
      return drawn;
    };
    Call first{inputs(1), {}};
    for (const Value state : graph->states()) first.states.push_back(session.state(state.name()));
    expect_agreement(graph, first, {inputs(2), {}},
                     whole_samples() ? placements_of_cuda() : placement_in_turn());
  }

  /// What this process has compiled, each text once, was run: all launches of a graph are.
  void TearDown() override {
    count("graphs of models and layers in the emulator", graphs_);
    count("CUDA kernels of models and layers in the emulator", objects_made() - objects_before_);
  }

  cuda::testing::MockDriver driver_;
  int64_t graphs_ = 0, objects_before_ = objects_made();
};

struct Small {
  std::string model;
  std::vector<std::string> parameters;
};

/// Each model, with extents that differ, and what its parameters turn on.
std::vector<Small> small_models() {
  std::vector<Small> all{
      {"ptb-lm", {"size=test", "batch=3", "vocabulary=37"}},
      {"ptb-lm",
       {"size=test", "hidden=5", "layers=2", "steps=3", "batch=4", "vocabulary=19", "keep=0.5",
        "unmerged-norm=true"}},
      {"wikitext2-lm",
       {"hidden=5", "steps=3", "batch=4", "vocabulary=19", "tied=true", "clip=0.25"}},
      {"word-lm", {"hidden=4", "steps=3", "batch=2", "vocabulary=11"}},
      {"char-lm", {"hidden=6", "layers=2", "steps=4", "batch=3", "vocabulary=17", "keep=0.5"}},
      {"char-lm",
       {"hidden=6", "layers=2", "steps=4", "batch=3", "vocabulary=17", "cell=mlstm", "heads=2"}},
      {"char-lstm",
       {"corpus=nietzsche", "hidden=4", "steps=2", "batch=3", "vocabulary=7", "unroll=true"}},
      {"rnn-variants", {"task=returnn", "hidden=3", "layers=1", "steps=3", "batch=2"}},
      {"rnn-variants", {"task=classification", "hidden=3", "layers=1", "steps=3", "batch=2"}},
      {"forecast", {"columns=a,b", "hidden=3", "steps=3", "batch=2"}},
  };
  size_t number = 0;  // of a cell: all others are tried below as layers
  for (const StreamCellRecord& cell : all_stream_cells())
    if (is_sampled(number++, 4))
      all.push_back({"cell-layer", {"size=test", fmt::format("cell={}", cell.name)}});
  for (const CellRecord& cell : all_cells())
    if (is_sampled(number++, 5))
      all.push_back(
          {"lstm-layer", {"hidden=6", "steps=4", "batch=3", fmt::format("cell={}", cell.name)}});
  return all;
}

TEST_F(CudaModels, GraphsOfEveryModelAgreeWithTheEvaluator) {
  std::vector<std::string> tried;
  for (const auto& [model, parameters] : small_models()) {
    const auto program = make_program(model, parameters);
    Session session(program->model(), {.target = "reference", .seed = 5});
    for (const std::string& name : program->model().graphs()) {
      SCOPED_TRACE(fmt::format("{} {}: {}", model, fmt::join(parameters, " "), name));
      expect_agreement(*program, session, name,
                       program->model().trace(name, program->extents(name)).graph);
    }
    tried.push_back(model);
  }
  for (const std::string& name : model_names()) EXPECT_THAT(tried, ::testing::Contains(name));
}

TEST_F(CudaModels, LayersOfEveryCellAgreeWithTheEvaluator) {
  for (const std::string& cell : wide_cells()) {
    const WideCase c{cell, 3, 4, 7};
    for (const Derivatives derivatives : {Derivatives::without, Derivatives::with}) {
      SCOPED_TRACE(c.name() + (derivatives == Derivatives::with ? " with derivatives" : ""));
      const GraphPtr graph = wide_layer(c, derivatives);
      // In one placement, in turn: that they all give the same bits is LoopPlacementOf's.
      expect_agreement(graph, {wide_inputs(c), {}}, random_call(*graph, 3, Numbers::real),
                       placement_in_turn());
    }
  }
}

}  // namespace
}  // namespace graphc::core::testing
