// SPDX-License-Identifier: Apache-2.0
// Every reason that fuse gives for a loop that is not one recurrent kernel, by a graph that gets
// it; and that there is a graph for every reason in the sources.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/passes/values.h"
#include "tests/testing/source_tree.h"

namespace graphc::core::testing {
namespace {

const std::string kLoop = "a loop, not one recurrent kernel: ";

struct Refusal {
  const char* graph;   ///< its arguments and body
  const char* reason;  ///< behind kLoop
  const char* passes = "fuse";
};

const Refusal kRefusals[] = {
    // --- what was asked for, and loops that carry nothing
    {R"((%x: f32[3,8,4], %h0: f32[8,4]) {
      %h = scan %t in %x carry %c = %h0 { next %c = tanh(add(%c, %t)) }
      return %h })",
     "loops were asked for", "fuse{loops=true}"},
    {R"((%x: f32[3,8,4]) {
      %y = scan %t in %x { emit tanh(%t) }
      return %y })",
     "it carries nothing from step to step"},
    // --- the step
    {R"((%x: f32[3,8,4], %h0: f32[8,4]) {
      %h, %e = scan %t in %x carry %c = %h0 {
        %n = tanh(add(%c, %t))
        next %c = %n
        emit slice(%n) {axis = 1, start = 2, limit = 2}
      }
      return %h, %e })",
     "%slice has no elements"},
    {R"((%h0: f32[8,4], %u: f32[3,4,4]) {
      %h = scan %ut in %u carry %c = %h0 { next %c = tanh(matmul(%c, %ut)) }
      return %h })",
     "%matmul (matmul): its matrix %ut changes with each step"},
    // --- products
    {R"((%h0: f32[8,4], %u: f32[4,4]) {
      %h = scan {steps = 3} carry %c = %h0 with %u { next %c = tanh(matmul(%c, sin(%u))) }
      return %h })",
     "%matmul (matmul): its right operand is made inside the kernel"},
    {R"((%h0: f32[2,8,4], %v: f32[2,4,8], %u: f32[2,4,4]) {
      %h = scan {steps = 3} carry %c = %h0 with %v, %u {
        next %c = tanh(add(%c, matmul(%v, %u) {transpose_a = true}))
      }
      return %h })",
     "%matmul (matmul): its left operand is transposed for each of its matrices"},
    {R"((%h0: f32[2,8,4], %u: f32[2,4,4], %x: f32[3,2,8,4]) {
      %h, %e = scan {steps = 3} carry %c = %h0 with %u, %x {
        %n = tanh(matmul(%c, %u))
        next %c = %n
        emit mul(%n, %x)
      }
      return %h, %e })",
     "%matmul (matmul): it has matrices [2,4,4], not one for each of all but the last axis of the "
     "rows [3,2,8]"},
    {R"((%h0: f32[8,4], %v: f32[5,8], %u: f32[5,4]) {
      %h = scan {steps = 3} carry %c = %h0 with %v, %u {
        next %c = add(%c, matmul(sin(%v), %u) {transpose_a = true})
      }
      return %h })",
     "%matmul (matmul): its left operand is transposed inside the kernel"},
    {R"((%h0: f32[4,4], %u: f32[4,4]) {
      %h = scan {steps = 3} carry %c = %h0 with %u { next %c = tanh(add(matmul(%c, %u), %u)) }
      return %h })",
     "%add (add): it reads %u, a matrix of a product"},
    {R"((%h0: f32[8,4], %u: f32[4,4]) {
      %h, %e = scan {steps = 3} carry %c = %h0 with %u {
        next %c = tanh(matmul(%c, %u))
        emit %u
      }
      return %h, %e })",
     "%u (input): a matrix of a product is a result"},
    {R"((%h0: f32[8,4], %a: f32[1,4], %u: f32[4,4]) {
      %h = scan {steps = 3} carry %c = %h0 with %a, %u { next %c = add(%c, matmul(%a, %u)) }
      return %h })",
     "%matmul (matmul): its rows differ"},
    // --- rows
    {R"((%h0: f32[8,4], %k0: f32[5,4]) {
      %h, %k = scan {steps = 3} carry %c = %h0, %d = %k0 {
        next %c = tanh(%c), %d = tanh(%d)
      }
      return %h, %k })",
     "%d (input): it has rows [5] where others of the step have [8]"},
    {R"((%h0: f32[3,8,4], %a: f32[8,4]) {
      %h = scan {steps = 3} carry %c = %h0 with %a { next %c = add(%c, sin(%a)) }
      return %h })",
     "%sin (sin): it has rows [8] where the step has [3,8]"},
    {R"((%x: i32[3,8], %h0: f32[8,4], %e: f32[8,4]) {
      %h = scan %t in %x carry %c = %h0 with %e { next %c = add(%c, gather(%e, %t)) }
      return %h })",
     "%gather (gather): it neither works element by element nor sums or multiplies whole rows"},
    {R"((%x: f32[3,32], %h0: f32[8,4]) {
      %h = scan %t in %x carry %c = %h0 { next %c = add(%c, reshape(%t) {shape = [8,4]}) }
      return %h })",
     "%reshape (reshape): it neither works element by element nor sums or multiplies whole rows: "
     "what reshapes or transposes what the loop reads may stand before the loop"},
    {R"((%h0: f32[8,4]) {
      %h = scan {steps = 3} carry %c = %h0 {
        next %c = sub(%c, sum(%c) {axes = [0], keep = true})
      }
      return %h })",
     "%sum (sum): it mixes rows"},
    {R"((%h0: f32[8,4]) {
      %h = scan {steps = 3} carry %c = %h0 {
        next %c = tanh(slice(%c) {axis = 0, start = 0, limit = 8})
      }
      return %h })",
     "%slice (slice): it cuts along the rows"},
    // --- columns
    {R"((%h0: f32[8,12], %a: f32[8,4], %b: f32[8,8]) {
      %h, %e = scan {steps = 3} carry %c = %h0 with %a, %b {
        %n = tanh(add(%c, concat(%a, %b) {axis = 1}))
        %p, %q = split(%n) {axis = 1, parts = 2}
        next %c = %n
        emit add(%p, %q)
      }
      return %h, %e })",
     "%p (split): its width 6 is no multiple of 4"},
    {R"((%h0: f32[8,130]) {
      %h, %e = scan {steps = 3} carry %c = %h0 {
        next %c = tanh(%c)
        emit sin(slice(%c) {axis = 1, start = 0, limit = 2})
      }
      return %h, %e })",
     "%c (input): its width 130 has more than 64 parts of 2"},
    {R"((%h0: f32[8,4]) {
      %h = scan {steps = 3} carry %c = %h0 {
        next %c = mul(%c, slice(%c) {axis = 1, start = 0, limit = 1})
      }
      return %h })",
     "%slice (slice): it takes one column out of 4"},
    {R"((%h0: f32[8,8]) {
      %h, %e = scan {steps = 3} carry %c = %h0 {
        next %c = tanh(%c)
        emit sin(slice(%c) {axis = 1, start = 2, limit = 6})
      }
      return %h, %e })",
     "%slice (slice): it cuts inside a unit of 4 columns"},
    {R"((%h0: f32[8,2]) {
      %h = scan {steps = 3} carry %c = %h0 {
        %s = sum(%c) {axes = [1], keep = true}
        next %c = add(%c, concat(%s, %s) {axis = 1})
      }
      return %h })",
     "%concat (concat): it joins inside a unit of 2 columns"},
    // --- what all rows share
    {R"((%h0: f32[8,4], %k0: f32[4]) {
      %h, %k = scan {steps = 3} carry %c = %h0, %d = %k0 {
        next %c = tanh(add(%c, %d)), %d = sin(%d)
      }
      return %h, %k })",
     "%d is carried for all rows together"},
    {R"((%h0: f32[8,4], %k: f32[4]) {
      %h, %e = scan {steps = 3} carry %c = %h0 with %k {
        next %c = tanh(add(%c, %k))
        emit sin(%k)
      }
      return %h, %e })",
     "%sin is emitted for all rows together"},
};

