// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/owned_ranges.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace graphc::core::cuda {
namespace {

constexpr size_t kMostInRegisters = 4;

/// The bounds of a range, in the order in which shared memory holds them.
constexpr const char* kBounds[] = {"row_begin", "row_end", "column_begin", "column_end"};

}  // namespace

OwnedRanges::OwnedRanges(const LoopNests& nests, const LoopPlacement& placement,
                         AddNumber add_number, TextWriter& before)
    : placement_(placement),
      add_number_(std::move(add_number)),
      before_(before),
      is_renewed_(placement.counted == nullptr) {
  for (size_t i = 0; i < nests.nests.size(); ++i) {
    const auto [found, is_new] = ranges_.emplace(key_of(nests, placement_, i), int(ranges_.size()));
    range_of_.push_back(found->second);
    if (is_new) write(*nests.nests[i], placement_.nests[i], found->second);
  }
  if (ranges_.size() > kMostInRegisters) write_shared();
}

OwnedRanges::Key OwnedRanges::key_of(const LoopNests& nests, const LoopPlacement& placement,
                                     size_t nest) {
  const NestCall& call = *nests.nests[nest];
  const NestShare& share = placement.nests[nest];
  return {call.rows, call.unit, share.owner, share.columns_of_block};
}

int64_t OwnedRanges::shared_bytes(const LoopNests& nests, const LoopPlacement& placement) {
  std::set<Key> ranges;
  for (size_t i = 0; i < nests.nests.size(); ++i) ranges.insert(key_of(nests, placement, i));
  const bool is_shared = ranges.size() > kMostInRegisters;
  return is_shared ? int64_t(ranges.size() * std::size(kBounds) * sizeof(int64_t)) : 0;
}

void OwnedRanges::write_shared() {
  before_.line("__shared__ long long owned[{}][{}];", ranges_.size(), std::size(kBounds));
  for (size_t range = 0; range < ranges_.size(); ++range) {
    for (size_t i = 0; i < std::size(kBounds); ++i)
      before_.line("if (threadIdx.x == 0) owned[{0}][{1}] = {2}_{0};", range, i, kBounds[i]);
  }
  before_.line("__syncthreads();");
}

void OwnedRanges::write(const NestCall& call, const NestShare& share, int range) {
  const int64_t rows = placement_.rows_of_block(call.rows);
  // A block that owns nothing begins up to a share behind the end.
  is_renewed_ &= std::max(call.rows, call.unit) <= std::numeric_limits<int32_t>::max() / 2;
  add_number_(fmt::format("rows_of_{}", range), call.rows);
  add_number_(fmt::format("columns_of_{}", range), call.unit);
  if (share.owner == Owner::outer) {
    before_.line("const long long row_begin_{0} = 0, row_end_{0} = rows_of_{0};", range);
    before_.line("const long long column_begin_{0} = 0, column_end_{0} = columns_of_{0};", range);
    return;
  }
  add_number_(fmt::format("rows_owned_{}", range), rows);
  const std::string first = fmt::format("row_group * rows_owned_{}", range);
  const auto owned = [&](std::string_view what) { return fmt::format("{}_{}", what, range); };
  if (share.owner == Owner::element) {
    add_number_(owned("columns_owned"), share.columns_of_block);
    write_bounds("row", range, first, owned("rows_owned"), owned("rows_of"));
    return write_bounds("column", range, "column_group * " + owned("columns_owned"),
                        owned("columns_owned"), owned("columns_of"));
  }
  add_number_(owned("rows_each"), placement_.whole_rows_of_block(call.rows));
  write_bounds("group", range, first, owned("rows_owned"), owned("rows_of"));
  write_bounds("row", range, owned("group_begin") + " + column_group * " + owned("rows_each"),
               owned("rows_each"), owned("group_end"));
  before_.line("const long long column_begin_{0} = 0, column_end_{0} = columns_of_{0};", range);
}

/// Writes: const long long WHAT_begin_N = begin, WHAT_end_N = min(WHAT_begin_N + count, limit).
void OwnedRanges::write_bounds(std::string_view what, int range, const std::string& begin,
                               const std::string& count, const std::string& limit) {
  const std::string first = fmt::format("{}_begin_{}", what, range);
  before_.line("const long long {} = {};", first, begin);
  before_.line("const long long {}_end_{} = {} + {} < {} ? {} + {} : {};", what, range, first,
               count, limit, first, count, limit);
}

void OwnedRanges::bring(TextWriter& text, size_t nest) const {
  const int range = range_of_[nest];
  text.line("const long long rows = rows_of_{0}, columns = columns_of_{0};", range);
  bring(text, range, "row");
  bring(text, range, "column");
}

void OwnedRanges::bring_columns(TextWriter& text, size_t nest) const {
  const int range = range_of_[nest];
  text.line("const long long columns = columns_of_{};", range);
  bring(text, range, "column");
}

void OwnedRanges::bring(TextWriter& text, int range, std::string_view what) const {
  if (ranges_.size() <= kMostInRegisters && is_renewed_)
    return text.line(
        "const long long {0}_begin = renewed((int){0}_begin_{1}), {0}_end = "
        "renewed((int){0}_end_{1});",
        what, range);
  if (ranges_.size() <= kMostInRegisters)
    return text.line("const long long {0}_begin = {0}_begin_{1}, {0}_end = {0}_end_{1};", what,
                     range);
  for (size_t i = 0; i < std::size(kBounds); ++i) {
    if (std::string_view(kBounds[i]).starts_with(what))
      text.line("const long long {} = owned[{}][{}];", kBounds[i], range, i);
  }
}

}  // namespace graphc::core::cuda
