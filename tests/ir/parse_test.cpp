// SPDX-License-Identifier: Apache-2.0
// What the parser refuses, and how it says so.
#include <gtest/gtest.h>

#include <random>

#include "ir/text.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using testing::error_of;

/// The first line of the message for a text.
std::string refusal(const std::string& text) {
  const std::string message = error_of(ErrorKind::input, [&] { parse(text); });
  return message.substr(0, message.find('\n'));
}

/// The message for a graph with the parameters %x, %y: f32[2,3] and this block.
std::string in_graph(const std::string& block) {
  return refusal("graph (%x: f32[2,3], %y: f32[2,3], %s: f32[], %n: i32[2]) {" + block + "}");
}

TEST(Parse, ErrorsShowThePlace) {
  try {
    parse("graph (%f: f32[2]) {\n    %f.s = sigmod %f\n  return %f.s\n}\n", "lstm.graph");
    FAIL() << "wanted an error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 R"(lstm.graph:2:12: error: unknown op 'sigmod'; did you mean 'sigmoid'?
        %f.s = sigmod %f
               ^~~~~~)");
  }
}

TEST(Parse, WordsAndNumbers) {
  EXPECT_EQ(in_graph("%a = add %x, $"), "unexpected character '$'");
  EXPECT_EQ(in_graph("%a = add %x, \x01"), "unexpected character of code 1");
  EXPECT_EQ(in_graph("%a = add %x, %"), "a name is missing after '%'");
  EXPECT_EQ(in_graph("%a = cast %x {dtype = \"f"), "a string without its closing quote");
  EXPECT_EQ(in_graph("%a = cast %x {dtype = \"\\q\"}"),
            "an unknown escape in a string: there are \\n, \\\" and \\\\");
  EXPECT_EQ(in_graph("%a = add %x, 1.5.2"), "'1.5.2' is not a number");
  EXPECT_EQ(in_graph("%a = add %x, 1e"), "'1e' is not a number");
  EXPECT_EQ(in_graph("%a = add %x, 12x"), "'12x' is not a number");
  EXPECT_EQ(in_graph("%a = add %x, 99999999999999999999"),
            "99999999999999999999 is outside the range of i64");
  EXPECT_EQ(in_graph("%a = add %x, 1e999"), "1e999 is outside the range of f64");
}

TEST(Parse, Names) {
  EXPECT_EQ(in_graph("%sum = add %x, %y return %sun"), "unknown value %sun; did you mean %sum?");
  EXPECT_EQ(in_graph("return %elsewhere"), "unknown value %elsewhere");
  EXPECT_EQ(in_graph("%x = tanh %y"), "%x is defined twice");
  EXPECT_EQ(in_graph("%a, %a = split %x {axis = 0, parts = 2}"), "%a is defined twice");
  EXPECT_EQ(in_graph("%first = tanh %later %later = tanh %x"), "unknown value %later");
  EXPECT_EQ(refusal("graph (%x: f32[], %x: f32[]) {}"), "%x is defined twice");
  EXPECT_EQ(refusal("graph (%x: f32[]) state (%x: f32[]) {}"), "%x is defined twice");
  EXPECT_EQ(refusal("graph @a() {} graph @a() {}"), "there are two graphs @a");
  EXPECT_EQ(refusal("region @a() {} region @a() {}"), "there are two regions @a");
}

