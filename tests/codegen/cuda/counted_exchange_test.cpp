// SPDX-License-Identifier: Apache-2.0
// Loops in clusters whose blocks count what they exchange (counted_loop.h): of every cell, in every
// precision of tensor cores, they agree with the streamed placement; their bits depend on no order;
// every damage to the exchange is found; and the loops that keep barriers say why.
#include "tests/codegen/cuda/counted_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "ir/evaluate.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/codegen/cuda/damages.h"
#include "tests/testing/counts.h"
#include "tests/testing/heads.h"
#include "tests/testing/in_f64.h"
#include "tests/testing/random_cell.h"
#include "tests/testing/samples.h"
#include "tests/testing/wide_golden.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The kernels of loops that count.
std::vector<cuda::KernelText> counted_kernels(const cuda::Launches& launches) {
  std::vector<cuda::KernelText> kernels = launches.kernels;
  std::erase_if(kernels, [](const cuda::KernelText& kernel) {
    return kernel.text.find("await_bytes") == std::string::npos;
  });
  return kernels;
}

/// Of four multiprocessors.
cuda::Gpu small_gpu() {
  cuda::Gpu gpu;
  gpu.multiprocessors = 4;
  return gpu;
}

/// Columns that are no multiple of eight, blocks without columns of their own, warps that share the
/// terms, and more rows than a tile has.
TEST_F(CountedExchange, OfEveryCellAgreesWithTheStreamedPlacement) {
  int counted = 0, clusters = 0;
  expect_agreement_of_cells(cuda::Placement::cluster,
                            {{"2", 1, 18}, {"4", 20, 22}, {"4", 13, 40}, {"8", 3, 72}}, 22,
                            &counted, &clusters);
  std::printf("%d of %d loops in clusters count what they exchange\n", counted, clusters);
  count("loops in clusters that count what they exchange", counted);
  EXPECT_GE(counted, int(2 * wide_cells().size()));
}

TEST_F(CountedExchange, HasTheSameBitsInEveryOrder) {
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "4", 1);
  const WideCase c{"lstm", 4, 20, 18};
  const GraphPtr graph = wide_layer(c, Derivatives::with);
  for (const cuda::Placement placement : {cuda::Placement::cluster, cuda::Placement::grid}) {
    for (const CountedPrecision& of : kCountedPrecisions) {
      std::vector<Literal> first;
      for (int seed = 1; seed <= 3; ++seed) {
        setenv("GRAPHC_MOCK_SEED", std::to_string(seed).c_str(), 1);
        int counted = 0;
        auto found = results(graph, wide_inputs(c), of.precision, placement, &counted);
        EXPECT_GT(counted, 0);
        if (seed == 1)
          first = std::move(found);
        else
          EXPECT_EQ(found, first) << name_of(of.precision);
      }
    }
  }
}

/// Where blocks own multiples of eight columns, no warps share terms, and one store hands on all
/// terms in their order, sums of 16-bit factors have the streamed order too.
TEST_F(CountedExchange, OfWholeStripsHasTheBitsOfTheStreamedPlacement) {
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "2", 1);
  const WideCase c{"lstm", 4, 20, 128};
  const GraphPtr graph = wide_layer(c, Derivatives::without);
  int counted = 0;
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    const auto wanted = results(graph, wide_inputs(c), precision, cuda::Placement::streamed);
    EXPECT_EQ(results(graph, wide_inputs(c), precision, cuda::Placement::cluster, &counted),
              wanted);
  }
  EXPECT_EQ(counted, 2);
}

