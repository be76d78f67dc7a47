// SPDX-License-Identifier: Apache-2.0
// The plans of every model's graphs, replayed (tests/codegen/replay_plan.h): training steps with
// optimizers that write states in their place, and what is evaluated.
#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "models/registry.h"
#include "tests/codegen/replay_plan.h"
#include "tests/testing/counts.h"

namespace graphc::core {
namespace {

/// Small extents, all different, for the parameters the model has.
std::vector<std::string> small(const ModelRecord& model) {
  std::vector<std::string> assignments;
  // Which extents it has depends on its cell.
  if (model.name == "cell-layer") return {"size=test"};
  for (const ParameterRecord& parameter : model.parameters) {
    for (const char* extent : {"hidden=12", "steps=4", "batch=3", "vocabulary=37"}) {
      const std::string_view name(extent, std::string_view(extent).find('='));
      if (parameter.name == name) assignments.emplace_back(extent);
    }
  }
  return assignments;
}

TEST(ReplayPlan, OfEveryModelsGraphs) {
  size_t plans = 0;
  for (const ModelRecord* model : all_models()) {
    const std::unique_ptr<Program> program = make_program(model->name, small(*model));
    for (const std::string& name : program->model().graphs()) {
      const GraphPtr graph = program->model().trace(name, program->extents(name)).graph;
      for (const char* variant : {"fused", "basic"}) {
        CompileReport report;
        const GraphPtr kernels = form_kernels_for(graph, {.variant = variant}, report);
        for (int threads : {1, 3}) {
          EXPECT_EQ(testing::replay(*kernels, testing::machine_like(plans, threads)), "")
              << model->name << " @" << graph->name() << " " << variant << " " << threads;
          ++plans;
        }
      }
    }
  }
  EXPECT_GE(plans, 8u);
  testing::count("plans replayed", int64_t(plans));
}

}  // namespace
}  // namespace graphc::core
