// SPDX-License-Identifier: Apache-2.0
// Graphs that have every kind of kernel, in sizes at which each of its statements matters.
#include <algorithm>

#include "tests/codegen/cuda/text_trial.h"

namespace graphc::core::testing {
namespace {

// Together the sizes of a graph have more than one block, more than one piece of a sum, and edges
// where a block and a piece have one element: 17, 145 and 153 rows leave one to the last block of 4
// and of 8.
const std::vector<Subject> kSubjects = {
    {"product",
     R"(graph @g(%x: f32[M,K], %w: f32[K,N], %b: f32[N], %s: f32[M,1]) {
       return tanh(add(mul(matmul(%x, %w), %s), %b))
     })",
     {"M=65 K=17 N=65", "M=33 K=257 N=33", "M=65 K=40 N=33"}},
    {"product_of_transposed",
     R"(graph @g(%x: f32[K,M], %w: f32[N,K]) {
       return matmul(transpose(%x) {permutation = [1,0]}, transpose(%w) {permutation = [1,0]})
     })",
     {"M=65 K=17 N=65", "M=67 K=257 N=33"}},
    {"elements",
     R"(graph @g(%x: f32[19,C], %r: f32[19,1], %c: f32[C], %t: f32[C,19]) {
       %u = add(mul(%x, %r), transpose(%t) {permutation = [1,0]})
       return mul(%u, %c), select(less(%u, %c), %u, %r)
     })",
     {"C=40", "C=257"}},
    {"softmax",
     R"(graph @g(%x: f32[R,C], %r: f32[R,1]) { return softmax(mul(mul(%x, %r), 2000.)) })",
     {"R=19 C=5", "R=153 C=40"}},
    {"sums_along_rows",
     R"(graph @g(%x: f32[R,C], %r: f32[R,1]) { return sum(mul(%x, %r)) {axes = [1]} })",
     {"R=17 C=5", "R=10 C=8193", "R=2 C=2097153"}},
    {"largest_of_rows",
     R"(graph @g(%r: f32[R,1]) {
       %ramp = iota {axis = 1, dtype = f32, shape = [R,C]}
       return max(mul(%r, sub(%ramp, 2.))) {axes = [1]}
     })",
     {"R=17 C=5", "R=19 C=17", "R=19 C=32", "R=19 C=8193"}},
    {"sums_over_rows",
     R"(graph @g(%x: f32[R,C], %c: f32[C]) { return sum(mul(%x, %c)) {axes = [0]} })",
     {"R=7 C=65", "R=2049 C=33", "R=524289 C=2"}},
    {"cross_entropy",
     R"(graph @g(%x: f32[R,C], %i: i32[R]) {
       %l = sum(cross_entropy(mul(%x, 2000.), %i)) {axes = [0]}
       %d = grad %l, %x
       return %l, %d
     })",
     {"R=19 C=5", "R=145 C=40"},
     5,
     {},
     "float"},
    {"labels",
     R"(graph @g(%x: f32[R,5], %i: i32[R]) { return cross_entropy(%x, %i) })",
     {"R=300", "R=20"},
     5,
     {{0, 5}, {201, 5}, {299, -7}},
     "check_indices|copy_labels"},
    {"rows_by_index",
     R"(graph @g(%t: f32[29,W], %i: i32[I], %d: f32[I,W]) {
       return gather(%t, %i), scatter_add(%t, %i, %d)
     })",
     {"I=300 W=3", "I=20 W=261"},
     29,
     {{0, 29}, {201, 29}, {299, -7}}},
    {"merged_rows",
     R"(graph @g(%i: i32[I], %d: f32[I,W]) {
       %distinct, %rows = merge_rows %i, %d
       return %distinct, %rows
     })",
     {"I=300 W=3", "I=300 W=2", "I=20 W=261"},
     29,
     {{0, -7}, {201, -7}, {299, -7}}},
    {"parts_side_by_side",
     R"(graph @g(%x: f32[R,40], %y: f32[7,R], %z: f32[R,1]) {
       return concat(mul(%x, %z), transpose(%y) {permutation = [1,0]}, %z) {axis = 1}
     })",
     {"R=17", "R=33"}},
    {"merged",
     R"(graph @g(%x: f32[9,C], %y: f32[R,D], %r: f32[R,1], %z: f32[C,9], %u: f32[9,C]) {
       return mul(%x, transpose(%z) {permutation = [1,0]}), softmax(mul(mul(%y, %r), 2000.)),
         mul(%u, transpose(%z) {permutation = [1,0]})
     })",
     {"C=40 R=19 D=5", "C=257 R=150 D=40"},
     0,
     {},
     "Nests that do not",
     cuda::Merging::together},
    {"dropout",
     R"(graph @g(%x: f32[17,40], %z: f32[17,1], %key: i64[]) {
       return dropout(mul(%x, %z), %key) {keep = 0.5}
     })",
     {""}},
    {"lstm",
     R"(graph @g(%x: f32[T,B,9], %h0: f32[B,H], %c0: f32[B,H], %target: f32[B,H])
         state (%w: f32[9,G], %u: f32[H,G], %b: f32[G]) {
       %h.e, %c.e = scan %x.t in %x carry %h = %h0, %c = %c0 with %w, %u, %b {
         %z = add(add(matmul(%x.t, %w), matmul(%h, %u)), %b)
         %i, %f, %g, %o = split %z {axis = 1, parts = 4}
         %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
         %h.1 = mul(sigmoid(%o), tanh(%c.1))
         next %h = %h.1, %c = %c.1
       }
       %e = sub(%h.e, %target)
       %l = sum(mul(%e, %e)) {axes = [0,1]}
       %dw, %du, %db = grad %l, %w, %u, %b
       next %w = sub(%w, mul(%dw, 0.5)), %u = sub(%u, mul(%du, 0.5)), %b = sub(%b, mul(%db, 0.5))
       return %l
     })",
     {"T=4 B=17 H=17 G=68", "T=2 B=17 H=19 G=76"},
     0,
     {},
     "iteration < steps"},
    {"rnn",
     R"(graph @g(%x: f32[4,5,H], %h0: f32[5,H]) state (%u: f32[H,H]) {
       %y, %h.e = scan %x.t in %x carry %h = %h0 with %u {
         %n = tanh(add(%x.t, matmul(%h, %u)))
         next %h = %n
         emit %n
       }
       return %y, %h.e
     })",
     {"H=65"},
     0,
     {},
     "iteration < steps"},
    {"panels",
     R"(graph @g(%x: f32[T,5,9], %h0: f32[5,H]) state (%w: f32[9,G], %u: f32[H,G]) {
       %h.e = scan %x.t in %x carry %h = %h0 with %w, %u {
         %a, %b = split(add(matmul(%x.t, %w), matmul(%h, %u))) {axis = 1, parts = 2}
         next %h = mul(tanh(%a), sigmoid(%b))
       }
       return %h.e
     })",
     {"T=2 H=65 G=130", "T=3 H=128 G=256"},
     0,
     {},
     "put_in_panels|iteration < steps"},
    {"panels_of_matrices",
     R"(graph @g(%x: f32[T,M,5,H], %h0: f32[M,5,H]) state (%u: f32[M,H,H]) {
       %h.e = scan %x.t in %x carry %h = %h0 with %u {
         next %h = tanh(add(%x.t, matmul(%h, %u)))
       }
       return %h.e
     })",
     {"T=2 M=3 H=65", "T=2 M=3 H=256"},
     0,
     {},
     "put_in_panels"},
    {"loop_with_sums",
     R"(graph @g(%x: f32[4,R,C], %h0: f32[R,C], %s0: f32[C]) {
       %y, %h.e, %s.e = scan {reverse = true} %x.t in %x carry %h = %h0, %s = %s0 {
         %n = softmax(mul(add(%x.t, mul(%h, %s)), 2000.))
         next %h = %n, %s = mul(add(%s, sum(mul(%n, %x.t)) {axes = [0]}), 0.5)
         emit %n
       }
       return %y, %h.e, %s.e
     })",
     {"R=150 C=40", "R=37 C=33"}},
};

