// SPDX-License-Identifier: Apache-2.0
// The graphs of several ranks, evaluated side by side, against the graph of the whole batch:
// results, next values of states, and gradients.
#include "passes/replicate/replicate.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/build.h"
#include "ir/sent.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/replicate/holding.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"
#include "tests/testing/counts.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/random_cell.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/ranks.h"
#include "tests/testing/samples.h"
#include "tests/testing/with_extent.h"

namespace graphc::core::testing {
namespace {

/// How a batch is shared out.
struct Case {
  int ranks;
  int shards;
};
constexpr Case kCases[] = {{2, 0}, {3, 0}, {4, 0}, {1, 4}, {2, 4}, {4, 4}};

int64_t count_of(const Case& c) { return c.shards == 0 ? c.ranks : c.shards; }

/// The graph of a rank, without `grad`.
GraphPtr of_rank(const GraphPtr& graph, const Case& c, int rank, const std::vector<int>& axes) {
  Remarks remarks;
  const GraphPtr own = replicated(
      graph, {.ranks = c.ranks, .rank = rank, .shards = c.shards, .axes = axes}, remarks);
  verify(*own);
  return after(own, "autodiff");
}

void expect_near(const Literal& found, const Literal& wanted, const std::string& what) {
  ASSERT_EQ(found.shape(), wanted.shape()) << what;
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    const double x = wanted.element(i), y = found.element(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    ASSERT_NEAR(y, x, 1e-9 * std::max(1.0, std::abs(x))) << what << " at " << i;
  }
}

/// Expects every rank to compute what the graph computes, and all of them the same bits.
void expect_same(const GraphPtr& graph, const Case& c, const std::vector<int>& axes,
                 const Arguments& arguments) {
  const Evaluation wanted =
      evaluate(*after(graph, "autodiff"), arguments.inputs, arguments.states, Precision::f64);
  std::vector<GraphPtr> graphs;
  for (int rank = 0; rank < c.ranks; ++rank) graphs.push_back(of_rank(graph, c, rank, axes));
  const auto found = evaluate_ranks(graphs, arguments.inputs, arguments.states, Precision::f64);
  for (int rank = 0; rank < c.ranks; ++rank) {
    SCOPED_TRACE(fmt::format("rank {} of {}, {} shards", rank, c.ranks, c.shards));
    const Evaluation& own = found[size_t(rank)];
    ASSERT_EQ(own.results.size(), wanted.results.size());
    for (size_t i = 0; i < own.results.size(); ++i) {
      expect_near(own.results[i], wanted.results[i], fmt::format("result {}", i));
      EXPECT_TRUE(own.results[i] == found[0].results[i]) << "result " << i;
    }
    ASSERT_EQ(own.next.size(), wanted.next.size());
    for (const auto& [name, value] : own.next) {
      expect_near(value, wanted.next.at(name), name);
      EXPECT_TRUE(value == found[0].next.at(name)) << name;
    }
  }
}

/// For some inputs an axis that the shards divide.
std::vector<int> random_axes(const Graph& graph, int64_t shards, std::mt19937& random) {
  std::vector<int> axes;
  for (const Value input : graph.inputs()) {
    std::vector<int> possible{-1};
    for (int axis = 0; axis < input.shape().rank(); ++axis) {
      if (divides(input.shape(), parts_along(axis), shards)) possible.push_back(axis);
    }
    const size_t last = possible.size() - 1;
    axes.push_back(possible[std::uniform_int_distribution<size_t>(last > 0 ? 1 : 0, last)(random)]);
    if (random() % 4 == 0) axes.back() = -1;
  }
  return axes;
}

bool any_shared(const std::vector<int>& axes) {
  return std::ranges::any_of(axes, [](int axis) { return axis >= 0; });
}

template <typename Function>
void expect_message(ErrorKind kind, const std::string& text, const Function& function) {
  const std::string message = error_of(kind, function);
  EXPECT_NE(message.find(text), std::string::npos) << message;
}

TEST(Replicate, RandomGraphsAreTheWhole) {
  int64_t tried = 0;
  for (unsigned seed = 1; seed <= half_of(400) && !HasFailure(); ++seed) {
    const Case& c = kCases[seed % std::size(kCases)];
    const GraphPtr graph = random_graph(
        seed, {.nodes = 5 + int(seed * 7 % 25), .loop = seed % 2 == 1, .gradient = seed % 3 == 2});
    std::mt19937 random(seed);
    const std::vector<int> axes = random_axes(*graph, count_of(c), random);
    if (!any_shared(axes)) continue;
    SCOPED_TRACE(
        fmt::format("random graph {}, axes {}\n{}", seed, fmt::join(axes, " "), print(*graph)));
    expect_same(graph, c, axes, random_arguments(*graph, seed));
    ++tried;
  }
  EXPECT_GE(tried, half_of(200));
  count("graphs shared out among ranks", tried);
}

/// Rows of the batch are axis 1 of what a loop takes step by step, axis 0 of what it carries.
TEST(Replicate, RandomCellsWithStatesAcrossTheBatchAreTheWhole) {
  int64_t tried = 0;
  for (unsigned seed = 1; seed <= half_of(80) && !HasFailure(); ++seed) {
    const Case& c = kCases[seed % std::size(kCases)];
    const GraphPtr graph = with_extent(*random_cell(seed), 5, 12, false);
    if (graph == nullptr) continue;
    std::vector<int> axes;
    for (const Value input : graph->inputs()) {
      const int rank = input.shape().rank();
      const bool rows = rank > 1 && input.shape()[rank - 2] == 12 && input.name()[0] != 'u';
      axes.push_back(rows ? rank - 2 : -1);
    }
    SCOPED_TRACE(fmt::format("random cell {}", seed));
    Arguments arguments{random_cell_inputs(*graph, seed), {}};
    expect_same(graph, c, axes, arguments);
    ++tried;
  }
  count("cells shared out among ranks", tried);
}

constexpr const char* kLanguageModel = R"(
graph @train(%tokens: i32[3,4], %targets: i32[3,4], %rate: f32[])
    state (%table: f32[7,5], %w: f32[5,6], %u: f32[6,6], %v: f32[6,7], %h: f32[4,6], %seed: i64[]) {
  %x = dropout(gather(%table, %tokens), %seed) {keep = 0.5}
  %hs, %end = scan %x.t in %x carry %s = %h with %w, %u {
    %n = tanh(add(matmul(%x.t, %w), matmul(%s, %u)))
    next %s = %n
    emit %n
  }
  %loss = mean(cross_entropy(matmul(%hs, %v), %targets)) {axes = [0, 1]}
  %perplexity = exp(%loss)
  %dt, %dw, %du, %dv = grad(%loss, %table, %w, %u, %v)
  %norm = sqrt(add(sum(square(%dt)) {axes = [0, 1]}, sum(square(%dw)) {axes = [0, 1]}))
  %factor = div(1., maximum(%norm, 1.))
  next %table = sub(%table, mul(%rate, mul(%dt, %factor))),
       %w = sub(%w, mul(%rate, mul(%dw, %factor))), %u = sub(%u, mul(%rate, %du)),
       %v = sub(%v, mul(%rate, %dv)), %h = %end, %seed = add(%seed, 1)
  return %loss, %perplexity, %norm
}
)";

TEST(Replicate, ALanguageModelIsTheWhole) {
  const GraphPtr graph = parse_graph(kLanguageModel);
  for (const Case& c : {Case{2, 0}, Case{4, 0}, Case{1, 4}, Case{2, 4}, Case{4, 4}}) {
    Arguments arguments = random_arguments(*graph, 3, {.index_limit = 7});
    expect_same(graph, c, {1, 1, -1}, arguments);
  }
}

TEST(Replicate, GradientsAreSummedOnceAndMasksAreDrawnForOwnRows) {
  const GraphPtr graph = parse_graph(kLanguageModel);
  Remarks remarks;
  const GraphPtr own =
      replicated(graph, {.ranks = 2, .rank = 1, .shards = 0, .axes = {1, 1, -1}}, remarks);
  // Four gradients, the loss, and the carried state.
  EXPECT_EQ(count(*own, "all_reduce"), 5) << print(*own);
  EXPECT_EQ(count(*own, "all_gather"), 1) << print(*own);
  EXPECT_EQ(count(*own, "cross_entropy"), 1) << "composites stay";
  for (const Node& node : own->nodes()) {
    if (node.is(ops::philox)) {
      EXPECT_EQ(node.types[0].shape, Shape({3, 2, 5}));
    }
  }
  EXPECT_TRUE(remarks.all().empty()) << remarks.all()[0].text;
}

/// Gradients, and nothing else: the loss and the carried state are sent as they are.
TEST(Replicate, GradientsAloneAreSentInBf16) {
  const GraphPtr graph = parse_graph(kLanguageModel);
  Remarks remarks;
  const auto sent_by = [&](Replication how) {
    how.axes = {1, 1, -1};
    std::vector<std::string> sent;
    const GraphPtr own = replicated(graph, how, remarks);
    for (const Node& node : own->nodes()) {
      if (node.is(ops::all_reduce))
        sent.push_back(fmt::format("{} in {}", node.names[0], to_string(sent_as(node))));
    }
    std::ranges::sort(sent);
    return fmt::format("{}", fmt::join(sent, ", "));
  };
  const std::string plain = sent_by({.ranks = 2}),
                    narrow = sent_by({.ranks = 2, .gradients = DType::bf16});
  EXPECT_EQ(plain.find("bf16"), plain.npos) << plain;
  EXPECT_EQ(narrow, "dt in bf16, du in bf16, dv in bf16, dw in bf16, loss in f32");
  expect_message(ErrorKind::usage, "no bit would depend on shards alone",
                 [&] { sent_by({.ranks = 2, .shards = 2, .gradients = DType::bf16}); });
  expect_message(ErrorKind::usage, "gradients are sent in f32 or bf16: found f64",
                 [&] { sent_by({.ranks = 2, .gradients = DType::f64}); });
}

/// An element is wrong by two roundings, each by at most 1/256 of what all ranks have of it.
TEST(Replicate, GradientsInBf16AreWithinTheirBound) {
  constexpr int kRows = 8;
  const auto graph_of = [](int rows) {
    return parse_graph(fmt::format(R"(graph @g(%x: f32[{0},30], %t: f32[{0},20], %w: f32[30,20]) {{
      %loss = sum(mul(matmul(%x, %w), %t)) {{axes = [0, 1]}}
      %dw = grad(%loss, %w)
      return %dw
    }})",
                                   rows));
  };
  Arguments arguments = random_arguments(*graph_of(kRows), 11);
  for (Literal& input : arguments.inputs) input = input.converted(DType::f32);
  const auto rows_of = [&](size_t input, int first, int count) {
    const Literal& whole = arguments.inputs[input];
    const int64_t columns = whole.shape()[1];
    std::vector<double> rows;
    for (int64_t i = first * columns; i < (first + count) * columns; ++i)
      rows.push_back(whole.element(i));
    return Literal(rows, Shape{count, columns}).converted(DType::f32);
  };
  for (const int ranks : {2, 4, 8}) {
    std::vector<Evaluation> terms;
    std::vector<GraphPtr> graphs;
    Remarks remarks;
    for (int rank = 0; rank < ranks; ++rank) {
      const int own = kRows / ranks;
      terms.push_back(
          evaluate(*after(graph_of(own), "autodiff"),
                   {rows_of(0, rank * own, own), rows_of(1, rank * own, own), arguments.inputs[2]},
                   {}, Precision::f64));
      const Replication how{
          .ranks = ranks, .rank = rank, .gradients = DType::bf16, .axes = {0, 0, -1}};
      graphs.push_back(after(replicated(graph_of(kRows), how, remarks), "autodiff"));
    }
    const auto found = evaluate_ranks(graphs, arguments.inputs, {}, Precision::f32);
    double largest = 0;
    for (int64_t i = 0; i < found[0].results[0].elements(); ++i) {
      double sum = 0, size = 0;
      for (const Evaluation& term : terms) {
        sum += term.results[0].element(i);
        size += std::abs(term.results[0].element(i));
      }
      const double error = std::abs(found[0].results[0].element(i) - sum) / size;
      ASSERT_LE(error, 1.0 / 128) << ranks << " ranks, at " << i;
      largest = std::max(largest, error);
    }
    EXPECT_GT(largest, 1.0 / 1024) << "nothing is rounded";
    for (const Evaluation& each : found) EXPECT_TRUE(each.results[0] == found[0].results[0]);
  }
}

