// SPDX-License-Identifier: Apache-2.0
// The order of the standard pipelines: every pipeline obeys the table of passes/order.h, and for
// each of its rows the two are exchanged in a real pipeline, and something measurable gets worse.
#include "passes/order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/op.h"
#include "ir/text.h"
#include "passes/kernels/kernel.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "tests/passes/cells.h"
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

int64_t reshapes_in_loops(const PipelineResult& result) {
  int64_t reshapes = 0;
  for (const Node& node : result.graph->nodes()) {
    if (node.is(ops::scan)) reshapes += count(node.region(), "reshape");
  }
  return reshapes;
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

// --- the graphs

/// A loop that somebody wrote out, from a state of zeros.
GraphPtr written_out() {
  std::string text =
      "graph @f(%x: f32[6,3,5]) state (%u: f32[5,5]) {\n"
      "  %h0 = constant {dtype = f32, shape = [3,5], value = 0}\n";
  for (int i = 0; i < 6; ++i)
    text += fmt::format(
        "  %h{1} = tanh(add(reshape(slice(%x) {{axis = 0, start = {0}, limit = {1}}}) "
        "{{shape = [3,5]}}, matmul(%h{0}, %u)))\n",
        i, i + 1);
  return parse_graph(text + "  return %h6\n}");
}

GraphPtr cell(size_t index) { return parse_cell(all_cells()[index]); }
GraphPtr lstm() { return cell(0); }
GraphPtr lstm_training() { return with_gradients(cell(0)); }
GraphPtr last_output() { return cell(1); }
GraphPtr lstm_gates_training() { return with_gradients(cell(2)); }

/// Two equal products in a loop: before autodiff one is left.
GraphPtr equal_products() {
  return with_gradients(parse_graph(R"(
    graph @f(%x: f32[4,3,5], %h0: f32[3,5], %u: f32[5,5]) {
      %h.e = scan %x.t in %x carry %h = %h0 with %u {
        next %h = mul(tanh(matmul(%h, %u)), sigmoid(matmul(%h, %u)))
      }
      return %h.e
    })"));
}

/// A loop that saves the state of every fourth step.
GraphPtr every_fourth_state() {
  return with_gradients(parse_graph(R"(
    graph @f(%x: f32[16,3,5], %h0: f32[3,5]) {
      %h.e = scan {save_every = 4} %x.t in %x carry %h = %h0 {
        next %h = tanh(mul(tanh(%h), %x.t))
      }
      return %h.e
    })"));
}

/// A loop with a matrix for each of two heads.
GraphPtr heads() {
  return with_gradients(parse_graph(R"(
    graph @f(%x: f32[4,3,2,5], %h0: f32[3,2,5], %u: f32[2,5,5]) {
      %hs, %h.e = scan %x.t in %x carry %h = %h0 with %u {
        %z = transpose(matmul(transpose(%h) {permutation = [1,0,2]}, %u)) {permutation = [1,0,2]}
        %h.1 = add(mul(%h, 0.5), tanh(add(mul(%x.t, %h), %z)))
        next %h = %h.1
        emit %h.1
      }
      return %hs
    })"));
}

/// A loop that feeds the index of its largest output back.
GraphPtr indices() {
  return parse_graph(R"(
    graph @f(%x: f32[4,3,5], %token0: i32[3], %h0: f32[3,5], %u: f32[5,5]) {
      %h.e, %token.e = scan %x.t in %x carry %h = %h0, %token = %token0 with %u {
        %hot = cast(one_hot(%token) {depth = 5}) {dtype = f32}
        %h.1 = tanh(add(add(%x.t, %hot), matmul(%h, %u)))
        next %h = %h.1, %token = argmax(%h.1) {axis = 1}
      }
      return %h.e, %token.e
    })");
}

/// A loop over a matrix in every row.
GraphPtr linear_attention() {
  return with_gradients(parse_graph(R"(
    graph @f(%k: f32[16,3,5,1], %v: f32[16,3,1,7], %s0: f32[3,5,7]) {
      %o, %s.e = scan %k.t in %k, %v.t in %v carry %s = %s0 {
        %s.1 = add(mul(%s, 0.9), mul(%k.t, %v.t))
        next %s = %s.1
        emit sum(mul(%s.1, %k.t)) {axes = [1]}
      }
      return %o
    })"));
}

GraphPtr matrix_read_by_product() {
  return with_gradients(parse_graph(R"(
    graph @f(%k: f32[16,3,5,1], %v: f32[16,3,1,7], %q: f32[16,3,1,5], %s0: f32[3,5,7]) {
      %o, %s.e = scan %k.t in %k, %v.t in %v, %q.t in %q carry %s = %s0 {
        %s.1 = add(mul(%s, 0.9), mul(%k.t, %v.t))
        next %s = %s.1
        emit matmul(%q.t, %s.1)
      }
      return %o
    })"));
}

GraphPtr softmax() {
  return with_gradients(parse_graph(R"(
    graph @f(%x: f32[4,7]) {
      %e = exp(sub(%x, max(%x) {axes = [1], keep = true}))
      return div(%e, sum(%e) {axes = [1], keep = true})
    })"));
}

GraphPtr loss() {
  return with_gradients(parse_graph(R"(
    graph @f(%x: f32[4,7], %t: i32[4]) { return mean(cross_entropy(%x, %t)) {axes = [0]} })"));
}

GraphPtr embedding() {
  return parse_graph(R"(
    graph @train(%i: i32[5,2], %h0: f32[2,3]) state (%table: f32[40,3]) {
      %h.e = scan %i.t in %i carry %h = %h0 with %table {
        next %h = tanh(add(%h, gather(%table, %i.t)))
      }
      %loss = sum(%h.e) {axes = [0,1]}
      %g = grad %loss, %table
      next %table = sub(%table, %g)
      return %loss
    })");
}

/// The same on two ranks.
GraphPtr embedding_on_ranks() {
  return parse_graph(R"(
    graph @train(%i: i32[5,2], %h0: f32[2,3]) state (%table: f32[40,3]) {
      %h.e = scan %i.t in %i carry %h = %h0 with %table {
        next %h = tanh(add(%h, gather(%table, %i.t)))
      }
      %loss = sum(%h.e) {axes = [0,1]}
      %g = grad %loss, %table
      next %table = sub(%table, all_reduce(%g) {ranks = 2})
      return %loss
    })");
}

/// A vocabulary projection, its loss and gradients: 15 rows of 33 columns.
GraphPtr projection() {
  return parse_graph(R"(
    graph @head(%x: f32[15,4], %targets: i32[15], %w: f32[4,33]) {
      %losses = cross_entropy matmul(%x, %w), %targets
      %dx, %dw = grad sum(%losses) {axes = [0]}, %x, %w
      return %losses, %dx, %dw
    })");
}

GraphPtr sum_changed_back() {
  return parse_graph(R"(
    graph @f(%x: f32[3,4]) {
      return div(%x, reshape(sum(%x) {axes = [1]}) {shape = [3,1]})
    })");
}

GraphPtr sums_of_several_axes() {
  return parse_graph(
      "graph (%x: f32[3,4,5]) { return sum(%x) {axes = [0,2]}, max(%x) {axes = [1]} }");
}

// --- the exchanges

struct Exchange {
  std::string_view before, after;
  GraphPtr (*graph)();
  Measure measure;
  std::string_view unroll = "auto";
};

constexpr Exchange exchanges[] = {
    {"reroll", "simplify", written_out, nodes},
    {"simplify,cse", "autodiff", equal_products, given_by_loops},
    {"pack-matmuls", "hoist", lstm_gates_training, products_in_loops},
    {"hoist", "autodiff", lstm_training, nodes},
    {"hoist", "outline", lstm, loops_not_recognised},
    {"outline", "autodiff", softmax, derivatives_of_maxima},
    {"align-axes", "autodiff", heads, transposes},
    {"expand", "align-axes", indices, reshapes_in_loops},
    {"vector-products", "chunk-recurrence", matrix_read_by_product, given_by_loops},
    {"chunk-recurrence", "autodiff", linear_attention, given_by_loops},
    {"remat", "autodiff", every_fourth_state, given_by_loops},
    {"autodiff", "expand", loss, derivatives_of_maxima},
    {"expand", "simplify,cse,hoist", loss, left_to_do},
    {"hoist", "unroll", lstm_training, products, "full"},
    {"unroll", "simplify", last_output, products, "full"},
    {"hoist", "sparse-rows", embedding, tables_updated_whole},
    {"autodiff", "sparse-rows", embedding, tables_updated_whole},
    {"autodiff", "collectives", embedding_on_ranks, tables_updated_whole},
    {"collectives", "sparse-rows", embedding_on_ranks, tables_updated_whole},
    {"autodiff,expand", "chunk", projection, largest},
    {"hoist", "chunk", projection, largest},
    {"chunk", "fuse", projection, largest},
    {"reductions", "simplify", sum_changed_back, reshapes},
    {"autodiff", "precision", lstm_training, given_in_f32},
    {"reductions", "precision", lstm_training, given_in_f32},
    {"precision", "fuse", lstm_training, given_in_f32},
    {"reductions", "fuse", sums_of_several_axes, kernels_that_there_are_not},
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
