// SPDX-License-Identifier: Apache-2.0
// The text of products on tensor cores with one index, register or term exchanged: none is as near
// to the product as the text itself. In the emulator, by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <regex>
#include <span>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/targets/cuda/launches/launches.h"
#include "codegen/targets/cuda/machine.h"
#include "ir/text.h"
#include "tests/cuda/run_text.h"

namespace graphc::core::testing {
namespace {

constexpr int kLeftRows = 61, kProductTerms = 299, kRightColumns = 50;

/// A product of one kernel, with what it is launched with.
struct ProductLaunch {
  Plan plan;
  cuda::Launches launches;
  std::string text;
  cuda::Grid grid;
  std::vector<cuda::LaunchValue> arguments;
};

/// `staged`: its operands come to shared memory through registers, as in a loop.
ProductLaunch product_launch(Precision precision, bool staged) {
  CompileReport report;
  const GraphPtr graph = parse_graph(
      fmt::format("graph @p(%a: f32[{0},{1}], %b: f32[{1},{2}]) {{\n  return matmul(%a, "
                  "%b)\n}}",
                  kLeftRows, kProductTerms, kRightColumns));
  ProductLaunch made;
  made.plan = make_plan(*form_kernels_for(graph, {}, report), cuda::gpu_machine(precision));
  made.launches = cuda::make_launches(made.plan);
  made.text = made.launches.kernels.at(0).text;
  made.grid = made.launches.step.at(0).grid;
  made.arguments = made.launches.step.at(0).arguments;
  if (staged) {
    const auto& call = std::get<NestCall>(made.plan.records.at(0).call);
    made.text = cuda::nest_kernel(made.plan, call, cuda::form_of(call), "staged").text;
    made.grid = cuda::nest_grid(made.plan.programs[size_t(call.program)], call);
    made.arguments.clear();
    for (const cuda::Parameter& parameter : cuda::parameters_of(made.plan, call)) {
      cuda::LaunchValue& value = made.arguments.emplace_back();
      if (const Address* address = cuda::address_for(parameter, made.plan, call))
        value = {cuda::KernelArgument::Kind::address, 0, resolve(*address, {})};
      else
        value = {
            cuda::KernelArgument::Kind::number, cuda::number_for(parameter, made.plan, call), {}};
    }
  }
  return made;
}

std::vector<float> random_floats(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& x : values) x = std::uniform_real_distribution<float>(-1, 1)(random);
  return values;
}

/// The largest error of an element that this text in the place of the kernel makes; infinite where
/// the emulator finds something wrong with it.
double error_of_text(const ProductLaunch& of, const std::string& text) {
  using cuda_emulator::Array;
  const std::vector<float> a = random_floats(kLeftRows * kProductTerms, 1);
  const std::vector<float> b = random_floats(kProductTerms * kRightColumns, 2);
  cuda_emulator::DeviceMemory memory;
  Array<float> left(memory, "a", a), right(memory, "b", b);
  Array<float> out(memory, "out", size_t(kLeftRows * kRightColumns));
  const cuda::Launch& launch = of.launches.step.at(0);
  std::vector<int64_t> numbers;
  std::vector<const void*> parameters;
  for (const auto& argument : of.arguments) {
    numbers.push_back(argument.number);
    if (argument.kind != cuda::KernelArgument::Kind::address) continue;
    const Buffer& buffer = of.plan.buffers[size_t(argument.place.buffer)];
    float* base = buffer.place == Place::output ? out.data()
                  : buffer.index == 0           ? left.data()
                                                : right.data();
    numbers.back() = int64_t(reinterpret_cast<uintptr_t>(base));
  }
  for (const int64_t& number : numbers) parameters.push_back(&number);
  cuda_emulator::Launch grid;
  std::ranges::copy(of.grid.blocks, std::begin(grid.grid));
  std::ranges::copy(of.grid.threads, std::begin(grid.block));
  grid.dynamic_shared = launch.shared_bytes;
  grid.parameters = parameters.data();
  try {
    const cuda_emulator::Module module(text);
    cuda_emulator::run(*module.find(module.kernels().at(0)), grid, memory);
    out.read();
  } catch (const Error&) {
    return INFINITY;
  }
  double largest = 0;
  for (int row = 0; row < kLeftRows; ++row) {
    for (int column = 0; column < kRightColumns; ++column) {
      double sum = 0;
      for (int k = 0; k < kProductTerms; ++k)
        sum += double(a[size_t(row * kProductTerms + k)]) *
               double(b[size_t(k * kRightColumns + column)]);
      largest = std::max(
          largest, std::abs(double(out.values()[size_t(row * kRightColumns + column)]) - sum));
    }
  }
  return largest;
}

struct Exchange {
  const char *from, *to;  ///< a std::regex, and what takes the place of its first match
  /// Of all matches: the loop that computes and the one that stores have the same text.
  bool everywhere = false;
};

const Exchange kExchanges[] = {
    {R"(group = lane / 4, in_group = lane % 4)", "group = lane % 8, in_group = lane / 8"},
    {R"(warp_row = warp / (\d+))", "warp_row = warp % $1"},
    {R"(warp_column = warp % (\d+))", "warp_column = warp / $1"},
    {R"(warp_row = warp / (\d+) \* 32)", "warp_row = warp / $1 * 16"},
    // What a lane takes of the operands.
    {R"(lane_term = at_term \+ in_group)", "lane_term = at_term + group"},
    {R"(lane_term = at_term \+ in_group)", "lane_term = at_term"},
    {R"(left_row = warp_row \+ at_row \* 8 \+ group)",
     "left_row = warp_row + at_row * 8 + in_group"},
    {R"(left_row = warp_row \+ at_row \* 8)", "left_row = warp_row + at_row * 4"},
    {R"(left_row \+ 8)", "left_row"},
    {R"(lane_word = at_term / 2 \+ in_group)", "lane_word = at_term / 2 + group"},
    {R"(\+ lane_(term|word)\])", "+ lane_$1 + 4]"},
    {R"(\+ lane_(term|word) \+ 4\])", "+ lane_$1]"},
    {R"(\(left_row \+ 8\) \* \((\d+) \+ 4\) \+ lane_(term|word)\])",
     "(left_row + 8) * ($1 + 4) + lane_$2 + 4]"},
    {R"(right_0\[\(lane_(term|word)\))", "right_0[(lane_$1 + 4)"},
    {R"(right_0\[\(lane_(term|word) \+ 4\))", "right_0[(lane_$1)"},
    {R"(warp_column \+ at_column \* 4 \+ group)", "warp_column + at_column * 4 + in_group"},
    {R"(warp_column \+ at_column \* 4)", "warp_column + at_column * 8"},
    {R"(\(left_row\) \* \((\d+) \+ 4\))", "(left_row) * ($1 + 5)"},
    // How operands come into shared memory.
    {R"(_pair\((\(there_0 [^)]*\)), (\(there_1 [^)]*\))\))", "_pair($2, $1)"},
    {R"(word / 4 \* 8)", "word / 4 * 4"},
    {R"(word % 4)", "word % 8"},
    {R"(min\(\(term \+ 4\))", "min((term + 3)"},
    {R"(<= last_line \? (\d+) \*)", "<= last_line ? ($1 + 1) *"},
    {R"(left_0\[\(at \* (\d+))", "left_0[(at * ($1 + 1)"},
    // What goes into which register.
    {R"(left_fragment\[at_row / 2\]\[1\] = )", "left_fragment[at_row / 2][2] = "},
    {R"(left_fragment\[at_row / 2\]\[0\]\), "r"\(left_fragment\[at_row / 2\]\[1\])",
     R"(left_fragment[at_row / 2][1]), "r"(left_fragment[at_row / 2][0])"},
    {R"("r"\(left_fragment\[at_row / 2\]\[2\]\), "r"\(left_fragment\[at_row / 2\]\[3\]\))",
     R"("r"(left_fragment[at_row / 2][3]), "r"(left_fragment[at_row / 2][2]))"},
    {R"("r"\(left_fragment\[at_row / 2\]\[0\]\))", R"("r"(left_fragment[at_row / 2][2]))"},
    {R"(right_fragment\[0\]\), "r"\(right_fragment\[1\]\))",
     R"(right_fragment[1]), "r"(right_fragment[0]))"},
    {R"(\(sums\[at_part\]\[at_row\]\[at_column \+ 1\]\),)",
     "(sums[at_part][at_row + 1][at_column]),"},
    {R"(\(sums\[at_part\]\[at_row \+ 1\]\[at_column\]\), "\+f"\()",
     R"((sums[at_part][at_row + 1][at_column + 1]), "+f"()"},
    {R"(at_row < (\d+); at_row \+= 2)", "at_row < $1 - 2; at_row += 2"},
    {R"(at_column < (\d+); at_column \+= 2)", "at_column < $1 - 2; at_column += 2"},
    {R"(at_term < there; at_term \+= (8|16))", "at_term < there - $1; at_term += $1"},
    // Whose sums are whose.
    {R"(renewed\(warp_row \+ at_row \* 8)", "renewed(warp_row + at_row * 4"},
    {R"(renewed\(warp_row \+ at_row \* 8 \+ group)", "renewed(warp_row + at_row * 8 + in_group"},
    {R"(at_column / 2 \* 8 \+ in_group \* 2)", "at_column / 2 * 8 + in_group", true},
    {R"(at_column / 2 \* 8 \+ in_group)", "at_column * 8 + in_group", true},
    {R"(in_group \* 2 \+ at_column % 2)", "in_group * 2 + 1 - at_column % 2", true},
    // Splitting a number.
    {R"(bits & 0xffffe000u)", "bits"},
    {R"(left_low\[at_row / 2\]\[0\] = tf32_bits\(([^-]*) - )",
     "left_low[at_row / 2][0] = tf32_bits($1 + "},
    {R"("r"\(left_low\[at_row / 2\]\[0\]\))", R"("r"(left_fragment[at_row / 2][0]))"},
    {R"("r"\(right_low\[0\]\))", R"("r"(right_fragment[0]))"},
    {R"("r"\(right_low\[0\]\), "r"\(right_low\[1\]\))", R"("r"(right_low[1]), "r"(right_low[0]))"},
};

/// Of a product whose operands are copied ahead.
const Exchange kExchangesOfCopies[] = {
    {R"(group = lane / 4, in_group = lane % 4)", "group = lane % 8, in_group = lane / 8"},
    {R"(warp_row = warp / (\d+))", "warp_row = warp % $1"},
    {R"(warp_row = warp / (\d+) \* 32)", "warp_row = warp / $1 * 16"},
    {R"(warp_column = warp % (\d+) \* 16)", "warp_column = warp % $1 * 8"},
    // What a lane loads.
    {R"(warp_row \+ lane % 16)", "warp_row + lane % 8"},
    {R"(lane / 16 \* 16\))", "(1 - lane / 16) * 16)"},
    {R"(\+ in_group\) \*)", "+ (in_group ^ 1)) *"},
    {R"(at_row \* (\d+)\))", "at_row * ($1 / 2))"},
    {R"(warp_column \+ at_two \* 16 \+ group)", "warp_column + at_two * 16 + in_group"},
    {R"(\[0\] = __float_as_uint\(at\[0\]\))", "[0] = __float_as_uint(at[8])"},
    {R"(\[1\] = __float_as_uint\(at\[(\d+)\]\))", "[1] = __float_as_uint(at[$1 + 1])"},
    // How operands come into shared memory.
    {R"(next_stage \* (\d+)ll)", "next_stage * ($1ll - 1ll)", true},
    {R"((\d+)ll\);\n *const unsigned left_bytes)", "$1ll) - 1;\n const unsigned left_bytes"},
    {R"(left_from = &left_from\[(\d+)\])", "left_from = &left_from[$1 - 1]"},
    {R"(right_from = &right_from\[(\d+))", "right_from = &right_from[($1 - 1)"},
    {R"(\+ (\d+)u \+ \(unsigned\)\(thread / )", "+ $1u + 64u + (unsigned)(thread / "},
    {R"(stages = \(int\)\(\(terms \+ \d+\))", "stages = (int)(terms"},
    {R"(min\(piece \+ (\d+), stages\))", "min(piece + $1 - 1, stages)"},
    {R"(place = place == 3u)", "place = place == 2u"},
    {R"(await_copies_but_2\(\);)", ""},
    {R"(wait_group 2)", "wait_group 3"},
    {R"(; \+\+slot\))", "; slot += 2u)"},
    // What goes into which register.
    {R"("r"\(left_fragment\[at_row / 2\]\[0\]\), "r"\(left_fragment\[at_row / 2\]\[1\]\))",
     R"("r"(left_fragment[at_row / 2][1]), "r"(left_fragment[at_row / 2][0]))"},
    {R"("r"\(left_fragment\[at_row / 2\]\[0\]\))", R"("r"(left_fragment[at_row / 2][2]))"},
    {R"("r"\(right_fragment\[0\]\), "r"\(right_fragment\[1\]\))",
     R"("r"(right_fragment[1]), "r"(right_fragment[0]))"},
    {R"("r"\(right_fragment\[2\]\))", R"("r"(right_fragment[0]))"},
    {R"(at_two \* 4 \+ 2\])", "at_two * 4]"},
    {R"(_pair\(__uint_as_float\(words\[0\]\), __uint_as_float\(words\[(\d)\]\)\))",
     "_pair(__uint_as_float(words[$1]), __uint_as_float(words[0]))"},
    {R"(at_term < (\d+); at_term \+= )", "at_term < $1 - 2; at_term += "},
    {R"(at_row < (\d+); at_row \+= 2)", "at_row < $1 - 2; at_row += 2"},
    // Splitting a number.
    {R"("r"\(left_low\[at_row / 2\]\[0\]\))", R"("r"(left_fragment[at_row / 2][0]))"},
    {R"("r"\(right_low\[0\]\))", R"("r"(right_fragment[0]))"},
};

void expect_all_seen(std::span<const Exchange> exchanges, bool staged) {
  std::vector<int> seen(exchanges.size(), 0);
  for (Precision precision : cuda::kPrecisions) {
    if (precision == Precision::f32) continue;
    const ProductLaunch launch = product_launch(precision, staged);
    ASSERT_EQ(launch.launches.kernels.size(), 1u);
    const std::string& text = launch.text;
    EXPECT_NE(text.find("end_copies()") == std::string::npos, !staged);
    // What tensor cores cut off grows with the terms: 2^-23 for each is enough.
    const double allowed = 16 * unit_roundoff(precision) + kProductTerms * 0x1p-23;
    EXPECT_LT(error_of_text(launch, text), allowed) << name_of(precision) << "\n" << text;
    for (size_t i = 0; i < exchanges.size(); ++i) {
      const auto& [from, to, everywhere] = exchanges[i];
      const std::string mutant =
          std::regex_replace(text, std::regex(from), to,
                             everywhere ? std::regex_constants::format_default
                                        : std::regex_constants::format_first_only);
      if (mutant == text) continue;
      EXPECT_GT(error_of_text(launch, mutant), allowed) << name_of(precision) << ": " << to;
      ++seen[i];
    }
  }
  for (size_t i = 0; i < seen.size(); ++i)
    EXPECT_GT(seen[i], 0) << exchanges[i].from << " is nowhere in the text";
}

TEST(CudaFragments, WhateverIsExchangedIsSeen) { expect_all_seen(kExchanges, true); }

TEST(CudaFragments, WhateverIsExchangedInCopiesIsSeen) {
  expect_all_seen(kExchangesOfCopies, false);
}

}  // namespace
}  // namespace graphc::core::testing