TEST(Parse, Ops) {
  EXPECT_EQ(in_graph("%a = frobnicate %x"), "unknown op 'frobnicate'");
  EXPECT_EQ(in_graph("%a = swish %x"), "unknown op 'swish'; did you mean 'silu'?");
  EXPECT_EQ(in_graph("%a = input {dtype = f32, shape = []}"),
            "'input' is written in the header of a graph, not as a line");
  EXPECT_EQ(in_graph("%a = split %x {axis = 0, parts = 2}"), "split gives 2 results: found 1 name");
  EXPECT_EQ(in_graph("%a, %b = tanh %x"), "tanh gives 1 result: found 2 names");
  EXPECT_EQ(in_graph("tanh %x"), "tanh gives 1 result: found 0 names");
  EXPECT_EQ(in_graph("%a, %b = scan %x.t in %x carry %c = %x { next %c = %c }"),
            "scan gives 1 result: found 2 names; what its body emits, then the last of each carry");
  EXPECT_EQ(in_graph("%a = sum %x {axes = [-1]}"),
            "sum: axis -1 is outside a value of rank 2; the last is 1");
  EXPECT_EQ(in_graph("%a = sum %x {axes = [-3]}"), "sum: axis -3 is outside a value of rank 2");
  EXPECT_EQ(in_graph("%a = tanh split(%x) {axis = 0, parts = 2}"),
            "split: attribute 'axis' is missing");
  EXPECT_EQ(in_graph("%a = tanh(split(%x) {axis = 0, parts = 2})"),
            "an operand has one result: split gives 2");
  EXPECT_EQ(in_graph("%a = tanh(scan)"), "'scan' is a line of its own, not an operand");
  EXPECT_EQ(in_graph("%a = add %x"), "add: takes 2 operands: found 1");
  EXPECT_EQ(in_graph("%a = matmul %x, %y"),
            "matmul: inner dimensions differ: 3 and 2: found f32[2,3] and f32[2,3]");
}

TEST(Parse, NumbersNeedAValueBesideThem) {
  const std::string wanted =
      "a number takes the dtype of another operand, and here is none: write "
      "constant {dtype = f32, shape = [], value = ...}";
  EXPECT_EQ(in_graph("%a = add 1, 2"), wanted);
  EXPECT_EQ(in_graph("%a = tanh 1."), wanted);
  EXPECT_EQ(in_graph("return 1."), wanted);
  EXPECT_EQ(in_graph("%a = select true, %x, %y"), wanted);
  EXPECT_EQ(in_graph("%a = scan %t in %x carry %c = 0. { next %c = %c }"), wanted);
}

TEST(Parse, TypesMustBeRight) {
  EXPECT_EQ(in_graph("%a = add %x, %y : f32[3,2]"), "%a is f32[2,3]: found f32[3,2]");
  EXPECT_EQ(in_graph("%a = add %x, %y : f32[2,3] x 2"), "2 types for 1 results");
  EXPECT_EQ(in_graph("%a = add %x, %y : f32[2,3] x 99999999"),
            "a node has 1 to 65536 types: found 99999999 more");
  EXPECT_EQ(refusal("graph (%x: f31[2]) {}"), "unknown element type 'f31'");
  EXPECT_EQ(refusal("graph (%x: f32[-2]) {}"), "an extent is at least 0: found -2");
  EXPECT_EQ(refusal("graph (%x: f32[1,1,1,1,1,1,1,1,1]) {}"), "a shape has at most 8 extents");
  EXPECT_EQ(refusal("graph (%x: f32[16777216,16777217]) {}"),
            "a shape has at most 2^48 elements: found [16777216,16777217]");
  EXPECT_EQ(refusal("graph (%x: f32[16777216,1], %y: f32[1,16777217]) { return add(%x, %y) }"),
            "a shape has at most 2^48 elements: found [16777216,16777217]");
}

TEST(Parse, Attributes) {
  EXPECT_EQ(in_graph("%a = sum %x {axes = [0], axes = [1]}"), "attribute 'axes' is given twice");
  EXPECT_EQ(in_graph("%a = sum %x {axes = [0, %x]}"), "wanted a number: found %x");
  EXPECT_EQ(
      in_graph("%a = sum %x {axes = %x}"),
      "wanted a number, true, false, a string, an element type or a list of numbers: found %x");
  EXPECT_EQ(in_graph("%a = mean %x {axis = [0]}"), "mean: attribute 'axes' is missing");
  EXPECT_EQ(in_graph("%a = softmax %x {axis = 0}"),
            "softmax: unknown attribute 'axis': it has none");
  EXPECT_EQ(in_graph("%a = softmax %s"),
            "softmax: takes a value of at least one axis: found f32[]");
  EXPECT_EQ(in_graph("%a = softmax %x, %y"), "softmax: takes 1 operand: found 2");
  EXPECT_EQ(in_graph("%i = constant {dtype = i32, shape = [2,3], value = 0} "
                     "%a = cross_entropy %x, %i"),
            "cross_entropy: labels of logits f32[2,3] are [2]: found i32[2,3]");
}

