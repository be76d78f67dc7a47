// SPDX-License-Identifier: Apache-2.0
// Products whose operands are copied to shared memory several stages ahead (pipelined_form.h):
// drawn ones have the sums of the evaluator, which kernels have them, and every damage of a wait, a
// copy or a fragment is found.
#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

#include "codegen/targets/cuda/launches/split_product.h"
#include "codegen/targets/cuda/text/pipelined_form.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "tests/codegen/cuda/counted_exchange.h"
#include "tests/codegen/cuda/damages.h"
#include "tests/codegen/precision_trial.h"
#include "tests/testing/counts.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;

/// A product as a graph draws it.
struct DrawnProduct {
  std::string text;
  Precision precision = Precision::bf16;
  std::string what;
};

class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}

  DrawnProduct draw() {
    constexpr Precision kPrecisions[] = {Precision::bf16, Precision::tf32, Precision::tf32x3,
                                         Precision::fp16};
    DrawnProduct drawn;
    drawn.precision = kPrecisions[below(4)];
    const bool narrow = drawn.precision == Precision::bf16 && below(2) == 0;
    type_ = narrow ? "bf16" : "f32";
    // Whole pieces of sums, whole stages, whole instructions, and others.
    constexpr int64_t kTerms[] = {1, 7, 8, 20, 64, 72, 256, 260, 300, 523};
    const int64_t k = kTerms[below(10)], rows = extent(), columns = extent();
    batch_ = below(5) == 0 ? 2 + int64_t(below(2)) : 0;
    const std::string left = operand("x", rows, k), right = operand("w", k, columns);
    std::string body = fmt::format("%p = matmul({}, {})", left, right);
    std::string result = "%p";
    if (below(2) == 0) {
      inputs_.push_back(fmt::format("%b: {}[{}]", type_, columns));
      result = "add(%p, %b)";
    }
    if (below(2) == 0) {
      inputs_.push_back(fmt::format("%s: {}[{},1]", type_, rows));
      result = fmt::format("mul({}, %s)", result);
    }
    drawn.text = fmt::format("graph @g({}) {{\n  {}{}\n  return {}\n}}", fmt::join(inputs_, ", "),
                             lines_, body, result);
    drawn.what = fmt::format("{}, {}", name_of(drawn.precision), drawn.text);
    return drawn;
  }

 private:
  unsigned below(unsigned end) { return unsigned(random_() % end); }
  int64_t extent() {
    constexpr int64_t kExtents[] = {17, 24, 64, 65, 66, 96, 130, 136, 200};
    return kExtents[below(9)];
  }

  /// A matrix that is an input, its transpose, or a part of either that begins elsewhere.
  std::string operand(const std::string& name, int64_t rows, int64_t columns) {
    const bool transposed = below(2) == 0;
    const int64_t outer = transposed ? columns : rows, inner = transposed ? rows : columns;
    // What lies before and behind the part decides how it is aligned.
    constexpr int64_t kBefore[] = {0, 0, 2, 4, 8}, kBehind[] = {0, 0, 2, 6, 8};
    const int64_t before = kBefore[below(5)], behind = kBehind[below(5)];
    const int64_t all = before + inner + behind;
    const std::string batch = batch_ > 0 ? fmt::format("{},", batch_) : std::string();
    inputs_.push_back(fmt::format("%{}: {}[{}{},{}]", name, type_, batch, outer, all));
    std::string value = "%" + name;
    if (all > inner) {
      lines_ += fmt::format("%{0}.p = slice %{0} {{axis = {1}, limit = {2}, start = {3}}}\n  ",
                            name, batch_ > 0 ? 2 : 1, before + inner, before);
      value += ".p";
    }
    if (transposed)
      value = fmt::format("transpose({}) {{permutation = {}}}", value,
                          batch_ > 0 ? "[0,2,1]" : "[1,0]");
    return value;
  }

  std::mt19937 random_;
  std::string type_, lines_;
  std::vector<std::string> inputs_;
  int64_t batch_ = 0;
};

class Pipelined : public CountedExchange {
 protected:
  /// Kernels of products that are pipelined.
  static std::vector<cuda::KernelText> pipelined(const GraphPtr& graph, Precision precision) {
    std::vector<cuda::KernelText> found;
    for (const cuda::KernelText& kernel : launches_of(graph, precision, {}).kernels) {
      if (kernel.text.find("end_copies();") != std::string::npos) found.push_back(kernel);
    }
    return found;
  }
};

TEST_F(Pipelined, DrawnProductsHaveTheSumsOfTheEvaluator) {
  int found = 0, tried = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    if (!is_sampled(seed, 5)) continue;
    const DrawnProduct drawn = Draws(seed).draw();
    SCOPED_TRACE(fmt::format("{}: {}", seed, drawn.what));
    setenv("GRAPHC_MOCK_SEED", std::to_string(seed).c_str(), 1);
    const GraphPtr graph = parse_graph(drawn.text);
    ++tried;
    found += int(pipelined(graph, drawn.precision).size());
    // Whole numbers up to five have exact products and sums.
    const std::vector<Literal> inputs = drawn_inputs(*graph, seed, 5, true);
    EXPECT_EQ(results(graph, inputs, drawn.precision, std::nullopt),
              evaluate(*graph, inputs).results);
  }
  std::printf("%d of %d products are pipelined\n", found, tried);
  count("products whose operands are copied ahead", found);
  EXPECT_GE(found, tried / 2);
}

