// SPDX-License-Identifier: Apache-2.0
// Recognition over the cells, in values and gradients, and what is said of what is not recognised.
#include "passes/outline.h"

#include <gmock/gmock.h>

#include <map>

#include "ir/text.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kBeforeOutlining =
    "simplify,cse,pack-matmuls,simplify,cse,hoist,simplify,cse";

std::string with(std::string_view passes) { return fmt::format("{},{}", kBeforeOutlining, passes); }

class OutlineCells : public ::testing::TestWithParam<Cell> {};

/// The cells a library has are one node, the others as they were.
TEST_P(OutlineCells, AreRecognisedIfALibraryHasThem) {
  const std::map<std::string_view, std::string_view> libraries{
      {"lstm", "lstm"}, {"last_output", "lstm"}, {"lstm_gates", "lstm"}, {"gru", "gru"}};
  const GraphPtr plain = after(parse_cell(GetParam()), kBeforeOutlining);
  const GraphPtr graph = after(plain, "outline{lstm,gru,rnn}");
  for (std::string_view name : {"lstm", "gru", "rnn"}) {
    const auto library = libraries.find(GetParam().name);
    const bool is_it = library != libraries.end() && library->second == name;
    EXPECT_EQ(count(*graph, name), is_it ? 1 : 0) << print(*graph);
    EXPECT_EQ(count(*graph, "scan") == 0, libraries.contains(GetParam().name));
  }
  EXPECT_NE(equal(*graph, *plain), libraries.contains(GetParam().name));
}

TEST_P(OutlineCells, KeepTheirValues) {
  const GraphPtr graph = parse_cell(GetParam());
  const GraphPtr outlined = after(graph, with("outline{lstm,gru,rnn}"));
  expect_same_values(graph, outlined, 5, 1e-9, {-1, 1, 7});
  EXPECT_TRUE(equal(*parse_graph(print(*outlined)), *outlined));
  const GraphPtr expanded = after(outlined, "expand{except=layer_norm+log_softmax}");
  expect_same_values(graph, expanded, 6, 1e-9, {-1, 1, 7});
  EXPECT_TRUE(equal(*after(expanded, with("outline{lstm,gru,rnn}")), *outlined));
}

TEST_P(OutlineCells, KeepTheirGradients) {
  const std::string passes = with("outline{lstm,gru,rnn},autodiff,expand,simplify,cse");
  EXPECT_GT(expect_gradients(parse_cell(GetParam()), passes, 5, {-1, 1, 7}), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Cells, OutlineCells, ::testing::ValuesIn(all_cells()),
                         [](const auto& cell) { return std::string(cell.param.name); });

// --- what a difference is called

std::string why(std::string_view name, const GraphPtr& graph) {
  return why_not(*after(graph, kBeforeOutlining), find_pattern(name));
}

/// An LSTM with other lines in its body.
GraphPtr lstm_with(std::string_view body, std::string_view extra = "") {
  return parse_graph(fmt::format(R"(graph @user(%x: f32[4,3,2], %h0: f32[3,5], %c0: f32[3,5])
    state (%w: f32[2,20], %u: f32[5,20], %b: f32[20], %p: f32[5]) {{
  %y, %h.e, %c.e{} = scan %x.t in %x carry %h = %h0, %c = %c0 with %w, %u, %b, %p {{
    %z = add(add(matmul(%x.t, %w), matmul(%h, %u)), %b)
{}
  }}
  return %y, %h.e, %c.e{}
}})",
                                 extra, body, extra),
                     "user.graph");
}

TEST(WhyNot, SaysWhenItIsTheComposite) {
  EXPECT_EQ(why("lstm", parse_cell(all_cells()[0])),
            "@lstm: %y = scan at lstm:4: is lstm, in all 14 nodes\n");
}

TEST(WhyNot, NamesTheOpThatDiffers) {
  const GraphPtr graph = lstm_with(R"(    %i, %f, %g, %o = split %z {axis = 1, parts = 4}
    %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
    %s = tanh %o
    %h.1 = mul(%s, tanh(%c.1))
    next %h = %h.1, %c = %c.1
    emit %h.1)");
  EXPECT_EQ(why("lstm", graph),
            "@user: %y = scan at user.graph:3: matches lstm in 13 of 14 nodes; "
            "%s = tanh %o at user.graph:7: wanted %sigmoid.2 = sigmoid %o\n");
  EXPECT_EQ(count(*after(graph, with("outline{lstm}")), "lstm"), 0);
}

