// SPDX-License-Identifier: Apache-2.0
// Products by matrix tiles: of the processor where it has them, and in software anywhere, which has
// the same bits; by dot products where the processor has those.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <span>

#include "codegen/targets/cpu/cpu_features.h"
#include "codegen/targets/cpu/machine.h"
#include "codegen/walk/tile_pack.h"
#include "codegen/walk/tiled_product.h"
#include "ir/text.h"
#include "models/registry.h"
#include "passes/pipeline.h"
#include "tests/codegen/precision_trial.h"
#include "tests/codegen/wanted.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::testing {
namespace {

using cpu::TileOrder;
using ::testing::HasSubstr;
using Literals = std::vector<Literal>;

std::vector<PrecisionCase> cases_of_cpu() {
  std::vector<PrecisionCase> cases{{"f32", &targets::cpu, Precision::f32}};
  for (const Precision precision : {Precision::bf16, Precision::bf16x3, Precision::bf16x6}) {
    const std::string name(name_of(precision));
    cases.push_back({name + "_in_software", &targets::cpu, precision, "native+tiles"});
    cases.push_back({name + "_in_software_of_any", &targets::cpu, precision, "x86-64+tiles"});
    if (cpu::host_cpu().matrix_tiles == MatrixTiles::hardware)
      cases.push_back({name, &targets::cpu, precision});
  }
  if (cpu::host_cpu().has_avx512_bf16) {
    cases.push_back({"bf16_by_dot_products", &targets::cpu, Precision::bf16, "native+bf16"});
    cases.push_back(
        {"bf16_by_dot_products_of_v4", &targets::cpu, Precision::bf16, "x86-64-v4+bf16"});
  }
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

/// Items and terms: less than a tile, tiles that are full and lines of them, odd and even, and
/// what is behind these.
constexpr std::pair<int, int> kPackedSizes[] = {{1, 1},  {16, 32},  {15, 31}, {17, 33},  {5, 64},
                                                {40, 7}, {33, 100}, {64, 96}, {48, 160}, {50, 70}};

/// Expects tiles of all numbers of parts to be the same, whichever way they are filled.
void expect_same_tiles(const std::vector<float>& from, const std::pair<int, int>& size,
                       bool terms_side_by_side, TileOrder order) {
  const auto& [items, terms] = size;
  const int64_t item = terms_side_by_side ? terms * 4 : 4;
  const int64_t term = terms_side_by_side ? 4 : items * 4;
  const cpu::TileSource source{reinterpret_cast<const char*>(from.data()), item, term, items,
                               terms};
  for (const int parts : {1, 2, 3}) {
    const int64_t across = cpu::term_tiles(terms) * parts * kTileBytes;
    std::vector<char> wide(size_t((cpu::item_tiles(items) + 1) / 2 * 2 * across), 'x');
    std::vector<char> portable = wide;
    const auto place = [&](std::vector<char>& to) {
      return cpu::TilePlace{to.data(), 2 * across, parts * 2 * kTileBytes, 2 * kTileBytes, parts};
    };
    cpu::pack_tiles(source, order, place(wide));
    cpu::pack_tiles_portably(source, order, place(portable));
    EXPECT_EQ(wide, portable) << parts << " parts";
  }
}

TEST(TilePackCpu, IsTheSameWithWideInstructionsAndWithout) {
  unsigned seed = 0;
  for (const TileOrder order : {TileOrder::items_first, TileOrder::pairs_first}) {
    for (const bool terms_side_by_side : {true, false}) {
      for (const auto& size : kPackedSizes) {
        // Special numbers in all tiles, in some lines of tiles and in none.
        for (const unsigned rare : {9u, 1500u, ~0u}) {
          SCOPED_TRACE(fmt::format("{} items of {} terms, one special number in {}", size.first,
                                   size.second, rare));
          expect_same_tiles(drawn_floats(size_t(size.first * size.second), ++seed, rare), size,
                            terms_side_by_side, order);
        }
      }
    }
  }
}

/// The panels of a matrix [terms, parts * unit] of numbers without bf16 parts, as PanelForm says:
/// [blocks][tiles / 2][terms / 32][2][pairs][16 columns][2].
std::vector<char> wanted_panels(const std::vector<float>& matrix, int terms, int parts, int unit,
                                int width) {
  const int tiles = parts * width / kTileColumns, term_tiles = int(cpu::term_tiles(terms));
  const int blocks = (unit + width - 1) / width;
  std::vector<char> panels(size_t(blocks * tiles * term_tiles * kTileBytes));
  for (int column = 0; column < parts * unit; ++column) {
    const int part = column / unit, of_part = column % unit;
    const int of_block = part * width + of_part % width, tile = of_block / kTileColumns;
    const int side_by_side = std::min(2, tiles - tile / 2 * 2);
    for (int term = 0; term < terms; ++term) {
      const int tiles_before = (of_part / width * tiles + tile / 2 * 2) * term_tiles +
                               term / kTileK * side_by_side + tile % 2;
      const uint16_t bits = BFloat16(matrix[size_t(term * parts * unit + column)]).bits;
      std::memcpy(panels.data() + tiles_before * kTileBytes + term % kTileK / 2 * kTileRowBytes +
                      of_block % kTileColumns * 4 + term % 2 * 2,
                  &bits, sizeof bits);
    }
  }
  return panels;
}

TEST(TilePackCpu, PanelsLieAsTheirFormSays) {
  constexpr int kTerms = 70;
  // One part in blocks of two tiles, the last of which may be absent, or several of a tile each.
  for (const auto& [parts, width, unit] :
       {std::array{1, 32, 150}, {1, 32, 128}, {1, 16, 40}, {2, 16, 70}, {3, 16, 64}, {4, 16, 50}}) {
    SCOPED_TRACE(fmt::format("{} parts of {} columns in blocks of {}", parts, unit, width));
    const std::vector<float> matrix = drawn_floats(size_t(kTerms * parts * unit), 5, ~0u);
    cpu::PanelSource source;
    source.base = reinterpret_cast<const char*>(matrix.data());
    source.k_stride = parts * unit * 4;
    source.column_stride = 4;
    source.part_stride = unit * 4;
    source.k = kTerms;
    source.parts = parts;
    source.columns = unit;
    source.width = width;
    const std::vector<char> wanted = wanted_panels(matrix, kTerms, parts, unit, width);
    std::vector<char> panels(wanted.size(), 'x');
    const int64_t blocks = (unit + width - 1) / width, first = blocks / 2;
    const int64_t block_bytes = int64_t(wanted.size()) / blocks;
    cpu::make_tile_panels(source, {0, first}, panels.data());
    source.base += first * width * 4;
    cpu::make_tile_panels(source, {first, blocks}, panels.data() + first * block_bytes);
    EXPECT_EQ(panels, wanted);
  }
}

TEST(TilePackCpu, OfBf16AreThoseOfTheSameNumbersInF32) {
  unsigned seed = 100;
  for (const TileOrder order : {TileOrder::items_first, TileOrder::pairs_first}) {
    for (const int side_by_side : {0, 1, 2}) {  // terms, items or neither
      for (const auto& [items, terms] : kPackedSizes) {
        SCOPED_TRACE(fmt::format("{} items of {} terms, {}", items, terms, side_by_side));
        std::vector<BFloat16> from(size_t(items * terms * 2));
        std::vector<float> widened(from.size());
        const std::vector<float> drawn = drawn_floats(from.size(), ++seed);
        for (size_t i = 0; i < from.size(); ++i) {
          // Denormal ones stay as they are: who multiplies takes them for zeros.
          from[i] = BFloat16(std::abs(drawn[i]) < 0x1p-126f ? 0.0f : drawn[i]);
          widened[i] = float(from[i]);
        }
        const int64_t item = side_by_side == 0 ? terms : side_by_side == 1 ? 1 : 2 * terms;
        const int64_t term = side_by_side == 0 ? 1 : side_by_side == 1 ? items : 2;
        const int64_t across = cpu::term_tiles(terms) * kTileBytes;
        const auto packed = [&](const void* base, DType dtype, bool portably) {
          const int64_t size = size_of(dtype);
          std::vector<char> to(size_t((cpu::item_tiles(items) + 1) / 2 * 2 * across), 'x');
          const cpu::TileSource source{
              static_cast<const char*>(base), item * size, term * size, items, terms, dtype};
          const cpu::TilePlace place{to.data(), 2 * across, 2 * kTileBytes};
          portably ? cpu::pack_tiles_portably(source, order, place)
                   : cpu::pack_tiles(source, order, place);
          return to;
        };
        const auto wanted = packed(widened.data(), DType::f32, true);
        EXPECT_EQ(packed(from.data(), DType::bf16, true), wanted);
        EXPECT_EQ(packed(from.data(), DType::bf16, false), wanted);
      }
    }
  }
}

/// The results of a graph for a CPU.
Literals results_on(const std::string& name, const GraphPtr& graph, const Literals& given,
                    int threads, Precision precision = Precision::bf16) {
  CompileReport report;
  CompileOptions options;
  options.precision = precision;
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
    for (const Precision precision : {Precision::bf16, Precision::bf16x3, Precision::bf16x6}) {
      const auto wanted =
          bits_of(results_on(cpus_with_tiles().front(), graph, inputs, 1, precision));
      for (const std::string& name : cpus_with_tiles()) {
        SCOPED_TRACE(fmt::format("{} {}", name, name_of(precision)));
        // Sums that are computed anew of whole factors: with FMA where the processor has it.
        if (name.starts_with("x86-64") && precision != Precision::bf16) continue;
        EXPECT_EQ(bits_of(results_on(name, graph, inputs, 1, precision)), wanted);
      }
    }
  }
}

GraphPtr training_step() {
  const auto program = make_program("lstm-layer", {"hidden=20", "steps=3", "batch=37"});
  const GraphPtr traced = program->model().trace("train", program->extents("train")).graph;
  return without_states(*run_pipeline(traced, parse_pipeline("simplify,cse,hoist,autodiff")).graph);
}

TEST(MatrixTilesCpu, OfAWholeStepHaveTheBitsOfThoseInSoftwareOnAnyNumberOfThreads) {
  const GraphPtr graph = training_step();
  const Literals inputs = drawn_inputs(*graph, 3, 1, false);
  for (const Precision precision : {Precision::bf16, Precision::bf16x3, Precision::bf16x6}) {
    const auto wanted = bits_of(results_on("native+tiles", graph, inputs, 1, precision));
    for (const int threads : {1, 2, 4}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(precision), threads));
      EXPECT_EQ(bits_of(results_on(cpus_with_tiles().front(), graph, inputs, threads, precision)),
                wanted);
    }
  }
}