/// What makes the tiles of a product large: how many there are.
TEST_F(Pipelined, TilesOfEverySizeHaveTheSumsOfTheEvaluator) {
  struct Sized {
    int64_t rows, k, columns;
    const char* tile;
  };
  constexpr Sized kSized[] = {{200, 300, 200, "64 rows x 64 columns"},
                              {640, 36, 830, "128 rows x 64 columns"},
                              {257, 20, 3100, "64 rows x 128 columns"},
                              {1090, 20, 1000, "128 rows x 128 columns"}};
  constexpr Precision kPrecisions[] = {Precision::bf16, Precision::tf32x3};
  unsigned number = 0;
  for (const Sized& sized : kSized) {
    for (const Precision precision : kPrecisions) {
      for (const bool transposed : {false, true}) {
        if (!is_sampled(unsigned(transposed) + number++ / 2, 2)) continue;
        const GraphPtr graph = parse_graph(fmt::format(
            fmt::runtime(
                transposed
                    ? "graph @g(%x: {0}[{2},{1}], %w: {0}[{3},{2}]) {{ return matmul(transpose(%x) "
                      "{{permutation = [1,0]}}, transpose(%w) {{permutation = [1,0]}}) }}"
                    : "graph @g(%x: {0}[{1},{2}], %w: {0}[{2},{3}]) {{ return matmul(%x, %w) }}"),
            precision == Precision::bf16 ? "bf16" : "f32", sized.rows, sized.k, sized.columns));
        const auto kernels = pipelined(graph, precision);
        ASSERT_EQ(kernels.size(), 1u);
        EXPECT_THAT(kernels[0].text, HasSubstr(sized.tile));
        const std::vector<Literal> inputs = drawn_inputs(*graph, 1, 5, true);
        EXPECT_EQ(results(graph, inputs, precision, std::nullopt),
                  evaluate(*graph, inputs).results);
      }
    }
  }
}

/// Few tiles and many terms: parts of the terms are summed by blocks of their own.
TEST_F(Pipelined, PartsOfTheTermsAreAddedToTheSumsOfTheEvaluator) {
  struct Sized {
    int64_t rows, k, columns, parts;
  };
  constexpr Sized kSized[] = {
      {34, 2048, 40, 8}, {70, 1536, 66, 6}, {18, 4000, 130, 10}, {64, 1280, 64, 5}};
  constexpr Precision kPrecisions[] = {Precision::bf16, Precision::tf32, Precision::tf32x3,
                                       Precision::fp16};
  constexpr const char* kGraphs[] = {
      "graph @g(%x: {0}[{1},{2}], %w: {0}[{2},{3}]) {{ return matmul(%x, %w) }}",
      "graph @g(%x: {0}[{2},{1}], %w: {0}[{3},{2}], %b: {0}[{3}], %s: {0}[{1},1]) {{\n"
      "  %p = matmul(transpose(%x) {{permutation = [1,0]}}, transpose(%w) {{permutation = "
      "[1,0]}})\n  return mul(add(%p, %b), %s), sub(%p, %s) }}"};
  unsigned number = 0;
  for (const Sized& sized : kSized) {
    for (const Precision precision : kPrecisions) {
      for (const char* text : kGraphs) {
        if (!is_sampled(++number, 3)) continue;
        const GraphPtr graph =
            parse_graph(fmt::format(fmt::runtime(text), "f32", sized.rows, sized.k, sized.columns));
        SCOPED_TRACE(fmt::format("{}, {}", name_of(precision), print(*graph)));
        const cuda::Launches launches = launches_of(graph, precision, {});
        const auto split = std::ranges::find_if(
            launches.step, [](const cuda::Launch& launch) { return launch.split != nullptr; });
        ASSERT_NE(split, launches.step.end());
        EXPECT_EQ(split->split->parts, sized.parts);
        EXPECT_GE(launches.scratch_bytes, 4 * sized.parts * sized.rows * sized.columns);
        const std::vector<Literal> inputs = drawn_inputs(*graph, number, 5, true);
        EXPECT_EQ(results(graph, inputs, precision, std::nullopt),
                  evaluate(*graph, inputs).results);
      }
    }
  }
}

/// A launch more is not worth it where tiles are many, or terms few; without equal parts of them
/// there is none.
TEST_F(Pipelined, OtherTermsStayTogether) {
  constexpr int64_t kExtents[][3] = {
      {512, 2048, 2048}, {33, 500, 40}, {33, 2053, 40}, {200, 400, 10000}};
  for (const auto& [rows, k, columns] : kExtents) {
    const GraphPtr graph = parse_graph(
        fmt::format("graph @g(%x: f32[{0},{1}], %w: f32[{1},{2}]) {{ return matmul(%x, %w) }}",
                    rows, k, columns));
    for (const cuda::Launch& launch : launches_of(graph, Precision::tf32, {}).step)
      EXPECT_EQ(launch.split, nullptr) << rows << " " << k;
  }
}

}  // namespace
}  // namespace graphc::core::testing
