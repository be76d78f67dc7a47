// SPDX-License-Identifier: Apache-2.0
// Loops whose blocks are no cluster and exchange fragments through memory (counted_loop.h): of
// every cell, in every precision of tensor cores, they agree with the streamed placement, and every
// damage to the exchange is found.
#include <cstdio>
#include <regex>

#include "ir/text.h"
#include "tests/codegen/cuda/counted_exchange.h"
#include "tests/codegen/cuda/damages.h"
#include "tests/testing/counts.h"
#include "tests/testing/graph_file.h"
#include "tests/testing/random_cell.h"
#include "tests/testing/wide_golden.h"

namespace graphc::core::testing {
namespace {

class ExchangeThroughMemory : public CountedExchange {};

/// More rows than one tile has, groups of blocks that share rows out, and warps with fewer terms
/// than others.
TEST_F(ExchangeThroughMemory, OfEveryCellAgreesWithTheStreamedPlacement) {
  int through_memory = 0;
  expect_agreement_of_cells(
      cuda::Placement::grid,
      {{"2", 1, 18}, {"3", 20, 22}, {"2", 40, 32}, {"6", 13, 40}, {"4", 33, 72}, {"4", 17, 136}},
      32, &through_memory);
  std::printf("%d loops exchange through memory\n", through_memory);
  count("loops whose blocks exchange fragments through memory", through_memory);
  EXPECT_GE(through_memory, int(2 * wide_cells().size()));
}

/// A carry that rows share, which other lanes store than load: before the product of the next nest,
/// and behind it.
constexpr const char* kSharedCarry =
    R"(graph @g(%x: f32[5,40,16], %h0: f32[40,16], %c0: f32[16], %u: f32[16,16], %b: f32[16]) {
         %y, %h.e, %c.e = scan %x.t in %x carry %h = %h0, %c = %c0 with %u, %b {
           %c.1 = sigmoid(add(mul(%c, 0.5), %b))
           next %h = tanh(add(add(matmul(%h, %u), CARRY), %x.t)), %c = %c.1
           emit %c.1
         }
         %loss = add(mean(square(%h.e)) {axes = [0,1]}, mean(%y) {axes = [0,1]})
         %dx, %dh, %du, %db = grad(%loss, %x, %h0, %u, %b)
         return %y, %h.e, %c.e, %dx, %dh, %du, %db
       })";
/// Four parts of so many columns that the last warps of a block have none.
constexpr const char* kIdleWarps =
    R"(graph @g(%x: f32[3,5,1120], %r0: f32[5,16], %c0: f32[5,280], %u: f32[16,1120],
                %w: f32[280,16]) {
         %r.e, %c.e = scan %x.t in %x carry %r = %r0, %c = %c0 with %u, %w {
           %i, %f, %g, %o = split(add(%x.t, matmul(%r, %u))) {axis = 1, parts = 4}
           %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
           next %r = matmul(mul(sigmoid(%o), tanh(%c.1)), %w), %c = %c.1
         }
         return %r.e, %c.e
       })";

/// Steps whose lanes share what they load, one row without a stride, and idle warps.
TEST_F(ExchangeThroughMemory, OfOtherStepsAgreesWithTheStreamedPlacement) {
  std::vector<GraphPtr> graphs;
  for (const GraphPtr& graph : graphs_of_tests("tests/regressions/matrices_of_heads.graph"))
    graphs.push_back(
        parse_graph(std::regex_replace(print(*graph), std::regex(R"(\) state \()"), ", ")));
  for (const char* carry : {"%c", "%c.1"})
    graphs.push_back(parse_graph(std::regex_replace(kSharedCarry, std::regex("CARRY"), carry)));
  graphs.push_back(parse_graph(kIdleWarps));
  int through_memory = 0;
  for (size_t i = 0; i < graphs.size(); ++i) {
    SCOPED_TRACE(print(*graphs[i]));
    std::vector<Literal> inputs;
    for (const Literal& input : random_cell_inputs(*graphs[i], unsigned(i)))
      inputs.push_back(input.type().dtype == DType::f64 ? input.converted(DType::f32) : input);
    for (const char* multiprocessors : {"2", "8"}) {
      setenv("GRAPHC_MOCK_MULTIPROCESSORS", multiprocessors, 1);
      const CountedPrecision& of = kCountedPrecisions[i % std::size(kCountedPrecisions)];
      const auto wanted = results(graphs[i], inputs, of.precision, cuda::Placement::streamed);
      for (const auto placement : {cuda::Placement::grid, cuda::Placement::cluster}) {
        int counted = 0;
        const auto found = results(graphs[i], inputs, of.precision, placement, &counted);
        EXPECT_LE(difference(found, wanted), of.tolerance) << multiprocessors;
        if (placement == cuda::Placement::grid) through_memory += counted;
      }
    }
  }
  EXPECT_GE(through_memory, 10);
}

