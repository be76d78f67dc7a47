// SPDX-License-Identifier: Apache-2.0
#include "ir/serialize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ir/op.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "tests/testing/counts.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/random_graph.h"

namespace graphc::core {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

const char* const kModule = R"(module @m
state %seed: i64[]
state %w: f32[2,2]

region @k (%v: f32[2]) {
  %t = tanh %v : f32[2]
  return %t
}

graph @g (%x: f32[4,2]) state (%w: f32[2,2]) {
  %c = constant {dtype = f32, shape = [2], value = [1.,-inf]} : f32[2]
  %e = constant {dtype = f32, shape = [0], value = [.]} : f32[0]
  %y, %h.end = scan {reverse = true} %x.t in %x carry %h = %c {
    %h.1 = add %x.t, %h : f32[2]
    next %h = %h.1
    emit %h.1
  } : f32[4,2], f32[2]
  %a = kernel {b = false, family = "map", i = -7, n = nan, t = bf16} (%v = %h.end) @k : f32[2]
  %f = kernel {family = "map"} (%v = %a) @k : f32[2]
  %p, %q = split %w {axis = 0, parts = 2} : f32[1,2] x 2
  %w.1 = mul %w, 2 : f32[2,2]
  next %w = %w.1
  return %y, %f, %q, %e
}
)";

/// The module written and read back in each form.
std::vector<Module> all_forms(const Module& module) {
  return {from_proto(to_proto(module)), from_pbtxt(to_pbtxt(module)), from_json(to_json(module))};
}

TEST(Serialize, EveryFormRoundTrips) {
  const Module module = parse(kModule, "m.graph");
  ASSERT_EQ(print(module), kModule);
  for (const Module& again : all_forms(module)) {
    verify(again);
    EXPECT_EQ(print(again), kModule);
    EXPECT_TRUE(equal(*again.graphs[0], *module.graphs[0]));
    const Graph& graph = *again.graphs[0];
    EXPECT_EQ(graph.find("a").node->regions[0], graph.find("f").node->regions[0]);
    EXPECT_STREQ(graph.find("a").node->where.file, "m.graph");
    EXPECT_EQ(graph.find("a").node->where.line, 18);
  }
}

TEST(Serialize, AByteOrderMarkBeforeATextIsNoPartOfIt) {
  const Module module = parse("graph @f(%x: f32[2]) { return tanh(%x) }");
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_EQ(print(parse(mark + print(module))), print(module));
  EXPECT_EQ(print(from_json(mark + to_json(module))), print(module));
  EXPECT_EQ(print(from_pbtxt(mark + to_pbtxt(module))), print(module));
  const auto column_of_fault = [](const std::string& text) {
    try {
      parse(text);
    } catch (const Error& error) {
      return error.where().column;
    }
    return 0;
  };
  EXPECT_GT(column_of_fault("graph @f() { return %x }"), 0);
  EXPECT_EQ(column_of_fault(mark + "graph @f() { return %x }"),
            column_of_fault("graph @f() { return %x }"));
  EXPECT_GT(column_of_fault("graph " + mark + "@f(%x: f32[2]) { return %x }"), 0) << "inside";
}

TEST(Serialize, EqualModulesGiveEqualBytes) {
  EXPECT_EQ(to_proto(parse(kModule)), to_proto(parse(kModule)));
}

TEST(Serialize, EverySampleOfEveryOpRoundTrips) {
  int64_t samples = 0;
  for (const Op* op : all_ops()) {
    if (op->samples == nullptr) continue;
    for (const Sample& sample : op->samples()) {
      auto graph = std::make_unique<Graph>(std::string(op->name));
      Values operands;
      for (const Type& type : sample.operands) operands.push_back(graph->input(type, "x"));
      const Node& node = graph->add(*op, operands, sample.attributes);
      Values results;
      for (int i = 0; i < node.results(); ++i) results.push_back(node.result(i));
      graph->set_results(results);
      Module module;
      module.graphs.push_back(freeze(std::move(graph)));
      for (const Module& again : all_forms(module)) {
        EXPECT_TRUE(equal(*again.graphs[0], *module.graphs[0])) << op->name;
        EXPECT_EQ(print(again), print(module));
      }
      ++samples;
    }
  }
  testing::count("protobuf round trips", 3 * samples);
}

TEST(Serialize, RandomGraphsRoundTrip) {
  constexpr unsigned kGraphs = 300;
  for (unsigned seed = 1; seed <= kGraphs; ++seed) {
    const testing::RandomGraphOptions options{
        .nodes = 5 + int(seed % 30), .loop = seed % 2 == 0, .gradient = seed % 3 == 0};
    Module module;
    module.graphs.push_back(testing::random_graph(seed, options));
    const std::string text = print(module);
    for (const Module& again : all_forms(module)) {
      ASSERT_TRUE(equal(*again.graphs[0], *module.graphs[0])) << "seed " << seed;
      ASSERT_EQ(print(again), text) << "seed " << seed;
    }
  }
  testing::count("protobuf round trips", 3 * kGraphs);
}

