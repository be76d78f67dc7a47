// SPDX-License-Identifier: Apache-2.0
// The order of the standard pipelines: every pipeline obeys the table of passes/order.h, and for
// each of its rows the two are exchanged in a real pipeline, and something measurable gets worse.
#include "passes/order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/op.h"
#include "ir/scan.h"
#include "ir/text.h"
#include "passes/kernels/kernel.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "tests/passes/cells.h"
#include "tests/passes/order_graphs.h"
#include "tests/passes/values.h"
#include "tests/testing/source_tree.h"

namespace graphc::core::testing {
namespace {

// --- what gets worse

using Measure = int64_t (*)(const PipelineResult& result);

int64_t products_in_loops(const PipelineResult& result) {
  int64_t products = 0;
  for (const Node& node : result.graph->nodes()) {
    if (node.is(ops::scan)) products += count(node.region(), "matmul");
  }
  return products;
}

int64_t count_in_loops(const Graph& graph, std::string_view op) {
  int64_t found = 0;
  for (const Node& node : graph.nodes()) {
    if (node.is(ops::scan)) found += count(node.region(), op);
  }
  return found;
}
int64_t reshapes_in_loops(const PipelineResult& result) {
  return count_in_loops(*result.graph, "reshape");
}
int64_t transposes_in_loops(const PipelineResult& result) {
  return count_in_loops(*result.graph, "transpose");
}

/// Elements of all that loops give: what is saved for the backward loops, mostly.
int64_t given_by_loops(const PipelineResult& result) {
  int64_t elements = 0;
  for (const Node& node : result.graph->nodes()) {
    if (!node.is(ops::scan)) continue;
    for (const Type& type : node.types) elements += type.shape.elements();
  }
  return elements;
}

int64_t nodes_in(const Graph& graph) {
  int64_t nodes = int64_t(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    for (const GraphPtr& region : node.regions) nodes += nodes_in(*region);
  }
  return nodes;
}
int64_t nodes(const PipelineResult& result) { return nodes_in(*result.graph); }

int64_t products(const PipelineResult& result) { return count(*result.graph, "matmul"); }

int64_t loops_not_recognised(const PipelineResult& result) {
  return std::ranges::none_of(result.remarks.all(), [](const Remark& remark) {
    return remark.pass == "outline" && remark.text.starts_with("is lstm");
  });
}

/// Comparisons of a maximum with what it is of: its derivative in a loss or softmax, where it adds
/// up to nothing.
int64_t derivatives_of_maxima(const PipelineResult& result) {
  return count(*result.graph, "equal");
}

/// How many nodes another clean-up takes away.
int64_t left_to_do(const PipelineResult& result) {
  return int64_t(result.graph->nodes().size()) -
         int64_t(after(result.graph, "simplify,cse")->nodes().size());
}

int64_t tables_updated_whole(const PipelineResult& result) {
  return count(*result.graph, "merge_rows") == 0;
}

int64_t largest_value(const Graph& graph) {
  int64_t elements = 0;
  for (const Node& node : graph.nodes()) {
    for (const Type& type : node.types) elements = std::max(elements, type.shape.elements());
    for (const GraphPtr& region : node.regions)
      elements = std::max(elements, largest_value(*region));
  }
  return elements;
}
int64_t largest(const PipelineResult& result) { return largest_value(*result.graph); }

int64_t reshapes(const PipelineResult& result) { return count(*result.graph, "reshape"); }
int64_t transposes(const PipelineResult& result) { return count(*result.graph, "transpose"); }

/// Captured values of two axes, or repeated by their strides.
int64_t vectors_read_by_loops(const PipelineResult& result) {
  int64_t vectors = 0;
  for (const Node& node : result.graph->nodes()) {
    if (!node.is(ops::scan)) continue;
    for (const Value value : Scan(node).captures())
      vectors += value.shape().rank() == 2 || value.node->is(ops::broadcast_to);
  }
  return vectors;
}

/// Elements of f32 in what loops give.
int64_t given_in_f32(const PipelineResult& result) {
  int64_t elements = 0;
  for (const Node& node : result.graph->nodes()) {
    if (!node.is(ops::scan) && !is_kernel_of(node, Family::recurrent)) continue;
    for (const Type& type : node.types)
      elements += type.dtype == DType::f32 ? type.shape.elements() : 0;
  }
  return elements;
}

bool is_known(const Node& node) {
  try {
    const Kernel kernel(node);
    if (kernel.family() == Family::map || kernel.family() == Family::gemm)
      return kernel.rows().has_value();
    return kernel.family() != Family::reduction ||
           (kernel.first().operands[0].shape().rank() == 2 &&
            kernel.first().attributes.get_ints("axes") == std::vector<int64_t>{0});
  } catch (const Error&) {
    return false;  // a pass behind `fuse` has made its body one of another family
  }
}

/// Kernels that lowering does not know.
int64_t kernels_that_there_are_not(const PipelineResult& result) {
  return std::ranges::count_if(result.graph->nodes(), [](const Node& node) {
    return node.is(ops::kernel) && !is_known(node);
  });
}

// --- the exchanges

struct Exchange {
  std::string_view before, after;
  GraphPtr (*graph)();
  Measure measure;
  std::string_view unroll = "auto";
};

constexpr Exchange exchanges[] = {
    {"reroll", "simplify", ordered::written_out, nodes},
    {"simplify,cse", "autodiff", ordered::equal_products, given_by_loops},
    {"pack-matmuls", "hoist", ordered::lstm_gates_training, products_in_loops},
    {"hoist", "autodiff", ordered::lstm_training, nodes},
    {"hoist", "outline", ordered::lstm, loops_not_recognised},
    {"outline", "autodiff", ordered::softmax, derivatives_of_maxima},
    {"split-axes", "align-axes", ordered::heads_side_by_side, transposes_in_loops},
    {"align-axes", "autodiff", ordered::heads, transposes},
    {"expand", "align-axes", ordered::indices, reshapes_in_loops},
    {"vector-products", "chunk-recurrence", ordered::matrix_read_by_product, given_by_loops},
    {"chunk-recurrence", "autodiff", ordered::linear_attention, given_by_loops},
    {"remat", "autodiff", ordered::every_fourth_state, given_by_loops},
    {"autodiff", "expand", ordered::loss, derivatives_of_maxima},
    {"expand", "simplify,cse,hoist", ordered::loss, left_to_do},
    {"hoist", "unroll", ordered::lstm_training, products, "full"},
    {"unroll", "simplify", ordered::last_output, products, "full"},
    {"hoist", "sparse-rows", ordered::embedding, tables_updated_whole},
    {"autodiff", "sparse-rows", ordered::embedding, tables_updated_whole},
    {"autodiff", "collectives", ordered::embedding_on_ranks, tables_updated_whole},
    {"collectives", "sparse-rows", ordered::embedding_on_ranks, tables_updated_whole},
    {"autodiff,expand", "chunk", ordered::projection, largest},
    {"hoist", "chunk", ordered::projection, largest},
    {"chunk", "fuse", ordered::projection, largest},
    {"reductions", "simplify", ordered::sum_changed_back, reshapes},
    {"autodiff", "precision", ordered::lstm_training, given_in_f32},
    {"reductions", "precision", ordered::lstm_training, given_in_f32},
    {"precision", "fuse", ordered::lstm_training, given_in_f32},
    {"simplify", "row-operands", ordered::parameters_of_heads, vectors_read_by_loops},
    {"row-operands", "fuse", ordered::parameters_of_heads, vectors_read_by_loops},
    {"reductions", "fuse", ordered::sums_of_several_axes, kernels_that_there_are_not},
};

Pipeline joined_pipeline(std::string_view variant, std::string_view unroll = "auto") {
  Pipeline pipeline = standard_pipeline(variant, unroll);
  for (PassUse& use : kernel_pipeline(variant, true)) pipeline.push_back(std::move(use));
  return pipeline;
}

/// The part of the variant `fused` that the rule is about: to kernels only where it must be.
Pipeline pipeline_for(const OrderRule& rule, std::string_view unroll) {
  const Pipeline optimized = standard_pipeline("fused", unroll);
  return concerns(rule, optimized) ? optimized : joined_pipeline("fused", unroll);
}

/// Chunks as small as the graphs here are, in any pipeline.
PipelineResult run(const GraphPtr& graph, Pipeline pipeline) {
  for (PassUse& use : pipeline) {
    if (use.pass == &passes::chunk) use.options = PassOptions("bytes=660,rows=1");
    if (use.pass == &passes::chunk_recurrence) use.options = PassOptions("steps=4");
  }
  return run_pipeline(graph, pipeline);
}

TEST(Order, EveryRowHasAnExchangeAndEveryExchangeARow) {
  const auto same = [](const OrderRule& rule, const Exchange& exchange) {
    return rule.before == exchange.before && rule.after == exchange.after;
  };
  for (const OrderRule& rule : order_rules()) {
    EXPECT_TRUE(std::ranges::any_of(exchanges, [&](const Exchange& e) { return same(rule, e); }))
        << rule.before << " < " << rule.after;
  }
  EXPECT_EQ(order_rules().size(), std::size(exchanges));
}

TEST(Order, OfEveryStandardPipelineIsTheTables) {
  for (std::string_view variant : all_variants()) {
    for (std::string_view unroll : {"auto", "loop", "full", "3"}) {
      const Pipeline pipeline = joined_pipeline(variant, unroll);
      for (const OrderRule& rule : order_rules()) {
        if (concerns(rule, pipeline)) {
          EXPECT_TRUE(obeys(pipeline, rule))
              << to_text(pipeline) << ": " << rule.before << " < " << rule.after;
        }
      }
    }
  }
}

TEST(Order, ExchangedMakesSomethingWorse) {
  for (const Exchange& exchange : exchanges) {
    const auto rule = std::ranges::find_if(order_rules(), [&](const OrderRule& each) {
      return each.before == exchange.before && each.after == exchange.after;
    });
    ASSERT_NE(rule, order_rules().end());
    const Pipeline pipeline = pipeline_for(*rule, exchange.unroll);
    const Pipeline other = exchanged(pipeline, *rule);
    SCOPED_TRACE(fmt::format("{} < {}: {}", rule->before, rule->after, to_text(other)));
    ASSERT_TRUE(concerns(*rule, pipeline));
    EXPECT_TRUE(obeys(pipeline, *rule));
    EXPECT_FALSE(obeys(other, *rule));
    const PipelineResult good = run(exchange.graph(), pipeline);
    const PipelineResult bad = run(exchange.graph(), other);
    EXPECT_LT(exchange.measure(good), exchange.measure(bad)) << print(*bad.graph);
  }
}

TEST(Order, StandsInTheDocument) {
  const SourceFile file = read_source_file("passes/README.md");
  std::string text;
  for (const std::string& line : file.lines) text += line + "\n";
  EXPECT_NE(text.find(order_table()), std::string::npos)
      << "passes/README.md has another table than passes/order.cpp, which is\n"
      << order_table();
}

}  // namespace
}  // namespace graphc::core::testing
