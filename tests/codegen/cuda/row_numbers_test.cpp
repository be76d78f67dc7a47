// SPDX-License-Identifier: Apache-2.0
// Loops that exchange fragments and sum along rows (counted_rows.h): they agree with the evaluator
// in clusters and in grids, every damage to the exchange of sums is found, and what blocks cannot
// exchange keeps the barriers.
#include <gmock/gmock.h>

#include <cstdio>
#include <regex>

#include "ir/evaluate.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/codegen/cuda/counted_exchange.h"
#include "tests/codegen/cuda/damages.h"
#include "tests/codegen/cuda/drawn_rows.h"
#include "tests/testing/counts.h"
#include "tests/testing/heads.h"
#include "tests/testing/random_cell.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;

/// What a step makes of its pre-activations %p, one for each unit: %n; and what it emits.
struct Norm {
  const char* text;
  const char* emitted = "%n";
};

constexpr Norm kLayerNorm{R"(%s = mean(%p) {axes = [1], keep = true}
           %d = sub(%p, %s)
           %v = mean(square(%d)) {axes = [1], keep = true}
           %n = mul(%d, rsqrt(add(%v, 0.00001))))"};
/// The sum of squares is not of the distances from the mean of all columns.
constexpr Norm kOfAnotherMean{R"(%s = mul(sum(%p) {axes = [1], keep = true}, 0.03)
           %d = sub(%p, %s)
           %v = sum(square(%d)) {axes = [1], keep = true}
           %n = mul(%d, rsqrt(add(%v, 1.))))"};
constexpr Norm kRootMeanSquare{R"(%v = mean(square(%p)) {axes = [1], keep = true}
           %n = mul(%p, rsqrt(add(%v, 0.00001))))"};
constexpr Norm kSoftmax{R"(%m = max(%p) {axes = [1], keep = true}
           %e = exp(sub(%p, %m))
           %n = mul(div(%e, sum(%e) {axes = [1], keep = true}), 4.))"};
/// Sums and a maximum of one nest.
constexpr Norm kBoth{R"(%m = max(%p) {axes = [1], keep = true}
           %s = sum(%p) {axes = [1], keep = true}
           %n = sub(mul(%p, 0.5), add(%m, mul(%s, 0.02))))"};
/// More sums than a chunk has, of which some are of squares with a mean.
constexpr Norm kMany{R"(%s = mean(%p) {axes = [1], keep = true}
           %a = sum(tanh(%p)) {axes = [1], keep = true}
           %b = sum(mul(%p, %x.t)) {axes = [1], keep = true}
           %c = sum(abs(%p)) {axes = [1], keep = true}
           %k = sum(exp(mul(%p, 0.1))) {axes = [1], keep = true}
           %v = mean(square(sub(%p, %s))) {axes = [1], keep = true}
           %n = add(%p, mul(add(add(%a, %b), add(add(%c, %k), %v)), 0.01)))"};
/// Numbers that leave the loop: a sum, and what a nest with one column makes of it.
constexpr Norm kEmitsSum{kBoth.text, "%s"};
constexpr Norm kEmitsRoot{R"(%v = mean(square(%p)) {axes = [1], keep = true}
           %r = rsqrt(add(%v, 0.00001))
           %n = mul(%p, %r))",
                          "%r"};
constexpr Norm kNorms[] = {kLayerNorm, kOfAnotherMean, kRootMeanSquare, kSoftmax,
                           kBoth,      kMany,          kEmitsSum,       kEmitsRoot};

/// A loop over such steps, and its derivative.
GraphPtr cell(const Norm& norm, int64_t batch, int64_t hidden) {
  return parse_graph(fmt::format(
      R"(graph @g(%x: f32[4,{2},{3}], %h0: f32[{2},{3}], %g: f32[{3}], %u: f32[{3},{3}]) {{
         %y, %h.e = scan %x.t in %x carry %h = %h0 with %u, %g {{
           %p = add(matmul(%h, %u), %x.t)
           {0}
           next %h = tanh(add(mul(%n, %g), mul(%h, 0.3)))
           emit {1}
         }}
         %loss = add(mean(square(%h.e)) {{axes = [0,1]}}, mean(%y) {{axes = [0,1,2]}})
         %dx, %dh, %dg, %du = grad(%loss, %x, %h0, %g, %u)
         return %y, %h.e, %dx, %dh, %dg, %du
       }})",
      norm.text, norm.emitted, batch, hidden));
}

