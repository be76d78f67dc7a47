// SPDX-License-Identifier: Apache-2.0
// The runner and the lists; order_test.cpp has the order of the standard pipelines.
#include "passes/pipeline.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ir/build.h"
#include "ir/text.h"
#include "passes/passes.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core::testing {
namespace {

TEST(Pipeline, ParsesListsWithOptions) {
  const Pipeline pipeline = parse_pipeline(" simplify , unroll{ steps = 4, full },cse");
  ASSERT_EQ(pipeline.size(), 3u);
  EXPECT_EQ(pipeline[1].pass, &passes::unroll);
  EXPECT_EQ(pipeline[1].options.get_int("steps", 0), 4);
  EXPECT_TRUE(pipeline[1].options.get_bool("full", false));
  EXPECT_EQ(to_text(pipeline), "simplify,unroll{steps=4,full=true},cse");
  EXPECT_EQ(to_text(parse_pipeline(to_text(pipeline))), to_text(pipeline));
  EXPECT_TRUE(parse_pipeline("").empty());
}

std::string message_of(std::string_view list) {
  try {
    parse_pipeline(list);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.message();
  }
  return "accepted";
}

TEST(Pipeline, RefusesWhatIsNotAPassOrAnOption) {
  EXPECT_EQ(message_of("simplfy"), "there is no pass 'simplfy'; did you mean 'simplify'?");
  EXPECT_EQ(message_of("unroll{step=4}"),
            "pass 'unroll' has no option 'step'; it has auto,full,steps; did you mean 'steps'?");
  EXPECT_EQ(message_of("cse{x=1}"), "pass 'cse' has no option 'x'; it has none");
  EXPECT_EQ(message_of("unroll{steps=4"), "braces do not match in 'unroll{steps=4'");
  EXPECT_EQ(message_of("cse,,cse"), "there is no pass ''");
  EXPECT_EQ(message_of("unroll{=4}"), "an option is name=value: found '=4'");
}

TEST(Pipeline, RefusesOptionsOfAnotherKind) {
  EXPECT_THROW(PassOptions("steps=four").get_int("steps", 1), Error);
  EXPECT_THROW(PassOptions("full=1").get_bool("full", false), Error);
  EXPECT_EQ(PassOptions("except=a+b").get_list("except"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(PassOptions().get_list("except").empty());
}

TEST(Pipeline, StandardListsAreMadeOfPassesAndRemoveGrad) {
  for (std::string_view variant : all_variants()) {
    SCOPED_TRACE(variant);
    const GraphPtr graph = with_gradients(parse_cell(all_cells()[0]));
    const PipelineResult result = run_pipeline(graph, standard_pipeline(variant));
    EXPECT_EQ(count(*result.graph, "grad"), 0);
    EXPECT_EQ(result.times.size(), standard_pipeline(variant).size());
    EXPECT_GT(expect_gradients(parse_cell(all_cells()[4]), to_text(standard_pipeline(variant)), 2),
              1e-3);
  }
  EXPECT_THROW(standard_pipeline("fast"), Error);
}

TEST(Pipeline, EveryPassHasASummaryAndCanBeFound) {
  for (const Pass* pass : all_passes()) {
    EXPECT_EQ(&find_pass(pass->name), pass);
    EXPECT_FALSE(pass->summary.empty());
    for (char c : pass->name) EXPECT_TRUE(c == '-' || (c >= 'a' && c <= 'z')) << pass->name;
  }
}

constinit const Pass breaks_types{
    .name = "break",
    .summary = "gives a graph that the verifier refuses",
    .options = "",
    .run = [](const GraphPtr&, const PassOptions&, Remarks&) -> GraphPtr {
      auto graph = std::make_unique<Graph>("broken");
      const Value x = graph->input({DType::f32, {3}}, "x");
      const Node& y = graph->add(ops::neg, {x});
      const_cast<Node&>(y).types[0].shape = {4};
      graph->set_results({y.result()});
      return freeze(std::move(graph));
    },
};

TEST(Pipeline, NamesThePassThatBrokeAGraph) {
  const GraphPtr graph = parse_cell(all_cells()[0]);
  const Pipeline pipeline{{&passes::cse, {}}, {&breaks_types, PassOptions("a=1")}};
  try {
    run_pipeline(graph, pipeline);
    FAIL() << "the verifier accepted it";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    ASSERT_EQ(error.notes().size(), 1u);
    EXPECT_EQ(error.notes()[0], "pass 'break{a=1}' broke graph 'lstm'");
  }
  PipelineSettings settings;
  settings.verify = false;
  EXPECT_EQ(run_pipeline(graph, pipeline, settings).graph->name(), "broken");
}

TEST(Pipeline, CollectsRemarksAndDumpsGraphs) {
  const TemporaryFolder folder;
  PipelineSettings settings;
  settings.after_pass = dump_to((folder.path() / "dump").string());
  const PipelineResult result =
      run_pipeline(parse_cell(all_cells()[0]), parse_pipeline("cse,hoist"), settings);
  ASSERT_FALSE(result.remarks.all().empty());
  EXPECT_EQ(result.remarks.all()[0].pass, "hoist");
  EXPECT_EQ(result.remarks.all()[0].node, "y");
  for (const char* name : {"00-input.graph", "01-cse.graph", "02-hoist.graph"}) {
    std::ifstream file(folder.path() / "dump" / name);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_NE(parse_graph(text.str()), nullptr) << name;
  }
}

}  // namespace
}  // namespace graphc::core::testing