/// A product with so many terms that each warp loads the words of several batches, and adds sums of
/// pieces; with little shared memory most weights are in registers, with more of it all others are
/// there.
TEST_F(ExchangeThroughMemory, OfManyTermsAgreesWithTheStreamedPlacement) {
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "16", 1);
  const GraphPtr graph = parse_graph(
      R"(graph @g(%h0: f32[5,2308], %z: f32[3,5,16], %u: f32[2308,16], %v: f32[16,2308]) {
           %a = mul(%u, 0.02)
           %y, %h.e = scan %z.t in %z carry %h = %h0 with %a, %v {
             %p = tanh(add(matmul(%h, %a), %z.t))
             next %h = tanh(matmul(%p, %v))
             emit %p
           }
           return %y, %h.e
         })");
  std::vector<Literal> inputs;
  for (const Literal& input : random_cell_inputs(*graph, 3))
    inputs.push_back(input.converted(DType::f32));
  for (const CountedPrecision& of : kCountedPrecisions) {
    for (const char* shared : {"232448", "130000"}) {
      setenv("GRAPHC_MOCK_SHARED", shared, 1);
      int through_memory = 0;
      const auto wanted = results(graph, inputs, of.precision, cuda::Placement::streamed);
      const auto found =
          results(graph, inputs, of.precision, cuda::Placement::grid, &through_memory);
      EXPECT_LE(difference(found, wanted), of.tolerance) << name_of(of.precision) << shared;
      EXPECT_EQ(through_memory, 1) << name_of(of.precision) << shared;
    }
  }
}

/// Every text of which one place of the exchange is damaged gives other bits, or an error.
TEST_F(ExchangeThroughMemory, DamagesAreFound) {
  const Damage damages[] = {
      {R"(\n *if \(!block_barrier[^\n]*)", "\n__syncthreads();"},
      {R"(\n *put_\d\([^;]*;)", "\n"},
      {R"((\* operand = operand_\w+ \+ )\(iteration \+ 1\))", "$1 iteration"},
      {R"(exchange \+ row_group \* )", "exchange + 0 * "},
      {R"(\n *copies\[at\] = packed;)", "\n copies[at] = 0u;"},
      {R"(\n *store_words\(inbox[^;]*;)", "\n"},
      {R"(int from = 0; )", "int from = 1; "},
      {R"((words\);\n(?: *\}\n){4}) *__syncthreads\(\);\n)", "$1"},
      {R"((get_words\(\w+\[[^\]]*\]\[more\], operand \+ )[^;]*;)", "$1 0);"},
      {R"(arrived \+ row_group \* 32)", "arrived"},
  };
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "8", 1);
  cuda::Gpu gpu;
  gpu.multiprocessors = 8;
  const WideCase c{"gru_reset_before", 4, 40, 30};
  const GraphPtr graph = wide_layer(c, Derivatives::with);
  std::vector<cuda::KernelText> kernels =
      launches_of(graph, Precision::bf16, gpu, cuda::Placement::grid).kernels;
  std::erase_if(kernels, [](const cuda::KernelText& kernel) {
    return kernel.text.find("get_words(ahead[") == std::string::npos;
  });
  EXPECT_EQ(kernels.size(), 2u);
  const int found = expect_damages_found(kernels, damages, [&] {
    return results(graph, wide_inputs(c), Precision::bf16, cuda::Placement::grid);
  });
  EXPECT_GE(found, 20);
}

}  // namespace
}  // namespace graphc::core::testing