/// Every text of which one place of the exchange is damaged: its numbers are others, or the
/// emulator says what is wrong.
TEST_F(CountedExchange, ADamagedExchangeIsFound) {
  const Damage of_exchange[] = {
      {R"(\n *await_bytes\([^\n]*)", "\n"},
      {R"(\n *cluster_barrier\(\);)", "\n__syncthreads();"},
      {R"(begin_counting\((\w+ \+ \w+), (\d+)u)", "begin_counting($1, $2u + 8u"},
      {R"(begin_counting\((\w+ \+ \w+), (\d+)u)", "begin_counting($1, $2u - 8u"},
      {R"(\n *if \(threadIdx.x == 0\)\n *asm volatile\("mbarrier.arrive[^;]*;[^;]*;)", "\n"},
      {R"(rank < (\d+)u)", "rank + 1u < $1u"},
      {R"(\(iteration \+ 1\) % 2\) \* 8u)", "iteration % 2) * 8u"},
      {R"(\(iteration \+ 1\) % 2\) \* (\d+)u)", "iteration % 2) * $1u"},
      {R"(\n *send_\d(_sums)?\([^;]*;)", "\n"},
      {R"(\n *own\[at [^;]*;)", "\n"},
      {R"(int from = 0; )", "int from = 1; "},
      {R"((inbox_\w+ \+ \(unsigned\)\()iteration)", "$1(iteration + 1)"},
      {R"(if \(iteration \+ 1 < steps\))", "if (true)"},
      {R"(\n *copies\[at\] = packed;)", "\n copies[at] = 0u;"},
      {R"(operand \+ \(unsigned\)\(\(row_tile)", "operand + 16u + (unsigned)((row_tile"},
      {R"(in_group \* 2 \+ 1\)(;\s*numbers))", "in_group * 2)$1"},
      {R"(own % (\d+) \* )", "(own + 1) % $1 * "},
      {R"((\n *\}\n) *__syncthreads\(\);\n)", "$1"},
  };
  // What lanes hold in registers: of the step before, and loaded a step ahead.
  const Damage of_registers[] = {
      {R"((held_\w+\[at_row\]\[at_column\] = )[^\n]*)", "$1 0.5f;"},
      {R"(= (held_\w+)\[at_row\]\[at_column\];)", "= $1[1 - at_row][at_column];"},
      {R"(iteration = following;)", "iteration = following - 1;"},
      // Columns side by side.
      {R"((load_\w*pair\(&\w+\[at_row\]\[)at_column\])", "$1at_column + 1]"},
      {R"((\n *store_\w*pair\([^;]*)\[at_column \+ 1\])", "$1[at_column]"},
  };
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "4", 1);
  int found = 0;
  // Two tiles of rows, and one, whose carries are in registers.
  using Damages = std::span<const Damage>;
  for (const auto& [batch, damages] :
       {std::pair{20, Damages(of_exchange)}, {9, Damages(of_registers)}}) {
    const WideCase c{"lstm", 4, batch, 22};
    const GraphPtr graph = wide_layer(c, Derivatives::with);
    const std::vector<cuda::KernelText> kernels =
        counted_kernels(launches_of(graph, Precision::bf16, small_gpu()));
    found += expect_damages_found(kernels, damages, [&] {
      return results(graph, wide_inputs(c), Precision::bf16, cuda::Placement::cluster);
    });
  }
  EXPECT_GE(found, 60);
}

/// Nests of several products, of which one gathers what another step made, and one scatters.
TEST_F(CountedExchange, OfRandomCellsAgreesWithTheStreamedPlacement) {
  const unsigned seeds = whole_samples() ? 200 : 15;
  int in_clusters = 0, through_memory = 0;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    const GraphPtr graph = random_cell(seed);
    std::vector<Literal> inputs;
    for (const Literal& input : random_cell_inputs(*graph, seed))
      inputs.push_back(input.type().dtype == DType::f64 ? input.converted(DType::f32) : input);
    const CountedPrecision& of = kCountedPrecisions[seed % std::size(kCountedPrecisions)];
    SCOPED_TRACE(fmt::format("seed {}, {}\n{}", seed, name_of(of.precision), print(*graph)));
    const auto wanted = results(graph, inputs, of.precision, cuda::Placement::streamed);
    for (const auto placement : {cuda::Placement::cluster, cuda::Placement::grid}) {
      int& counted = placement == cuda::Placement::grid ? through_memory : in_clusters;
      EXPECT_LE(difference(results(graph, inputs, of.precision, placement, &counted), wanted),
                of.tolerance)
          << name_of(placement);
    }
  }
  std::printf("%d loops in clusters, %d through memory\n", in_clusters, through_memory);
  EXPECT_GE(in_clusters, int(seeds));
  EXPECT_GE(through_memory, int(seeds));
}