TEST(WhyNot, GatesInAnotherOrderAreAnotherPacking) {
  const GraphPtr graph = lstm_with(R"(    %f, %i, %g, %o = split %z {axis = 1, parts = 4}
    %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
    %h.1 = mul(sigmoid(%o), tanh(%c.1))
    next %h = %h.1, %c = %c.1
    emit %h.1)");
  EXPECT_THAT(why("lstm", graph), HasSubstr("%f = result 0 of split %z at user.graph:5: "
                                            "wanted %i = result 1 of split %z"));
  EXPECT_EQ(count(*after(graph, with("outline{lstm}")), "lstm"), 0);
}

TEST(WhyNot, AnEmittedGateOrCellIsNotGivenByTheLibrary) {
  const GraphPtr graph = lstm_with(R"(    %i, %f, %g, %o = split %z {axis = 1, parts = 4}
    %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
    %h.1 = mul(sigmoid(%o), tanh(%c.1))
    next %h = %h.1, %c = %c.1
    emit %c.1)");
  EXPECT_THAT(why("lstm", graph), HasSubstr("in 14 of 14 nodes; %c.1 = add"));
  EXPECT_THAT(why("lstm", graph), HasSubstr("gives it for all steps, which lstm does not"));
  EXPECT_EQ(count(*after(graph, with("outline{lstm}")), "lstm"), 0);
}

TEST(WhyNot, AStateThatIsKeptInPartIsNotTheLibrarys) {
  const GraphPtr zoneout = lstm_with(R"(    %i, %f, %g, %o = split %z {axis = 1, parts = 4}
    %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
    %h.n = mul(sigmoid(%o), tanh(%c.1))
    %h.1 = add(mul(%p, %h), mul(sub(1., %p), %h.n))
    next %h = %h.1, %c = %c.1
    emit %h.1)");
  EXPECT_THAT(why("lstm", zoneout), AllOf(HasSubstr("matches lstm in 13 of 14 nodes; %h.1 = add "),
                                          HasSubstr(" at user.graph:8: wanted %h.next = mul ")));
  EXPECT_EQ(count(*after(zoneout, with("outline{lstm}")), "lstm"), 0);
}

TEST(WhyNot, FindsWhatIsLikeIt) {
  const auto of = [](size_t cell, std::string_view name) {
    return why(name, parse_cell(all_cells()[cell]));
  };
  constexpr size_t peephole = 3, layer_norm = 4, projected = 5, reset_before = 7, masked = 8;
  // The peepholes are nodes too many in front of the gates.
  EXPECT_THAT(of(peephole, "lstm"), HasSubstr("matches lstm in 14 of 14 nodes; %"));
  EXPECT_THAT(of(peephole, "lstm"), HasSubstr(" = add %o, %"));
  EXPECT_THAT(of(layer_norm, "lstm"), HasSubstr("%z = add %reshape.2, %b at layer_norm_lstm:9: "
                                                "wanted %matmul = matmul %x, %w among its terms"));
  EXPECT_THAT(of(projected, "lstm"),
              AllOf(HasSubstr("matches lstm in 14 of 14 nodes"), HasSubstr("%h.1 = matmul %mul")));
  EXPECT_THAT(of(reset_before, "gru"), HasSubstr("matches gru in 1"));
  EXPECT_THAT(of(masked, "rnn"), HasSubstr("%h.1 = select %m.t, %n, %h at masked_rnn:6: wanted"));
  EXPECT_THAT(of(0, "gru"), HasSubstr("nodes; it has 2 carries: wanted 1\n"));
}

TEST(WhyNot, ShowsOfManyCandidatesTheNearest) {
  const GraphPtr graph = parse_graph(R"(graph @f(%x: f32[3,7], %y: f32[3,7]) {
  %e = exp(sub(%x, max(%x) {axes = [0], keep = true}))
  %p = div(%e, sum(%e) {axes = [0], keep = true})
  %q = div(%x, %y)
  return %p, div(%p, %q)
})",
                                     "f.graph");
  const std::string text = why("softmax", graph);
  EXPECT_THAT(text, HasSubstr("@f: %p = div at f.graph:3: matches softmax in "));
  EXPECT_THAT(text, HasSubstr("wanted axes = [1], found [0]"));
  EXPECT_THAT(text, Not(HasSubstr("%q = div at")));
  EXPECT_EQ(why("lstm", graph), "@f: nothing can be lstm: there is no scan\n");
}