TEST(Parse, Blocks) {
  EXPECT_EQ(refusal("graph (%x: f32[]) { return %x"), "wanted '}': found the end of the text");
  EXPECT_EQ(refusal("grph () {}"), "wanted graph, region or state: found 'grph'");
  EXPECT_EQ(in_graph("emit %x"), "the body of a scan ends with 'emit', other blocks with 'return'");
  EXPECT_EQ(in_graph("return %x %a = tanh %x"), "wanted '}': found %a");
  EXPECT_EQ(refusal("graph () state (%v: f32[], %w: f32[]) { next %v = %w next %w = %v }"),
            "one 'next' stands before 'return' and has all: next %a = ..., %b = ...");
  EXPECT_EQ(in_graph("next %x = %y"), "next %x: it is not a state");
  EXPECT_EQ(in_graph("next %w = %y"), "next %w: there is no such state");
  EXPECT_EQ(refusal("graph () state (%w: f32[]) { next %w = %w, %w = %w }"),
            "next %w is assigned twice");
  EXPECT_EQ(refusal("graph (%x: f64[]) state (%w: f32[]) { next %w = %x }"),
            "next %w: the state is f32[]: the value %x is f64[]");
  EXPECT_EQ(refusal("graph @a() state (%w: f32[]) {} graph @b() state (%w: f32[2]) {}"),
            "state %w is f32[2] here and f32[] before");
  EXPECT_EQ(error_of(ErrorKind::input, [] { parse_graph("graph @a() {} graph @b() {}"); }),
            "wanted one graph: found 2");
}

TEST(Parse, Scans) {
  EXPECT_EQ(in_graph("%a = scan %t in %x { emit mul(%t, %s) }"),
            "%s is a value of a graph around this region, which must list it");
  EXPECT_EQ(in_graph("%a = scan %t in %s { emit %t }"),
            "scan: a stream has an axis of steps: found f32[]");
  EXPECT_EQ(in_graph("%a = scan %t in %x carry %c = %s { emit %t }"),
            "carry %c has no 'next' in the body");
  EXPECT_EQ(in_graph("%a = scan %t in %x carry %c = %s { next %t = %c }"),
            "next %t: it is not a carry of the scan");
  EXPECT_EQ(in_graph("%a = scan %t in %x carry %c = %s { next %c = %c, %c = %c }"),
            "next %c is assigned twice");
  EXPECT_EQ(in_graph("%a = scan %t in %x carry %c = %s { next %c = %t }"),
            "scan: next of carry 0 is f32[3]: the body has f32[]");
  EXPECT_EQ(in_graph("%a = scan %t in %x, %t in %y { emit %t }"), "%t is defined twice");
  EXPECT_EQ(in_graph("%a = scan carry %c = %s { next %c = %c }"),
            "scan: attribute 'steps' is the number of steps: found -1");
  EXPECT_EQ(in_graph("%a = scan {carries = 1} %t in %x { emit %t }"),
            "scan: 'carries' is counted, not written");
  EXPECT_EQ(in_graph("%a = scan {steps = 3} %t in %x { emit %t }"),
            "scan: stream 0 has 3 steps along axis 0: found f32[2,3]");
  EXPECT_EQ(in_graph("%a = scan %t in %x { return %t }"),
            "the body of a scan ends with 'emit', other blocks with 'return'");
}

TEST(Parse, Regions) {
  EXPECT_EQ(in_graph("%a = kernel (%x) @k"), "there is no region @k");
  const std::string region = "region @k (%a: f32[2]) { return %a } ";
  EXPECT_EQ(refusal(region + "graph (%x: f32[2]) { %y = kernel (%x) @k }"),
            "parameter 0 of region @k is %a: found %x");
  EXPECT_EQ(refusal(region + "graph (%x: f32[2]) { %y = kernel (%a = %x, %b = %x) @k }"),
            "region @k has 1 parameters: found 2");
  EXPECT_EQ(refusal(region + "graph (%x: f32[3]) { %y = kernel (%a = %x) @k }"),
            "kernel: operand 0 is f32[3]: the body has f32[2]");
  EXPECT_EQ(refusal("region @k (%a: f32[]) { next %a = %a }"), "a region has no states");
}