/// A loop forward in two blocks, and its derivative in ten, which have no more unit tiles each than
/// sixteen would: of memory as small as this, fewer blocks have no room for what it exchanges.
TEST_F(CountedExchange, OfMoreThanEightBlocksAgreesWithTheEvaluator) {
  cuda::Gpu gpu;
  gpu.multiprocessors = 16;
  gpu.shared_bytes = 37 << 8;
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "16", 1);
  setenv("GRAPHC_MOCK_SHARED", std::to_string(gpu.shared_bytes).c_str(), 1);
  const WideCase c{"lstm", 3, 5, 80};
  const GraphPtr graph = wide_layer(c, Derivatives::with);
  const GraphPtr plain = run_pipeline(graph, parse_pipeline("autodiff")).graph;
  const std::vector<Literal> wanted = evaluate(*plain, wide_inputs(c)).results;
  std::vector<Literal> first;
  for (int seed = 1; seed <= 2; ++seed) {
    setenv("GRAPHC_MOCK_SEED", std::to_string(seed).c_str(), 1);
    int counted = 0, clusters = 0;
    const auto found =
        results(graph, wide_inputs(c), Precision::tf32, std::nullopt, &counted, &clusters);
    EXPECT_EQ(counted, 2);
    EXPECT_EQ(clusters, 2);
    EXPECT_LE(difference(found, wanted), 3e-3);
    if (seed == 1) first = found;
    EXPECT_EQ(found, first);
  }
  std::vector<unsigned> sizes;
  const cuda::Launches launches = launches_of(graph, Precision::tf32, gpu, std::nullopt);
  for (const cuda::Launch& launch : launches.step) {
    if (launch.placement) sizes.push_back(launch.cluster);
  }
  EXPECT_EQ(sizes, (std::vector<unsigned>{2, 10}));
  std::vector<cuda::KernelText> kernels = launches.kernels;
  std::erase_if(kernels, [](const cuda::KernelText& kernel) {
    return kernel.text.find("_sums(inbox") == std::string::npos;
  });
  EXPECT_EQ(kernels.size(), 1u);
  const Damage damages[] = {
      {R"(\n *await_bytes\([^\n]*)", "\n"},
      {R"(\n *cluster_barrier\(\);)", "\n__syncthreads();"},
      {R"(begin_counting\((\w+ \+ 0u), (\d+)u)", "begin_counting($1, $2u - 16u"},
      {R"(\n *send_\d_sums\([^;]*;)", "\n"},
      {R"(int from = 0; )", "int from = 1; "},
      {R"((inbox_\w+ \+ \(unsigned\)\()iteration)", "$1(iteration + 1)"},
  };
  const int found = expect_damages_found(kernels, damages, [&] {
    return results(graph, wide_inputs(c), Precision::tf32, std::nullopt);
  });
  EXPECT_GE(found, 7);
}

/// A loop in a loop, whose stream is what its steps emitted in the outer step before, read and
/// written in two places in turn. `draw` chooses what is emitted and carried.
GraphPtr loop_in_a_loop(unsigned draw) {
  const auto one_of = [&](std::initializer_list<const char*> all) {
    const size_t chosen = draw % all.size();
    draw = draw / unsigned(all.size());
    return *(all.begin() + chosen);
  };
  const char* emitted = one_of({"mul(%p, 0.5)", "%q", "sub(%q, %p)"});
  const char* carried = one_of({"%q", "mul(%q, %p)"});
  const char* again = one_of({"%b", "add(mul(%b, 0.5), %a)"});
  const char* state = one_of({"%d", "%c.e"});
  const char* outer = one_of({"", " {reverse = true}"});
  const char* inner = one_of({"", " {reverse = true}"});
  return parse_graph(fmt::format(
      R"(graph @g(%a0: f32[5,16,32], %h0: f32[16,32], %c0: f32[16,32], %z: f32[3,16,1],
                    %w: f32[32,32]) {{
           %u = mul(%w, 0.125)
           %a.e, %h.e = scan{4} %z.t in %z carry %a = %a0, %h = %h0 with %u, %c0 {{
             %f = reshape(slice(%a) {{axis = 0, start = 0, limit = 1}}) {{shape = [16,32]}}
             %b, %c.e, %d = scan{5} %x.t in %a carry %c = %c0, %s = %h with %u, %f, %z.t {{
               %q = add(mul(%c, 0.5), mul(add(%x.t, %f), %z.t))
               %p = tanh(add(%q, matmul(%s, %u)))
               next %c = {1}, %s = %p
               emit {0}
             }}
             next %a = {2}, %h = {3}
           }}
           return %h.e
         }})",
      emitted, carried, again, state, outer, inner));
}