std::vector<Literal> inputs_of(const GraphPtr& graph, unsigned seed) {
  std::vector<Literal> inputs;
  for (const Literal& input : random_cell_inputs(*graph, seed))
    inputs.push_back(input.converted(DType::f32));
  return inputs;
}

class RowNumbers : public CountedExchange {
 protected:
  /// Expects that a graph gives what it gives streamed, and what the evaluator gives where factors
  /// have almost all digits. Returns how many loops count.
  static int expect_agreement(const GraphPtr& graph, cuda::Placement placement,
                              const CountedPrecision& of, unsigned seed) {
    int counted = 0;
    const std::vector<Literal> inputs = inputs_of(graph, seed);
    const auto found = results(graph, inputs, of.precision, placement, &counted);
    const auto streamed = results(graph, inputs, of.precision, cuda::Placement::streamed);
    EXPECT_LE(difference(found, streamed), of.tolerance) << print(*graph);
    if (of.precision != Precision::tf32x3) return counted;
    const GraphPtr plain = run_pipeline(graph, parse_pipeline("autodiff")).graph;
    EXPECT_LE(difference(found, evaluate(*plain, inputs).results), of.tolerance) << print(*graph);
    return counted;
  }
};

/// One row and several, whole tiles and others; columns that are no multiple of eight, blocks and
/// warps with fewer columns than others or none, and warps that share the terms of products.
TEST_F(RowNumbers, OfEveryNormAgreesWithTheEvaluator) {
  const Size sizes[] = {{"2", 1, 18}, {"4", 20, 22}, {"8", 9, 40}, {"4", 32, 64}, {"3", 5, 72}};
  int counted[2] = {};
  unsigned number = 0;
  for (const Norm& norm : kNorms) {
    for (const Size& size : sizes) {
      const CountedPrecision& of = kCountedPrecisions[++number % std::size(kCountedPrecisions)];
      if (!is_sampled(number, 3)) continue;
      setenv("GRAPHC_MOCK_MULTIPROCESSORS", size.multiprocessors, 1);
      setenv("GRAPHC_MOCK_SEED", std::to_string(number).c_str(), 1);
      SCOPED_TRACE(fmt::format("{} x {}, {}", size.batch, size.hidden, name_of(of.precision)));
      const GraphPtr graph = cell(norm, size.batch, size.hidden);
      counted[0] += expect_agreement(graph, cuda::Placement::cluster, of, number);
      counted[1] += expect_agreement(graph, cuda::Placement::grid, of, number);
    }
  }
  std::printf("%d loops count in clusters, %d exchange through memory\n", counted[0], counted[1]);
  count("loops that sum along rows and count what they exchange", counted[0] + counted[1]);
  const int tried = int(std::size(kNorms) * std::size(sizes)) / (whole_samples() ? 1 : 3);
  EXPECT_EQ(counted[0], 2 * tried);
  EXPECT_EQ(counted[1], 2 * tried);
}

/// How often a text of a loop's kernels waits for blocks in a step.
int waits_in(const cuda::Launches& launches) {
  int waits = 0;
  for (const cuda::KernelText& kernel : launches.kernels) {
    const size_t steps = kernel.text.find("iteration < steps");
    if (steps == std::string::npos) continue;
    for (size_t at = steps; (at = kernel.text.find("await_bytes(", at)) != std::string::npos; ++at)
      ++waits;
  }
  return waits;
}

cuda::Gpu gpu_of(int multiprocessors) {
  cuda::Gpu gpu;
  gpu.multiprocessors = multiprocessors;
  return gpu;
}

GraphPtr forward_alone(const GraphPtr& graph) {
  return parse_graph(std::regex_replace(
      print(*graph), std::regex(R"(\n  %loss(.|\n)*return %y, [^\n]*)"), "\n  return %y, %h.e"));
}

