// SPDX-License-Identifier: Apache-2.0
// Products by matrix tiles: of the processor where it has them, and in software anywhere, which has
// the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "codegen/cpu/cpu_features.h"
#include "codegen/cpu/machine.h"
#include "codegen/cpu/tile_pack.h"
#include "ir/text.h"
#include "models/registry.h"
#include "passes/pipeline.h"
#include "tests/codegen/precision_trial.h"
#include "tests/codegen/wanted.h"
#include "tests/testing/expect_error.h"

namespace graphc::testing {
namespace {

using cpu::TileOrder;
using ::testing::HasSubstr;
using Literals = std::vector<Literal>;

std::vector<PrecisionCase> cases_of_cpu() {
  std::vector<PrecisionCase> cases{
      {"f32", &targets::cpu, "f32"},
      {"bf16_in_software", &targets::cpu, "bf16", "native+tiles"},
      {"bf16_in_software_of_any", &targets::cpu, "bf16", "x86-64+tiles"},
  };
  if (cpu::host_cpu().matrix_tiles == MatrixTiles::hardware)
    cases.push_back({"bf16", &targets::cpu, "bf16"});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(OfCpu, PrecisionTrial, ::testing::ValuesIn(cases_of_cpu()), name_of_case);

/// CPUs whose matrix tiles must have the same bits: this processor's, if it has any, first.
std::vector<std::string> cpus_with_tiles() {
  std::vector<std::string> names{"native+tiles", "x86-64+tiles"};
  if (cpu::host_cpu().matrix_tiles == MatrixTiles::hardware) names.insert(names.begin(), "native");
  return names;
}

/// Numbers of all magnitudes, and one in `rare` that is special.
std::vector<float> drawn_floats(size_t count, unsigned seed, unsigned rare = 9) {
  std::mt19937 random(seed);
  const float infinity = std::numeric_limits<float>::infinity();
  const float special[] = {0.0f,       -0.0f,     infinity, -infinity, std::nanf("1"), 1e-39f,
                           -0x1p-149f, 0x1p-126f, 3.4e38f,  -3.4e38f,  1 + 0x1p-8f,    1 - 0x1p-9f};
  std::vector<float> numbers(count);
  for (float& x : numbers) {
    x = std::ldexp(std::normal_distribution<float>()(random), int(random() % 40) - 20);
    if (random() % rare == 0) x = special[random() % std::size(special)];
  }
  return numbers;
}

TEST(TilePackCpu, IsTheSameWithWideInstructionsAndWithout) {
  unsigned seed = 0;
  for (const TileOrder order : {TileOrder::items_first, TileOrder::pairs_first}) {
    for (const bool terms_side_by_side : {true, false}) {
      for (const auto& [items, terms] :
           {std::pair{1, 1}, {16, 32}, {15, 31}, {17, 33}, {5, 64}, {40, 7}, {33, 100}}) {
        SCOPED_TRACE(fmt::format("{} items of {} terms", items, terms));
        const std::vector<float> from = drawn_floats(size_t(items * terms), ++seed);
        const int64_t item = terms_side_by_side ? terms * 4 : 4;
        const int64_t term = terms_side_by_side ? 4 : items * 4;
        const cpu::TileSource source{reinterpret_cast<const char*>(from.data()), item, term, items,
                                     terms};
        const int64_t across = cpu::term_tiles(terms) * kTileBytes;
        std::vector<char> wide(size_t(cpu::item_tiles(items) * across), 'x'), portable = wide;
        cpu::pack_tiles(source, order, wide.data(), across, kTileBytes);
        cpu::pack_tiles_portably(source, order, portable.data(), across, kTileBytes);
        EXPECT_EQ(wide, portable);
      }
    }
  }
}

/// The results of a graph for a CPU.
Literals results_on(const std::string& name, const GraphPtr& graph, const Literals& given,
                    int threads) {
  CompileReport report;
  CompileOptions options;
  options.precision = "bf16";
  options.architecture = name;
  options.threads = threads;
  const auto executable = compile(graph, targets::cpu, options, report);
  std::vector<Tensor> inputs, outputs;
  for (const Literal& input : given) inputs.emplace_back(input);
  for (const Argument& output : executable->signature().outputs) outputs.emplace_back(output.type);
  executable->run(inputs, outputs);
  Literals results;
  for (const Tensor& output : outputs) results.push_back(output.copy());
  return results;
}

/// Bit for bit: as whole numbers, what is none as the same one whatever its sign.
std::vector<std::vector<uint32_t>> bits_of(const Literals& literals) {
  std::vector<std::vector<uint32_t>> bits;
  for (const Literal& literal : literals) {
    bits.emplace_back();
    for (const float x : literal.data<float>())
      bits.back().push_back(std::isnan(x) ? ~0u : std::bit_cast<uint32_t>(x));
  }
  return bits;
}

GraphPtr product_of(int m, int k, int n) {
  return parse_graph(fmt::format(
      "graph @p(%a: f32[{0},{1}], %b: f32[{1},{2}]) {{\n  return matmul(%a, %b)\n}}", m, k, n));
}

TEST(MatrixTilesCpu, HaveTheBitsOfThoseInSoftware) {
  unsigned seed = 0;
  for (const auto& [m, k, n] : {std::array{40, 70, 90}, {17, 33, 16}, {3, 2100, 20}}) {
    const GraphPtr graph = product_of(m, k, n);
    Literals inputs;
    for (const auto& [rows, columns] : {std::pair{m, k}, {k, n}}) {
      Literal literal(Type{DType::f32, {rows, columns}});
      const std::vector<float> numbers = drawn_floats(size_t(rows * columns), ++seed, 400);
      std::ranges::copy(numbers, literal.mutable_data<float>().begin());
      inputs.push_back(std::move(literal));
    }
    const auto wanted = bits_of(results_on(cpus_with_tiles().back(), graph, inputs, 1));
    for (const std::string& name : cpus_with_tiles()) {
      SCOPED_TRACE(name);
      EXPECT_EQ(bits_of(results_on(name, graph, inputs, 1)), wanted);
    }
  }
}

TEST(MatrixTilesCpu, OfAWholeStepHaveTheBitsOfThoseInSoftwareOnAnyNumberOfThreads) {
  const auto program = make_program("lstm-layer", {"hidden=20", "steps=3", "batch=37"});
  const GraphPtr traced = program->model().trace("train", program->extents("train")).graph;
  const GraphPtr graph = without_states(*run_pipeline(traced, parse_pipeline("autodiff")).graph);
  const Literals inputs = drawn_inputs(*graph, 3, 1, false);
  const auto wanted = bits_of(results_on("native+tiles", graph, inputs, 1));
  for (const int threads : {1, 2, 4}) {
    SCOPED_TRACE(threads);
    EXPECT_EQ(bits_of(results_on(cpus_with_tiles().front(), graph, inputs, threads)), wanted);
  }
}

TEST(MatrixTilesCpu, SumManyTermsOfManyRowsAndColumnsInParts) {
  // In software as many as there is time for: pieces of k, one span of columns.
  const std::string name = cpus_with_tiles().front();
  const bool fast = name == "native";
  const GraphPtr graph = product_of(fast ? 1100 : 70, 530, fast ? 2100 : 40);
  const Literals inputs = drawn_inputs(*graph, 5, 2, true);
  CompileReport report;
  const auto executable = compile(graph, targets::cpu, {}, report);
  std::vector<Tensor> given(inputs.begin(), inputs.end());
  std::vector<Tensor> wanted{Tensor(executable->signature().outputs[0].type)};
  executable->run(given, wanted);
  EXPECT_EQ(bits_of(results_on(name, graph, inputs, 1)), bits_of({wanted[0].copy()}));
}

TEST(PrecisionCpu, NeedsAProcessorWithMatrixTiles) {
  CompileReport report;
  CompileOptions options;
  options.precision = "bf16";
  options.architecture = "x86-64";
  EXPECT_THAT(
      error_of(ErrorKind::resource,
               [&] { compile(product_of(3, 4, 5), targets::cpu, options, report); }),
      HasSubstr("precision 'bf16' needs a processor with matrix tiles (AMX, with bf16): found "
                "'x86-64', on which such products would be no faster than those of f32"));
}

}  // namespace
}  // namespace graphc::testing
