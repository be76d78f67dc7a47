// SPDX-License-Identifier: Apache-2.0
// Graphs whose texts not every GPU takes: products on tensor cores, and loops in clusters.
#include <utility>

#include "tests/codegen/cuda/text_trial.h"

namespace graphc::core::testing {
namespace {

/// Together their sizes have warps and lanes without rows or columns, more than one block and more
/// than one piece of a sum, and a piece that ends within what an instruction takes.
constexpr const char* kProductOfGpus =
    R"(graph @g(%x: f32[M,K], %w: f32[K,N], %b: f32[N], %s: f32[M,1]) {
       return add(mul(matmul(%x, %w), %s), %b)
     })";

constexpr const char* kTransposed =
    R"(graph @g(%x: f32[K,M], %w: f32[N,K]) {
       return matmul(transpose(%x) {permutation = [1,0]}, transpose(%w) {permutation = [1,0]})
     })";

/// Sums of small whole numbers are exact in every precision.
constexpr double kExact = 1e-7;
/// More than 3xtf32 loses, and a hundredth of what a tf32 does.
constexpr double kSplit = 1e-5;

/// Stored in bf16, in lines that begin at multiples of 16 bytes.
constexpr const char* kStoredInBf16 =
    R"(graph @g(%x: bf16[M,K], %w: bf16[N,K], %b: f32[N], %s: f32[M,N]) {
       %v = transpose(cast(%w) {dtype = f32}) {permutation = [1,0]}
       return add(mul(matmul(cast(%x) {dtype = f32}, %v), %b), %s)
     })";

Subject product(const char* name, const char* graph, Precision precision, Numbers numbers) {
  return {.name = name,
          .graph = graph,
          .sizes = {"M=65 K=17 N=65", "M=67 K=257 N=33", "M=33 K=73 N=67"},
          .precision = precision,
          .numbers = numbers,
          .tolerance = numbers == Numbers::whole ? kExact : kSplit};
}

/// On a GPU with no room for stages: operands come to shared memory through registers, as in loops.
Subject staged(Subject subject) {
  subject.shared_bytes = 48 << 10;
  return subject;
}
Subject of_sizes(Subject subject, std::vector<const char*> sizes) {
  subject.sizes = std::move(sizes);
  return subject;
}

Subject loop(const char* name, const char* graph, const char* size, cuda::Placement placement,
             int multiprocessors, Precision precision) {
  const bool rounds = precision == Precision::bf16;
  return {.name = name,
          .graph = graph,
          .sizes = {size},
          .having = "iteration < steps",
          .placement = placement,
          .multiprocessors = multiprocessors,
          .precision = precision,
          .numbers = rounds ? Numbers::whole : Numbers::real,
          .tolerance = rounds ? kExact : kSplit};
}

/// In f64 it exchanges no fragments.
Subject in_f64(Subject subject) {
  subject.in_f64 = true;
  return subject;
}
/// Of small whole numbers, which stay whole.
Subject of_whole_numbers(Subject subject) {
  subject.numbers = Numbers::whole;
  return subject;
}

/// Its steps are launches of their own, whose products read panels.
Subject steps(const char* name, const char* graph, std::vector<const char*> sizes,
              Precision precision, Numbers numbers = Numbers::whole) {
  return {.name = name,
          .graph = graph,
          .sizes = std::move(sizes),
          .having = "end_copies",
          .placement = cuda::Placement::launches,
          .precision = precision,
          .numbers = numbers,
          .tolerance = numbers == Numbers::whole ? kExact : kSplit};
}

/// With several times as many terms as the other loops, whose errors add up.
Subject of_many_terms(Subject subject) {
  subject.tolerance *= 4;
  return subject;
}

/// A product of two parts.
constexpr const char* kGates =
    R"(graph @g(%x: f32[T,B,G], %h0: f32[B,H]) state (%u: f32[H,G]) {
       %h.e = scan %x.t in %x carry %h = %h0 with %u {
         %a, %b = split(add(%x.t, matmul(%h, %u))) {axis = 1, parts = 2}
         next %h = mul(tanh(%a), sigmoid(%b))
       }
       return %h.e
     })";