/// CPUs that multiply by dot products, if this one can.
std::vector<std::string> cpus_with_dot_products() {
  if (!cpu::host_cpu().has_avx512_bf16) return {};
  return {"native+bf16", "x86-64-v4+bf16"};
}

/// What VDPBF16PS makes of a row and a column (Intel 64 and IA-32 Architectures Software
/// Developer's Manual, volume 2): of each pair the later term is added first; all denormal numbers
/// are zeros.
float dot_product(std::span<const float> row, std::span<const float> column) {
  const auto rounded = [](float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
  };
  float sum = 0;
  for (size_t pair = 0; pair < row.size(); pair += 2) {
    for (const size_t k : {pair + 1, pair})
      if (k < row.size()) sum = std::fma(rounded(row[k]), rounded(column[k]), sum);
  }
  return sum;
}

TEST(DotProductsCpu, AddTheTermsOfAPairOneAfterTheOther) {
  // Every height of a block of rows, and pieces of k.
  for (const auto& [m, k, n] : {std::array{1, 70, 40},
                                {4, 32, 16},
                                {5, 33, 17},
                                {12, 500, 20},
                                {13, 64, 90},
                                {40, 7, 33}}) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", m, k, n));
    const GraphPtr graph = product_of(m, k, n);
    const Literals inputs = drawn_inputs(*graph, unsigned(m), 1, false);
    const auto left = inputs[0].data<float>(), right = inputs[1].data<float>();
    Literal wanted(Type{DType::f32, {m, n}});
    for (int row = 0; row < m; ++row) {
      for (int column = 0; column < n; ++column) {
        std::vector<float> terms;
        for (int i = 0; i < k; ++i) terms.push_back(right[size_t(i * n + column)]);
        wanted.mutable_data<float>()[size_t(row * n + column)] =
            dot_product(left.subspan(size_t(row * k), size_t(k)), terms);
      }
    }
    for (const std::string& name : cpus_with_dot_products()) {
      SCOPED_TRACE(name);
      EXPECT_EQ(bits_of(results_on(name, graph, inputs, 1)), bits_of({wanted}));
    }
  }
}

