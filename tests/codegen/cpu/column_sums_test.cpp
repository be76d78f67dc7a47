// SPDX-License-Identifier: Apache-2.0
// Sums over the rows with what they sum in one kernel (passes/kernels/column_sums.h).
#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "ir/text.h"
#include "tests/codegen/cpu/check_program.h"

namespace graphc::core::testing {
namespace {

void check_sums(std::string_view text, int64_t index_limit = 1) {
  check_graph(parse_graph(text), index_limit);
}

TEST(ColumnSumsCpu, OfProductsThatNobodyElseReads) {
  // Rows on both sides of four and of a piece, columns of less and more than a vector and a strip.
  for (const auto& [rows, columns] :
       {std::pair{1, 5}, {3, 33}, {4, 1}, {6, 2}, {257, 40}, {11, 1030}}) {
    check_sums(
        fmt::format("graph (%d: f32[{0},{1}], %x: f32[{0},{1}], %y: f32[{0},{1}], %g: f32[{1}]) {{"
                    "  return sum(mul(%d, %x)) {{axes = [0]}}, sum(%d) {{axes = [0]}},"
                    "         sum(mul(mul(%d, %g), sub(%y, 0.5))) {{axes = [0]}} }}",
                    rows, columns));
  }
}

TEST(ColumnSumsCpu, ThroughViewsAndOfPartsThatLieApart) {
  check_sums(R"(graph (%x: f32[5,7,24], %y: f32[5,7,8], %w: f32[8,3]) {
    %a, %b, %c = split %x {axis = 2, parts = 3}
    %m = matmul %y, %w
    return sum(mul(%a, %y)) {axes = [0,1]}, sum(%a) {axes = [0,1]}, sum(mul(%b, %c)) {axes = [0,1]},
           sum(mul(%a, %c)) {axes = [0]}, sum(square(%m)) {axes = [0,1]}, %m
  })");
  check_sums(
      "graph (%x: f32[4,3,9]) { %t = transpose(%x) {permutation = [1,0,2]} "
      "return sum(mul(%t, %t)) {axes = [0,1]}, sum(%t) {axes = [0,1]} }");
}

TEST(ColumnSumsCpu, OfProductsWithOtherSums) {
  check_sums(R"(graph (%x: f32[3,8], %y: f32[3,8]) {
    %a = sum(%x) {axes = [0]}
    %b = sum(mul(%x, %y)) {axes = [0]}
    %c = sum(mul(%x, %a)) {axes = [0]}
    return %a, %b, %c, sum(mul(mul(%y, %b), %x)) {axes = [0]},
           sum(mul(%y, add(%a, %c))) {axes = [0]}
  })");
  check_sums(
      "graph (%x: f32[5,60,7]) {"
      "  return sum(reshape(cos(%x)) {shape = [1,300,7]}) {axes = [0,1]} }");
}

TEST(ColumnSumsCpu, OfWhatSeveralOfThemRead) {
  for (const auto& [rows, columns] : {std::pair{1, 5}, {3, 33}, {262, 40}, {11, 1030}}) {
    check_sums(
        fmt::format("graph (%d: f32[{0},{1}], %x: f32[{0},{1}], %r: f32[{0},1], %g: f32[{1}]) {{"
                    "  %a = mul(mul(%d, %r), %g) %b = mul(%a, %x) %c = sub(%b, square(%r))"
                    "  return sum(%a) {{axes = [0]}}, sum(%b) {{axes = [0]}},"
                    "         sum(mul(%b, %d)) {{axes = [0]}}, sum(%c) {{axes = [0]}} }}",
                    rows, columns));
  }
  check_sums(R"(graph (%x: f32[5,7,24], %y: f32[5,7,8], %r: f32[5,7,1]) {
    %a, %b, %c = split %x {axis = 2, parts = 3}
    %m = mul %y, sub(%a, %r)
    return sum(%m) {axes = [0,1]}, sum(mul(%m, %b)) {axes = [0,1]}, sum(mul(%m, %r)) {axes = [0,1]}
  })");
}

/// More accumulators than a strip of the usual width leaves room for in the first-level cache.
TEST(ColumnSumsCpu, OfManyThingsOverOneMatrix) {
  std::string text = "graph (%x: f64[9,1100]) { return ", comma;
  for (int i = 0; i < 12; ++i, comma = ", ")
    text += fmt::format("{}sum(mul(%x, {}.)) {{axes = [0]}}", comma, i + 2);
  check_sums(text + " }");
}

TEST(ColumnSumsCpu, OfWholeNumbersThatWrapAndBytesThatWiden) {
  check_sums(
      "graph (%i: i32[9,20], %u: u8[9,20]) { return sum(mul(%i, %i)) {axes = [0]}, "
      "sum(mul(cast(%u) {dtype = f32}, cast(%i) {dtype = f32})) {axes = [0]} }",
      200);
}

}  // namespace
}  // namespace graphc::core::testing