TEST(Replicate, AnExtentThatRanksDoNotDivideIsRefusedWithBoth) {
  const GraphPtr graph = parse_graph(kLanguageModel);
  Remarks remarks;
  expect_message(ErrorKind::input, "axis 1 of i32[3,4], is not divided by 3 ranks", [&] {
    replicated(graph, {.ranks = 3, .rank = 0, .shards = 0, .axes = {1, 1, -1}}, remarks);
  });
  expect_message(ErrorKind::input, "is not divided by 8 shards", [&] {
    replicated(graph, {.ranks = 2, .rank = 0, .shards = 8, .axes = {1, 1, -1}}, remarks);
  });
  expect_message(ErrorKind::usage, "a power of two that is divided by the number of ranks, 2", [&] {
    replicated(graph, {.ranks = 2, .rank = 0, .shards = 3, .axes = {1, 1, -1}}, remarks);
  });
}

/// What cannot be shared out is computed whole, and said.
TEST(Replicate, AnOpThatIsNotSharedOutIsComputedWholeWithARemark) {
  const GraphPtr graph = parse_graph(R"(graph @g(%x: f32[4,3]) {
    return cumsum(%x) {axis = 0}, max(%x) {axes = [0]}, argmax(%x) {axis = 0}
  })");
  Remarks remarks;
  replicated(graph, {.ranks = 2, .rank = 0, .shards = 0, .axes = {0}}, remarks);
  ASSERT_GE(remarks.all().size(), 2u);
  EXPECT_EQ(remarks.all()[0].node, "cumsum");
  EXPECT_EQ(remarks.all()[0].text,
            "every rank computes it whole: it works along the axis that is shared out");
  expect_same(graph, {2, 0}, {0}, random_arguments(*graph, 1));
}

