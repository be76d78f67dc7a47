// SPDX-License-Identifier: Apache-2.0
// Cells as people write them. A loop of vectors is one kernel, forward and backward; one whose rows
// carry a matrix has no barriers: a worker takes one row after another through all steps
// (LoopCall::rows_apart).
#include <gtest/gtest.h>

#include <sstream>

#include "codegen/target.h"
#include "tests/codegen/variants.h"
#include "tests/testing/counts.h"
#include "tests/testing/graph_file.h"

namespace graphc::core::testing {
namespace {

/// The lines of a plan about its outermost loops.
std::vector<std::string> loops_of(const std::string& plan) {
  std::vector<std::string> loops;
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("phase") && line.find(": loop ") != std::string::npos)
      loops.push_back(line);
  }
  return loops;
}

TEST(OwnCellsCpu, OfVectorsAreOneKernelForwardAndOneBackward) {
  const std::vector<GraphPtr> cells = graphs_of_tests("tests/codegen/cpu/vector_cells.graph");
  for (const GraphPtr& cell : cells) {
    SCOPED_TRACE(cell->name());
    EXPECT_EQ(loops_of_several_kernels(cell, "loop"), "");
  }
  EXPECT_GE(cells.size(), 13u);
}

TEST(OwnCellsCpu, OfMatricesGoRowByRowForwardAndBackward) {
  const std::vector<GraphPtr> cells = graphs_of_tests("tests/codegen/cpu/matrix_cells.graph");
  int64_t loops = 0;
  for (const GraphPtr& cell : cells) {
    // All states saved, every fourth one, and as graphc chooses.
    for (const char* remat : {"off", "4", "auto"}) {
      SCOPED_TRACE(fmt::format("@{} with remat {}", cell->name(), remat));
      const std::string plan =
          targets::cpu.show(cell, {.remat = remat, .recurrence = "steps", .threads = 2}, "plan");
      const std::vector<std::string> found = loops_of(plan);
      EXPECT_EQ(found.size(), 2u) << plan;
      for (const std::string& loop : found)
        EXPECT_NE(loop.find("row by row"), std::string::npos) << loop;
      loops += int64_t(found.size());
    }
  }
  EXPECT_GE(cells.size(), 14u);
  count("loops over matrices", loops);
}

}  // namespace
}  // namespace graphc::core::testing