constexpr const char* kRnn =
    R"(graph @g(%x: f32[T,B,H], %h0: f32[B,H]) state (%u: f32[H,H]) {
       %h.e = scan %x.t in %x carry %h = %h0 with %u { next %h = tanh(add(%x.t, matmul(%h, %u))) }
       return %h.e
     })";

constexpr const char* kProjection =
    R"(graph @g(%x: f32[T,B,G], %h0: f32[B,R], %c0: f32[B,H]) state (%u: f32[R,G], %p: f32[H,R]) {
       %h.e, %c.e = scan %x.t in %x carry %h = %h0, %c = %c0 with %u, %p {
         %i, %f, %g, %o = split(add(%x.t, matmul(%h, %u))) {axis = 1, parts = 4}
         %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
         next %h = matmul(mul(sigmoid(%o), tanh(%c.1)), %p), %c = %c.1
       }
       return %h.e, %c.e
     })";

/// With a matrix that is another one in every step, and sums along rows.
constexpr const char* kMovingMatrix =
    R"(graph @g(%x: f32[T,B,H], %k0: f32[B,H], %m: f32[T,H,H]) state (%u: f32[H,H]) {
       %y, %l, %k.e = scan %x.t in %x, %m.t in %m carry %k = %k0 with %u {
         %n = tanh(add(%x.t, matmul(%k, %m.t)))
         next %k = matmul(%n, %u)
         emit %n, sum(mul(%n, %x.t)) {axes = [1]}
       }
       return %y, %l, %k.e
     })";

/// With five stages of as many widths: what blocks own of each lies in shared memory.
constexpr const char* kManyShapes =
    R"(graph @g(%x: f32[3,B,37], %h0: f32[B,37])
         state (%a: f32[37,19], %b: f32[19,22], %c: f32[22,23], %d: f32[23,17], %e: f32[17,37]) {
       %h.e = scan %x.t in %x carry %h = %h0 with %a, %b, %c, %d, %e {
         %n = tanh(matmul(tanh(matmul(tanh(matmul(tanh(matmul(%h, %a)), %b)), %c)), %d))
         next %h = add(matmul(%n, %e), %x.t)
       }
       return %h.e
     })";