TEST(Collectives, HaveTheirMeaningInTheEvaluator) {
  const auto graph_of = [](int rank) {
    return parse_graph(fmt::format(R"(graph @g(%x: f32[2,2], %n: i32[2]) {{
      %mine = mul(%x, {}.)
      %sum, %other = all_reduce(%mine, neg(%mine)) {{ranks = 3}}
      return %sum, %other, all_gather(%mine) {{axis = 1, rank = {}, ranks = 3}},
             all_reduce(%n) {{ranks = 3}}, all_reduce(%x, %mine) {{ranks = 3, terms = 2}}
    }})",
                                   rank + 1, rank));
  };
  const std::vector<GraphPtr> graphs{graph_of(0), graph_of(1), graph_of(2)};
  const std::vector<Literal> inputs{
      Literal(std::vector<double>{1, 2, 3, 4}, Shape{2, 2}).converted(DType::f32),
      Literal(std::vector<int64_t>{1, -1}, Shape{2}).converted(DType::i32)};
  for (const Evaluation& each : evaluate_ranks(graphs, inputs, {}, Precision::f32)) {
    EXPECT_EQ(each.results[0].element(3), 24);
    EXPECT_EQ(each.results[1].element(0), -6);
    EXPECT_EQ(each.results[2].shape(), Shape({2, 6}));
    EXPECT_EQ(each.results[2].element(8), 6);  // row 1: 3 4 6 8 9 12
    EXPECT_EQ(each.results[3].element(1), -3);
    EXPECT_EQ(each.results[4].element(1), 2 * 3 + 12);  // x on three ranks, and 1, 2 and 3 times x
  }
  expect_message(ErrorKind::input, "the graph is that of one of 3 ranks: found 1",
                 [&] { evaluate(*graphs[0], inputs); });
}

