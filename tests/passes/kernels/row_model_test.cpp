// SPDX-License-Identifier: Apache-2.0
// One model of rows: what is fused, lowering can compute. Every body that clusters or loops become
// has a model.
#include "passes/kernels/row_model.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "ir/scan.h"
#include "ir/text.h"
#include "passes/kernels/kernel.h"
#include "passes/pipeline.h"
#include "tests/passes/values.h"
#include "tests/testing/confused_graph.h"
#include "tests/testing/counts.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/samples.h"

namespace graphc::core::testing {
namespace {

/// What was looked at.
struct Seen {
  int64_t bodies = 0;      ///< of rows
  int64_t recurrent = 0;   ///< steps of loops among them
  int64_t of_several = 0;  ///< bodies of more than one node and more than one space
};

void expect_models(const Graph& kernels, Seen& seen) {
  for (const Node& node : kernels.nodes()) {
    if (node.is(ops::scan)) expect_models(node.region(), seen);
    if (!node.is(ops::kernel)) continue;
    const Kernel kernel(node);
    const Family family = kernel.family();
    if (family != Family::map && family != Family::gemm && family != Family::recurrent) continue;
    const Graph& body = kernel.step();
    const std::optional<RowModel>& model = kernel.rows();
    EXPECT_TRUE(model.has_value()) << kernel.why_no_rows() << "\n" << print(kernels);
    if (!model) continue;
    ++seen.bodies;
    seen.recurrent += family == Family::recurrent;
    seen.of_several += model->spaces.size() > 1 && body.nodes().size() > body.inputs().size() + 1;
  }
}

/// Forms kernels of the graph by the passes, each body of which must have a model.
void form(const GraphPtr& graph, const std::string& passes, Seen& seen) {
  expect_models(*after(graph, passes), seen);
}

std::string fused() {
  return to_text(standard_pipeline("fused")) + "," + to_text(kernel_pipeline("fused"));
}

TEST(RowModel, IsThereForEveryBodyOfRandomGraphs) {
  Seen seen;
  for (unsigned seed = 1; seed <= half_of(250); ++seed) {
    SCOPED_TRACE(fmt::format("random graph {}", seed));
    const GraphPtr graph = random_graph(
        seed, {.nodes = 5 + int(seed * 7 % 25), .loop = seed % 2 == 1, .gradient = seed % 3 == 2});
    form(graph, fused(), seen);
    form(graph, "autodiff,expand,reductions,fuse", seen);
  }
  for (unsigned seed = 1; seed <= half_of(500); ++seed) {
    SCOPED_TRACE(fmt::format("confused graph {}", seed));
    form(confused_graph(seed, {.real = seed % 2 == 1, .gradient = seed % 3 == 0}), fused(), seen);
  }
  EXPECT_GT(seen.bodies, int(half_of(3000)));
  EXPECT_GT(seen.recurrent, int(half_of(50)));
  count("bodies with a model of rows", seen.bodies);
}

/// A graph whose values are cut and put together along their columns in many widths.
class WidthsGraph {
 public:
  explicit WidthsGraph(unsigned seed) : random_(seed), graph_(std::make_unique<Graph>("widths")) {}

  GraphPtr run() {
    for (const int64_t width : {2, 3, 4, 6, 8, 12}) {
      for (int i = 0; i < 2; ++i) values_.push_back(graph_->input({DType::f32, {5, width}}, "x"));
    }
    for (int i = 0; i < 14; ++i) add();
    Values results;
    for (size_t i = values_.size() - 6; i < values_.size(); ++i) results.push_back(values_[i]);
    graph_->set_results(std::move(results));
    return freeze(std::move(graph_));
  }

 private:
  int below(int n) { return int(random_() % unsigned(n)); }
  /// Values made last are chosen more often.
  Value any() { return values_[values_.size() - 1 - size_t(std::min(below(12), below(12)))]; }

  void put(const Node& node) {
    for (int i = 0; i < node.results(); ++i) values_.push_back(node.result(i));
  }