/// A variance takes no exchange of its own where it is of the distances from the mean: a step waits
/// for its left operand and for the sums.
TEST_F(RowNumbers, SquaresGoWithTheSumOfTheirMean) {
  const auto waits = [&](const Norm& norm) {
    return waits_in(launches_of(forward_alone(cell(norm, 16, 64)), Precision::bf16, gpu_of(4)));
  };
  EXPECT_EQ(waits(kLayerNorm), 2);
  EXPECT_EQ(waits(kOfAnotherMean), 3);
  EXPECT_EQ(waits(kRootMeanSquare), 2);
  EXPECT_EQ(waits(kSoftmax), 3);
  EXPECT_EQ(waits(kBoth), 2);
  EXPECT_EQ(waits(kMany), 2);
}

/// Far from zero, where the difference of the mean of squares and the square of the mean would have
/// no digit of the variance.
TEST_F(RowNumbers, AVarianceFarFromZeroKeepsItsDigits) {
  const Norm far{R"(%q = add(%p, 3000.)
           %s = mean(%q) {axes = [1], keep = true}
           %d = sub(%q, %s)
           %v = mean(square(%d)) {axes = [1], keep = true}
           %n = mul(%d, rsqrt(add(%v, 0.00001))))"};
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "4", 1);
  for (const int64_t hidden : {64, 50}) {
    const GraphPtr graph = forward_alone(cell(far, 9, hidden));
    EXPECT_EQ(waits_in(launches_of(graph, Precision::tf32x3, gpu_of(4))), 2);
    const std::vector<Literal> inputs = inputs_of(graph, 7);
    const std::vector<Literal> wanted = evaluate(*graph, inputs).results;
    for (const cuda::Placement placement : {cuda::Placement::cluster, cuda::Placement::grid}) {
      // An element has 11 digits of 24 left.
      EXPECT_LE(difference(results(graph, inputs, Precision::tf32x3, placement), wanted), 3e-3)
          << hidden;
    }
  }
}

/// Every text of which one place of the exchange of sums is damaged gives other bits, or an error.
TEST_F(RowNumbers, DamagesAreFound) {
  const Damage damages[] = {
      {R"(\n *await_bytes\(in_shared[^;]*;)", "\n"},
      {R"(begin_counting\(in_shared \+ (\d+)u, (\d+)u)",
       "begin_counting(in_shared + $1u, $2u - 8u"},
      {R"(\n *send_\d_sums\(inbox \+ \(unsigned\)\(\(rank \* \d+ \+ place[^;]*;)", "\n"},
      {R"(\n *put_4\(inbox[^;]*;)", "\n"},
      {R"((numbers_of_rows = exchange \+ )row_group)", "$1 0"},
      {R"(\n *__syncthreads\(\);(\n *// To (?:all|each)))", "$1"},
      {R"((// What all blocks have[^\n]*\n(?:[^\n]*\n){9}[^\n]*from = )(?:0|in_group))", "$1 1"},
      {R"(__shfl_xor_sync\((\w+), ([^,]*), 2\))", "$2"},
      {R"(__shfl_xor_sync\((\w+), ([^,]*), 1\))", "$2"},
      {R"(apart \* apart)", "apart"},
      {R"((means\[word\] = means\[word\] \* )one_over_all)", "$1 0.5f"},
      {R"((number_\w+\[at_row\] = row_sums\[)(\d+))", "$1 1 - $2"},
      {R"(= (number_\w+)\[at_row\];)", "= $1[1 - at_row];"},
      {R"((int behind = max\([^,]*) - )", "$1 + "},
      {R"(\n *if \(!block_barrier[^\n]*(\n[^\n]*What all blocks))", "\n__syncthreads();$1"},
      {R"( && rank == 0 && )", " && rank == 9 && "},
  };
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "4", 1);
  int found = 0;
  for (const cuda::Placement placement : {cuda::Placement::cluster, cuda::Placement::grid}) {
    for (const Norm& norm : {kLayerNorm, kEmitsSum}) {
      const GraphPtr graph = cell(norm, 20, 45);
      std::vector<cuda::KernelText> kernels =
          launches_of(graph, Precision::bf16, gpu_of(4), placement).kernels;
      std::erase_if(kernels, [](const cuda::KernelText& kernel) {
        return kernel.text.find("row_sums") == std::string::npos;
      });
      EXPECT_FALSE(kernels.empty());
      found += expect_damages_found(kernels, damages, [&] {
        return results(graph, inputs_of(graph, 3), Precision::bf16, placement);
      });
    }
  }
  EXPECT_GE(found, 100);
}

