// SPDX-License-Identifier: Apache-2.0
// Every two passes one after the other, as a user may type them: the graph stays what it means, or
// the error is one that tells the user what to do.
#include <gtest/gtest.h>

#include "ir/composite.h"
#include "ir/op.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"
#include "tests/testing/counts.h"

namespace graphc::core::testing {
namespace {

/// Graphs with loops, loops in loops, products, sums, tables, composites and gradients.
constexpr const char* kGraphs[] = {
    R"(graph @mean(%x: f32[3,4,5], %u: f32[5,5]) {
      %y = scan %t in %x with %u { emit mean(matmul(%t, %u)) {axes = [0]} }
      return %y
    })",
    R"(graph @cell(%x: f32[4,2,3], %h0: f32[2,3], %u: f32[3,3], %b: f32[3]) {
      %y, %h = scan %t in %x carry %c = %h0 with %u, %b {
        %n = tanh(add(add(matmul(%c, %u), %t), %b))
        next %c = %n
        emit %n
      }
      return %y, %h
    })",
    R"(graph @nested(%x: f32[3,2,4], %a: f32[2,4]) {
      %y, %h = scan %t in %x carry %c = %a {
        %first = reshape(slice(%c) {axis = 0, start = 0, limit = 1}) {shape = [4]}
        %inner, %s = scan %r in %t carry %k = %first {
          next %k = mul(add(%k, %r), 0.5)
          emit %k
        }
        next %c = %inner
        emit softmax(%inner)
      }
      return %y, %h
    })",
    R"(graph @table(%t: f32[5,3], %i: i32[4,2], %h0: f32[5,3]) {
      %y, %s = scan {reverse = true} %k in %i carry %sum = %h0 with %t {
        %rows = gather(%t, %k)
        next %sum = scatter_add(%sum, %k, %rows)
        emit variance(%rows) {axes = [0, 1]}
      }
      return %y, %s
    })",
    R"(graph @loss(%x: f32[4,5], %w: f32[5,7], %labels: i32[4]) {
      %l = mean(cross_entropy(matmul(%x, %w), %labels)) {axes = [0]}
      %d, %e = grad %l, %w, %x
      return %l, %d, %e
    })",
    R"(graph @trained(%x: f32[4,2,3], %h0: f32[2,3], %u: f32[3,3]) {
      %y, %h = scan %t in %x carry %c = %h0 with %u {
        %n = tanh(add(matmul(%c, %u), %t))
        next %c = %n
        emit %n
      }
      %l = sum(square(%y)) {axes = [0,1,2]}
      %d, %e, %f = grad %l, %u, %x, %h0
      return %d, %e, %f
    })",
    R"(graph @second(%x: f32[3,2], %h0: f32[2]) {
      %y, %h = scan %t in %x carry %c = %h0 {
        next %c = sin(mul(%c, %t))
        emit %c
      }
      %l = sum(%h) {axes = [0]}
      %d = grad %l, %x
      %m = sum(square(%d)) {axes = [0,1]}
      %e = grad %m, %x
      return %e
    })",
    R"(graph @lstm(%x: f32[3,2,4], %h0: f32[2,5], %c0: f32[2,5], %w: f32[4,20], %u: f32[5,20],
                   %b: f32[20]) {
      %y, %h, %c = lstm(%x, %h0, %c0, %w, %u, %b)
      return layer_norm(%y), %c
    })",
    R"(graph @parts(%x: f32[3,2,6], %h0: f32[2,2]) {
      %y, %h = scan %t in %x carry %c = %h0 {
        %a, %b, %d = split(%t) {axis = 1, parts = 3}
        next %c = maximum(mul(%a, %c), minimum(%b, %d))
        emit concat(%c, %a) {axis = 1}
      }
      %v, %i = top_k(%y) {k = 2}
      return %y, %h, %v, %i
    })",
    R"(graph @sizes(%x: f32[3,4,2], %zero: f32[]) {
      %y, %p, %s = scan %t in %x carry %n = %zero {
        next %n = add(%n, size(%t) {axes = [0]})
        emit div(sum(%t) {axes = [0]}, size(%t) {axes = [0,1]}), pad(%t) {low = [1,0], high = [0,1]}
      }
      return %y, %p, %s, prod(%x) {axes = [0]}, cumsum(%x) {axis = 1}
    })",
    R"(graph @updated(%x: f32[2,3]) state (%w: f32[3,4], %m: f32[3,4]) {
      %l = mean(square(matmul(%x, %w))) {axes = [0,1]}
      %d = grad %l, %w
      %n = add(mul(%m, 0.9), %d)
      next %w = sub(%w, mul(%n, 0.1)), %m = %n
      return %l
    })",
    R"(graph @nothing(%x: f32[0,2,3], %h0: f32[2,3]) {
      %y, %h = scan %t in %x carry %c = %h0 {
        next %c = add(%c, %t)
        emit slice(%c) {axis = 1, start = 1, limit = 1}
      }
      return %y, %h, sum(%x) {axes = [0]}
    })",
};

/// The uses of passes that are tried: with the options that change what they do.
std::vector<std::string> uses() {
  std::vector<std::string> all;
  for (const Pass* pass : all_passes()) {
    all.emplace_back(pass->name);
    if (pass == &passes::unroll) all.insert(all.end(), {"unroll{full=true}", "unroll{steps=2}"});
    if (pass == &passes::fuse) all.emplace_back("fuse{single=true}");
  }
  return all;
}

/// What the passes make of the graph; absent where they refuse it, as a user's error.
GraphPtr changed(const GraphPtr& graph, const std::string& passes) {
  try {
    const GraphPtr found = after(graph, passes);
    verify(*found);
    return found;
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
    return nullptr;
  }
}

TEST(PassPairs, KeepTheMeaningInEveryOrder) {
  int64_t tried = 0, refused = 0;
  const std::vector<std::string> all = uses();
  for (const char* text : kGraphs) {
    const GraphPtr graph = parse_graph(text), plain = after(graph, "autodiff");
    for (const std::string& first : all) {
      for (const std::string& second : all) {
        const std::string passes = first + "," + second;
        SCOPED_TRACE(fmt::format("@{} through {}", graph->name(), passes));
        GraphPtr found = changed(graph, passes);
        ++tried;
        // The evaluator has no `grad`.
        if (found && contains(*found, ops::grad)) found = changed(found, "autodiff");
        refused += !found;
        if (found) expect_same_values(plain, found, 3, 1e-9, {-1, 1, 2});
      }
    }
  }
  EXPECT_GT(tried, 2000);
  EXPECT_LT(refused, tried / 4);
  count("graphs through two passes", tried);
}

}  // namespace
}  // namespace graphc::core::testing