/// What nobody reads in memory in one step of the outer loop, its next one may read.
TEST_F(CountedExchange, OfALoopInALoopAgreesWithTheStreamedPlacement) {
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "4", 1);
  int counted = 0;
  for (unsigned draw = 0; draw < 96; draw += whole_samples() ? 1 : 5) {
    SCOPED_TRACE(draw);
    const GraphPtr graph = loop_in_a_loop(draw);
    std::vector<Literal> inputs;
    for (const Literal& input : random_cell_inputs(*graph, draw))
      inputs.push_back(input.converted(DType::f32));
    const CountedPrecision& of = kCountedPrecisions[draw % std::size(kCountedPrecisions)];
    const auto wanted = results(graph, inputs, of.precision, cuda::Placement::streamed);
    const auto found = results(graph, inputs, of.precision, cuda::Placement::cluster, &counted);
    EXPECT_LE(difference(found, wanted), of.tolerance);
  }
  EXPECT_GE(counted, 20);
}

/// Three heads have clusters of two blocks of their own; 22 rows are two tiles.
TEST_F(CountedExchange, OfHeadsAgreesWithTheEvaluator) {
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "6", 1);
  cuda::Gpu gpu;
  gpu.multiprocessors = 6;
  const auto inputs_of = [](const GraphPtr& graph) {
    std::vector<Literal> inputs;
    for (const Literal& input : random_cell_inputs(*graph, 5))
      inputs.push_back(input.converted(DType::f32));
    return inputs;
  };
  size_t number = 0;
  for (const CountedPrecision& of : kCountedPrecisions) {
    const GraphPtr graph = cell_with_heads(3, number++ == 0 ? 22 : 5, 18);
    const GraphPtr plain = run_pipeline(graph, parse_pipeline("autodiff")).graph;
    int counted = 0;
    const auto found =
        results(graph, inputs_of(graph), of.precision, cuda::Placement::cluster, &counted);
    EXPECT_EQ(counted, 2) << name_of(of.precision);
    EXPECT_LE(difference(found, evaluate(*plain, inputs_of(graph)).results), of.tolerance);
  }
  const GraphPtr graph = cell_with_heads(3, 5, 18);
  const Damage damages[] = {
      {R"(matrix_group = block_group / \(unsigned\)row_groups)", "matrix_group = 0"},
      {R"(matrix_group = block_group / \(unsigned\)row_groups)", "matrix_group = blockIdx.x % 3"},
      // Matrices, the first left operand, what is loaded a step ahead, and what is stored.
      {R"(_panels_base \+ matrix_group)", "_panels_base + 0"},
      {R"((\n {2}const float\* \w+ = \w+_base \+ )matrix_group)", "$1 0"},
      {R"((\n {10}const unsigned short\* \w+ = \w+_base \+ )matrix_group)", "$1 0"},
      {R"((\n {6}unsigned short\* \w+ = \w+_base \+ )matrix_group)", "$1 0"},
  };
  const int found = expect_damages_found(
      counted_kernels(launches_of(graph, Precision::bf16, gpu)), damages,
      [&] { return results(graph, inputs_of(graph), Precision::bf16, cuda::Placement::cluster); });
  EXPECT_GE(found, 10);
}

TEST_F(CountedExchange, SaysWhyALoopKeepsItsBarriers) {
  const auto note = [](const GraphPtr& graph) {
    std::string notes;
    for (const cuda::Launch& launch : launches_of(graph, Precision::f32, small_gpu()).step) {
      if (launch.cluster > 1) notes += launch.note;
    }
    return notes;
  };
  const GraphPtr graph = wide_layer({"lstm", 5, 8, 32}, Derivatives::without);
  EXPECT_THAT(note(graph), HasSubstr("counted in by mbarriers; no barrier"));
  EXPECT_THAT(note(in_f64(graph)),
              AllOf(HasSubstr("1 barrier a step, since sums of %"), HasSubstr(" are not f32")));
}

}  // namespace
}  // namespace graphc::core::testing