TEST(Collectives, RoundWhatIsSentInBf16AndTheSum) {
  const auto graph_of = [](int rank, int ranks, const char* sent) {
    return parse_graph(fmt::format(R"(graph @g(%x: f32[3]) {{
      %mine = mul(%x, {}.)
      return all_reduce(%mine, %mine) {{ranks = {}, {}terms = 2}}
    }})",
                                   rank + 1, ranks, sent));
  };
  const std::vector<Literal> inputs{
      Literal(std::vector<double>{1, 1.00390625, 1.001953125}, Shape{3}).converted(DType::f32)};
  const std::vector<GraphPtr> graphs{graph_of(0, 2, "sent = bf16, "),
                                     graph_of(1, 2, "sent = bf16, ")};
  for (const Evaluation& each : evaluate_ranks(graphs, inputs, {}, Precision::f32)) {
    EXPECT_EQ(each.results[0].element(0), 6);
    // 2.0078125 and 4.015625, half way, become 2 and 4.
    EXPECT_EQ(each.results[0].element(1), 6);
    EXPECT_EQ(each.results[0].element(2), 6);
  }
  // One rank sends nothing.
  const Evaluation alone = evaluate(*graph_of(0, 1, "sent = bf16, "), inputs, {}, Precision::f32);
  EXPECT_EQ(alone.results[0].element(1), 2.0078125);
  expect_message(ErrorKind::input, "all_reduce: attribute 'sent' is bf16, or absent: found f64",
                 [&] { graph_of(0, 2, "sent = f64, "); });
  expect_message(ErrorKind::input, "all_reduce: sends floats in bf16: found i32[3]", [] {
    parse_graph("graph @g(%n: i32[3]) { return all_reduce(%n) {ranks = 2, sent = bf16} }");
  });
}

/// The gradient of what the ranks' losses add up to, through sums and gathers.
TEST(Collectives, HaveTheDerivativeOfTheSumOfAllLosses) {
  const GraphPtr graph = parse_graph(R"(graph @g(%x: f32[8,3], %w: f32[3,2]) {
    %y = matmul(%x, %w)
    %mean = mean(%y) {axes = [0]}
    %d = sub(%y, %mean)
    %norm = mul(%d, rsqrt(add(mean(square(%d)) {axes = [0]}, 0.1)))
    %all = cumsum(%norm) {axis = 0}
    %loss = add(sum(square(%all)) {axes = [0, 1]}, sum(exp(%w)) {axes = [0, 1]})
    %dx, %dw = grad(%loss, %x, %w)
    return %loss, %dx, %dw
  })");
  for (const Case& c : {Case{2, 0}, Case{4, 0}, Case{2, 4}, Case{1, 2}, Case{8, 8}})
    expect_same(graph, c, {0}, random_arguments(*graph, 5));
}

}  // namespace
}  // namespace graphc::core::testing