/// Numbers of the step before, and of rows that are none of a tile's, keep the barriers.
TEST_F(RowNumbers, SaysWhatBlocksDoNotExchange) {
  const GraphPtr carried = parse_graph(
      R"(graph @g(%x: f32[4,16,64], %h0: f32[16,64], %k0: f32[16,1], %u: f32[64,64]) {
           %h.e, %k.e = scan %x.t in %x carry %h = %h0, %k = %k0 with %u {
             %p = add(matmul(%h, %u), mul(%x.t, %k))
             next %h = tanh(%p), %k = max(%p) {axes = [1], keep = true}
           }
           return %h.e, %k.e
         })");
  std::string notes;
  for (const cuda::Launch& launch : launches_of(carried, Precision::bf16, gpu_of(4)).step) {
    if (launch.cluster > 1) notes += launch.note;
  }
  EXPECT_THAT(notes, HasSubstr("reads numbers of rows that blocks do not exchange"));
  const GraphPtr narrow = parse_graph(
      R"(graph @g(%x: f32[4,16,64], %h0: f32[16,64], %u: f32[64,64]) {
           %y, %h.e = scan %x.t in %x carry %h = %h0 with %u {
             %p = add(matmul(%h, %u), %x.t)
             %s = sum(cast(%p) {dtype = bf16}) {axes = [1], keep = true}
             next %h = tanh(add(%p, cast(%s) {dtype = f32}))
             emit %s
           }
           return %y, %h.e
         })");
  notes.clear();
  for (const cuda::Launch& launch : launches_of(narrow, Precision::bf16, gpu_of(4)).step)
    notes += launch.note;
  EXPECT_THAT(notes, HasSubstr("stored as bf16, not of f32"));
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "4", 1);
  for (const CountedPrecision& of : kCountedPrecisions) {
    EXPECT_EQ(expect_agreement(carried, cuda::Placement::cluster, of, 5), 0);
    EXPECT_EQ(expect_agreement(carried, cuda::Placement::grid, of, 5), 0);
  }
}

/// Heads have clusters of their own, and sums of their own rows.
TEST_F(RowNumbers, OfHeadsAgreesWithTheEvaluator) {
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "6", 1);
  const GraphPtr graph = cell_with_heads(
      3, 5, 18, "mul(%x.t, rsqrt(add(sum(square(%h)) {axes = [2], keep = true}, 1.)))");
  int counted = 0;
  for (const CountedPrecision& of : kCountedPrecisions) {
    for (const cuda::Placement placement : {cuda::Placement::cluster, cuda::Placement::grid})
      counted += expect_agreement(graph, placement, of, 5);
  }
  EXPECT_EQ(counted, 4 * int(std::size(kCountedPrecisions)));
}

/// Per head, the mean of values with that head's gains, and squares of the distances of values with
/// those of the first head.
constexpr const char* kGainsOfOthers =
    R"(graph @g(%x: f32[4,5,3,18], %h0: f32[5,3,18], %u: f32[3,18,18], %g: f32[3,18]) {
         %y, %h.e = scan %x.t in %x carry %h = %h0 with %u, %g {
           %r = transpose(%h) {permutation = [1,0,2]}
           %p = add(transpose(matmul(%r, %u)) {permutation = [1,0,2]}, %x.t)
           %k = mean(mul(%p, %g)) {axes = [2], keep = true}
           %first = slice(%g) {axis = 0, start = 0, limit = 1}
           %v = mean(square(sub(mul(%p, %first), %k))) {axes = [2], keep = true}
           next %h = tanh(add(%p, %v))
           emit %p
         }
         return %y, %h.e
       })";
/// One row of each head, so that no row has a stride: lanes of other rows read nothing of it.
constexpr const char* kOneRowOfHeads =
    R"(graph @g(%x: f32[4,1,2,128], %h0: f32[1,2,128], %u: f32[2,128,128]) {
         %y, %h.e = scan %x.t in %x carry %h = %h0 with %u {
           %r = transpose(%h) {permutation = [1,0,2]}
           %p = add(transpose(matmul(%r, %u)) {permutation = [1,0,2]}, %x.t)
           next %h = add(tanh(%p), mul(%h, 0.3))
           emit %p
         }
         return %y, %h.e
       })";