/// What fuse says about the loops of a graph, a line each.
std::string refusals(const Refusal& each) {
  std::string said;
  const GraphPtr graph = parse_graph(std::string("graph @f") + each.graph);
  const PipelineResult result = run_pipeline(graph, parse_pipeline(each.passes));
  for (const Remark& remark : result.remarks.all()) said += remark.text + "\n";
  return said;
}

TEST(FuseReasons, AreGivenForTheGraphsThatHaveThem) {
  for (const Refusal& each : kRefusals) {
    SCOPED_TRACE(each.reason);
    EXPECT_EQ(refusals(each), kLoop + each.reason + "\n");
  }
}

/// A step of many instructions, which no graph of a few lines has.
std::string long_step(int nodes) {
  std::string text = "(%h0: f32[8,4]) {\n  %h = scan {steps = 3} carry %c = %h0 {\n";
  for (int i = 0; i < nodes; ++i)
    text += fmt::format("%v{} = tanh({})\n", i, i == 0 ? "%c" : fmt::format("%v{}", i - 1));
  return text + fmt::format("next %c = %v{} }}\n  return %h }}", nodes - 1);
}

TEST(FuseReasons, HaveALimitOfInstructions) {
  EXPECT_EQ(refusals({long_step(4).c_str(), ""}), "");
  EXPECT_TRUE(
      std::regex_search(refusals({long_step(400).c_str(), ""}),
                        std::regex(kLoop + "its step has [0-9]+ instructions, more than 8192\n")));
}