TEST(DotProductsCpu, OfAWholeStepHaveTheSameBitsOnAnyNumberOfThreads) {
  const GraphPtr graph = training_step();
  const Literals inputs = drawn_inputs(*graph, 3, 1, false);
  for (const std::string& name : cpus_with_dot_products()) {
    const auto wanted = bits_of(results_on(name, graph, inputs, 1));
    for (const int threads : {2, 4})
      EXPECT_EQ(bits_of(results_on(name, graph, inputs, threads)), wanted) << threads;
  }
}

TEST(MatrixTilesCpu, SumManyTermsOfManyRowsAndColumnsInParts) {
  // Pieces of k, and where tiles are fast enough several spans of columns; many terms that are no
  // pieces; few, whose tiles are finished one beside the next; more rows than columns, which
  // threads share out.
  const bool fast = cpu::host_cpu().matrix_tiles != MatrixTiles::none;
  const std::string name = fast ? "native" : cpus_with_tiles().front();
  const std::array<int, 3> large[] = {
      {1100, 1030, 2100}, {300, 530, 1100}, {1100, 40, 2100}, {1100, 40, 300}};
  const std::array<int, 3> small[] = {{70, 1030, 72}, {70, 40, 72}, {1100, 3, 300}};
  for (const auto& [m, k, n] : fast ? std::span<const std::array<int, 3>>(large) : small) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", m, k, n));
    const GraphPtr graph = product_of(m, k, n);
    const Literals inputs = drawn_inputs(*graph, 5, 2, true);
    CompileReport report;
    const auto executable = compile(graph, targets::cpu, {}, report);
    std::vector<Tensor> given(inputs.begin(), inputs.end());
    std::vector<Tensor> wanted{Tensor(executable->signature().outputs[0].type)};
    executable->run(given, wanted);
    for (const int threads : {1, 2, 3})
      EXPECT_EQ(bits_of(results_on(name, graph, inputs, threads)), bits_of({wanted[0].copy()}));
  }
}

TEST(MatrixTilesCpu, ShareOutTheOperandThatIsMore) {
  const auto plan_of = [](int m, int k, int n) {
    CompileOptions options;
    options.precision = Precision::bf16;
    options.architecture = "native+tiles";
    options.threads = 2;
    return targets::cpu.show(product_of(m, k, n), options, "plan");
  };
  EXPECT_THAT(plan_of(1100, 40, 300), HasSubstr("rows 0..550 | 550..1100"));
  EXPECT_THAT(plan_of(300, 40, 1100), HasSubstr("columns 0..544 | 544..1100"));
}

TEST(PrecisionCpu, NeedsAProcessorWithMatrixTiles) {
  CompileReport report;
  CompileOptions options;
  options.precision = Precision::bf16;
  options.architecture = "x86-64";
  EXPECT_THAT(
      error_of(ErrorKind::resource,
               [&] { compile(product_of(3, 4, 5), targets::cpu, options, report); }),
      HasSubstr("precision 'bf16' needs a processor with matrix tiles (AMX, with bf16) or fast dot "
                "products (AVX-512 BF16, of AMD): found 'x86-64', on which such products would be "
                "no faster than those of f32"));
}

}  // namespace
}  // namespace graphc::core::testing