/// A variance of what all columns have in common.
constexpr const char* kSameInAllColumns =
    R"(graph @g(%x: f32[4,20,22], %m: f32[4,20,1], %h0: f32[20,22], %w: f32[22,22]) {
         %y, %h.e = scan %x.t in %x, %m.t in %m carry %h = %h0 with %w {
           %p = add(matmul(%h, %w), %x.t)
           %k = tanh(add(max(%p) {axes = [1], keep = true}, %m.t))
           %b = broadcast_to(%k) {shape = [20,22]}
           %s = mean(%b) {axes = [1], keep = true}
           %v = mean(square(sub(%b, %s))) {axes = [1], keep = true}
           next %h = tanh(add(sub(%p, %s), %v))
           emit %p
         }
         return %y, %h.e
       })";

TEST_F(RowNumbers, OfOtherStepsAgreesWithTheEvaluator) {
  for (const char* text : {kGainsOfOthers, kOneRowOfHeads, kSameInAllColumns}) {
    const GraphPtr graph = parse_graph(text);
    for (const char* multiprocessors : {"4", "12"}) {
      setenv("GRAPHC_MOCK_MULTIPROCESSORS", multiprocessors, 1);
      for (const cuda::Placement placement : {cuda::Placement::cluster, cuda::Placement::grid})
        expect_agreement(graph, placement, kCountedPrecisions[3], 5);
    }
  }
}

/// Random steps, with heads and without, of one row and more.
TEST_F(RowNumbers, OfDrawnStepsAgreesWithTheStreamedPlacement) {
  int counted = 0, exchanges = 0;
  const unsigned whole = 600;
  for (unsigned seed = 0; seed < whole; seed += whole_samples() ? 1 : 15) {
    const GraphPtr graph = drawn_rows(seed);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, print(*graph)));
    const char* multiprocessors[] = {"4", "6", "12"};
    setenv("GRAPHC_MOCK_MULTIPROCESSORS", multiprocessors[seed % 3], 1);
    setenv("GRAPHC_MOCK_SEED", std::to_string(seed).c_str(), 1);
    const std::vector<Literal> inputs = inputs_of(graph, seed);
    std::vector<Literal> wanted;
    for (const cuda::Placement placement :
         {cuda::Placement::streamed, cuda::Placement::cluster, cuda::Placement::grid}) {
      try {
        const auto found = results(graph, inputs, Precision::tf32x3, placement, &counted);
        if (wanted.empty()) wanted = found;
        EXPECT_LE(difference(found, wanted), 1e-4) << name_of(placement);
      } catch (const Error& error) {
        ADD_FAILURE() << name_of(placement) << ": " << error.what();
      }
    }
    for (const cuda::KernelText& kernel :
         launches_of(graph, Precision::tf32x3, gpu_of(4 + 2 * int(seed % 2))).kernels)
      exchanges += kernel.text.find("row_sums") == std::string::npos ? 0 : 1;
  }
  std::printf("%d loops count, %d kernels exchange numbers of rows\n", counted, exchanges);
  count("drawn loops of numbers of rows that count", counted);
  EXPECT_GE(counted, 60);
  EXPECT_GE(exchanges, 20);
}

/// A sum as the last nest of a step, behind which the next step multiplies: blocks meet twice.
TEST_F(RowNumbers, CountsTheBarriersOfAGrid) {
  const GraphPtr graph = parse_graph(
      R"(graph @g(%x: f32[4,20,22], %h0: f32[20,22], %w: f32[22,22]) {
           %y, %h.e = scan %x.t in %x carry %h = %h0 with %w {
             %n = tanh(add(matmul(%h, %w), %x.t))
             next %h = %n
             emit sum(%n) {axes = [1], keep = true}
           }
           return %y, %h.e
         })");
  const cuda::Launches launches =
      launches_of(graph, Precision::tf32x3, gpu_of(4), cuda::Placement::grid);
  std::string notes;
  for (const cuda::Launch& launch : launches.step) notes += launch.note;
  EXPECT_THAT(notes, HasSubstr("numbers of rows handed on through memory; 2 barriers a step"));
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "4", 1);
  EXPECT_EQ(expect_agreement(graph, cuda::Placement::grid, kCountedPrecisions[3], 5), 1);
}

}  // namespace
}  // namespace graphc::core::testing