  void add() {
    const Value x = any();
    const int64_t width = x.shape()[-1];
    switch (below(6)) {
      case 0: {
        Values parts{x};
        for (int i = 0; i <= below(2); ++i) parts.push_back(any());
        return put(graph_->add(ops::concat, parts, {{"axis", int64_t{1}}}));
      }
      case 1:
        for (const int64_t parts : {2, 3}) {
          if (width % parts == 0)
            return put(graph_->add(ops::split, {x}, {{"axis", int64_t{1}}, {"parts", parts}}));
        }
        return;
      case 2: {
        const int64_t taken = 1 + below(int(width)), start = below(int(width - taken + 1));
        return put(graph_->add(ops::slice, {x},
                               {{"axis", int64_t{1}}, {"start", start}, {"limit", start + taken}}));
      }
      case 3:
        return put(graph_->add(ops::sum, {x}, {{"axes", std::vector<int64_t>{1}}, {"keep", true}}));
      case 4: {
        const Value u = graph_->input({DType::f32, {width, int64_t(2 + below(7))}}, "u");
        return put(graph_->add(ops::matmul, {x, u}));
      }
      default:
        return add_elementwise(x);
    }
  }

  /// With a value of the same width, or one number for each row.
  void add_elementwise(Value x) {
    for (int i = 0; i < 8; ++i) {
      const Value y = any();
      if (y.shape() != x.shape() && y.shape()[-1] != 1) continue;
      return put(graph_->add(ops::mul, {x, y}));
    }
    put(graph_->add(ops::tanh, {x}));
  }

  std::mt19937 random_;
  std::unique_ptr<Graph> graph_;
  Values values_;
};

TEST(RowModel, IsThereForEveryBodyOfManyWidths) {
  Seen seen;
  for (unsigned seed = 1; seed <= half_of(3000); ++seed) {
    SCOPED_TRACE(fmt::format("graph of widths {}", seed));
    form(WidthsGraph(seed).run(), "fuse", seen);
  }
  EXPECT_GT(seen.bodies, int(half_of(10000)));
  EXPECT_GT(seen.of_several, int(half_of(1000)));
  count("bodies with a model of rows", seen.bodies);
}

TEST(RowModel, IsThereForTheBasicVariant) {
  Seen seen;
  for (unsigned seed = 1; seed <= 500; ++seed)
    form(WidthsGraph(seed).run(), "fuse{single=true}", seen);
  EXPECT_GT(seen.bodies, 2000);
}

// Widths 4, 6 and 12 have the unit 2 of %z4, which is in a space of its own.
TEST(RowModel, SpacesOfOneKernelHaveUnitsOfTheirOwn) {
  Seen seen;
  form(parse_graph(R"(
    graph @f(%x: f32[3,2], %a: f32[3,4], %b: f32[3,8]) {
      %z4 = concat(mul(%x, %x), %x) {axis = 1}
      %s = sum(%z4) {axes = [1], keep = true}
      %c = exp(concat(mul(%a, %s), %b) {axis = 1})
      %e, %g = split(%c) {axis = 1, parts = 2}
      return add(%e, %g), %z4
    })"),
       "fuse", seen);
  EXPECT_GE(seen.bodies, 2);
}

TEST(ColumnUnit, TakesWholePartsUpToTheMost) {
  EXPECT_TRUE(is_whole_parts(12, 4));
  EXPECT_FALSE(is_whole_parts(6, 4));
  EXPECT_TRUE(is_whole_parts(2 * kMostParts, 2));
  EXPECT_FALSE(is_whole_parts(2 * kMostParts + 2, 2));
  EXPECT_FALSE(joined({4, 12}, {6, 6}));
  EXPECT_FALSE(joined({4, 256}, {2, 2}));
  const std::optional<ColumnUnit> both = joined({4, 12}, {2, 6});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->unit, 2);
  EXPECT_EQ(both->widest, 12);
  EXPECT_EQ(joined({}, {4, 12})->unit, 4);
  EXPECT_FALSE(joined({12, 12}, {8, 8}));
  EXPECT_TRUE(joined(std::array<ColumnUnit, 3>{{{12, 12}, {8, 8}, {4, 4}}}));
}

}  // namespace
}  // namespace graphc::core::testing