TEST(WhyNot, AValueUsedElsewhereIsNoPartOfAComposite) {
  const GraphPtr graph = parse_graph(R"(graph @f(%x: f32[3,7]) {
  %e = exp(sub(%x, max(%x) {axes = [1], keep = true}))
  return div(%e, sum(%e) {axes = [1], keep = true}), %e
})",
                                     "f.graph");
  EXPECT_THAT(why("softmax", graph),
              AllOf(HasSubstr("in 5 of 5 nodes; %e = exp %"), EndsWith("is used elsewhere too\n")));
}

TEST(Outline, ReportsLoopsAndLeavesThem) {
  const PipelineResult result =
      run_pipeline(parse_cell(all_cells()[0]), parse_pipeline(with("outline")));
  EXPECT_EQ(count(*result.graph, "scan"), 1);
  const Remark& remark = result.remarks.all().back();
  EXPECT_EQ(remark.pass, "outline");
  EXPECT_EQ(remark.where.line, 4);
  EXPECT_THAT(remark.text, HasSubstr("is lstm, and stays a loop"));
}

/// Softmax, its logarithm and the cross entropy written out, as the standard pipeline meets them.
TEST(Outline, KeepsTheGradientsOfWhatItReplaces) {
  const GraphPtr graph = parse_graph(R"(graph @f(%a: f32[3,5], %b: f32[2,3,7], %t: i32[2,3]) {
  %e = exp(sub(%a, max(%a) {axes = [1], keep = true}))
  %s = sub(%b, max(%b) {axes = [2], keep = true})
  %l = log(sum(exp(%s)) {axes = [2]})
  %at = sum(select(one_hot(check_labels(%t) {classes = 7}) {depth = 7}, %s, 0.)) {axes = [2]}
  return div(%e, sum(%e) {axes = [1], keep = true}), sub(%l, %at)
})");
  const GraphPtr outlined = after(graph, with("outline"));
  EXPECT_EQ(count(*outlined, "softmax") + count(*outlined, "cross_entropy"), 2);
  EXPECT_EQ(count(*outlined, "max"), 0);
  expect_same_values(graph, outlined, 3, 1e-9, {-1, 1, 7});
  EXPECT_GT(expect_gradients(graph, with("outline,autodiff,expand"), 4, {-1, 1, 7}), 1e-3);
}

/// Whatever has a derivative of its own or is a loop can be recognised.
TEST(Outline, FindsTheBodyOfEverySample) {
  for (const Op* op : all_ops()) {
    const bool looked_for = op->vjp != nullptr || op == &ops::lstm || op == &ops::gru ||
                            op == &ops::rnn || op == &ops::mean || op == &ops::layer_norm;
    if (!is_composite(*op) || !looked_for) continue;
    // Two results have no one root: there is no pattern of it.
    if (op == &ops::top_k) continue;
    for (const Sample& sample : op->samples()) {
      SCOPED_TRACE(op->name);
      auto graph = std::make_unique<Graph>("f");
      Values operands;
      for (const Type& type : sample.operands) operands.push_back(graph->input(type, "x"));
      const Node& node = graph->add(*op, operands, sample.attributes);
      Values results;
      for (int i = 0; i < node.results(); ++i) results.push_back(node.result(i));
      graph->set_results(results);
      const GraphPtr whole = freeze(std::move(graph));
      const GraphPtr parts = after(whole, fmt::format("expand,{}", kBeforeOutlining));
      EXPECT_EQ(count(*parts, op->name), 0);
      const GraphPtr found = after(parts, fmt::format("outline{{{}}}", op->name));
      EXPECT_TRUE(equal(*found, *whole)) << print(*found);
    }
  }
}

TEST(Outline, RefusesNamesOfNoComposite) {
  const auto message_of = [](std::string_view list) -> std::string {
    try {
      after(parse_cell(all_cells()[0]), list);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 2);
      return error.message();
    }
    return "accepted";
  };
  EXPECT_EQ(message_of("outline{lstn}"),
            "pass 'outline' has no option 'lstn'; it has report,library,COMPOSITE; "
            "did you mean 'lstm'?");
  EXPECT_EQ(message_of("outline{report=lstn}"),
            "there is no composite 'lstn'; did you mean 'lstm'?");
  EXPECT_EQ(message_of("outline{report=tanh}"), "not a composite: 'tanh'");
}

}  // namespace
}  // namespace graphc::core::testing