/// A loop whose blocks own rows, or columns of groups of rows.
Subject placed(const char* name, const char* graph, const char* size, cuda::Placement placement,
               int multiprocessors) {
  return {.name = name,
          .graph = graph,
          .sizes = {size},
          .having = "iteration < steps",
          .placement = placement,
          .multiprocessors = multiprocessors};
}
Subject placed_in_f64(const char* name, const char* graph, const char* size,
                      cuda::Placement placement, int multiprocessors) {
  Subject subject = placed(name, graph, size, placement, multiprocessors);
  subject.in_f64 = true;
  return subject;
}

/// Rows that carry a matrix, which is summed over both axes; a vector along each, and a number.
constexpr const char* kRowsOfMatrices =
    R"(graph @g(%x: f32[T,R,K], %y: f32[T,R,V], %z: f32[T,R], %s0: f32[R,K,V]) {
       %o, %s.e = scan %x.t in %x, %y.t in %y, %z.t in %z carry %s = %s0 {
         %k = reshape %x.t {shape = [R,K,1]}
         %v = reshape %y.t {shape = [R,1,V]}
         %d = reshape(sigmoid(%z.t)) {shape = [R,1,1]}
         %r = tanh(sum(mul(%s, %v)) {axes = [2]})
         next %s = add(mul(%s, %d), mul(reshape(%r) {shape = [R,K,1]}, %v))
         emit sum(mul(%s, %k)) {axes = [1]}
       }
       return %o, %s.e
     })";

/// The same with a sum over the columns of which blocks have shares, a whole number that is added
/// to them, shares that are carried, and a carried vector that all blocks load and one overwrites.
constexpr const char* kSharesOfRows =
    R"(graph @g(%x: f32[T,R,K], %y: f32[T,R,V], %s0: f32[R,K,V], %n0: f32[R,K], %c0: f32[R,K]) {
       %o, %s.e, %n.e, %c.e = scan %x.t in %x, %y.t in %y carry %s = %s0, %n = %n0, %c = %c0 {
         %k = reshape %x.t {shape = [R,K,1]}
         %v = reshape %y.t {shape = [R,1,V]}
         %u = tanh(sum(mul(%s, %k)) {axes = [1]})
         %r = sum(mul(%s, %v)) {axes = [2]}
         %w = mul(%k, reshape(%u) {shape = [R,1,V]})
         next %s = add(mul(%s, 0.5), %w), %n = tanh(add(%n, %x.t)), %c = add(mul(%c, %n), %r)
         emit add(mul(%r, %x.t), %x.t)
       }
       return %o, %s.e, %n.e, %c.e
     })";

std::vector<Subject> all_subjects() {
  std::vector<Subject> all = kSubjects;
  const char* lstm = std::ranges::find(kSubjects, std::string_view("lstm"), &Subject::name)->graph;
  // Two groups of rows, three of columns; three blocks.
  all.push_back(
      placed_in_f64("lstm_in_grid", lstm, "T=4 B=17 H=17 G=68", cuda::Placement::grid, 6));
  all.push_back(placed("lstm_in_blocks", lstm, "T=3 B=17 H=21 G=84", cuda::Placement::block, 3));
  // Two matrices, two tiles of columns, two pieces of terms.
  all.push_back(placed("projection_in_blocks", kProjection, "T=2 B=5 R=5 H=261 G=1044",
                       cuda::Placement::block, 3));
  all.push_back(placed("moving_in_grid", kMovingMatrix, "T=3 B=35 H=21", cuda::Placement::grid, 7));
  // Two tiles of rows, and threads that read what others wrote.
  all.push_back(placed("rnn_in_blocks", kRnn, "T=3 B=94 H=17", cuda::Placement::block, 3));
  all.push_back(
      placed_in_f64("many_shapes_in_grid", kManyShapes, "B=29", cuda::Placement::grid, 6));
  // An even number of steps, two beyond those that are taken three at a time. Two rows; a thread
  // has several elements along each axis, and some of them are none. The warps
  // are side by side along the columns, then along the rows.
  Subject rows =
      placed("rows_of_matrices", kRowsOfMatrices, "T=14 R=2 K=41 V=37", cuda::Placement::rows, 132);
  rows.having = "first_row";
  all.push_back(rows);
  rows =
      placed("warps_along_rows", kRowsOfMatrices, "T=14 R=2 K=99 V=11", cuda::Placement::rows, 132);
  rows.having = "first_row";
  all.push_back(std::move(rows));
  // Two rows of eight parts, of eight warps each.
  rows = placed("shares_of_rows", kSharesOfRows, "T=14 R=2 K=33 V=64", cuda::Placement::rows, 132);
  rows.having = "first_row|shares_";
  all.push_back(std::move(rows));
  std::ranges::move(subjects_of_gpus(lstm), std::back_inserter(all));
  return all;
}

}  // namespace

const std::vector<Subject>& text_subjects() {
  static const std::vector<Subject> all = all_subjects();
  return all;
}

}  // namespace graphc::core::testing