/// Two operands are handed on, one of them after the last barrier of a step.
constexpr const char* kTwoProducts =
    R"(graph @g(%x: f32[T,B,H], %h0: f32[B,H]) state (%u: f32[H,H], %v: f32[H,H]) {
       %y, %h.e = scan %x.t in %x carry %h = %h0 with %u, %v {
         %m = mul(%h, %x.t)
         next %h = tanh(add(matmul(%m, %u), matmul(%h, %v)))
         emit %m
       }
       return %y, %h.e
     })";

/// An operand of three parts, of which partial sums are handed on. Whole numbers stay whole.
constexpr const char* kThreeParts =
    R"(graph @g(%x: f32[T,B,H], %h0: f32[B,H]) state (%u: f32[G,H]) {
       %y, %h.e = scan %x.t in %x carry %h = %h0 with %u {
         %g = concat(mul(%h, %x.t), sub(%h, %x.t), mul(%h, 2.)) {axis = 1}
         %s = matmul(%g, %u)
         next %h = select(less(%s, 0.), %h, %x.t)
         emit %s
       }
       return %y, %h.e
     })";

/// Steps whose products have so many parts. Whole numbers stay whole.
constexpr const char* kStepOfFour =
    R"(graph @g(%x: f32[T,B,G], %v: f32[T,B,H], %h0: f32[B,H]) state (%u: f32[H,G]) {
       %y, %h.e = scan %x.t in %x, %v.t in %v carry %h = %h0 with %u {
         %a, %b, %c, %d = split(add(%x.t, matmul(%h, %u))) {axis = 1, parts = 4}
         next %h = select(less(%a, %c), %h, %v.t)
         emit add(add(%a, mul(%b, 2.)), add(mul(%c, 4.), mul(%d, 8.)))
       }
       return %y, %h.e
     })";
constexpr const char* kStepOfThree =
    R"(graph @g(%x: f32[T,B,G], %v: f32[T,B,H], %h0: f32[B,H]) state (%u: f32[H,G]) {
       %y, %h.e = scan %x.t in %x, %v.t in %v carry %h = %h0 with %u {
         %a, %b, %c = split(add(%x.t, matmul(%h, %u))) {axis = 1, parts = 3}
         next %h = select(less(%a, %c), %h, %v.t)
         emit add(add(%a, mul(%b, 2.)), mul(%c, 4.))
       }
       return %y, %h.e
     })";

/// Numbers of rows: a mean, a variance, a root, and a maximum below zero that leaves the loop.
constexpr const char* kNumbersOfRows =
    R"(graph @g(%z: f32[T,B,1], %h0: f32[B,H], %b: f32[H]) state (%u: f32[H,H]) {
       %y, %h.e = scan %z.t in %z carry %h = %h0 with %u, %b {
         %p = add(mul(matmul(%h, %u), %z.t), %b)
         %m = max(sub(%p, 9.)) {axes = [1], keep = true}
         %s = mean(%p) {axes = [1], keep = true}
         %d = sub(%p, %s)
         %v = mean(square(%d)) {axes = [1], keep = true}
         next %h = tanh(sub(mul(%d, rsqrt(add(%v, 0.1))), mul(%m, 0.1)))
         emit %m
       }
       return %y, %h.e
     })";

}  // namespace