// --- the sources

/// The strings of a source that are sentences: a reason begins with a letter or names a node, and
/// has a blank. Neighbouring strings are one.
std::vector<std::string> sentences(const SourceFile& file) {
  std::string text;
  for (const std::string& line : file.lines) {
    if (line.find("#include") == line.npos && line.find("//") == line.npos) text += line + "\n";
  }
  text = std::regex_replace(text, std::regex(R"("\s+")"), "");
  std::vector<std::string> found;
  const std::regex string(R"re("((?:[^"\\\n]|\\.)*)")re"), sentence("[a-z]+ [a-z{}%]+");
  for (std::sregex_iterator at(text.begin(), text.end(), string), end; at != end; ++at) {
    if (std::regex_search((*at)[1].str(), sentence)) found.push_back((*at)[1]);
  }
  return found;
}

/// A pattern of what a format string gives.
std::regex pattern_of(const std::string& format) {
  const std::string escaped =
      std::regex_replace(format, std::regex(R"([\[\]().*+?^$|\\])"), R"(\$&)");
  return std::regex(std::regex_replace(escaped, std::regex(R"(\{\})"), ".+"));
}

TEST(FuseReasons, HaveAGraphForEachInTheSources) {
  // What is no reason for a loop: the record of the pass, a user's error (fuse_test.cpp), a check
  // of our own; and what HaveALimitOfInstructions has.
  const std::vector<std::string> others = {
      "forms kernels; with {single} one for each node, with {loops} no recurrent ones",
      "fuse: kernels have no derivatives: run autodiff first",
      "the kernels around %{} and %{} need each other",
      "its step has {} instructions, more than {}",
      "a loop, not one recurrent kernel: ",
  };
  size_t looked_at = 0;
  for (const char* path : {"passes/kernels/fuse.cpp", "passes/kernels/row_model.cpp"}) {
    for (const std::string& format : sentences(read_source_file(path))) {
      if (std::ranges::count(others, format) != 0) continue;
      ++looked_at;
      const std::regex pattern = pattern_of(format);
      EXPECT_TRUE(std::ranges::any_of(
          kRefusals, [&](const Refusal& each) { return std::regex_search(each.reason, pattern); }))
          << path << ": no graph here gets the reason \"" << format << "\"";
    }
  }
  EXPECT_GE(looked_at, 20u);
}

TEST(FuseReasons, AreFoundInASource) {
  const SourceFile file = source_file("a.cpp",
                                      "#include \"ir/a b.h\"\nf(\"map\", \"it is \"\n"
                                      "  \"one {}\");  \n// \"no comment is\"\n");
  EXPECT_EQ(sentences(file), std::vector<std::string>{"it is one {}"});
}

}  // namespace
}  // namespace graphc::core::testing