TEST(Parse, NestingIsBounded) {
  std::string operand = "return ", block;
  for (int i = 0; i < 100000; ++i) operand += "tanh(";
  EXPECT_EQ(in_graph(operand), "nested deeper than 64 operands and blocks");
  for (int i = 0; i < 100000; ++i) block += "%a = kernel (%x) {";
  EXPECT_EQ(in_graph(block), "nested deeper than 64 operands and blocks");
}

/// Regions of which each has the one before it inside.
std::string chain(int length) {
  std::string text = "region @r0 (%x: f32[2]) { return %x }\n";
  for (int i = 1; i < length; ++i)
    text +=
        fmt::format("region @r{} (%x: f32[2]) {{ %y = kernel (%x) @r{} return %y }}\n", i, i - 1);
  return text;
}

TEST(Parse, RegionsInsideRegionsAreBounded) {
  const auto graph = [](int length) {
    return chain(length) +
           fmt::format("graph (%x: f32[2]) {{ %y = kernel (%x) @r{} return %y }}", length - 1);
  };
  const std::string deepest = print(parse(graph(48)));
  EXPECT_EQ(print(parse(deepest)), deepest);
  EXPECT_EQ(refusal(graph(49)), "regions nest at most 48 deep: found 49");
  EXPECT_EQ(refusal(graph(100'000)), "regions nest at most 48 deep: found 49");
}

const char* const kSample = R"(module @m
state %seed: i64[]
region @k (%v: f32[2]) { %t = tanh %v return %t, mul(%t, 0.5) }
graph @g (%x: f32[4,2], %i: i32[3]) state (%w: f32[2,2], %n: i64[]) {
  %c = constant {dtype = f32, shape = [2], value = [1., -inf]}     # a comment
  %y, %h.end = scan {reverse = true} %x.t in %x carry %h = %c with %w {
    %p = matmul(reshape(%x.t) {shape = [1,2]}, %w) : f32[1,2]
    %h.1 = add reshape(%p) {shape = [2]}, %h
    next %h = %h.1
    emit %h.1
  } : f32[4,2], f32[2]
  %a, %b = kernel {family = "map", "odd name" = nan} (%v = %h.end) @k : f32[2] x 2
  %e, %f = kernel {family = "map"} (%v = %b) @k
  %rows = gather %w, %i
  %loss = mean cross_entropy(%x, constant {dtype = i32, shape = [4], value = 1}) {axes = [0]}
  next %n = add(%n, 1), %w = mul(%w, 9.5e-01)
  return %y, %a, %loss, select(less(%c, 0), %c, 1.), %rows
}
)";

/// Parses; whatever it says must be an error of the input, and what it accepts must round-trip.
void survives(const std::string& text) {
  try {
    const Module module = parse(text);
    const std::string printed = print(module);
    EXPECT_EQ(print(parse(printed)), printed) << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << error.what() << "\n" << text;
  }
}

TEST(Parse, EveryTruncationIsRefusedOrParsed) {
  const std::string sample = kSample;
  EXPECT_EQ(parse(sample).graphs.size(), 1u);
  for (size_t length = 0; length <= sample.size(); ++length) survives(sample.substr(0, length));
}

TEST(Parse, ChangedBytesAreRefusedOrParsed) {
  std::mt19937 random(7);
  const std::string bytes = "%@{}[]()=,:.\"-0123456789 \n#xe\\";
  for (int i = 0; i < 4000; ++i) {
    std::string text = kSample;
    char& changed = text[random() % text.size()];
    changed = i % 2 == 0 ? char(changed ^ (1 << random() % 8)) : bytes[random() % bytes.size()];
    survives(text);
  }
}

TEST(Parse, WordsInAnyOrderAreRefusedOrParsed) {
  std::vector<std::string> words;
  for (const char *at = kSample, *end; *at != '\0'; at = end) {
    end = at + 1;
    while (*end != '\0' && *end != ' ') ++end;
    words.emplace_back(at, end);
  }
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::string> changed = words;
    for (int k = 0; k < 2; ++k) changed[random() % words.size()] = words[random() % words.size()];
    std::string text;
    for (const std::string& word : changed) text += word;
    survives(text);
  }
}

}  // namespace
}  // namespace graphc::core
