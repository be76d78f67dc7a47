// SPDX-License-Identifier: Apache-2.0
// The bytes that kernels touch (codegen/step/traffic.h), against what is counted by hand.
#include "codegen/step/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "ir/text.h"
#include "passes/kernels/fuse.h"
#include "passes/passes.h"
#include "tests/codegen/recorded_bytes.h"
#include "tests/codegen/variants.h"
#include "tests/testing/confused_graph.h"
#include "tests/testing/random_graph.h"

namespace graphc::core {
namespace {

/// The plan of a graph's text, and the bytes of its phases in their order.
struct Counted {
  Plan plan;
  std::vector<double> bytes;
};

void list(const std::vector<Record>& records, const std::map<const Record*, double>& bytes,
          std::vector<double>& all) {
  for (const Record& record : records) {
    if (const auto found = bytes.find(&record); found != bytes.end()) {
      all.push_back(found->second);
    } else {
      list(std::get<LoopCall>(record.call).body, bytes, all);
    }
  }
}

Counted counted(const std::string& text) {
  Counted counted{make_plan(*form_kernels(lower_reductions(parse_graph(text)), {}), {}), {}};
  list(counted.plan.records, bytes_of_phases(counted.plan), counted.bytes);
  return counted;
}

void expect_bytes(const std::string& text, const std::vector<double>& wanted) {
  const Counted found = counted(text);
  EXPECT_EQ(found.bytes, wanted) << print(found.plan);
}

constexpr double kMatrix = 6 * 8 * 4;

TEST(Traffic, OfAMapIsItsOperandsEachOnce) {
  expect_bytes("graph @f(%a: f32[6,8], %b: f32[6,8]) { return add(mul(%a, %b), %a) }",
               {3 * kMatrix});
  expect_bytes("graph @f(%a: f32[6,8], %b: f32[8]) { return add(%a, %b) }", {2 * kMatrix + 8 * 4});
  expect_bytes("graph @f(%a: i32[6,8]) { return cast(%a) {dtype = f32} }", {2 * kMatrix});
}

TEST(Traffic, OfSlicesIsWhatIsReadOfTheWhole) {
  expect_bytes("graph @f(%a: f32[6,8]) { return tanh(slice(%a) {axis = 1, start = 2, limit = 5}) }",
               {2 * 6 * 3 * 4});
  // Columns 0 to 5 and 2 to 7 of the same rows.
  expect_bytes(
      "graph @f(%a: f32[6,8]) { return mul(slice(%a) {axis = 1, start = 0, limit = 6}, "
      "slice(%a) {axis = 1, start = 2, limit = 8}) }",
      {kMatrix + 6 * 6 * 4});
}

TEST(Traffic, OfWhatIsChangedInPlaceIsOneRange) {
  expect_bytes("graph @f(%g: f32[6,8]) state (%w: f32[6,8]) { next %w = sub(%w, %g) }",
               {2 * kMatrix});
}

TEST(Traffic, OfAProductIsItsMatrices) {
  expect_bytes("graph @f(%a: f32[6,5], %b: f32[5,8]) { return matmul(%a, %b) }",
               {4 * (6 * 5 + 5 * 8) + kMatrix});
}

TEST(Traffic, OfALoopHasWhatMovesForEveryStepAndTheRestOnce) {
  // A stream and its results move; a carry that is emitted is its own history; %u and %a do not.
  const Counted found = counted(
      "graph @f(%x: f32[4,6,8], %u: f32[8,8], %a: f32[6,8]) { %y, %h.e = scan %t in %x "
      "carry %h = %a with %u { %n = tanh(add(%t, matmul(%h, %u))) next %h = %n emit %n } "
      "return %y }");
  ASSERT_EQ(found.plan.records.size(), found.bytes.size());
  double loops = 0, panels = 0;
  for (size_t i = 0; i < found.bytes.size(); ++i) {
    const auto* loop = std::get_if<LoopCall>(&found.plan.records[i].call);
    if (const auto* call = std::get_if<PanelCall>(&found.plan.records[i].call)) {
      panels = double(call->panels.bytes());
      EXPECT_EQ(found.bytes[i], 8 * 8 * 4 + panels);
    }
    if (loop != nullptr) loops = found.bytes[i];
  }
  EXPECT_GT(panels, 0) << print(found.plan);
  EXPECT_EQ(loops, 4 * kMatrix + 4 * kMatrix + kMatrix + panels) << print(found.plan);
}

TEST(Traffic, OfALoopInPiecesIsThatOfEveryCall) {
  // The sum along the rows makes every step phases of their own.
  const Counted found = counted(
      "graph @f(%x: f32[4,6,8], %a: f32[6,8]) { %y, %h.e = scan %t in %x carry %h = %a "
      "{ %n = mul(%t, sum(%h) {axes = [0], keep = true}) next %h = %n emit %n } return %y }");
  // Six rows of eight to eight sums; eight sums and the rows of the step to the next rows.
  const double sums = 8 * 4;
  EXPECT_EQ(found.bytes, (std::vector<double>{4 * (kMatrix + sums), 4 * (2 * kMatrix + sums)}))
      << print(found.plan);
}

TEST(Traffic, OfRowsByIndexIsAsIfAllIndicesDiffered) {
  expect_bytes("graph @f(%t: f32[10,8], %i: i32[6]) { return gather(%t, %i) }",
               {2 * kMatrix + 6 * 4});
  // Of two rows there are no six.
  expect_bytes("graph @f(%t: f32[2,8], %i: i32[6]) { return gather(%t, %i) }",
               {2 * 8 * 4 + kMatrix + 6 * 4});
}

void expect_every_byte(const GraphPtr& graph, const std::string& name) {
  for (const char* variant : {"fused", "basic"}) {
    CompileReport report;
    const Plan plan = make_plan(*form_kernels_for(graph, {.variant = variant}, report), {});
    const std::map<const Record*, double> found = bytes_of_phases(plan);
    std::map<const Record*, double> recorded;
    testing::record_bytes(plan, [&](const testing::RecordedCall& call) {
      if (call.has_indices) return;
      for (const auto& [buffer, bytes] : call.bytes)
        recorded[call.record] += double(bytes.size() - size_t(std::ranges::count(bytes, 0)));
    });
    for (const auto& [record, bytes] : recorded)
      ASSERT_EQ(found.at(record), bytes)
          << name << ", " << variant << ": "
          << std::visit([](const auto& call) { return call.name; }, record->call) << "\n"
          << print(plan);
  }
}

TEST(Traffic, IsEveryByteThatAWalkTouches) {
  for (unsigned seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    expect_every_byte(testing::random_graph(seed, {.nodes = 5 + int(seed * 7 % 25),
                                                   .loop = seed % 2 == 1,
                                                   .gradient = seed % 3 == 2}),
                      fmt::format("random graph {}", seed));
    expect_every_byte(testing::confused_graph(seed, {}), fmt::format("confused graph {}", seed));
  }
}

}  // namespace
}  // namespace graphc::core
