// SPDX-License-Identifier: Apache-2.0
// Which values of a step lie in the place of a carried matrix, and that no element is lost by it:
// the graphs of tests/regressions/carries_of_matrices.graph, which compares their numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/plan/memory.h"
#include "codegen/step/visit.h"
#include "ir/text.h"
#include "tests/codegen/replay_plan.h"
#include "tests/testing/source_tree.h"

namespace graphc::core::testing {
namespace {

Module graphs_of_carries() {
  std::ifstream stream(source_path("tests/regressions/carries_of_matrices.graph"));
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return parse(text.substr(text.find("test verify") + 11));
}

GraphPtr kernels_of_carries(const Graph& graph) {
  CompileReport report;
  return form_kernels_for(parse_graph(print(graph)), {}, report);
}

/// The matrices in the arena that the steps of loops use, with those of two slots counted twice.
int64_t matrices_of_steps(const Plan& plan, int64_t bytes) {
  std::set<int> used;
  for (const Record& record : plan.records) {
    if (!std::holds_alternative<LoopCall>(record.call)) continue;
    visit_addresses(record, [&](const Address& address) { used.insert(address.buffer); });
  }
  int64_t matrices = 0;
  for (const int buffer : used) {
    const Buffer& of = plan.buffers[size_t(buffer)];
    if (of.place == Place::arena) matrices += of.bytes / bytes;
  }
  return matrices;
}

TEST(StepPlaces, AreThoseOfCarriesWhereNothingIsReadLater) {
  // Of the carries; and of the values that need a place of their own. Of each_from_both one nest
  // reads both carries and writes both.
  const std::map<std::string, std::pair<int64_t, int64_t>> wanted = {
      {"in_place", {1, 0}},  {"read_late", {2, 1}},  {"emitted", {0, 0}},
      {"exchanged", {2, 1}}, {"of_a_state", {1, 0}}, {"each_from_both", {2, 0}},
      {"turned", {1, 1}}};
  int found = 0;
  for (const GraphPtr& graph : graphs_of_carries().graphs) {
    const auto matrices = wanted.find(graph->name());
    if (matrices == wanted.end()) continue;
    ++found;
    Plan plan = lower(*kernels_of_carries(*graph), machine_like(0, 2));
    plan_memory(plan);
    EXPECT_NO_THROW(verify_plan(plan));
    const int64_t bytes = graph->name() == "turned" ? 6 * 7 * 7 * 4 : 6 * 4 * 19 * 4;
    EXPECT_EQ(matrices_of_steps(plan, bytes), matrices->second.first + matrices->second.second)
        << print(plan);
    // Records that may be reordered have places of their own.
    Plan apart = lower(*kernels_of_carries(*graph), machine_like(0, 2));
    plan_memory(apart, /*own_places=*/true);
    const int more = graph->name() == "in_place" ? 1 : 0;
    EXPECT_GE(matrices_of_steps(apart, bytes), matrices_of_steps(plan, bytes) + more)
        << print(apart);
  }
  EXPECT_EQ(found, int(wanted.size()));
}

TEST(StepPlaces, KeepEveryElement) {
  for (const GraphPtr& graph : graphs_of_carries().graphs) {
    SCOPED_TRACE(graph->name());
    for (const int workers : {1, 2, 3})
      EXPECT_EQ(replay(*kernels_of_carries(*graph), machine_like(0, workers)), "") << workers;
  }
}

}  // namespace
}  // namespace graphc::core::testing