/// Those in a grid or in clusters exchange fragments where a warp has one tile of rows, unless they
/// are in f64.
std::vector<Subject> subjects_of_gpus(const char* lstm) {
  const auto product_of = [](const char* name, Precision precision) {
    return product(name, precision == Precision::bf16 ? kTransposed : kProductOfGpus, precision,
                   precision == Precision::tf32x3 ? Numbers::real : Numbers::whole);
  };
  return {
      product_of("copied_product_in_3xtf32", Precision::tf32x3),
      of_sizes(product("copied_product_in_tf32", kTransposed, Precision::tf32, Numbers::whole),
               {"M=65 K=17 N=65", "M=67 K=257 N=63", "M=33 K=73 N=35"}),
      // Stores write two columns at a time.
      of_sizes(product_of("copied_product_in_fp16", Precision::fp16),
               {"M=65 K=18 N=68", "M=67 K=258 N=36", "M=33 K=74 N=72"}),
      of_sizes(product("copied_product_in_bf16", kStoredInBf16, Precision::bf16, Numbers::whole),
               {"M=65 K=456 N=65", "M=70 K=24 N=133", "M=33 K=72 N=35"}),
      // In five parts, which another launch adds.
      of_sizes(product("copied_product_in_parts", kStoredInBf16, Precision::bf16, Numbers::whole),
               {"M=34 K=1300 N=41", "M=65 K=1300 N=65"}),
      steps("step_of_four_parts_in_bf16", kStepOfFour,
            {"T=2 B=33 H=34 G=136", "T=2 B=65 H=274 G=1096"}, Precision::bf16),
      steps("step_of_three_parts_in_tf32", kStepOfThree,
            {"T=2 B=33 H=34 G=102", "T=2 B=65 H=258 G=774"}, Precision::tf32),
      of_many_terms(steps("gates_of_steps_in_3xtf32", kGates,
                          {"T=2 B=33 H=34 G=68", "T=2 B=65 H=258 G=516"}, Precision::tf32x3,
                          Numbers::real)),
      staged(product_of("product_in_3xtf32", Precision::tf32x3)),
      staged(product_of("product_in_tf32", Precision::tf32)),
      staged(product_of("product_in_bf16", Precision::bf16)),
      staged(product_of("product_in_fp16", Precision::fp16)),
      loop("gates_in_3xtf32", kGates, "T=3 B=17 H=67 G=134", cuda::Placement::streamed, 132,
           Precision::tf32x3),
      loop("gates_in_grid_in_3xtf32", kGates, "T=3 B=131 H=17 G=34", cuda::Placement::grid, 4,
           Precision::tf32x3),
      in_f64(loop("lstm_in_cluster", lstm, "T=3 B=21 H=17 G=68", cuda::Placement::cluster, 4,
                  Precision::f32)),
      in_f64(loop("products_in_cluster", kTwoProducts, "T=3 B=144 H=9", cuda::Placement::cluster, 2,
                  Precision::f32)),
      // Four columns of a lane in tiles of sixteen rows and of eight, and three of partial sums.
      of_whole_numbers(loop("step_in_cluster_in_f32", kStepOfFour, "T=3 B=41 H=41 G=164",
                            cuda::Placement::cluster, 2, Precision::f32)),
      of_whole_numbers(loop("parts_in_cluster_in_f32", kThreeParts, "T=3 B=19 H=129 G=387",
                            cuda::Placement::cluster, 2, Precision::f32)),
      // Two turns of columns, weights in registers and in shared memory, several batches of steps.
      of_whole_numbers(loop("step_through_memory_in_f32", kStepOfFour, "T=2 B=25 H=330 G=1320",
                            cuda::Placement::grid, 5, Precision::f32)),
      of_whole_numbers(loop("parts_through_memory_in_f32", kThreeParts, "T=4 B=19 H=41 G=123",
                            cuda::Placement::grid, 4, Precision::f32)),
      loop("products_in_cluster_in_3xtf32", kTwoProducts, "T=3 B=41 H=41", cuda::Placement::cluster,
           2, Precision::tf32x3),
      loop("parts_in_cluster_in_bf16", kThreeParts, "T=3 B=41 H=41 G=123", cuda::Placement::cluster,
           2, Precision::bf16),
      of_many_terms(loop("products_through_memory_in_3xtf32", kTwoProducts, "T=2 B=25 H=137",
                         cuda::Placement::grid, 5, Precision::tf32x3)),
      loop("parts_through_memory_in_bf16", kThreeParts, "T=4 B=41 H=41 G=123",
           cuda::Placement::grid, 4, Precision::bf16),
      loop("rows_in_cluster_in_3xtf32", kNumbersOfRows, "T=4 B=21 H=45", cuda::Placement::cluster,
           4, Precision::tf32x3),
      loop("rows_through_memory_in_3xtf32", kNumbersOfRows, "T=4 B=25 H=137", cuda::Placement::grid,
           5, Precision::tf32x3)};
}

}  // namespace graphc::core::testing
