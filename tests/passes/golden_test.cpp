// SPDX-License-Identifier: Apache-2.0
// The derivative of whole recurrent layers, against golden vectors made with PyTorch's own layers.
#include "tests/testing/golden.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/evaluate.h"
#include "passes/passes.h"
#include "passes/pipeline.h"

namespace graphc::core {
namespace {

using testing::Derivatives;
using testing::golden_arrays;
using testing::golden_cells;
using testing::golden_inputs;
using testing::golden_layer;
using testing::golden_results;

void expect_golden_derivatives(const Pipeline& pipeline) {
  for (const auto& cell : golden_cells()) {
    const auto arrays = golden_arrays(cell.file);
    const GraphPtr graph = run_pipeline(golden_layer(cell, Derivatives::with), pipeline).graph;
    const auto found =
        evaluate(*graph, golden_inputs(cell, DType::f64), {}, Precision::f64).results;
    const auto names = golden_results(cell, Derivatives::with);
    ASSERT_EQ(found.size(), names.size());
    for (size_t i = 0; i < names.size(); ++i) {
      const Literal& wanted = arrays.at(names[i]);
      ASSERT_EQ(found[i].shape(), wanted.shape()) << cell.file << ": " << names[i];
      for (int64_t j = 0; j < wanted.elements(); ++j) {
        ASSERT_NEAR(found[i].element(j), wanted.element(j), 1e-12)
            << cell.file << ": " << names[i] << ", element " << j;
      }
    }
  }
}

TEST(Golden, DerivativesOfLayersAgreeWithPyTorch) {
  expect_golden_derivatives({{&passes::autodiff, {}}});
}

TEST(Golden, DerivativesAgreeThroughEveryStandardPipeline) {
  for (std::string_view variant : all_variants())
    expect_golden_derivatives(standard_pipeline(variant));
}

}  // namespace
}  // namespace graphc::core