TEST(Serialize, NumbersKeepTheirBitsInEveryForm) {
  Module module = parse(R"(graph @g () {
    %a = constant {dtype = f64, shape = [7],
                   value = [0.1,-0.,inf,-inf,5e-324,1.7976931348623157e308,0.30000000000000004]}
    %b = constant {dtype = i64, shape = [3],
                   value = [9223372036854775807,-9223372036854775808,9007199254740993]}
    return %a, %b
  })");
  for (const Module& again : all_forms(module)) {
    EXPECT_TRUE(equal(*again.graphs[0], *module.graphs[0]));
    EXPECT_EQ(print(again), print(module));
  }
}

/// The message for the pbtxt of kModule with one piece replaced.
std::string refusal(const std::string& piece, const std::string& replacement) {
  std::string text = to_pbtxt(parse(kModule));
  const size_t at = text.find(piece);
  EXPECT_NE(at, std::string::npos) << piece;
  text.replace(at, piece.size(), replacement);
  return error_of(ErrorKind::input, [&] { from_pbtxt(text, "a.pbtxt"); });
}

TEST(Serialize, RefusesWhatIsNoModule) {
  EXPECT_THAT(refusal("version: 1", "version: 2"), HasSubstr("version 2: this program reads 1"));
  EXPECT_THAT(refusal("op: \"tanh\"", "op: \"tahn\""), HasSubstr("unknown op 'tahn'"));
  EXPECT_THAT(refusal("op: \"tanh\"", "op: \"input\""), HasSubstr("unknown op 'input'"));
  EXPECT_THAT(refusal("op: \"tanh\"", "op: \"kernel\""), HasSubstr("'kernel' with 0 regions"));
  EXPECT_THAT(refusal("operands: \"v\"", "operands: \"u\""), HasSubstr("unknown value %u"));
  EXPECT_THAT(refusal("names: \"t\"", "names: \"v\""), HasSubstr("%v is defined twice"));
  EXPECT_THAT(refusal("names: \"t\"", ""), HasSubstr("tanh gives 1 results: found 0 names"));
  EXPECT_THAT(refusal("regions: 1", "regions: 2"), HasSubstr("has region 2 of 2 before it"));
  EXPECT_THAT(refusal("dtype: \"f32\"", "dtype: \"f33\""), HasSubstr("unknown element type 'f33'"));
  EXPECT_THAT(refusal("integer: -7", ""), HasSubstr("attribute 'i' has no value"));
  EXPECT_THAT(refusal("states {", "stetes {"), HasSubstr("stetes"));
  EXPECT_THAT(refusal("shape: 4", "shape: -4"), HasSubstr("an extent is at least 0"));
  EXPECT_THAT(error_of(ErrorKind::input, [] { from_proto("\xff\xff"); }),
              HasSubstr("not a module in protobuf's binary form"));
  const auto json = [](std::string_view text) {
    return error_of(ErrorKind::input, [&] { from_json(text, "a.json"); });
  };
  EXPECT_THAT(json("{\"version\": 1"), HasSubstr("not a module in protobuf's JSON form: "));
  EXPECT_THAT(json("{\"version\": 1, \"stetes\": []}"), HasSubstr("stetes"));
  EXPECT_THAT(json("{\"version\": 2}"), HasSubstr("version 2: this program reads 1"));
  EXPECT_THAT(json("[]"), HasSubstr("JSON"));
  EXPECT_THAT(json(std::string(100'000, '[')), HasSubstr("JSON"));
}

TEST(Serialize, RegionsInsideRegionsAreBounded) {
  // Of which each has the one before it inside.
  const auto chain = [](int length) {
    std::string text = "version: 1\n";
    for (int i = 0; i < length; ++i) {
      const std::string region = i == 0 ? "" : fmt::format("regions: {}", i - 1);
      const std::string op = i == 0 ? "tanh" : "kernel";
      text += fmt::format(
          R"({} {{ inputs {{ name: "x" type {{ dtype: "f32" }} }} results: "y"
             nodes {{ op: "{}" names: "y" operands: "x" {} }} }})",
          i + 1 < length ? "regions" : "graphs", op, region);
    }
    return text;
  };
  const std::string deepest = print(from_pbtxt(chain(49)));
  EXPECT_EQ(print(parse(deepest)), deepest);
  for (int length : {50, 20'000}) {
    EXPECT_THAT(error_of(ErrorKind::input, [&] { from_pbtxt(chain(length), "a.pbtxt"); }),
                HasSubstr("regions nest at most 48 deep: found 49"));
  }
}

TEST(Serialize, DamagedBytesAreRefusedOrRead) {
  const std::string bytes = to_proto(parse(kModule));
  std::mt19937 random(3);
  const auto survives = [](const std::string& damaged) {
    try {
      for (const GraphPtr& graph : from_proto(damaged).graphs) verify(*graph);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
    }
  };
  for (size_t length = 0; length < bytes.size(); ++length) survives(bytes.substr(0, length));
  for (int i = 0; i < 4000; ++i) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] ^= char(1 << random() % 8);
    survives(damaged);
  }
}

}  // namespace
}  // namespace graphc::core
