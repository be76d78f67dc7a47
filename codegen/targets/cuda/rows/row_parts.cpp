// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/rows/row_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "codegen/targets/cuda/text/scalar_text.h"

namespace graphc::core::cuda {
namespace {

constexpr int kSumThreads = 256;
constexpr int64_t kMostSumBlocks = 1024;
/// Where one value's shares end and the next one's begin.
constexpr int64_t kShareAlignment = 256;

bool is_stored_in_shares(const RowLoop& loop, const RowThreads& threads, size_t v) {
  return loop.values[v].is_stored && threads.division.in_shares(v);
}

/// The sums of one value's shares.
void add_sums(TextWriter& text, const RowPlace& place, const Shares& shares, int number,
              RowParameters& parameters) {
  const std::string at = fmt::format("_{}", number);
  const int64_t size = size_of(place.dtype);
  const std::string_view type = register_type_text(shares.dtype);
  parameters.listed.push_back(fmt::format("\n    const {}* shares{}", type, at));
  parameters.arguments.push_back({KernelArgument::Kind::scratch, 0, {}});
  parameters.add_number("offset" + at, shares.offset / size_of(shares.dtype));
  parameters.add_place(fmt::format("{}*", stored_type_text(place.dtype)), "to" + at,
                       place.place.base);
  parameters.add_number("of_row" + at, place.of_loop_row / size);
  if (shares.steps > 1) parameters.add_number("of_step" + at, place.place.step / size);
  text.open_block();
  text.line("const long long count = {}rows * {};", shares.steps == 1 ? "" : "steps * ",
            shares.elements);
  text.open(
      "for (long long at = (long long)blockIdx.x * {0} + threadIdx.x; at < count; at += "
      "(long long)gridDim.x * {0})",
      kSumThreads);
  text.line("{} sum = shares{}[offset{} + at];", type, at, at);
  text.open("for (int share = 1; share < {}; ++share)", shares.count);
  text.line("sum = sum + shares{0}[offset{0} + share * count + at];", at);
  text.close();
  std::string of_row = "at", element;
  if (shares.elements > 1) {
    of_row = fmt::format("at / {}", shares.elements);
    element =
        fmt::format(" + at % {} * {}", shares.elements, (place.of_row + place.of_column) / size);
  }
  text.line("const long long row = {} % rows;", of_row);
  std::string step;
  if (shares.steps > 1) step = fmt::format("{} / rows * of_step{} + ", of_row, at);
  text.line("to{0}[{1}row * of_row{0}{2}] = {3};", at, step, element,
            stored_text(place.dtype, "sum"));
  text.close();
  text.close();
}

}  // namespace

Shares shares_of(const LoopNests& nests, const RowLoop& loop, const RowThreads& threads, size_t v) {
  Shares found;
  int64_t end = 0;
  for (size_t i = 0; i <= v; ++i) {
    if (!is_stored_in_shares(loop, threads, i)) continue;
    const RowValue& value = loop.values[i];
    found.dtype = value.place.dtype == DType::bf16 ? DType::f32 : value.place.dtype;
    found.offset = (end + kShareAlignment - 1) / kShareAlignment * kShareAlignment;
    found.steps = value.place.is_of_last() ? 1 : nests.loop->steps;
    found.elements = value.spread == Spread::number   ? 1
                     : value.spread == Spread::by_row ? loop.rows
                                                      : loop.columns;
    found.count = threads.parts() + int64_t(threads.division.ends_whole[i]);
    end = found.end(loop);
  }
  return found;
}

int64_t bytes_of_shares(const LoopNests& nests, const RowLoop& loop, const RowThreads& threads) {
  int64_t bytes = 0;
  for (size_t v = 0; v < loop.values.size(); ++v) {
    if (!is_stored_in_shares(loop, threads, v)) continue;
    bytes = shares_of(nests, loop, threads, v).end(loop);
  }
  return bytes;
}

std::optional<SumOfShares> sum_of_shares(const LoopNests& nests, const RowLoop& loop,
                                         const RowThreads& threads, std::string_view name) {
  RowParameters parameters;
  TextWriter text(1);
  int64_t most = 0;
  int number = 0;
  parameters.add_number("steps", nests.loop->steps);
  parameters.add_number("rows", loop.loop_rows);
  for (size_t v = 0; v < loop.values.size(); ++v) {
    if (!is_stored_in_shares(loop, threads, v)) continue;
    const Shares shares = shares_of(nests, loop, threads, v);
    RowPlace place = loop.values[v].place;
    place.place.base.offset += (nests.loop->steps - 1) % 2 * place.place.slot;
    add_sums(text, place, shares, number++, parameters);
    most = std::max(most, shares.of_part(loop));
  }
  if (number == 0) return std::nullopt;
  SumOfShares sums;
  sums.kernel.name = name;
  sums.kernel.text =
      helpers_of(text.text()) +
      fmt::format("// {}, the shares that the blocks of a row have of its sums.\n",
                  in_comment(nests.loop->name)) +
      fmt::format("extern \"C\" __global__ void __launch_bounds__({}, 2) {}({}) {{\n", kSumThreads,
                  name, fmt::join(parameters.listed, ",")) +
      text.text() + "}\n";
  sums.arguments = std::move(parameters.arguments);
  sums.grid.threads[0] = kSumThreads;
  sums.grid.blocks[0] = unsigned(std::min((most + kSumThreads - 1) / kSumThreads, kMostSumBlocks));
  return sums;
}

}  // namespace graphc::core::cuda
